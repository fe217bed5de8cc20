//! The store in a directory, on a disk that loses power: what was answered is there, whole, and nothing else is.
//!
//! The histories are those of the suite `model`, with everything else that a store keeps mixed in; a twin in memory, which
//! never crashes, says what must be there. The upkeep is busy all the while.

/// The worlds, and the stage that they are played on. This suite uses a part of it.
#[path = "../model"]
#[allow(dead_code, unused_imports)]
mod play {
    pub(crate) mod model;
    pub(crate) mod stage;
    pub(crate) mod world;
}

mod acts;
#[path = "../promises/busy.rs"]
mod busy;
mod everything;
mod expiry;
mod flow;
mod gate;
mod index;
mod threads;

use hapax_core::chain::Verifier;
use hapax_core::event::NonceKey;
use hapax_store::embedded::Embedded;
use hapax_store::embedded::disk::{Fault, RealDisk, SimDisk};
use hapax_store::embedded::log::{LogId, Options as LogOptions};
use hapax_store::memory::Memory;
use hapax_store::seam::{Store, StoreError};
use play::model::{Rules, to_toml};
use play::stage::Stage;
use play::world::{Clock, Request, World, worlds};
use proptest::prelude::*;
use proptest::test_runner::Config;

use acts::{Act, acts, happen, request_key, send};
use busy::{Busy, options};
use everything::{Names, everything};

pub(crate) fn cases(count: u32) -> Config {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(count);
    Config { cases, failure_persistence: None, ..Config::default() }
}

/// Everything that a history could have left.
pub(crate) fn names() -> Names {
    let lanes = ["a", "b", "c", "default"];
    let nonces = lanes.iter().flat_map(|lane| (0..8).map(|number| NonceKey::of(lane, &format!("n{number}"))));
    Names { nonces: nonces.collect(), requests: (0..4).map(request_key).collect() }
}

pub(crate) fn all<S: Store>(stage: &mut Stage<S>) -> String {
    everything(&mut stage.store, &names()).expect("everything can be read")
}

/// A stage and its twin in memory, which play the same history.
pub(crate) struct Twins {
    pub(crate) stage: Stage<Busy>,
    pub(crate) twin: Stage<Memory>,
    rules: (Rules, Rules),
}

impl Twins {
    pub(crate) fn on(store: Busy, world: &World) -> Self {
        let contract = to_toml(&world.rules);
        let rules = (world.rules.clone(), world.rules.clone());
        Self { stage: Stage::on(store, &contract), twin: Stage::new(&contract), rules }
    }

    /// One request and what follows it, on both. An error if the store stopped, and then what the twin must do too if it
    /// lasted all the same.
    pub(crate) fn play(&mut self, request: &Request, before: &Act, after: &Act) -> Result<(), Unanswered> {
        let Ok(answer) = send(&mut self.stage, request, before) else { return Err(Unanswered::Request) };
        assert_eq!(answer, send(&mut self.twin, request, before).expect("a turn in memory"));
        let now = request.now_ns;
        let Ok(answer) = happen(&mut self.stage, &mut self.rules.0, now, after) else { return Err(Unanswered::Act) };
        assert_eq!(answer, happen(&mut self.twin, &mut self.rules.1, now, after).expect("a turn in memory"));
        Ok(())
    }

    /// What nobody was told of happened all the same.
    fn happened(&mut self, unanswered: Unanswered, request: &Request, before: &Act, after: &Act) {
        match unanswered {
            Unanswered::Request => _ = send(&mut self.twin, request, before).expect("a turn in memory"),
            Unanswered::Act => {
                _ = happen(&mut self.twin, &mut self.rules.1, request.now_ns, after).expect("a turn in memory");
            }
        }
    }

    /// Something else stands on the stage while the store is closed or dropped: the lock is free only then.
    pub(crate) fn put(&mut self, end: impl FnOnce(Embedded<SimDisk>), open: impl FnOnce() -> Busy) {
        let elsewhere = Busy::open(&SimDisk::new(2), options(), 0).expect("an empty disk").0;
        end(std::mem::replace(&mut self.stage.store, elsewhere).store);
        self.stage.store = open();
    }
}

/// What was not answered.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Unanswered {
    Request,
    Act,
}

