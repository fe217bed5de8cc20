//! Damage: what was acknowledged is refused by name, what was not is cut, and nothing is ever read as other bytes.

use super::*;
use crate::embedded::disk::SimDisk;

const FIRST_SEGMENT: &str = "log/00000000000000000001.seg";

fn tiny() -> Options {
    Options { segment_bytes: 2048, ..small() }
}

/// Frames of different shapes in three segments, closed.
fn closed() -> (SimDisk, Vec<Pair>) {
    let written: Vec<Pair> = [(10, 5), (600, 0), (0, 300), (440, 1), (30, 700)]
        .map(|(l, e)| (vec![l as u8; l], vec![e as u8 ^ 0x5a; e]))
        .into();
    let (disk, log) = filled(tiny(), &written);
    assert!(log.reader().segments().len() >= 3);
    log.close().unwrap();
    (disk, written)
}

/// The bits of a segment that carry meaning: its header, and each frame without the zeros at its end.
fn meaning(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::from([std::ops::Range { start: 0, end: 512 }]);
    let mut at = 512;
    while bytes.get(at..at + 4) == Some(b"HxFr") {
        let len = |from: usize| u32::from_le_bytes(bytes[at + from..at + from + 4].try_into().unwrap()) as usize;
        let end = at + 72 + len(48) + len(56);
        found.push(at..end);
        at = end.next_multiple_of(512);
    }
    found
}

#[test]
fn every_flipped_bit_is_refused_by_name_or_means_nothing() {
    let (disk, written) = closed();
    let before: Vec<(String, Vec<u8>)> =
        disk.files().into_iter().map(|it| (it.clone(), disk.contents(&it).unwrap())).collect();
    let mut refused = 0;
    for (path, bytes) in &before {
        let meaning = if path.ends_with(".seg") { meaning(bytes) } else { vec![] };
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let means = meaning.iter().any(|it| it.contains(&(bit / 8)));
            for check in [Check::All, Check::Tail] {
                disk.put(path, &flipped);
                let read = read_all(&disk, check);
                // A start may have mended what means nothing, and written the witness.
                before.iter().for_each(|(path, bytes)| disk.put(path, bytes));
                match read {
                    Ok(found) => assert!(!means && found == written, "{path}, bit {bit}, {check:?}"),
                    Err(LogError::Corrupt(corrupt)) => {
                        refused += 1;
                        assert!(means, "{path}, bit {bit}, {check:?}: {corrupt}");
                        assert!(path.ends_with(&corrupt.segment), "{path}, bit {bit}: {corrupt}");
                    }
                    Err(other) => panic!("{path}, bit {bit}: {other}"),
                }
            }
        }
    }
    assert!(refused > 10_000);
}

fn read_all(disk: &SimDisk, check: Check) -> Result<Vec<Pair>, LogError> {
    let (log, _) = Log::open(disk.clone(), Options { check, ..tiny() })?;
    log.frames(FrameNumber(1))?.map(|it| it.map(|it| (it.lasting, it.expiring))).collect()
}

/// Four frames that were acknowledged, and the same with a fifth; the bytes of the one segment, and where the fifth
/// is.
fn with_a_last_frame() -> (SimDisk, Vec<Pair>, Vec<u8>, std::ops::Range<usize>) {
    let written = pairs(5, 700, 900);
    let options = Options { segment_bytes: 16_384, ..small() };
    let (disk, mut log) = filled(options, &written[..4]);
    let start = log.end as usize;
    let witness = disk.contents("log/witness").unwrap();
    log.append(&written[4].0, &written[4].1).unwrap();
    let bytes = disk.contents(FIRST_SEGMENT).unwrap();
    let end = log.end as usize;
    drop(log);
    disk.put("log/witness", &witness);
    (disk, written, bytes, start..end)
}

#[test]
fn a_tail_cut_at_any_byte_opens_and_loses_nothing_acknowledged() {
    let (disk, written, bytes, last) = with_a_last_frame();
    for cut in last.clone() {
        let whole = cut >= last.start + 72 + 1600;
        let mut zeroed = bytes.clone();
        zeroed[cut..].fill(0);
        for image in [&bytes[..cut], &zeroed] {
            disk.put(FIRST_SEGMENT, image);
            let (log, opened) = Log::open(disk.clone(), small()).unwrap();
            assert_eq!(opened.frames, if whole { 5 } else { 4 }, "cut at {cut}");
            assert_eq!(opened.cut.is_some(), !whole && cut > last.start, "cut at {cut}");
            assert_eq!(all(&log), written[..opened.frames as usize]);
            drop(log);
            disk.put(
                "log/witness",
                &Mark { id: ID, frame: FrameNumber::ORIGIN, link: ID.origin() }.encode(format::MarkOf::Witness),
            );
        }
    }
}

