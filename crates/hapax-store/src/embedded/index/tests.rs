//! When tables are written, as the log grows.

use super::table::{Key, Place, Record};
use super::{Index, IndexOptions, Records};
use crate::embedded::disk::{Disk as _, SimDisk};
use crate::embedded::log::{FrameNumber, LogId};

fn index() -> Index<SimDisk> {
    let disk = SimDisk::new(1);
    disk.create_dir(super::DIR).expect("a directory");
    let options = IndexOptions { ids_in_memory: 4, others_in_memory: 100, sync: false };
    Index::open(&disk, LogId([7; 16]), &options).expect("an index")
}

/// A frame with one record in each of two tables.
fn insert(index: &Index<SimDisk>, frame: u64) {
    let record = Record { key: Key([frame as u8; 20]), place: Place { frame: FrameNumber(frame), index: 0 } };
    let records = Records { ids: vec![record], places: vec![record], ..Records::default() };
    index.insert(FrameNumber(frame), &records);
}

/// How far ids and the small tables are on disk.
fn flushed(index: &Index<SimDisk>) -> (u64, u64) {
    (index.ids.flushed().0, index.places.flushed().0)
}

#[test]
fn ids_that_fill_their_memory_in_time_are_left_to_it() {
    let index = index();
    (1..=3).for_each(|frame| insert(&index, frame));
    index.flush_old(FrameNumber(0), |_| Ok(())).expect("a flush");
    assert_eq!(flushed(&index), (0, 3), "none of the ids was there the time before");
    (4..=6).for_each(|frame| insert(&index, frame));
    while index.upkeep(FrameNumber(6)).expect("upkeep") {}
    assert_eq!(flushed(&index), (4, 3), "four ids fill their memory");
    index.flush_old(FrameNumber(3), |_| Ok(())).expect("a flush");
    assert_eq!(flushed(&index), (4, 6));
}

#[test]
fn ids_that_were_there_the_time_before_are_written() {
    let index = index();
    (1..=3).for_each(|frame| insert(&index, frame));
    index.flush_old(FrameNumber(3), |_| Ok(())).expect("a flush");
    assert_eq!(flushed(&index), (3, 3));
}