/// Requests with what comes before and after each.
pub(crate) fn steps<'w>(world: &'w World, acts: &'w [Act]) -> impl Iterator<Item = (&'w Request, &'w Act, &'w Act)> {
    let before = std::iter::once(&Act::Nothing).chain(acts);
    world.requests.iter().zip(before.zip(acts)).map(|(request, (before, after))| (request, before, after))
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn a_store_that_was_closed_and_opened_again_goes_on_as_if_it_never_was(
        world in worlds(Clock::MayStepBack),
        acts in acts(),
        at in any::<prop::sample::Index>(),
        seed in any::<u64>(),
    ) {
        let disk = SimDisk::new(1);
        let mut twins = Twins::on(Busy::open(&disk, options(), seed).expect("an empty disk").0, &world);
        let stop = at.index(world.requests.len());
        for (index, (request, before, after)) in steps(&world, &acts).enumerate() {
            if index == stop {
                reopen(&mut twins, &disk);
            }
            twins.play(request, before, after).expect("a turn");
        }
        prop_assert_eq!(all(&mut twins.stage), all(&mut twins.twin));
        reopen(&mut twins, &disk);
        prop_assert_eq!(all(&mut twins.stage), all(&mut twins.twin));
    }

    #[test]
    fn after_a_power_cut_at_any_call_what_was_answered_is_there_and_nothing_is_half_there(
        world in worlds(Clock::Forward),
        acts in acts(),
        seed in any::<u64>(),
        call in 1_u64..1_200,
        sync in any::<bool>(),
        power in any::<bool>(),
    ) {
        crash_and_check(&world, &acts, seed, call, sync, power)?;
    }
}

fn reopen(twins: &mut Twins, disk: &SimDisk) {
    twins.put(
        |store| store.close().expect("a clean stop"),
        || {
            let (store, opened) = Busy::open(disk, options(), 3).expect("it opens");
            assert_eq!(opened.cut, None, "a clean stop leaves no torn tail");
            store
        },
    );
}

fn crash_and_check(
    world: &World,
    acts: &[Act],
    seed: u64,
    call: u64,
    sync: bool,
    power: bool,
) -> Result<(), TestCaseError> {
    let disk = SimDisk::new(seed);
    let mut options = options();
    options.index.sync = sync;
    let mut twins = Twins::on(Busy::open(&disk, options.clone(), seed).expect("an empty disk").0, world);
    disk.fail(call, Fault::Crash);

    let mut unanswered = None;
    for (request, before, after) in steps(world, acts) {
        if let Err(what) = twins.play(request, before, after) {
            unanswered = Some((what, request, before, after));
            break;
        }
    }
    let open = || Busy::open(&disk, options.clone(), seed).expect("it opens by itself").0;
    let crash = |store| {
        drop(store);
        if power {
            disk.power_cut();
        } else {
            disk.kill();
        }
        // A short history may end before the call that was to fail; the start is not what this is about.
        disk.heal();
    };
    twins.put(crash, open);
    let found = read_or_rebuild(&mut twins, &disk);
    if found != all(&mut twins.twin) {
        // The one commit that nobody was told of may have lasted, but only whole.
        let (what, request, before, after) =
            unanswered.ok_or_else(|| TestCaseError::fail("an answered request is gone"))?;
        twins.happened(what, request, before, after);
        prop_assert_eq!(&found, &all(&mut twins.twin));
    }
    let mut verifier = Verifier::new("stream");
    for entry in twins.stage.entries() {
        prop_assert!(verifier.next(&entry).is_ok());
    }
    Ok(())
}

/// Everything; if the index turns out to be damaged, a restart builds it again, and then everything can be read.
pub(crate) fn read_or_rebuild(twins: &mut Twins, disk: &SimDisk) -> String {
    match everything(&mut twins.stage.store, &names()) {
        Ok(found) => found,
        Err(StoreError::Stopped(_)) => {
            twins.put(drop, || Busy::open(disk, options(), 5).expect("it opens").0);
            all(&mut twins.stage)
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn on_a_real_disk_it_is_there_after_a_restart_and_only_one_process_has_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let disk = || RealDisk::at(directory.path()).expect("a directory");
    let log = || LogOptions { segment_bytes: 16 << 10, reserve_bytes: 4 << 10, ..LogOptions::default() };
    let contract = "preset = \"telemetry-tolerant\"";
    let (store, _) = Embedded::open(disk(), log(), LogId([9; 16])).expect("an empty directory");
    let mut stage = Stage::on(store, contract);
    let event = serde_json::json!({
        "event_id": "e1", "component_instance_id": "c", "sequence": 5, "observed_at": "2026-01-01T00:00:00Z",
    });
    let now = 1_767_225_600_000_000_000;
    let answered = stage.submit(now, std::slice::from_ref(&event), play::model::Opts::default());
    assert_eq!(answered.receipts[0]["verdict"], "accepted");
    let second = Embedded::open(disk(), log(), LogId([9; 16]));
    assert!(matches!(second, Err(StoreError::Unreachable(_))), "another has it open");

    // Dropped without a close: a crash of the process.
    let before = all(&mut stage);
    drop(stage);
    let (store, opened) = Embedded::open(disk(), log(), LogId([8; 16])).expect("it opens");
    assert_eq!(opened.cut, None);
    let mut stage = Stage::on(store, contract);
    assert_eq!(all(&mut stage), before);
    stage.store.close().expect("a clean stop");
    let (store, _) = Embedded::open(disk(), log(), LogId([8; 16])).expect("it opens");
    assert_eq!(all(&mut Stage::on(store, contract)), before);
}
