//! The store in a directory, on a disk that loses power: what was answered is there, whole, and nothing else is.
//!
//! The histories are those of the suite `model`; a twin in memory, which never crashes, says what must be there.

/// The worlds, and the stage that they are played on. This suite uses a part of it.
#[path = "../model"]
#[allow(dead_code, unused_imports)]
mod play {
    pub(crate) mod model;
    pub(crate) mod stage;
    pub(crate) mod world;
}

use hapax_core::chain::Verifier;
use hapax_store::embedded::Embedded;
use hapax_store::embedded::disk::{Fault, RealDisk, SimDisk};
use hapax_store::embedded::log::{Check, LogId, Opened, Options};
use hapax_store::seam::{Read, Store, StoreError};
use hapax_store::turn::turn;
use play::model::to_toml;
use play::stage::{Stage, bytes};
use play::world::{Clock, Request, World, worlds};
use proptest::prelude::*;
use proptest::test_runner::Config;

/// Small segments, so that histories of a few dozen frames cross from one to the next.
fn options() -> Options {
    Options { segment_bytes: 16 << 10, reserve_bytes: 4 << 10, low_water_bytes: 0, check: Check::All }
}

fn open(disk: &SimDisk) -> Result<(Embedded<SimDisk>, Opened), StoreError> {
    Embedded::open(disk.clone(), options(), LogId([9; 16]))
}

/// Everything that can be read of a stage, in one text.
fn everything<S: Store>(stage: &Stage<S>) -> String {
    let stream = &stage.stream;
    let lanes: Vec<_> = stage
        .entries()
        .iter()
        .map(|entry| entry.lane.to_string())
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .map(|lane| format!("{:?}", stage.store.reader().lane(stream, &lane)))
        .collect();
    let counters = stage.store.reader().counters(stream, &Default::default(), None, usize::MAX);
    let head = stage.store.reader().head(stream);
    format!("{head:?}\n{:?}\n{:?}\n{lanes:?}\n{counters:?}", stage.entries(), stage.attempts())
}

fn cases(count: u32) -> Config {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(count);
    Config { cases, failure_persistence: None, ..Config::default() }
}

/// One request; an error if the store stopped.
fn send<S: Store>(stage: &mut Stage<S>, request: &Request) -> Result<Vec<u8>, StoreError> {
    let documents = request.docs.iter().map(bytes).collect();
    let mut asked = stage.submission(request.now_ns, documents, request.opts);
    let answers = turn(&mut stage.store, std::slice::from_mut(&mut asked))?;
    Ok(answers[0].body.to_vec())
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn a_store_that_was_closed_and_opened_again_goes_on_as_if_it_never_was(
        world in worlds(Clock::MayStepBack),
        at in any::<prop::sample::Index>(),
    ) {
        let disk = SimDisk::new(1);
        let contract = to_toml(&world.rules);
        let (store, _) = open(&disk).expect("an empty disk");
        let mut stage = Stage::on(store, &contract);
        let mut twin = Stage::new(&contract);
        let stop = at.index(world.requests.len());
        for (index, request) in world.requests.iter().enumerate() {
            if index == stop {
                stage = reopened(stage, &disk);
            }
            prop_assert_eq!(send(&mut stage, request).expect("a turn"), send(&mut twin, request).expect("a turn"));
        }
        prop_assert_eq!(everything(&stage), everything(&twin));
        let stage = reopened(stage, &disk);
        prop_assert_eq!(everything(&stage), everything(&twin));
    }

    #[test]
    fn after_a_power_cut_at_any_call_what_was_answered_is_there_and_nothing_is_half_there(
        world in worlds(Clock::Forward),
        seed in any::<u64>(),
        call in 1_u64..400,
    ) {
        crash_and_check(&world, seed, call)?;
    }
}

fn reopened(stage: Stage<Embedded<SimDisk>>, disk: &SimDisk) -> Stage<Embedded<SimDisk>> {
    let mut stage = stage;
    // The lock is free only when the store is closed, so something else must stand on the stage meanwhile.
    let elsewhere = open(&SimDisk::new(2)).expect("an empty disk").0;
    std::mem::replace(&mut stage.store, elsewhere).close().expect("a clean stop");
    let (store, opened) = open(disk).expect("it opens");
    assert_eq!(opened.cut, None, "a clean stop leaves no torn tail");
    stage.store = store;
    stage
}

fn crash_and_check(world: &World, seed: u64, call: u64) -> Result<(), TestCaseError> {
    let disk = SimDisk::new(seed);
    let contract = to_toml(&world.rules);
    let (store, _) = open(&disk).expect("an empty disk");
    let mut stage = Stage::on(store, &contract);
    let mut twin = Stage::new(&contract);
    disk.fail(call, Fault::Crash);

    let mut unanswered = None;
    for request in &world.requests {
        match send(&mut stage, request) {
            Ok(answer) => prop_assert_eq!(answer, send(&mut twin, request).expect("a turn in memory")),
            Err(_) => {
                unanswered = Some(request);
                break;
            }
        }
    }
    drop(stage);
    disk.power_cut();
    // A short history may end before the call that was to fail; the start is not what this is about.
    disk.heal();
    let (store, _) = open(&disk).expect("it opens by itself");
    let back = Stage::on(store, &contract);
    let found = everything(&back);
    if found != everything(&twin) {
        // The one commit that nobody was told of may have lasted, but only whole.
        let request = unanswered.ok_or_else(|| TestCaseError::fail("an answered request is gone"))?;
        send(&mut twin, request).expect("a turn in memory");
        prop_assert_eq!(&found, &everything(&twin));
    }
    let mut verifier = Verifier::new("stream");
    for entry in back.entries() {
        prop_assert!(verifier.next(&entry).is_ok());
    }
    Ok(())
}

#[test]
fn on_a_real_disk_it_is_there_after_a_restart_and_only_one_process_has_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let disk = || RealDisk::at(directory.path()).expect("a directory");
    let contract = "preset = \"telemetry-tolerant\"";
    let (store, _) = Embedded::open(disk(), options(), LogId([9; 16])).expect("an empty directory");
    let mut stage = Stage::on(store, contract);
    let event = serde_json::json!({
        "event_id": "e1", "component_instance_id": "c", "sequence": 5, "observed_at": "2026-01-01T00:00:00Z",
    });
    let now = 1_767_225_600_000_000_000;
    let answered = stage.submit(now, std::slice::from_ref(&event), play::model::Opts::default());
    assert_eq!(answered.receipts[0]["verdict"], "accepted");
    let second = Embedded::open(disk(), options(), LogId([9; 16]));
    assert!(matches!(second, Err(StoreError::Unreachable(_))), "another has it open");

    // Dropped without a close: a crash of the process.
    let before = everything(&stage);
    drop(stage);
    let (store, opened) = Embedded::open(disk(), options(), LogId([8; 16])).expect("it opens");
    assert_eq!(opened.cut, None);
    let stage = Stage::on(store, contract);
    assert_eq!(everything(&stage), before);
}
