//! A ledger in Postgres beside its twin in memory: the same history, the same answers, and everything that can be read of it.
//!
//! The histories are those of the suite `durable`, and several servers take turns in Postgres, see `turning`. Needs a Postgres to start; see `tests/private/cluster.rs`. More of them with
//! `PROPTEST_CASES`.

/// The worlds, and the stage that they are played on. This suite uses a part of it.
#[path = "../model"]
#[allow(dead_code, unused_imports)]
mod play {
    pub(crate) mod model;
    pub(crate) mod stage;
    pub(crate) mod world;
}

#[path = "../durable/acts.rs"]
mod acts;
#[path = "../private/cluster.rs"]
#[allow(dead_code, reason = "shared with tests that need more of it")]
mod cluster;
#[path = "../durable/everything.rs"]
mod everything;
mod pages;
mod turning;

use hapax_core::event::NonceKey;
use hapax_core::time::Time;
use hapax_store::memory::Memory;
use hapax_store::postgres::{Address, Options, Postgres, migrate};
use hapax_store::seam::{AttemptFilter, CounterFilter, Read, Store, StreamKey};
use play::model::to_toml;
use play::stage::Stage;
use play::world::{BEGINNING_NS, Clock, World, worlds};
use proptest::prelude::*;
use proptest::test_runner::Config;

use acts::{Act, acts, happen, request_key, send};
use cluster::Cluster;
use everything::{Names, everything};
use turning::Turning;

/// Long after everything.
const LATER: Time = Time::from_nanos(4_000_000_000_000_000_000);

fn cases(count: u32) -> Config {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(count);
    Config { cases, failure_persistence: None, max_shrink_iters: 100, ..Config::default() }
}

/// Everything that a history could have left.
fn names() -> Names {
    let lanes = ["a", "b", "c", "default"];
    let nonces = lanes.iter().flat_map(|lane| (0..8).map(|number| NonceKey::of(lane, &format!("n{number}"))));
    Names { nonces: nonces.collect(), requests: (0..4).map(request_key).collect() }
}

/// What never goes.
fn lasting(reader: &impl Read, key: &StreamKey) -> String {
    let lanes = reader.lanes(key, false, "", usize::MAX).expect("lanes").items;
    let lanes: Vec<_> = lanes.into_iter().map(|(name, record)| (name, record.lane, record.gaps)).collect();
    let counters = reader.counters(key, &CounterFilter::default(), None, usize::MAX).expect("counters");
    let entries = reader.entries(key, 0, usize::MAX).expect("entries");
    format!("{:?} {entries:?} {lanes:?} {counters:?} {:?}", reader.head(key), reader.keys(&key.tenant))
}

/// How many attempts can be read that were not accepted.
fn refused(reader: &impl Read, key: &StreamKey) -> u64 {
    let page = reader.attempts(key, &AttemptFilter::default(), 0, usize::MAX).expect("attempts");
    page.items.iter().filter(|attempt| attempt.verdict().name() != "accepted").count() as u64
}

fn work(store: &Postgres, now: Time) {
    let upkeep = store.upkeep();
    for step in 0.. {
        assert!(step < 1_000, "the upkeep comes to an end");
        if !upkeep.step(now).expect("upkeep") {
            break;
        }
    }
}

/// Line by line, so that a difference is one that can be read.
fn assert_same(found: &str, expected: &str) {
    found.lines().zip(expected.lines()).for_each(|(found, expected)| assert_eq!(found, expected));
    assert_eq!(found.lines().count(), expected.lines().count());
}

/// Plays a history on both; each answer is the same. What is in Postgres is gone afterwards.
fn played(world: &World, acts: &[Act], then: impl FnOnce(&mut Stage<Turning>, &mut Stage<Memory>)) {
    let cluster = Cluster::shared();
    let address = Address::parse(&cluster.url(&cluster.schema())).expect("an address");
    let options = Options { connections_max: 2, own_clock: true, ..Options::default() };
    let contract = to_toml(&world.rules);
    let mut rules = (world.rules.clone(), world.rules.clone());
    let store = Turning::on(&address, &options);
    let (mut stage, mut twin) = (Stage::on(store, &contract), Stage::new(&contract));
    for (request, pair) in world.requests.iter().zip(acts.chunks_exact(2)) {
        let answer = send(&mut stage, request, &pair[0]).expect("a turn");
        assert_eq!(answer, send(&mut twin, request, &pair[0]).expect("a turn in memory"));
        let answer = happen(&mut stage, &mut rules.0, request.now_ns, &pair[1]).expect("a turn");
        assert_eq!(answer, happen(&mut twin, &mut rules.1, request.now_ns, &pair[1]).expect("a turn in memory"));
    }
    then(&mut stage, &mut twin);
    drop(stage);
    migrate::remove(&address, &options).expect("it can be removed");
}

proptest! {
    #![proptest_config(cases(6))]

    #[test]
    fn everything_that_can_be_read_in_postgres_is_what_memory_shows(
        world in worlds(Clock::MayStepBack),
        acts in acts(),
    ) {
        played(&world, &acts, |stage, twin| {
            let all = everything(&mut stage.store, &names()).expect("everything can be read");
            stage.store.let_go();
            assert_same(&all, &everything(&mut twin.store, &names()).expect("everything can be read"));
            let pages = pages::all(stage.store.reader(), &stage.stream);
            assert_same(&pages, &pages::all(twin.store.reader(), &twin.stream));
        });
    }

    #[test]
    fn what_has_expired_goes_in_its_time_and_entries_stay(world in worlds(Clock::Forward), acts in acts()) {
        played(&world, &acts, |stage, _| {
            let (reader, key) = (stage.store.reader().clone(), stage.stream.clone());
            let (before, attempts) = (lasting(&reader, &key), refused(&reader, &key));
            work(stage.store.first(), Time::from_nanos(BEGINNING_NS));
            assert_eq!(refused(&reader, &key), attempts);
            assert_eq!(reader.figures().expect("figures").attempts, attempts);
            work(stage.store.first(), LATER);
            let versions = reader.versions(&key).expect("versions");
            let keeps = versions.last().is_some_and(|version| version.contract.audit_keep.span().is_none());
            assert_eq!(refused(&reader, &key), if keeps { attempts } else { 0 });
            assert_eq!(reader.figures().expect("figures").attempts, refused(&reader, &key));
            assert_eq!(lasting(&reader, &key), before);
        });
    }
}
