//! A log whose files were damaged in any way: it opens with the frames that its bytes say, or is refused by name.
//!
//! What its bytes say is read here by a second reader, written from the table in `log::format` and sharing nothing with the
//! first. Beyond that: a frame was written by somebody unless its checksums were forged; a log that opens has all that its
//! witness has seen, takes the next frame, and is whole afterwards; one that is refused is not touched.

mod oracle;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use hapax_store::embedded::disk::{Disk as _, SimDisk};
use hapax_store::embedded::log::{Check, FrameNumber, Log, LogError, LogId, Met, Options, survey};
use sha2::{Digest as _, Sha256};

use super::damage::{Files, number, put_checksum, suffer};
use crate::allocations::at_most;

type Pair = (Vec<u8>, Vec<u8>);

const ID: LogId = LogId(*b"a log for fuzz..");
/// A window reads half a mebibyte ahead, whatever a file says of itself.
const AT_ONCE_BYTES_MAX: usize = 1 << 20;

/// Segments so small that two frames fill one.
fn options(check: Check) -> Options {
    Options { segment_bytes: 2048, reserve_bytes: 512, low_water_bytes: 0, check }
}

/// A log, the same log some frames ago, one of the same id that went its own way, and a stranger's.
struct World {
    disk: SimDisk,
    files: Files,
    others: Vec<Files>,
    /// All that was ever written, by somebody.
    written: Vec<Vec<Pair>>,
}

fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| {
        let pairs = |salt: u8| -> Vec<Pair> {
            [(10, 5), (600, 0), (0, 300), (440, 1), (30, 700), (1, 0)]
                .map(|(l, e)| (vec![l as u8 ^ salt; l], vec![e as u8 ^ 0x5a ^ salt; e]))
                .into()
        };
        let make = |id: LogId, pairs: &[Pair]| {
            let disk = SimDisk::new(1);
            let mut log = Log::create(disk.clone(), options(Check::All), id).expect("an empty disk");
            for (lasting, expiring) in pairs {
                log.append(lasting, expiring).expect("a good disk");
            }
            log.close().expect("a good disk");
            disk
        };
        let disk = make(ID, &pairs(0));
        let others = [(ID, &pairs(0)[..5]), (ID, &pairs(1)), (LogId([9; 16]), &pairs(2))];
        let others = others.map(|(id, pairs)| files(&make(id, pairs))).into();
        World { files: files(&disk), disk, others, written: vec![pairs(0), pairs(1), pairs(2)] }
    })
}

fn files(disk: &SimDisk) -> Files {
    let names = disk.files().into_iter().filter(|it| it.starts_with("log/") && !it.ends_with("reserve"));
    names.map(|it| (it.clone(), disk.contents(&it))).collect()
}

/// Checks it.
pub fn check(input: &[u8]) {
    let world = world();
    let mut files = world.files.clone();
    let sealed = suffer(&mut files, &world.others, input, seal);
    let damaged = || {
        let disk = world.disk.fork(1);
        for (name, bytes) in &files {
            match bytes {
                Some(bytes) => disk.put(name, bytes),
                None => disk.remove(name).expect("it was there"),
            }
        }
        disk
    };
    let expected = oracle::read(&files);
    let was_written =
        |number: FrameNumber, frame: &Pair| world.written.iter().any(|it| it.get(number.0 as usize - 1) == Some(frame));

    let met = |met: Met<'_>| {
        if let Met::Frame(frame) = met {
            let pair = (frame.lasting.clone(), frame.expiring.clone());
            assert!(sealed || was_written(frame.number, &pair), "a survey met frame {} of nobody", frame.number);
        }
    };
    survey(&damaged(), met, |_| {}).expect("a disk that reads");

    let disk = damaged();
    match at_most(AT_ONCE_BYTES_MAX, || Log::open(disk.clone(), options(Check::All))) {
        Ok((mut log, opened)) => {
            let found = all(&log).expect("every frame was checked");
            assert_eq!(found, expected.frames, "what is read is what the bytes say");
            assert_eq!(opened.frames, found.len() as u64);
            assert!(expected.witnessed <= opened.frames, "what the witness has seen is there");
            for (number, frame) in (1..).zip(&found) {
                assert!(sealed || was_written(FrameNumber(number), frame), "frame {number} is nobody's");
            }
            log.append(b"after", b"it").expect("an open log takes a frame");
            drop(log);
            goes_on(&disk, found);
        }
        Err(LogError::Corrupt(corrupt)) => {
            assert!(!corrupt.to_string().is_empty());
            for (name, bytes) in files.iter().filter(|(name, _)| name.ends_with(".seg")) {
                assert_eq!(&disk.contents(name), bytes, "what is refused is not touched");
            }
        }
        Err(
            error @ (LogError::Poisoned(_) | LogError::Low | LogError::Locked | LogError::Missing | LogError::Io(_)),
        ) => {
            panic!("damage is named, and not {error}");
        }
    }

    // Only the tail is checked at the start, so the rest is when it is read.
    if let Ok((log, _)) = Log::open(damaged(), options(Check::Tail))
        && let Ok(found) = all(&log)
    {
        assert_eq!(found, expected.frames, "what is read later is what the bytes say");
    }
}

