//! A segment made ahead: used when it is needed, in nobody's way when it is not.

use super::*;
use crate::embedded::disk::Fault;

const SPARE: &str = "log/spare.tmp";

/// A log whose first segment is more than half full.
fn half_full() -> (SimDisk, Log<SimDisk>) {
    let (disk, log) = filled(small(), &pairs(2, 1000, 0));
    assert!(log.spare().wanted());
    (disk, log)
}

#[test]
fn a_spare_is_made_when_the_segment_is_half_full_and_only_once() {
    let (disk, mut log) = filled(small(), &pairs(1, 900, 0));
    let spare = log.spare();
    assert_eq!((spare.wanted(), spare.make()), (false, Ok(false)));
    log.append(&[2; 1000], b"").unwrap();
    assert_eq!((spare.wanted(), spare.make()), (true, Ok(true)));
    assert_eq!(disk.contents(SPARE), Some(vec![0; 4096]));
    assert_eq!(spare.clone().make(), Ok(false));
}

#[test]
fn the_append_that_begins_a_segment_takes_the_spare_and_writes_no_zeros() {
    let (disk, mut log) = half_full();
    log.spare().make().unwrap();
    let calls = disk.calls();
    log.append(&[3; 2000], b"").unwrap();
    // The header, its sync, the name, the directory; then a frame as any other.
    assert_eq!(disk.calls(), calls + 4 + 3);
    assert_eq!(disk.contents(SPARE), None);
    let firsts: Vec<u64> = log.reader().segments().iter().map(|it| it.first.0).collect();
    assert_eq!(firsts, [1, 3]);
    drop(log);
    let (log, opened) = Log::open(disk, small()).unwrap();
    assert_eq!((opened.frames, opened.cut), (3, None));
    assert_eq!(all(&log)[2].0, [3; 2000]);
}

#[test]
fn a_frame_that_is_larger_than_the_spare_leaves_it_for_the_next() {
    let (disk, mut log) = half_full();
    log.spare().make().unwrap();
    log.append(&[3; 9000], b"").unwrap();
    assert!(disk.contents(SPARE).is_some());
    log.append(&[4; 600], b"").unwrap();
    assert_eq!(disk.contents(SPARE), None);
    assert_eq!(log.reader().segments().len(), 3);
}

#[test]
fn a_spare_that_nobody_took_is_removed_at_the_next_start() {
    let (disk, log) = half_full();
    log.spare().make().unwrap();
    log.close().unwrap();
    assert!(disk.contents(SPARE).is_some());
    let (log, _) = Log::open(disk.clone(), small()).unwrap();
    assert_eq!(disk.contents(SPARE), None);
    assert_eq!(log.spare().make(), Ok(true), "it is half full as it was");
}

#[test]
fn a_spare_is_not_made_of_the_room_that_is_kept_free() {
    let options = Options { low_water_bytes: 10_000, ..small() };
    let (disk, mut log) = filled(options, &pairs(2, 1000, 0));
    let used = (1 << 30) - log.space().unwrap().free;
    disk.set_capacity(used + 10_000 + 512 + 4095);
    assert_eq!(log.spare().make(), Ok(false));
    disk.set_capacity(used + 10_000 + 512 + 4096);
    assert_eq!(log.spare().make(), Ok(true));
    // Its room is not asked for a second time.
    log.append(&[3; 2000], b"").unwrap();
    assert_eq!(log.reader().segments().len(), 2);
}

#[test]
fn a_spare_that_can_not_be_written_poisons_the_log() {
    for call in 1..=3 {
        let (disk, mut log) = half_full();
        disk.fail(call, Fault::Eio);
        assert!(matches!(log.spare().make(), Err(LogError::Poisoned(it)) if it.doing == "making a segment ahead"));
        assert!(matches!(log.append(b"more", b""), Err(LogError::Poisoned(_))));
    }
}

#[test]
fn nothing_is_made_or_compacted_for_a_log_that_is_gone() {
    let (disk, log) = filled(small(), &pairs(5, 1000, 500));
    let (spare, compactor) = (log.spare(), log.compactor());
    log.close().unwrap();
    let (log, _) = Log::open(disk.clone(), small()).unwrap();
    let calls = disk.calls();
    assert_eq!(spare.make(), Ok(false));
    assert_eq!(compactor.compact(FrameNumber(1), |_, _, _| None), Err(LogError::Missing));
    assert_eq!(disk.calls(), calls);
    drop(log);
}
