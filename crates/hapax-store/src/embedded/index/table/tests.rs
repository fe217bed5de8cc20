//! The promises of a table, on a simulated disk.

use super::*;
use crate::embedded::disk::SimDisk;

pub(super) const ID: LogId = LogId(*b"a log for tests!");

#[test]
fn what_was_inserted_is_found_newest_first_wherever_it_is() {
    let options = TableOptions { memory_records_max: 3, merge_width: 2, ..TableOptions::default() };
    let disk = SimDisk::new(1);
    let table = Table::open(disk.clone(), "ids", ID, options.clone()).unwrap();
    let key = Key([7; 20]);
    for frame in 1..=20 {
        let place = Place { frame: FrameNumber(frame), index: 1 };
        table.insert(FrameNumber(frame), &[Record { key, place }]);
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
