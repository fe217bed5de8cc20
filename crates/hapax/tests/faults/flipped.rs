//! Every byte of a small store turned over, one at a time: refused by name, or all answers as before.
//!
//! With `HAPAX_FAULTS=all` every byte of every file, with each of two patterns; without it every byte of the witness and
//! every so many-th of the others. A sample goes to the real program as well.

use std::collections::BTreeMap;

use hapax_store::seam::StoreError;

use crate::all;
use crate::answers::{Answers, Files, Place, SMALLER, difference, read, write};
use crate::process::folder;
use crate::program::{Program, serve};

/// In CI every so many-th byte: a prime, so that it meets every place of a record sooner or later.
const STRIDE: usize = 7;

/// One bit, and all of them.
const PATTERNS: [u8; 2] = [0x01, 0xff];

/// Opened side by side.
const THREADS: usize = 4;

/// What a byte that turned over comes to.
enum Found {
    /// The store does not open.
    Refused,
    /// It opens, and what is damaged cannot be read.
    Unreadable,
    /// Everything is as before.
    Harmless,
}

/// How it went, for the files of one kind.
#[derive(Default)]
struct Tally {
    tried: usize,
    of: usize,
    refused: usize,
    unreadable: usize,
    harmless: usize,
}

impl Tally {
    fn note(&mut self, found: Found) {
        self.tried += 1;
        match found {
            Found::Refused => self.refused += 1,
            Found::Unreadable => self.unreadable += 1,
            Found::Harmless => self.harmless += 1,
        }
    }
}

/// The kind of a file: what it is to the store.
fn kind(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or(name, |(_, end)| end) {
        "seg" => "segments",
        "log/witness" => "witness",
        "log/reserve" => "reserve",
        "run" => "index runs",
        "snap" => "snapshot",
        _ => "others",
    }
}

#[test]
fn a_byte_that_turned_over_is_refused_by_name_or_changes_nothing() {
    let store = folder("faults-flipped").join("store");
    stop(write(&store));
    let files = read(&store);
    let segments = files.keys().filter(|it| kind(it) == "segments").count();
    let runs = files.keys().filter(|it| kind(it) == "index runs").count();
    // Otherwise the segments in the middle, which are not read at a start, or the index would be left out.
    assert!(segments >= 3 && runs >= 2 && files.keys().any(|it| kind(it) == "snapshot"), "{:?}", files.keys());
    let place = Place::new();
    place.put(&files);
    let Answers::All(before) = place.ask() else { panic!("the store is whole") };
    assert!(before.contains("fingerprint") && before.contains("PayloadConflict"), "a request and an attempt are in it");

    let flips = flips(&files);
    let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
    for (name, bytes) in &files {
        tallies.entry(kind(name)).or_default().of += bytes.len() * PATTERNS.len();
    }
    let (files, before, flips) = (&files, &before, &flips);
    std::thread::scope(|scope| {
        let share = |which: usize| {
            move || {
                let place = Place::new();
                let mine = flips.iter().skip(which).step_by(THREADS);
                mine.map(|flip| (kind(flip.0), turn_over(&place, files, *flip, before))).collect::<Vec<_>>()
            }
        };
        let shares: Vec<_> = (0..THREADS).map(|which| scope.spawn(share(which))).collect();
        for share in shares {
            let found = share.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            found.into_iter().for_each(|(kind, found)| tallies.entry(kind).or_default().note(found));
        }
    });
    let (mut tried, mut of) = (0, 0);
    for (kind, it) in &tallies {
        let Tally { tried: here, of: whole, refused, unreadable, harmless } = it;
        println!("{kind}: {here} of {whole} flips, {refused} refused, {unreadable} unreadable, {harmless} harmless");
        (tried, of) = (tried + here, of + whole);
    }
    assert!(tallies["segments"].refused > 0 && tallies["segments"].unreadable > 0, "damage is found at both places");
    println!("figure: {tried} of {of} flips in {} files, 0 served wrong, 0 taken for unknown", files.len());
    sample(files, &store);
}

/// What is turned over: a byte of a file, and with what.
type Flip<'a> = (&'a str, usize, u8);

fn flips(files: &Files) -> Vec<Flip<'_>> {
    let mut flips = Vec::new();
    for (name, bytes) in files {
        let stride = if all() || kind(name) == "witness" { 1 } else { STRIDE };
        for at in (0..bytes.len()).step_by(stride) {
            // Without the whole, the patterns take turns.
            let patterns = if all() { &PATTERNS[..] } else { &PATTERNS[at / stride % 2..][..1] };
            flips.extend(patterns.iter().map(|pattern| (name.as_str(), at, *pattern)));
        }
    }
    flips
}

fn turn_over(place: &Place, files: &Files, (name, at, pattern): Flip<'_>, before: &str) -> Found {
    let mut flipped = files.clone();
    flipped.get_mut(name).expect("a file")[at] ^= pattern;
    place.put(&flipped);
    let derived = name.starts_with("index/");
    match place.ask() {
        Answers::All(all) if all == *before => Found::Harmless,
        Answers::All(all) => panic!("byte {at} of {name} ^ {pattern:#x} is served: {}", difference(before, &all)),
        Answers::Refused(StoreError::Corrupt(why)) if !derived => {
            assert!(why.contains(".seg, frame "), "refused by name: {why}");
            Found::Refused
        }
        Answers::Unreadable(StoreError::Corrupt(why)) if !derived => {
            assert!(why.contains("frame "), "refused by name: {why}");
            Found::Unreadable
        }
        // What is derived never keeps a store from opening, and the next start builds it again.
        Answers::Unreadable(_) if derived => {
            assert_eq!(place.ask(), Answers::All(before.to_owned()), "byte {at} of {name}: a restart is enough");
            Found::Unreadable
        }
        other @ (Answers::Refused(_) | Answers::Unreadable(_)) => panic!("byte {at} of {name}: {other:?}"),
    }
}

/// One byte in the middle of each file, and the program itself.
fn sample(files: &Files, store: &std::path::Path) {
    let mut asked = 0;
    for (name, bytes) in files {
        for at in [0, bytes.len() / 5] {
            let mut flipped = bytes.clone();
            flipped[at] ^= 0xff;
            for (name, bytes) in files {
                std::fs::write(store.join(name), bytes).expect("as it was");
            }
            std::fs::write(store.join(name), &flipped).expect("a flip");
            let mut program = Program::start(serve(store, &SMALLER));
            asked += 1;
            if program.address.is_none() {
                assert!(kind(name) == "segments", "{name}: {}", program.heard());
                assert!(program.heard().contains("the log is corrupt: "), "{}", program.heard());
                continue;
            }
            for n in 0..6 {
                let reply = program.ask("GET", &format!("/v1/streams/s/events/e-{n}"), "").expect("an answer");
                let corrupt = reply.status == 503 && matches!(reply.code().as_str(), "STORE_CORRUPT" | "STORE_STOPPED");
                let whole = reply.status == 200 && reply.json()["id"] == format!("e-{n}");
                assert!(whole || corrupt, "byte {at} of {name}, e-{n}: {}", reply.text());
            }
        }
    }
    println!("figure: {asked} of them on the real program");
}

/// Stops in good order.
pub fn stop(mut program: Program) {
    program.signal("TERM");
    let ended = program.end(crate::program::PATIENCE);
    assert!(ended.is_some_and(|it| it.success()), "{}", program.heard());
}
