//! A ledger that somebody forged, with every checksum right: the proof still names each entry that is not what it was.

use std::collections::BTreeMap;
use std::sync::Arc;

use hapax_core::access::Patterns;
use hapax_core::batch::Terms;
use hapax_core::chain::Breach;
use hapax_core::claim::Jitter;
use hapax_core::contract::Contract;
use hapax_core::entry::{Caller, Entry, SharedEntry};
use hapax_core::event::{Digest, digest};
use hapax_core::time::Time;
use hapax_store::embedded::Embedded;
use hapax_store::embedded::codec::{Sections, decode, encode};
use hapax_store::embedded::disk::SimDisk;
use hapax_store::embedded::log::{self, FrameNumber, Log, LogId, Options};
use hapax_store::embedded::verify::{Finding, verify};
use hapax_store::seam::{Store, StreamKey, Write};
use hapax_store::turn::{Ask, Request, Submission, turn};

const ID: LogId = LogId([7; 16]);
const ENTRIES: u64 = 12;

fn options() -> Options {
    Options { segment_bytes: 1 << 20, reserve_bytes: 64 << 10, low_water_bytes: 0, ..Options::default() }
}

fn stream() -> StreamKey {
    StreamKey { tenant: Arc::from("t"), stream: Arc::from("s") }
}

