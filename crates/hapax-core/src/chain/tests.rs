use super::*;
use crate::counter::Class;
use crate::entry::{Basis, Caller, EntryKind};
use crate::event::{IdSource, Identity};
use crate::receipt::hex;
use crate::time::Time;
use crate::words::{Mark, Marks, State, States};
use std::sync::Arc;

fn entry() -> Entry {
    let document: Arc<[u8]> = Arc::from(br#"{"id":"e-1"}"#.as_slice());
    Entry {
        offset: 1,
        hash: GENESIS,
        kind: EntryKind::Event,
        at: Time::from_nanos(1_767_261_600_000_000_000),
        contract: 1,
        id: Arc::from("e-1"),
        id_source: IdSource::Given,
        identity: Identity::of(None, "e-1"),
        lane: Arc::from("a"),
        epoch: 0,
        seq: Some(1),
        observed_at: None,
        digest: digest(&document),
        document,
        marks: Marks::NONE.with(Mark::HasGaps),
        states: States::NONE,
        gap: None,
        abandoned: Vec::new(),
        refusal: None,
        classes: vec![(Arc::from("usage"), Class::Folded)],
        basis: Basis::default(),
        ordinal: 1,
        previous_in_lane: 0,
        attempt: 1,
        caller: Caller::default(),
    }
}

fn hash(stream: &str, previous: &Digest, entry: &Entry) -> String {
    hex(&entry_hash(stream, previous, entry))
}

#[test]
fn the_hash_of_an_entry_never_changes() {
    let bare = Entry { seq: None, classes: Vec::new(), marks: Marks::NONE, ..entry() };
    assert_eq!(hash("s", &GENESIS, &entry()), "604c456344e6c6904658b53ce6f0ae31fdd545ea43ea40ae0895ce70ecdf5cc0");
    assert_eq!(hash("s", &GENESIS, &bare), "9b80aa943991f167a9b83a7fa84e93acc158cd51b82a9d69a90c58cbbd47e34a");
    let first = |entry: &Entry| hex(&first::entry_hash("s", &GENESIS, entry));
    assert_eq!(first(&entry()), "cda1253731324bc6e31a2048edd9e51e3a5af979b2cf595438f6a04c4484f2e6");
    assert_eq!(first(&bare), "632e77f91b995c957a0e599886b35e37e953b6459351ed3676ebfbd9c6f6837a");
}

#[test]
fn a_ledger_that_was_begun_with_the_first_kind_of_hash_goes_on_with_the_second() {
    let mut entries = ledger(6);
    let mut previous = GENESIS;
    for (index, entry) in entries.iter_mut().enumerate() {
        let hash = if index < 3 { first::entry_hash } else { entry_hash };
        entry.hash = hash("s", &previous, entry);
        previous = entry.hash;
    }
    let mut verifier = Verifier::new("s");
    assert_eq!(entries.iter().find_map(|entry| verifier.next(entry).err()), None);
    for edited in [1, 4] {
        let (mut verifier, mut entries) = (Verifier::new("s"), entries.clone());
        entries[edited].epoch = 7;
        let broken = entries.iter().find_map(|entry| verifier.next(entry).err());
        assert_eq!(broken, Some(Broken { offset: edited as u64 + 1, how: Breach::Edited }));
    }
}

/// What is changed, and how.
type Change = (&'static str, fn(&mut Entry));

#[test]
fn each_field_that_is_covered_changes_the_hash() {
    let plain = hash("s", &GENESIS, &entry());
    let mut seen = std::collections::BTreeSet::from([plain]);
    let mut check = |what: &str, hash: String| assert!(seen.insert(hash), "{what} is not covered");
    check("the stream", hash("t", &GENESIS, &entry()));
    check("the hash before", hash("s", &[1; 32], &entry()));
    let changes: [Change; 17] = [
        ("the document", |entry| entry.digest = digest(b"{}")),
        ("the kind", |entry| entry.kind = EntryKind::Close),
        ("the offset", |entry| entry.offset = 2),
        ("the contract", |entry| entry.contract = 2),
        ("the time of arrival", |entry| entry.at = Time::from_nanos(1)),
        ("the epoch", |entry| entry.epoch = 1),
        ("the number", |entry| entry.seq = Some(2)),
        ("a number of zero", |entry| entry.seq = Some(0)),
        ("that there is no number", |entry| entry.seq = None),
        ("the marks", |entry| entry.marks = Marks::NONE),
        ("the lane", |entry| entry.lane = Arc::from("b")),
        ("the id", |entry| entry.id = Arc::from("e-2")),
        ("where the lane ends and the id begins", |entry| {
            entry.lane = Arc::from("ae");
            entry.id = Arc::from("-1");
        }),
        ("a counter's class", |entry| entry.classes[0].1 = Class::Late),
        ("a counter's name", |entry| entry.classes[0].0 = Arc::from("other")),
        ("that nothing was counted", |entry| entry.classes.clear()),
        ("another counter", |entry| entry.classes.push((Arc::from("more"), Class::Folded))),
    ];
    for (what, change) in changes {
        let mut changed = entry();
        change(&mut changed);
        check(what, hash("s", &GENESIS, &changed));
    }
}

#[test]
fn what_is_only_remembered_is_not_hashed() {
    let changed = Entry {
        states: States::NONE.with(State::SequenceContinuous),
        ordinal: 9,
        attempt: 9,
        previous_in_lane: 9,
        observed_at: Some(Time::from_nanos(5)),
        caller: Caller { forced: true, ..Caller::default() },
        ..entry()
    };
    assert_eq!(hash("s", &GENESIS, &changed), hash("s", &GENESIS, &entry()));
}

/// A sound ledger of so many entries.
fn ledger(length: u64) -> Vec<Entry> {
    let mut previous = GENESIS;
    let one = |offset| {
        let mut entry = Entry { offset, id: Arc::from(format!("e-{offset}")), ..entry() };
        entry.hash = entry_hash("s", &previous, &entry);
        previous = entry.hash;
        entry
    };
    (1..=length).map(one).collect()
}

/// Walks a ledger up to the head of the sound one with four entries.
fn check(change: impl FnOnce(&mut Vec<Entry>), expect: &str) {
    let mut entries = ledger(4);
    let head = entries[3].hash;
    change(&mut entries);
    let mut verifier = Verifier::new("s");
    let broken = entries.iter().find_map(|entry| verifier.next(entry).err());
    let broken = broken.or_else(|| verifier.finish(4, &head).err());
    let said = broken.map(|broken| serde_json::to_string(&broken).expect("JSON"));
    assert_eq!(said.as_deref().unwrap_or("sound"), expect);
}

#[test]
fn a_broken_ledger_is_told_with_the_entry_and_how() {
    check(|_| {}, "sound");
    check(|entries| entries[1].document = Arc::from(b"{}".as_slice()), r#"{"offset":2,"how":"edited"}"#);
    check(|entries| entries[1].marks = Marks::NONE, r#"{"offset":2,"how":"edited"}"#);
    check(|entries| entries[2].hash = [0; 32], r#"{"offset":3,"how":"edited"}"#);
    check(|entries| drop(entries.remove(1)), r#"{"offset":2,"how":"missing"}"#);
    check(|entries| entries.swap(1, 2), r#"{"offset":2,"how":"missing"}"#);
    check(|entries| entries.insert(2, entries[1].clone()), r#"{"offset":3,"how":"out_of_place"}"#);
    check(|entries| drop(entries.pop()), r#"{"offset":4,"how":"truncated"}"#);
    check(Vec::clear, r#"{"offset":1,"how":"truncated"}"#);
    check(|entries| *entries = ledger(5), r#"{"offset":5,"how":"out_of_place"}"#);
    // A whole chain of somebody else's making is sound in itself, and does not end in the saved head.
    check(
        |entries| {
            let mut previous = GENESIS;
            for entry in entries {
                entry.epoch = 7;
                entry.hash = entry_hash("s", &previous, entry);
                previous = entry.hash;
            }
        },
        r#"{"offset":4,"how":"out_of_place"}"#,
    );
}

#[test]
fn an_empty_ledger_ends_where_it_begins() {
    assert_eq!(Verifier::new("s").finish(0, &GENESIS), Ok(()));
    assert_eq!(hex(&GENESIS), "0".repeat(64));
}

/// Everything that is wrong with a ledger, compared with the head of the sound one after three of its five entries.
fn inspect(change: impl FnOnce(&mut Vec<Entry>), expect: &[(u64, Breach)]) {
    let mut entries = ledger(5);
    let mut inspector = Inspector::new("s", Some((3, entries[2].hash)));
    change(&mut entries);
    entries.iter().for_each(|entry| inspector.meet(entry));
    let found: Vec<_> = inspector.finish().into_iter().map(|broken| (broken.offset, broken.how)).collect();
    assert_eq!(found, expect);
}

#[test]
fn a_ledger_goes_through_the_saved_head_however_far_it_has_come_since() {
    inspect(|_| {}, &[]);
    inspect(|entries| entries.truncate(3), &[]);
    inspect(|entries| entries.truncate(2), &[(3, Breach::Truncated)]);
    inspect(|entries| drop(entries.remove(2)), &[(3, Breach::Missing)]);
    inspect(|entries| entries[2].epoch = 7, &[(3, Breach::Edited)]);
    // A whole chain of somebody else's making, longer than what was saved.
    let forged = |entries: &mut Vec<Entry>| {
        let mut previous = GENESIS;
        for entry in entries {
            entry.epoch = 7;
            entry.hash = entry_hash("s", &previous, entry);
            previous = entry.hash;
        }
    };
    inspect(forged, &[(3, Breach::OutOfPlace)]);
}
