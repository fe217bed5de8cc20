//! The tail of the log cut at every offset, and sectors lost from its last commit.
//!
//! What the log holds against it is the witness: what it has seen is damage when it is missing, and refused by name; what
//! it has not seen, and nothing follows, is the torn tail of a commit that was never acknowledged, and cut by itself.

use hapax_store::seam::StoreError;

use crate::all;
use crate::answers::{Answers, Files, Place, difference, read, write};
use crate::flipped::stop;
use crate::ledger::{EVENTS, event};
use crate::process::folder;

const SECTOR: usize = 512;

/// In CI every so many-th offset, besides those beside a boundary of sectors.
const STRIDE: usize = 5;

fn last_segment(files: &Files) -> String {
    files.keys().rfind(|it| it.ends_with(".seg")).expect("a segment").clone()
}

/// Where the zeros begin that go to the end of the file.
fn used(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|it| *it != 0).map_or(0, |at| at + 1)
}

/// Where the last commit begins.
fn last_frame(bytes: &[u8]) -> usize {
    (0..used(bytes)).step_by(SECTOR).rfind(|at| bytes[*at..].starts_with(b"HxFr")).expect("a frame")
}

/// Where the last commit ends, before the zeros that fill its sector. It may end with zeros of its own.
fn end_of_last_frame(bytes: &[u8]) -> usize {
    let begin = last_frame(bytes);
    let length = |at: usize| u32::from_le_bytes(bytes[begin + at..][..4].try_into().expect("four bytes")) as usize;
    begin + 72 + length(48) + length(56)
}

fn offsets(from: usize, to: usize) -> impl Iterator<Item = usize> {
    let near = |at: usize| at % SECTOR < 2 || at % SECTOR == SECTOR - 1;
    (from..to).filter(move |at| all() || near(*at) || at.is_multiple_of(STRIDE))
}

/// The end of a file is gone, or reads as zeros.
fn cut(files: &Files, name: &str, at: usize, truncate: bool) -> Files {
    let mut files = files.clone();
    let bytes = files.get_mut(name).expect("a file");
    if truncate {
        bytes.truncate(at)
    } else {
        bytes[at..].fill(0)
    }
    files
}

#[test]
fn what_the_witness_has_seen_is_never_cut_off_silently() {
    let store = folder("faults-cut-seen").join("store");
    stop(write(&store));
    let files = read(&store);
    let name = last_segment(&files);
    let place = Place::new();
    place.put(&files);
    let Answers::All(before) = place.ask() else { panic!("the store is whole") };
    let (zeros, end) = (used(&files[&name]), end_of_last_frame(&files[&name]));
    let (mut refused, mut harmless) = (0, 0);
    for at in offsets(0, files[&name].len()) {
        for truncate in [true, false] {
            place.put(&cut(&files, &name, at, truncate));
            // Zeros in place of zeros are no damage.
            let end = if truncate { end } else { zeros };
            match place.ask() {
                Answers::Refused(StoreError::Corrupt(why)) if at < end => {
                    assert!(why.contains(&name["log/".len()..]), "by name: {why}");
                    refused += 1;
                }
                // Behind the last byte there are zeros, which may be there or not.
                Answers::All(all) if at >= end => {
                    assert!(all == before, "{at}: {}", difference(&before, &all));
                    harmless += 1;
                }
                other @ (Answers::All(_) | Answers::Refused(_) | Answers::Unreadable(_)) => {
                    panic!("cut at {at} of {end}: {other:?}")
                }
            }
        }
    }
    println!(
        "figure: {refused} cuts into what was acknowledged refused by name, {harmless} behind it harmless, 0 lost silently"
    );
}

/// A store whose last commit the witness has not seen, the state before it, and the one with it.
fn unseen(test: &str) -> (Files, String, String) {
    let store = folder(test).join("store");
    let program = write(&store);
    let earlier = read(&store);
    let long = event(7).replace("xxx", "longer");
    assert_eq!(program.ask("POST", EVENTS, &long).expect("an answer").status, 201);
    program.kill();
    let mut files = read(&store);
    files.insert("log/witness".to_owned(), earlier["log/witness"].clone());
    let place = Place::new();
    let ask = |files: &Files| {
        place.put(files);
        let Answers::All(all) = place.ask() else { panic!("the store is whole") };
        all
    };
    let (before, after) = (ask(&earlier), ask(&files));
    assert_ne!(before, after);
    (files, before, after)
}

#[test]
fn a_torn_tail_is_cut_by_itself_wherever_it_was_torn() {
    let (files, before, after) = unseen("faults-cut-unseen");
    let name = last_segment(&files);
    let place = Place::new();
    let (begin, zeros, end) = (last_frame(&files[&name]), used(&files[&name]), end_of_last_frame(&files[&name]));
    let mut cuts = 0;
    for at in offsets(begin, files[&name].len()) {
        for truncate in [true, false] {
            let end = if truncate { end } else { zeros };
            place.put(&cut(&files, &name, at, truncate));
            let expected = if at < end { &before } else { &after };
            let Answers::All(all) = place.ask() else { panic!("cut at {at}: {:?}", place.ask()) };
            assert!(all == *expected, "cut at {at} of {begin} to {end}: {}", difference(expected, &all));
            cuts += 1;
        }
    }
    println!(
        "figure: {cuts} cuts of a commit that was not acknowledged, each opened by itself, 0 acknowledged events lost"
    );
}

#[test]
fn any_sectors_of_the_last_commit_may_be_lost() {
    let (files, before, after) = unseen("faults-lost-sectors");
    let name = last_segment(&files);
    let place = Place::new();
    let (begin, end) = (last_frame(&files[&name]), end_of_last_frame(&files[&name]).next_multiple_of(SECTOR));
    let sectors = ((end - begin) / SECTOR) as u32;
    assert!((3..=7).contains(&sectors), "a commit of {sectors} sectors");
    // Each is there, reads as zeros, or as something else.
    let combinations = 3_usize.pow(sectors);
    for combination in 0..combinations {
        let mut torn = files.clone();
        let bytes = torn.get_mut(&name).expect("a file");
        for sector in 0..sectors {
            let place = begin + sector as usize * SECTOR;
            match combination / 3_usize.pow(sector) % 3 {
                1 => bytes[place..place + SECTOR].fill(0),
                2 => bytes[place..place + SECTOR].fill(0xa5),
                _ => {}
            }
        }
        place.put(&torn);
        let expected = if combination == 0 { &after } else { &before };
        match place.ask() {
            Answers::All(all) => assert!(all == *expected, "{combination}: {}", difference(expected, &all)),
            other @ (Answers::Refused(_) | Answers::Unreadable(_)) => panic!("{combination}: {other:?}"),
        }
    }
    println!(
        "figure: {combinations} combinations of {sectors} sectors kept, lost or overwritten, each opened by itself"
    );
}