/// The commits of a ledger of twelve entries, three in each of four commits.
fn commits() -> Vec<Write> {
    let disk = SimDisk::new(1);
    let (mut store, _) = Embedded::open(disk.clone(), options(), ID).expect("an empty disk");
    store.tenant(&stream().tenant, [1; 32]).expect("a tenant");
    let contract = Contract::from_toml("identity.required = true").expect("a contract");
    let mut ask = |ask: Ask| {
        let now = Time::from_nanos(1_000);
        let request = Request { now, spare: 0, jitter: Jitter::NONE, caller: Caller::default(), id: None, ask };
        turn(&mut store, &mut [request]).expect("a turn");
    };
    ask(Ask::PutContract { stream: stream(), contract: Box::new(contract) });
    for commit in 0..ENTRIES / 3 {
        let document = |index: u64| Arc::from(format!(r#"{{"id":"e-{}"}}"#, commit * 3 + index + 1).into_bytes());
        let documents: Vec<Arc<[u8]>> = (0..3).map(document).collect();
        let caller = Caller::default();
        let terms = Terms { atomic: false, dry_run: false, brief: false, caller, lanes: Patterns::all() };
        let (stream, event_bytes_max) = (stream(), 1 << 20);
        let events = Arc::default();
        ask(Ask::Submit(Submission { stream, documents, events, terms, single: false, event_bytes_max }));
    }
    drop(store);
    let (log, _) = Log::open(disk, options()).expect("a log");
    let frames = log.frames(FrameNumber::ORIGIN.next()).expect("frames");
    let write = |frame: log::Frame| {
        let expiring = (!frame.expiring.is_empty()).then_some(frame.expiring.as_slice());
        decode(&frame.lasting, expiring).expect("a commit")
    };
    frames.map(|frame| write(frame.expect("a frame"))).collect()
}

/// Writes the commits as a log of their own, with every checksum and link right, and proves it.
fn prove(commits: &[Write], saved: Option<(u64, Digest)>) -> Vec<(Option<u64>, Option<Breach>)> {
    let disk = SimDisk::new(2);
    let mut log = Log::create(disk.clone(), options(), ID).expect("a log");
    let mut sections = Sections::default();
    for commit in commits {
        encode(commit, &mut sections);
        log.append(&sections.lasting, &sections.expiring).expect("a frame");
    }
    log.close().expect("a close");
    let saved: BTreeMap<_, _> = saved.into_iter().map(|head| (stream(), head)).collect();
    let proof = verify(&disk, &saved, |_| {}).expect("a disk that reads");
    proof.findings.iter().map(|Finding { offset, how, .. }| (*offset, *how)).collect()
}

/// Every entry of the commits, wherever it stands.
fn entries(commits: &mut [Write]) -> Vec<&mut SharedEntry> {
    commits.iter_mut().flat_map(|it| &mut it.streams).flat_map(|it| &mut it.changes.entries).collect()
}

fn forged(change: impl FnOnce(&mut Vec<Write>)) -> Vec<(Option<u64>, Option<Breach>)> {
    let mut commits = commits();
    change(&mut commits);
    prove(&commits, None)
}

#[test]
fn what_nobody_forged_holds() {
    assert_eq!(forged(|_| {}), []);
}

#[test]
fn every_edited_entry_is_named() {
    for offset in 1..=ENTRIES {
        let found = forged(|commits| {
            let place = entries(commits).remove(offset as usize - 1);
            let document: Arc<[u8]> = Arc::from(br#"{"id":"forged"}"#.as_slice());
            *place = Entry { digest: digest(&document), document, ..Entry::clone(place) }.into();
        });
        assert_eq!(found, [(Some(offset), Some(Breach::Edited))]);
    }
}

#[test]
fn every_removed_entry_is_named() {
    for offset in 1..ENTRIES {
        let found = forged(|commits| {
            let changes = commits.iter_mut().flat_map(|it| &mut it.streams).map(|it| &mut it.changes);
            changes.for_each(|it| it.entries.retain(|entry| entry.offset != offset));
        });
        assert_eq!(found, [(Some(offset), Some(Breach::Missing))]);
    }
}

#[test]
fn two_swapped_entries_are_named() {
    for (one, other) in [(1, 2), (1, 12), (4, 9), (11, 12), (5, 6), (2, 12)] {
        // In place: each stands where the other was accepted.
        let found = forged(|commits| {
            let mut all = entries(commits);
            let (first, second) = (all[one - 1].clone(), all[other - 1].clone());
            *all[one - 1] = second;
            *all[other - 1] = first;
        });
        let wrong = |offset: usize| (Some(offset as u64), Some(Breach::OutOfPlace));
        assert_eq!(found, [wrong(one), wrong(other)]);
        // With their offsets changed too, neither is what was hashed.
        let found = forged(|commits| {
            let mut all = entries(commits);
            let (mut first, mut second) = ((**all[one - 1]).clone(), (**all[other - 1]).clone());
            (first.offset, second.offset) = (second.offset, first.offset);
            *all[one - 1] = second.into();
            *all[other - 1] = first.into();
        });
        let offsets: Vec<_> = found.iter().filter_map(|(offset, _)| *offset).collect();
        assert!(offsets.contains(&(one as u64)) && offsets.contains(&(other as u64)), "{one} and {other}: {found:?}");
    }
}

#[test]
fn a_truncated_ledger_is_told_from_a_saved_head() {
    let all = commits();
    let head = all.iter().flat_map(|it| &it.streams).map(|it| it.after).next_back().expect("a head");
    for kept in 0..all.len() {
        let found = prove(&all[..kept], Some((head.offset, head.hash)));
        let entries: usize = all[..kept].iter().flat_map(|it| &it.streams).map(|it| it.changes.entries.len()).sum();
        assert_eq!(found, [(Some(entries as u64 + 1), Some(Breach::Truncated))], "{kept} commits");
    }
    assert_eq!(prove(&all, Some((head.offset, head.hash))), []);
}

#[test]
fn a_copy_goes_on_behind_a_witness_that_lags() {
    let disk = SimDisk::new(3);
    let mut log = Log::create(disk.clone(), options(), ID).expect("a log");
    for number in 0..2_u8 {
        log.append(&[number; 100], &[]).expect("a frame");
    }
    let lagging = disk.contents("log/witness").expect("a witness");
    for number in 2..5_u8 {
        log.append(&[number; 100], &[]).expect("a frame");
    }
    drop(log);
    // A power cut may take the witness back, and never a frame that was synced.
    disk.put("log/witness", &lagging);
    let copy = SimDisk::new(4);
    let copied = log::copy(&disk, &copy, |_| {}).expect("a copy");
    assert_eq!(copied.last, FrameNumber(5));
    let (copy, _) = Log::open(copy, options()).expect("a log");
    assert_eq!(copy.last(), FrameNumber(5));
}
