//! The promises of the log, on a simulated disk and on a real one.

mod crash;
mod damage;
mod faults;
mod golden;
mod real;
mod script;
mod spare;

use super::*;
use crate::embedded::disk::SimDisk;

pub(super) const ID: LogId = LogId(*b"a log for tests!");

pub(super) type Pair = (Vec<u8>, Vec<u8>);

/// Segments so small that a few frames fill one.
pub(super) fn small() -> Options {
    Options { segment_bytes: 4096, reserve_bytes: 512, low_water_bytes: 0, check: Check::All }
}

pub(super) fn all<D: Disk>(log: &Log<D>) -> Vec<Pair> {
    log.frames(FrameNumber(1)).unwrap().map(|it| it.unwrap()).map(|it| (it.lasting, it.expiring)).collect()
}

pub(super) fn filled(options: Options, pairs: &[Pair]) -> (SimDisk, Log<SimDisk>) {
    let disk = SimDisk::new(1);
    let mut log = Log::create(disk.clone(), options, ID).unwrap();
    for (lasting, expiring) in pairs {
        log.append(lasting, expiring).unwrap();
    }
    (disk, log)
}

/// `count` frames with this many bytes in each section.
pub(super) fn pairs(count: u8, lasting: usize, expiring: usize) -> Vec<Pair> {
    (1..=count).map(|it| (vec![it; lasting], vec![!it; expiring])).collect()
}

#[test]
fn what_was_appended_is_read_back_in_order_across_segments() {
    let pairs = pairs(20, 700, 300);
    let (disk, log) = filled(small(), &pairs);
    assert_eq!(all(&log), pairs);
    assert_eq!(log.last(), FrameNumber(20));
    assert!(log.reader().segments().len() > 4);
    for number in 1..=20 {
        let frame = log.read(FrameNumber(number)).unwrap().unwrap();
        assert_eq!((frame.lasting, frame.expiring), pairs[number as usize - 1]);
    }
    assert_eq!(log.read(FrameNumber(0)), Ok(None));
    assert_eq!(log.read(FrameNumber(21)), Ok(None));
    log.close().unwrap();
    for check in [Check::All, Check::Tail] {
        let (log, opened) = Log::open(disk.clone(), Options { check, ..small() }).unwrap();
        assert_eq!(opened, Opened { frames: 20, cut: None, warnings: vec![] });
        assert_eq!(log.read(FrameNumber(3)).unwrap().unwrap().lasting, pairs[2].0);
        assert_eq!(all(&log), pairs);
    }
}

#[test]
fn empty_sections_make_a_frame_like_any_other() {
    let pairs = vec![(vec![], vec![]), (vec![1], vec![]), (vec![], vec![2])];
    let (_, log) = filled(small(), &pairs);
    assert_eq!(all(&log), pairs);
}

#[test]
fn frames_begin_where_one_asks() {
    let pairs = pairs(9, 700, 300);
    let (_, log) = filled(small(), &pairs);
    for from in 0..=10 {
        let found: Vec<u64> = log.frames(FrameNumber(from)).unwrap().map(|it| it.unwrap().number.0).collect();
        assert_eq!(found, (from.max(1)..=9).collect::<Vec<_>>());
    }
}

#[test]
fn a_frame_larger_than_a_segment_gets_one_of_its_own() {
    let pairs = vec![(vec![1; 10], vec![]), (vec![2; 9000], vec![3; 9000]), (vec![4; 10], vec![])];
    let (disk, log) = filled(small(), &pairs);
    let firsts: Vec<u64> = log.reader().segments().iter().map(|it| it.first.0).collect();
    assert_eq!(firsts, [1, 2, 3]);
    drop(log);
    assert_eq!(all(&Log::open(disk, small()).unwrap().0), pairs);
}

#[test]
fn a_frame_too_large_for_an_empty_segment_takes_its_place() {
    let pairs = vec![(vec![1; 9000], vec![2; 100]), (vec![3; 10], vec![])];
    let (disk, log) = filled(small(), &pairs);
    let firsts: Vec<u64> = log.reader().segments().iter().map(|it| it.first.0).collect();
    assert_eq!(firsts, [1, 2]);
    log.compact(FrameNumber(1), |_, _, expiring| Some(expiring.to_vec())).unwrap();
    assert_eq!(all(&log), pairs);
    drop(log);
    assert_eq!(all(&Log::open(disk, small()).unwrap().0), pairs);
}

#[test]
fn a_segment_that_was_begun_and_is_empty_is_written_on() {
    let pairs = pairs(3, 1000, 200);
    let (disk, mut log) = filled(small(), &pairs[..2]);
    log.rotate(4096).unwrap();
    drop(log);
    let (mut log, opened) = Log::open(disk.clone(), small()).unwrap();
    assert_eq!((opened.frames, opened.cut), (2, None));
    log.append(&pairs[2].0, &pairs[2].1).unwrap();
    assert_eq!(all(&log), pairs);
    assert_eq!(log.reader().segments().len(), 2);
}

#[test]
fn two_can_not_have_one_log_open() {
    let (disk, log) = filled(small(), &[]);
    assert_eq!(Log::open(disk.clone(), small()).unwrap_err(), LogError::Locked);
    assert_eq!(Log::create(disk.clone(), small(), ID).unwrap_err(), LogError::Locked);
    drop(log);
    assert!(Log::open(disk, small()).is_ok());
}

#[test]
fn there_is_nothing_to_open_before_it_is_created_and_nothing_to_create_after() {
    let disk = SimDisk::new(1);
    assert_eq!(Log::open(disk.clone(), small()).unwrap_err(), LogError::Missing);
    drop(Log::create(disk.clone(), small(), ID).unwrap());
    assert!(
        matches!(Log::create(disk, small(), ID), Err(LogError::Io(it)) if it.kind == std::io::ErrorKind::AlreadyExists)
    );
}