/// The log was opened and has taken one more frame; now it is as good as any.
fn goes_on(disk: &SimDisk, mut expected: Vec<Pair>) {
    expected.push((b"after".into(), b"it".into()));
    let (log, opened) = Log::open(disk.clone(), options(Check::Tail)).expect("it was whole");
    assert_eq!((opened.frames, opened.cut), (expected.len() as u64, None), "nothing is left to be cut");
    assert!(opened.warnings.is_empty(), "{:?}", opened.warnings);
    assert_eq!(all(&log).as_ref(), Ok(&expected), "no remains behind the next frame");
    // Beside them a survey names what means nothing: whatever is behind the last frame of a sealed segment.
    let mut missed: BTreeMap<u64, Pair> = (1..).zip(expected).collect();
    let meet = |it: Met<'_>| {
        if let Met::Frame(frame) = it
            && missed.get(&frame.number.0).is_some_and(|it| it.0 == frame.lasting && it.1 == frame.expiring)
        {
            missed.remove(&frame.number.0);
        }
    };
    survey(disk, meet, |_| {}).expect("a disk that reads");
    assert!(missed.is_empty(), "a survey meets every frame, and not {missed:?}");
}

fn all(log: &Log<SimDisk>) -> Result<Vec<Pair>, LogError> {
    log.frames(FrameNumber(1))?.map(|it| it.map(|it| (it.lasting, it.expiring))).collect()
}

/// Makes the checksums right of the header, slot or frame in this sector: the sections', if the value's first bit says so,
/// the link to the frame before by its second, and the header's in any case.
fn seal(name: &str, bytes: &mut [u8], at: usize, value: u8) {
    let at = at / 512 * 512;
    let before = bytes[..at.min(bytes.len())].to_vec();
    let Some(here) = bytes.get_mut(at..) else { return };
    if name.ends_with("witness") || at == 0 {
        if here.len() >= 512 {
            let summed = here[..508].to_vec();
            put_checksum(here, 508, &[&summed]);
        }
        return;
    }
    if here.len() < 72 {
        return;
    }
    let (lasting, expiring) = (number::<4>(here, 48) as usize, number::<4>(here, 56) as usize);
    if value & 1 != 0 {
        let sections = here[72..].to_vec();
        let lasting = lasting.min(sections.len());
        let expiring = expiring.min(sections.len() - lasting);
        put_checksum(here, 52, &[&sections[..lasting]]);
        put_checksum(here, 60, &[&sections[lasting..][..expiring]]);
    }
    if value & 2 != 0
        && let Some(frame) = before.chunks(512).rev().find(|it| it.starts_with(b"HxFr") && it.len() >= 56)
    {
        here[16..48].copy_from_slice(&Sha256::digest(&frame[..56]));
    }
    let summed = here[..68].to_vec();
    put_checksum(here, 68, &[&ID.0, &summed]);
}
