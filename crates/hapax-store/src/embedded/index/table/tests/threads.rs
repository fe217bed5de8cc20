//! Readers read while one thread inserts and another writes runs and merges them.

use std::sync::atomic::{AtomicBool, Ordering};

use super::script::Dice;
use super::*;
use crate::embedded::disk::RealDisk;

const FRAMES: u64 = 3_000;

/// The key of a frame: each has one of its own, and one that it shares with every hundredth.
fn records(frame: u64) -> [Record; 2] {
    let key = |kind: u8, number: u64| {
        let mut key = [0; KEY];
        key[3] = kind;
        key[12..].copy_from_slice(&number.to_be_bytes());
        Key(key)
    };
    [record(key(1, frame), frame, 0), record(key(2, frame % 100), frame, 1)]
}

/// Everything that was inserted before is there, exactly once, and in order.
fn read(table: &Table<RealDisk>, dice: &mut Dice) {
    let last = table.last().0;
    if last == 0 {
        return;
    }
    let frames: Vec<u64> = (0..50).map(|_| 1 + dice.below(last)).collect();
    let keys: Vec<Key> = frames.iter().map(|it| records(*it)[0].key).collect();
    let mut found = vec![vec![]; keys.len()];
    table.find_all(&keys, |position, place| found[position].push(place.frame.0)).unwrap();
    found.iter().zip(&frames).for_each(|(found, frame)| assert_eq!(found, &[*frame]));

    let shared = records(frames[0])[1].key;
    let found: Vec<u64> = table.find(&shared).unwrap().iter().map(|it| it.frame.0).collect();
    assert!(found.is_sorted_by(|a, b| *a == b + 100) && *found.last().unwrap() == (frames[0] - 1) % 100 + 1);
    assert!(found.len() as u64 > (last - ((frames[0] - 1) % 100 + 1)) / 100);

    let (own, [first, _]) = (records(frames[1])[0], records(1));
    assert_eq!(table.at_or_before(&own.key, 4).unwrap(), Some(own));
    let listed = table.after(&first.key, 4, 100).unwrap();
    assert!(listed.iter().map(|it| it.place.frame.0).eq(2..2 + listed.len() as u64));
    assert!(listed.len() as u64 >= 100.min(last - 1));
}

#[test]
fn readers_see_every_record_once_whatever_is_written_and_merged_meanwhile() {
    for ordered in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let options = TableOptions { ordered, memory_records_max: 100, ..small() };
        let table = Table::open(RealDisk::at(dir.path()).unwrap(), "ids", ID, options).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for seed in 0..2 {
                let (table, done) = (table.clone(), &done);
                scope.spawn(move || {
                    let mut dice = Dice::new(seed);
                    while !done.load(Ordering::Relaxed) {
                        read(&table, &mut dice);
                    }
                    read(&table, &mut dice);
                });
            }
            let (keeper, done) = (table.clone(), &done);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    if !keeper.upkeep().unwrap() {
                        std::thread::yield_now();
                    }
                }
            });
            (1..=FRAMES).for_each(|it| table.insert(FrameNumber(it), &records(it)));
            done.store(true, Ordering::Relaxed);
        });
        while table.upkeep().unwrap() {}
        assert!(table.runs() > 0);
        assert_eq!(table.records(), 2 * FRAMES);
    }
}

#[test]
fn a_stretch_is_whole_even_if_the_table_is_frozen_while_it_is_looked_through() {
    let dir = tempfile::tempdir().unwrap();
    let options = TableOptions { memory_records_max: 100, ..small() };
    let table = Table::open(RealDisk::at(dir.path()).unwrap(), "ids", ID, options).unwrap();
    std::thread::scope(|scope| {
        let reader = table.clone();
        let reading = scope.spawn(move || {
            while reader.last().0 < 20_000 {
                let last = reader.last().0;
                let own = reader.at_or_before(&records(last.max(1))[0].key, 4).unwrap();
                assert!(last == 0 || own == Some(records(last)[0]), "frame {last}");
            }
        });
        let mut frame = 0;
        while !reading.is_finished() {
            frame += 1;
            table.replay(FrameNumber(frame), &records(frame)).unwrap();
        }
        reading.join().unwrap();
    });
}