#[test]
fn any_sectors_of_the_last_frame_may_be_missing() {
    let (disk, written, bytes, last) = with_a_last_frame();
    let sectors = last.len() / 512;
    let witness = disk.contents("log/witness").unwrap();
    for kept in 0..1_u32 << sectors {
        let mut image = bytes.clone();
        for sector in (0..sectors).filter(|it| kept & 1 << it == 0) {
            image[last.start + sector * 512..][..512].fill(0);
        }
        disk.put(FIRST_SEGMENT, &image);
        disk.put("log/witness", &witness);
        let (mut log, opened) = Log::open(disk.clone(), small()).unwrap();
        assert_eq!(opened.frames, if kept + 1 == 1 << sectors { 5 } else { 4 });
        log.append(b"next", b"").unwrap();
        drop(log);
        let (log, opened) = Log::open(disk.clone(), small()).unwrap();
        assert_eq!((opened.cut, &all(&log)[..4]), (None, &written[..4]), "no remains behind the next frame");
    }
}

#[test]
fn a_bad_frame_that_the_witness_has_seen_is_refused() {
    let (disk, log) = filled(small(), &pairs(2, 100, 100));
    drop(log);
    let mut bytes = disk.contents(FIRST_SEGMENT).unwrap();
    bytes[1024 + 80] ^= 1;
    disk.put(FIRST_SEGMENT, &bytes);
    let refused = Log::open(disk, small()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the log is corrupt: 00000000000000000001.seg, frame 2: what lasts does not match its checksum \
         (the witness has seen frame 2)"
    );
}

#[test]
fn a_bad_frame_that_is_followed_is_refused_even_without_a_witness() {
    for (at, what) in [(0, What::Header), (9, What::Header), (80, What::Lasting), (180, What::Expiring)] {
        let (disk, log) = filled(small(), &pairs(3, 100, 100));
        drop(log);
        disk.remove("log/witness").unwrap();
        let mut bytes = disk.contents(FIRST_SEGMENT).unwrap();
        bytes[1024 + at] ^= 1;
        disk.put(FIRST_SEGMENT, &bytes);
        let refused = Log::open(disk.clone(), small()).unwrap_err();
        let corrupt = Corrupt {
            segment: "00000000000000000001.seg".into(),
            frame: FrameNumber(2),
            what,
            because: Because::Followed(3),
        };
        assert_eq!(refused, LogError::Corrupt(corrupt));
        assert_eq!(disk.contents(FIRST_SEGMENT).unwrap(), bytes, "what is refused is not touched");
    }
}

#[test]
fn a_witness_that_is_missing_or_unreadable_is_a_warning() {
    for (warning, spoil) in [
        (Warning::WitnessMissing, (|disk| disk.remove("log/witness").unwrap()) as fn(&SimDisk)),
        (Warning::WitnessUnreadable, |disk| disk.put("log/witness", &[7; 1024])),
        (Warning::WitnessUnreadable, |disk| disk.put("log/witness", &[])),
    ] {
        let (disk, log) = filled(small(), &pairs(3, 10, 10));
        drop(log);
        spoil(&disk);
        let (log, opened) = Log::open(disk.clone(), small()).unwrap();
        assert_eq!((opened.frames, opened.warnings), (3, vec![warning]));
        log.close().unwrap();
        assert_eq!(Log::open(disk, small()).unwrap().1.warnings, []);
    }
}

#[test]
fn a_missing_segment_is_refused() {
    for (missing, because) in [(1, Because::Followed(3)), (3, Because::Followed(5))] {
        let (disk, log) = filled(small(), &pairs(8, 1000, 0));
        drop(log);
        disk.remove(&segment::path(&segment::name(FrameNumber(missing)))).unwrap();
        let LogError::Corrupt(corrupt) = Log::open(disk, small()).unwrap_err() else { panic!("not refused") };
        assert_eq!((corrupt.frame.0, corrupt.because), (missing, because));
    }
}

