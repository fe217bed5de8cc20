//! The promises of a table, on a simulated disk and on a real one.

mod crash;
mod damage;
mod golden;
mod merges;
mod model;
mod script;
mod threads;

use super::*;
use crate::embedded::disk::SimDisk;

pub(super) const ID: LogId = LogId(*b"a log for tests!");

/// So small that a few records fill the memory, a few runs are merged, and a block is written by itself.
pub(super) fn small() -> TableOptions {
    TableOptions { memory_records_max: 40, merge_width: 2, piece_bytes: 1, ..TableOptions::default() }
}

pub(super) fn record(key: Key, frame: u64, index: u32) -> Record {
    Record { key, place: Place { frame: FrameNumber(frame), index } }
}

#[test]
fn what_was_inserted_is_found_newest_first_wherever_it_is() {
    let options = TableOptions { memory_records_max: 3, ..small() };
    let disk = SimDisk::new(1);
    let table = Table::open(disk.clone(), "ids", ID, options.clone()).unwrap();
    let key = Key([7; 20]);
    for frame in 1..=20 {
        table.insert(FrameNumber(frame), &[record(key, frame, 1)]);
        if frame % 5 == 0 {
            table.upkeep().unwrap();
        }
        let found: Vec<u64> = table.find(&key).unwrap().iter().map(|it| it.frame.0).collect();
        assert_eq!(found, (1..=frame).rev().collect::<Vec<_>>());
    }
    assert!(table.find(&Key([8; 20])).unwrap().is_empty());
    table.flush().unwrap();
    while table.upkeep().unwrap() {}
    let table = Table::open(disk, "ids", ID, options).unwrap();
    assert_eq!((table.flushed(), table.records()), (FrameNumber(20), 20));
    assert_eq!(table.find(&key).unwrap().len(), 20);
}

/// As a server's upkeep does it: before each insert there is room, and an empty table to follow.
#[test]
fn room_that_is_made_ahead_is_enough() {
    let table = Table::open(SimDisk::new(1), "ids", ID, small()).unwrap();
    let mut keys: Vec<Key> = Vec::new();
    for frame in 1..=200 {
        while table.make_room() {}
        let before = table.memory_bytes();
        let key = Key([frame as u8; 20]);
        table.insert(FrameNumber(frame), &[record(key, frame, 0)]);
        keys.push(key);
        assert_eq!(table.memory_bytes(), before, "an insert made room for itself");
        if frame % 40 == 0 {
            while table.upkeep().unwrap() {}
        }
        assert!(keys.iter().all(|it| table.find(it).unwrap().len() == 1));
    }
    assert_eq!(table.flushed(), FrameNumber(200));
}

#[test]
fn a_key_with_more_places_than_a_block_is_found_with_all_of_them() {
    let table = Table::open(SimDisk::new(1), "ids", ID, small()).unwrap();
    let key = Key([7; 20]);
    let records: Vec<Record> = (0..1000).map(|it| record(key, 1, it)).collect();
    table.insert(FrameNumber(1), &records);
    table.flush().unwrap();
    let found: Vec<u32> = table.find(&key).unwrap().iter().map(|it| it.index).collect();
    assert_eq!(found, (0..1000).rev().collect::<Vec<_>>());
    assert_eq!(table.at_or_before(&key, 20), Ok(Some(records[999])));
    assert_eq!(table.with_prefix(&[7], 300).unwrap(), records[..300]);
}

#[test]
fn frames_without_records_count_as_flushed() {
    let disk = SimDisk::new(1);
    let table = Table::open(disk.clone(), "ids", ID, small()).unwrap();
    (1..=5).for_each(|it| table.insert(FrameNumber(it), &[]));
    assert_eq!((table.flushed(), table.last()), (FrameNumber(0), FrameNumber(5)));
    table.flush().unwrap();
    table.flush().unwrap();
    assert_eq!(table.runs(), 1, "there was nothing to write the second time");
    assert_eq!(Table::open(disk, "ids", ID, small()).unwrap().flushed(), FrameNumber(5));
    assert_eq!(table.find(&Key([0; 20])), Ok(vec![]));
    assert_eq!(table.with_prefix(&[], 10), Ok(vec![]));
    assert_eq!(table.at_or_before(&Key([0xff; 20]), 0), Ok(None));
    assert_eq!(table.after(&Key([0xff; 20]), 20, 10), Ok(vec![]));
}

#[test]
fn a_frame_that_is_in_already_is_passed_over() {
    let table = Table::open(SimDisk::new(1), "ids", ID, small()).unwrap();
    for frame in [1, 2, 1, 2, 3] {
        table.insert(FrameNumber(frame), &[record(Key([1; 20]), frame, 0)]);
    }
    assert_eq!(table.records(), 3);
}

#[test]
#[should_panic(expected = "frames come in order, without holes")]
fn a_frame_that_was_left_out_is_a_bug() {
    let table = Table::open(SimDisk::new(1), "ids", ID, small()).unwrap();
    table.insert(FrameNumber(2), &[]);
}

#[test]
fn tables_with_names_that_begin_alike_do_not_touch_each_other() {
    let disk = SimDisk::new(1);
    let names = ["ids", "ids-more", "idsmore"];
    let filled = |name: &'static str, frames: u64| {
        let table = Table::open(disk.clone(), name, ID, small()).unwrap();
        (1..=frames).for_each(|it| table.insert(FrameNumber(it), &[record(Key([1; 20]), it, 0)]));
        table.flush().unwrap();
    };
    names.into_iter().zip([3, 5, 7]).for_each(|(name, frames)| filled(name, frames));
    disk.create("index/ids-more-flush.tmp").unwrap();
    for (name, frames) in names.into_iter().zip([3, 5, 7]) {
        assert_eq!(Table::open(disk.clone(), name, ID, small()).unwrap().records(), frames);
        assert_eq!(disk.contents("index/ids-more-flush.tmp").is_some(), name == "ids", "{name}");
    }
}

#[test]
fn a_run_of_another_log_is_refused() {
    let disk = SimDisk::new(1);
    let table = Table::open(disk.clone(), "ids", ID, small()).unwrap();
    table.insert(FrameNumber(1), &[record(Key([1; 20]), 1, 0)]);
    table.flush().unwrap();
    let other = Table::open(disk, "ids", LogId([9; 16]), small()).err();
    assert!(matches!(other, Some(TableError::Damaged(it)) if it.contains("another log")));
}

#[test]
fn a_replay_writes_and_merges_as_it_goes() {
    let disk = SimDisk::new(1);
    let table = Table::open(disk, "ids", ID, small()).unwrap();
    for frame in 1..=1000 {
        table.replay(FrameNumber(frame), &[record(Key([frame as u8; 20]), frame, 0)]).unwrap();
        assert!(table.state().frozen.is_empty());
    }
    assert!(table.flushed().0 > 950 && table.runs() <= 10, "{} runs", table.runs());
}