#[test]
fn a_low_disk_refuses_before_it_writes_and_takes_again_when_there_is_room() {
    let options = Options { low_water_bytes: 10_000, reserve_bytes: 2048, ..small() };
    let (disk, mut log) = filled(options.clone(), &pairs(1, 100, 0));
    assert!(!log.space().unwrap().low);
    let used = (1 << 30) - log.space().unwrap().free;

    disk.set_capacity(used + 9_999);
    assert!(log.space().unwrap().low);
    let before = (disk.contents("log/00000000000000000001.seg"), disk.contents("log/witness"));
    assert_eq!(log.append(b"more", b""), Err(LogError::Low));
    assert_eq!((disk.contents("log/00000000000000000001.seg"), disk.contents("log/witness")), before);
    assert_eq!(disk.contents("log/reserve"), None, "the reserve is given back");

    // The room that the reserve gave back must not end the state.
    assert!(log.space().unwrap().low);
    assert_eq!(log.append(b"more", b""), Err(LogError::Low));

    disk.set_capacity(used + 10_000);
    assert_eq!(log.append(b"more", b""), Ok(FrameNumber(2)));
    assert_eq!(disk.contents("log/reserve").map(|it| it.len()), Some(2048));
    assert_eq!(all(&log).len(), 2);
}

#[test]
fn a_rotation_that_would_pass_the_low_water_mark_is_refused_before_it_begins() {
    let options = Options { low_water_bytes: 10_000, ..small() };
    let (disk, mut log) = filled(options, &pairs(3, 1000, 0));
    disk.set_capacity((1 << 30) - log.space().unwrap().free + 12_000);
    let calls = disk.calls();
    assert_eq!(log.append(&[0; 2000], b""), Err(LogError::Low));
    assert_eq!(disk.calls(), calls + 1, "only the reserve was given back");
}

#[test]
fn compaction_drops_what_expires_and_keeps_the_chain() {
    let written = pairs(20, 300, 900);
    let (disk, mut log) = filled(small(), &written);
    let reader = log.reader();
    let mut across = reader.frames(FrameNumber(1)).unwrap();
    across.next();
    for segment in reader.segments().into_iter().filter(|it| it.sealed) {
        let keep = |number: FrameNumber, lasting: &[u8], expiring: &[u8]| {
            assert_eq!((lasting, expiring), (&*written[number.0 as usize - 1].0, &*written[number.0 as usize - 1].1));
            number.0.is_multiple_of(3).then(|| expiring[..10].to_vec())
        };
        let compacted = log.compact(segment.first, keep).unwrap();
        assert!(compacted.after < compacted.before);
    }
    let sealed = reader.segments().last().unwrap().first.0;
    let expected: Vec<Pair> = (1..)
        .zip(&written)
        .map(|(number, (lasting, expiring))| match number {
            _ if number >= sealed => (lasting.clone(), expiring.clone()),
            _ if number % 3 == 0 => (lasting.clone(), expiring[..10].to_vec()),
            _ => (lasting.clone(), vec![]),
        })
        .collect();
    assert_eq!(all(&log), expected);
    assert_eq!(across.filter(|it| it.is_ok()).count(), 19, "who was reading reads on");
    log.append(b"after", b"").unwrap();
    drop(log);
    let (log, opened) = Log::open(disk, small()).unwrap();
    assert_eq!((opened.frames, opened.cut), (21, None));
    assert_eq!(all(&log)[..20], expected);
}

#[test]
#[should_panic(expected = "only a sealed segment is compacted")]
fn the_segment_that_is_being_written_is_not_compacted() {
    let (_, log) = filled(small(), &pairs(1, 1, 1));
    let _ = log.compact(FrameNumber(1), |_, _, _| None);
}

#[test]
fn compaction_without_room_is_refused_and_does_nothing() {
    let (disk, log) = filled(small(), &pairs(8, 1000, 10));
    disk.set_capacity((1 << 30) - log.space().unwrap().free + 1000);
    let files = disk.files();
    assert_eq!(log.compact(FrameNumber(1), |_, _, _| None), Err(LogError::Low));
    assert_eq!(disk.files(), files);
}

#[test]
fn the_witness_is_exact_after_a_close() {
    let (disk, log) = filled(small(), &pairs(5, 10, 10));
    log.close().unwrap();
    for seed in 0..50 {
        let disk = disk.fork(seed);
        disk.power_cut();
        let (_, seen) = Witness::open(&disk, DIR, ID).unwrap();
        assert_eq!(seen.unwrap().frame, FrameNumber(5), "seed {seed}");
    }
}

#[test]
fn the_table_finds_the_nearest_frame_before() {
    let mut table = segment::Table::new(FrameNumber(10));
    for number in 10..200 {
        table.note(FrameNumber(number), FIRST + (number - 10) * 16_384);
    }
    for number in 10..200 {
        let (near, at) = table.near(FrameNumber(number));
        assert_eq!(at, FIRST + (near.0 - 10) * 16_384);
        assert!(near.0 <= number && number - near.0 < 4, "{number}: {near}");
    }
}

#[test]
fn only_a_segments_name_is_one() {
    for (name, first) in [
        ("00000000000000000001.seg", Some(1)),
        ("18446744073709551615.seg", Some(u64::MAX)),
        ("1.seg", None),
        ("+0000000000000000001.seg", None),
        ("00000000000000000001.tmp", None),
        ("witness", None),
    ] {
        assert_eq!(segment::first_of(name), first.map(FrameNumber), "{name}");
    }
}