#[test]
fn a_lost_last_segment_is_refused_by_what_the_witness_has_seen() {
    let (disk, log) = filled(small(), &pairs(8, 1000, 0));
    drop(log);
    disk.remove(&segment::path(&segment::name(FrameNumber(7)))).unwrap();
    let LogError::Corrupt(corrupt) = Log::open(disk, small()).unwrap_err() else { panic!("not refused") };
    assert_eq!((corrupt.frame.0, corrupt.because), (7, Because::Witnessed(8)));
}

#[test]
fn a_segment_of_another_log_is_refused() {
    let (disk, log) = filled(small(), &pairs(8, 1000, 0));
    drop(log);
    let other = SimDisk::new(2);
    let mut log = Log::create(other.clone(), small(), LogId([9; 16])).unwrap();
    pairs(8, 1000, 0).iter().for_each(|it| drop(log.append(&it.0, &it.1)));
    let path = segment::path(&segment::name(FrameNumber(3)));
    disk.put(&path, &other.contents(&path).unwrap());
    let LogError::Corrupt(corrupt) = Log::open(disk, small()).unwrap_err() else { panic!("not refused") };
    assert_eq!((corrupt.frame.0, corrupt.what), (3, What::SegmentForeign));
}

#[test]
fn a_frame_of_a_newer_format_is_refused_and_not_cut() {
    let (disk, log) = filled(small(), &pairs(1, 10, 10));
    let mut header =
        Header { number: log.next, previous: log.link, lasting: Section::of(b""), expiring: Section::of(b"") }
            .encode(&ID);
    let end = log.end as usize;
    drop(log);
    header[4] = 2;
    let sum = crc32fast::hash(&[&ID.0[..], &header[..68]].concat());
    header[68..].copy_from_slice(&sum.to_le_bytes());
    let mut bytes = disk.contents(FIRST_SEGMENT).unwrap();
    bytes[end..end + 72].copy_from_slice(&header);
    disk.put(FIRST_SEGMENT, &bytes);
    let LogError::Corrupt(corrupt) = Log::open(disk, small()).unwrap_err() else { panic!("not refused") };
    assert_eq!((corrupt.frame.0, corrupt.what), (2, What::Version(2)));
}

#[test]
fn an_event_that_carries_frames_is_not_taken_for_them() {
    // Later frames of another log, and earlier ones of this log, where sectors begin inside a frame that is torn.
    let options = Options { segment_bytes: 16_384, ..small() };
    let (own, log) = filled(options.clone(), &pairs(3, 100, 100));
    drop(log);
    let other = SimDisk::new(2);
    let mut log = Log::create(other.clone(), options.clone(), LogId([9; 16])).unwrap();
    pairs(9, 100, 100).iter().for_each(|it| drop(log.append(&it.0, &it.1)));
    for source in [&own, &other] {
        let (disk, mut log) = filled(options.clone(), &pairs(3, 100, 100));
        let start = log.end as usize;
        let mut lasting = vec![0; 512 - 72];
        lasting.extend_from_slice(&source.contents(FIRST_SEGMENT).unwrap()[512..6000]);
        let witness = disk.contents("log/witness").unwrap();
        log.append(&lasting, b"").unwrap();
        drop(log);
        let mut bytes = disk.contents(FIRST_SEGMENT).unwrap();
        bytes[start..start + 512].fill(0);
        disk.put(FIRST_SEGMENT, &bytes);
        disk.put("log/witness", &witness);
        let (log, opened) = Log::open(disk, options.clone()).unwrap();
        assert_eq!((opened.frames, all(&log)), (3, pairs(3, 100, 100)));
    }
}

#[test]
fn a_whole_frame_of_another_history_is_refused_by_the_chain() {
    // The same id, as after a copy of the store went its own way: only the chain tells the frames apart.
    let (disk, log) = filled(small(), &pairs(2, 100, 100));
    let (other, _log) = filled(small(), &[(vec![8; 100], vec![]), (vec![9; 100], vec![])]);
    let mut bytes = disk.contents(FIRST_SEGMENT).unwrap();
    bytes[1024..1536].copy_from_slice(&other.contents(FIRST_SEGMENT).unwrap()[1024..1536]);
    disk.put(FIRST_SEGMENT, &bytes);
    let chain = |error: LogError| matches!(error, LogError::Corrupt(it) if it.frame.0 == 2 && it.what == What::Chain);
    let read: Result<Vec<Frame>, LogError> = log.frames(FrameNumber(1)).unwrap().collect();
    assert!(chain(read.unwrap_err()));
    drop(log);
    assert!(chain(Log::open(disk, small()).unwrap_err()));
}
