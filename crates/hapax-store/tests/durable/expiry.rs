//! What has had its time goes, from memory and from the log; entries never do.

use hapax_core::time::Time;
use hapax_store::embedded::Embedded;
use hapax_store::embedded::disk::{Disk, Fault, SimDisk};
use hapax_store::embedded::log::LogId;
use hapax_store::seam::{AttemptFilter, CounterFilter, Read, Store, StoreError, StreamKey};

use super::busy::options;
use super::index::{index_files, played};

/// Long after everything.
const LATER: Time = Time::from_nanos(4_000_000_000_000_000_000);

fn stream() -> StreamKey {
    StreamKey { tenant: "tenant".into(), stream: "stream".into() }
}

fn open(disk: &SimDisk) -> Embedded<SimDisk> {
    Embedded::open(disk.clone(), options(), LogId([9; 16])).expect("it opens").0
}

/// What never goes.
fn lasting(store: &Embedded<SimDisk>) -> String {
    let (reader, key) = (store.reader(), stream());
    let lanes = reader.lanes(&key, false, "", usize::MAX).expect("lanes").items;
    let lanes: Vec<_> = lanes.into_iter().map(|(name, record)| (name, record.lane, record.gaps)).collect();
    let counters = reader.counters(&key, &CounterFilter::default(), None, usize::MAX).expect("counters");
    let entries = reader.entries(&key, 0, usize::MAX).expect("entries");
    format!("{:?} {entries:?} {lanes:?} {counters:?} {:?}", reader.head(&key), reader.keys("tenant"))
}

fn log_bytes(store: &Embedded<SimDisk>) -> u64 {
    store.reader().figures().expect("figures").log_bytes
}

/// How many attempts can be read that were not accepted, and how many there are said to be.
fn attempts(store: &Embedded<SimDisk>) -> (usize, u64) {
    let page = store.reader().attempts(&stream(), &AttemptFilter::default(), 0, usize::MAX).expect("attempts");
    let others = page.items.iter().filter(|attempt| attempt.verdict().name() != "accepted").count();
    (others, store.reader().figures().expect("figures").attempts)
}

fn work(store: &Embedded<SimDisk>, now: Time) -> Result<u64, StoreError> {
    let upkeep = store.upkeep();
    let mut steps = 0;
    while upkeep.step(now)? {
        steps += 1;
        assert!(steps < 10_000, "the upkeep comes to an end");
    }
    Ok(steps)
}

fn history() -> (SimDisk, Embedded<SimDisk>) {
    let disk = SimDisk::new(1);
    let (mut twins, _) = played(&disk);
    let mut store = None;
    twins.put(|it| store = Some(it), || super::Busy::open(&SimDisk::new(3), options(), 0).expect("it opens").0);
    (disk, store.expect("the store that was played on"))
}

#[test]
fn what_has_expired_goes_and_entries_stay() {
    let (disk, store) = history();
    let (before, bytes) = (lasting(&store), log_bytes(&store));
    let (found, said) = attempts(&store);
    assert!(found > 10 && found as u64 == said, "{found} {said}");
    work(&store, LATER).expect("upkeep");
    assert_eq!(lasting(&store), before);
    assert!(log_bytes(&store) < bytes);
    let (found, said) = attempts(&store);
    // What is in the segment that is being written stays until that is full.
    assert!(found < 10 && found as u64 == said, "{found} {said}");
    assert_eq!(work(&store, LATER), Ok(0), "nothing is done twice");

    // A start from the index, and one from the log alone.
    let reopened = |store: Embedded<SimDisk>| {
        drop(store);
        disk.kill();
        open(&disk)
    };
    let store = reopened(store);
    assert_eq!((lasting(&store), attempts(&store)), (before.clone(), (found, said)));
    drop(store);
    disk.kill();
    for file in index_files(&disk) {
        disk.remove(&file).expect("it can be removed");
    }
    let store = open(&disk);
    assert_eq!((lasting(&store), attempts(&store)), (before, (found, said)));
}

#[test]
fn nothing_goes_before_its_time() {
    let (_, store) = history();
    let before = attempts(&store);
    let now = super::play::world::BEGINNING_NS;
    work(&store, Time::from_nanos(now)).expect("upkeep");
    assert_eq!(attempts(&store), before);
}

#[test]
fn a_power_cut_in_the_middle_of_any_upkeep_loses_nothing() {
    let (disk, store) = history();
    let before = lasting(&store);
    drop(store);
    disk.kill();
    for call in 1.. {
        let disk = disk.fork(call);
        let store = open(&disk);
        disk.fail(call, Fault::Crash);
        let ended = work(&store, LATER);
        drop(store);
        if call % 2 == 0 {
            disk.power_cut();
        } else {
            disk.kill();
        }
        disk.heal();
        let store = open(&disk);
        assert_eq!(lasting(&store), before, "call {call}");
        work(&store, LATER).expect("upkeep");
        assert_eq!(lasting(&store), before, "call {call}");
        let (found, said) = attempts(&store);
        assert_eq!(found as u64, said, "call {call}");
        if ended.is_ok() {
            assert!(call > 50, "there was something to interrupt");
            break;
        }
    }
}
