//! The same log on a real disk: that the calls do what the simulated ones say.

use super::*;
use crate::embedded::disk::RealDisk;

#[test]
fn a_log_on_a_real_disk_is_written_read_compacted_and_opened_again() {
    let dir = tempfile::tempdir().unwrap();
    let disk = RealDisk::at(dir.path().join("store")).unwrap();
    let written = pairs(20, 700, 300);
    let mut log = Log::create(disk.clone(), small(), ID).unwrap();
    assert_eq!(Log::open(disk.clone(), small()).unwrap_err(), LogError::Locked);
    for (lasting, expiring) in &written {
        log.append(lasting, expiring).unwrap();
    }
    assert_eq!(all(&log), written);
    assert!(!log.space().unwrap().low);
    log.compact(FrameNumber(1), |_, _, _| None).unwrap();
    log.close().unwrap();
    let (log, opened) = Log::open(disk, small()).unwrap();
    assert_eq!(opened, Opened { frames: 20, cut: None, warnings: vec![] });
    assert_eq!(all(&log)[10..], written[10..]);
    assert_eq!(log.read(FrameNumber(1)).unwrap().unwrap().expiring, b"");
}

#[test]
fn the_same_calls_leave_the_same_bytes_on_both_disks() {
    let dir = tempfile::tempdir().unwrap();
    let written = pairs(9, 700, 300);
    let mut log = Log::create(RealDisk::at(dir.path()).unwrap(), small(), ID).unwrap();
    for (lasting, expiring) in &written {
        log.append(lasting, expiring).unwrap();
    }
    let (disk, _log) = filled(small(), &written);
    for path in disk.files() {
        assert_eq!(Some(std::fs::read(dir.path().join(&path)).unwrap()), disk.contents(&path), "{path}");
    }
}

#[test]
fn readers_read_while_the_log_is_written_and_compacted() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = Log::create(RealDisk::at(dir.path()).unwrap(), small(), ID).unwrap();
    let reader = log.reader();
    std::thread::scope(|scope| {
        let reading = scope.spawn(move || {
            let mut seen = 0;
            while seen < 300 {
                let frames: Vec<Frame> = reader.frames(FrameNumber(1)).unwrap().map(|it| it.unwrap()).collect();
                assert!(frames.len() >= seen && frames.iter().zip(1..).all(|(it, number)| it.number.0 == number));
                assert!(frames.iter().all(|it| it.lasting == [it.number.0 as u8; 400]));
                seen = frames.len();
            }
        });
        for number in 1..=300_u64 {
            log.append(&[number as u8; 400], &[1; 200]).unwrap();
            if number % 10 == 0 {
                let first = log.reader().segments()[number as usize / 20].first;
                log.compact(first, |_, _, _| None).unwrap();
            }
        }
        reading.join().unwrap();
    });
}

#[test]
fn other_threads_make_segments_and_compact_while_the_log_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let disk = RealDisk::at(dir.path()).unwrap();
    let mut log = Log::create(disk.clone(), small(), ID).unwrap();
    let (spare, compactor, reader) = (log.spare(), log.compactor(), log.reader());
    std::thread::scope(|scope| {
        let making = scope.spawn(move || {
            let mut made = 0;
            while reader.last() < FrameNumber(300) {
                made += u64::from(spare.make().unwrap());
                std::thread::yield_now();
            }
            made
        });
        let reader = log.reader();
        scope.spawn(move || {
            let mut compacted = FrameNumber::ORIGIN;
            while reader.last() < FrameNumber(300) {
                if let Some(segment) = reader.segments().into_iter().find(|it| it.sealed && it.first > compacted) {
                    compactor.compact(segment.first, |_, _, _| None).unwrap();
                    compacted = segment.first;
                }
            }
        });
        for number in 1..=300_u64 {
            log.append(&[number as u8; 400], &[1; 200]).unwrap();
        }
        assert!(making.join().unwrap() > 0);
    });
    log.close().unwrap();
    let (log, opened) = Log::open(disk, small()).unwrap();
    assert_eq!((opened.frames, opened.cut), (300, None));
    assert!(all(&log).iter().zip(1..).all(|(it, number)| it.0 == [number as u8; 400]));
}
