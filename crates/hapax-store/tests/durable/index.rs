//! The index is derived: without it, with a part of it, or with a damaged one the store is the same.

use std::sync::Arc;

use hapax_core::entry::{Entry, SharedEntry};
use hapax_core::event::{Door, Event, IdSource, Identity, read};
use hapax_core::facts::{Changes, Head, Needs};
use hapax_core::time::Time;
use hapax_store::embedded::disk::{Disk, SimDisk};
use hapax_store::embedded::log::LogId;
use hapax_store::embedded::{Embedded, Progress};
use hapax_store::seam::{Read, Store, StreamNeeds, StreamWrite, TurnNeeds, Write};
use proptest::prelude::*;

use super::acts::acts;
use super::busy::{Busy, options};
use super::play::world::{Clock, World, worlds};
use super::{Twins, all, cases, read_or_rebuild, steps};

pub(crate) fn index_files(disk: &SimDisk) -> Vec<String> {
    disk.files().into_iter().filter(|path| path.starts_with("index/")).collect()
}

fn reopened(twins: &mut Twins, disk: &SimDisk, seed: u64) {
    twins.put(drop, || Busy::open(disk, options(), seed).expect("it opens").0);
}

proptest! {
    #![proptest_config(cases(60))]

    /// Snapshots are taken one thing at a time, with commits between; what they and the log add up to is what all frames
    /// add up to, and what a store adds up to that never stopped.
    #[test]
    fn a_start_from_the_index_is_a_start_from_the_log(
        world in worlds(Clock::MayStepBack),
        acts in acts(),
        seed in any::<u64>(),
        kills in prop::collection::vec(any::<prop::sample::Index>(), 3),
    ) {
        let disk = SimDisk::new(1);
        let mut twins = Twins::on(Busy::open(&disk, options(), seed).expect("an empty disk").0, &world);
        let kills: Vec<usize> = kills.iter().map(|at| at.index(world.requests.len())).collect();
        for (index, (request, before, after)) in steps(&world, &acts).enumerate() {
            twins.play(request, before, after).expect("a turn");
            if kills.contains(&index) {
                disk.kill();
                reopened(&mut twins, &disk, seed ^ index as u64);
                prop_assert_eq!(all(&mut twins.stage), all(&mut twins.twin));
            }
        }
        let expected = all(&mut twins.twin);
        disk.kill();
        reopened(&mut twins, &disk, seed);
        prop_assert_eq!(all(&mut twins.stage), expected.clone());
        twins.put(drop, || {
            for file in index_files(&disk) {
                disk.remove(&file).expect("it can be removed");
            }
            Busy::open(&disk, options(), seed).expect("it opens").0
        });
        prop_assert_eq!(all(&mut twins.stage), expected);
    }
}

/// A history that is always the same, long enough for runs and a snapshot.
fn history() -> (World, Vec<super::acts::Act>) {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    loop {
        let world = worlds(Clock::Forward).new_tree(&mut runner).expect("a world").current();
        let acts = acts().new_tree(&mut runner).expect("acts").current();
        if world.requests.len() > 30 {
            return (world, acts);
        }
    }
}

pub(crate) fn played(disk: &SimDisk) -> (Twins, String) {
    let (world, acts) = history();
    let mut twins = Twins::on(Busy::open(disk, options(), 11).expect("an empty disk").0, &world);
    for (request, before, after) in steps(&world, &acts) {
        twins.play(request, before, after).expect("a turn");
    }
    let expected = all(&mut twins.twin);
    (twins, expected)
}

#[test]
fn a_damaged_index_is_found_out_and_built_again() {
    let disk = SimDisk::new(1);
    let (mut twins, expected) = played(&disk);
    twins.put(
        |store| store.close().expect("a clean stop"),
        || Busy::open(&SimDisk::new(3), options(), 0).expect("it opens").0,
    );
    let files = index_files(&disk);
    assert!(files.iter().any(|file| file.ends_with(".snap")), "{files:?}");
    assert!(files.iter().filter(|file| file.ends_with(".run")).count() > 3, "{files:?}");
    let mut seen = std::collections::BTreeSet::new();
    for file in files {
        // One file of each sort is harmed in every way, the others are only taken away.
        let is_first = seen.insert(file.split('-').next().map(String::from));
        let bytes = disk.contents(&file).expect("it is there");
        let is_run = file.ends_with(".run");
        let dense = |at: &usize| is_first && (!is_run && *at < 160 || at.is_multiple_of(if is_run { 509 } else { 37 }));
        let flips = (0..bytes.len()).filter(dense).map(|at| {
            let mut harmed = bytes.clone();
            harmed[at] ^= 1 << (at % 8);
            harmed
        });
        let cuts = [0, 68, 100, bytes.len() / 2, bytes.len() - 1].map(|end| bytes[..end.min(bytes.len())].to_vec());
        let longer = [&bytes[..], &[0; 5]].concat();
        for harmed in flips.chain(cuts.into_iter().chain([longer]).filter(|_| is_first)) {
            let disk = disk.fork(7);
            disk.put(&file, &harmed);
            twins.put(drop, || Busy::open(&disk, options(), 1).expect("it opens").0);
            assert_eq!(read_or_rebuild(&mut twins, &disk), expected, "{file}");
        }
        let disk = disk.fork(8);
        disk.remove(&file).expect("it can be removed");
        twins.put(drop, || Busy::open(&disk, options(), 1).expect("it opens").0);
        assert_eq!(read_or_rebuild(&mut twins, &disk), expected, "without {file}");
    }
}

#[test]
fn after_a_clean_stop_nothing_is_read_again_and_without_an_index_everything_is() {
    let disk = SimDisk::new(1);
    let (mut twins, expected) = played(&disk);
    twins.put(
        |store| store.close().expect("a clean stop"),
        || Busy::open(&SimDisk::new(3), options(), 0).expect("it opens").0,
    );
    let told = |disk: &SimDisk| {
        let mut told: Vec<Progress> = Vec::new();
        let progress = |it| told.push(it);
        let (store, opened) =
            Embedded::open_telling(disk.clone(), options(), LogId([9; 16]), progress).expect("it opens");
        drop(store);
        (told.last().copied(), opened.frames)
    };
    assert_eq!(told(&disk).0, None);
    for file in index_files(&disk) {
        disk.remove(&file).expect("it can be removed");
    }
    let (last, frames) = told(&disk);
    let last = last.expect("it was told");
    assert!(last.rebuilds && last.entries > 0);
    assert_eq!((last.frames, last.frames_total), (frames, frames));
    // And it was written again at once.
    assert_eq!(told(&disk).0, None);
    twins.put(drop, || Busy::open(&disk, options(), 1).expect("it opens").0);
    assert_eq!(all(&mut twins.stage), expected);
}

#[test]
fn an_index_of_another_log_or_of_a_longer_one_is_not_believed() {
    let disk = SimDisk::new(1);
    let (mut twins, expected) = played(&disk);
    twins.put(
        |store| store.close().expect("a clean stop"),
        || Busy::open(&SimDisk::new(3), options(), 0).expect("it opens").0,
    );
    // The log of a store that has hardly begun, with the index of one that has gone on.
    let young = SimDisk::new(4);
    let (store, _) = Busy::open(&young, options(), 1).expect("an empty disk");
    store.store.close().expect("a clean stop");
    for file in index_files(&disk) {
        young.put(&file, &disk.contents(&file).expect("it is there"));
    }
    let (mut store, _) = Busy::open(&young, options(), 1).expect("it opens");
    let found = super::everything(&mut store, &super::names()).expect("everything can be read");
    assert_ne!(found, expected);
    assert!(!found.contains("tenant "), "{found}");
}

/// The index knows half of an identity. Two that agree in that half are still two.
#[test]
fn identities_that_begin_alike_are_told_apart() {
    let disk = SimDisk::new(1);
    let (mut twins, _) = played(&disk);
    let (store, key) = (&mut twins.stage.store, twins.stage.stream.clone());
    let before = store.reader().head(&key).expect("a head");
    let model = store.reader().entries(&key, 0, 1).expect("entries").remove(0);
    let alike = |last: u8| {
        let mut identity = Identity::of(None, "alike");
        identity.0[31] = last;
        identity
    };
    let entry = |place: u64, identity| {
        let (offset, ordinal, attempt) = (before.offset + place, before.events + place, before.attempts + place);
        SharedEntry::from(Entry { offset, ordinal, attempt, identity, ..Entry::clone(&model) })
    };
    let entries = vec![entry(1, alike(1)), entry(2, alike(2))];
    let after = Head {
        offset: before.offset + 2,
        events: before.events + 2,
        attempts: before.attempts + 2,
        hash: model.hash,
        ..before
    };
    let changes = Changes { entries, ..Changes::default() };
    let streams = vec![StreamWrite { key: key.clone(), before, after, version: None, changes }];
    store.commit(Write { streams, ..Write::default() }).expect("a commit");
    for (last, offset) in [(1, Some(before.offset + 1)), (2, Some(before.offset + 2)), (3, None)] {
        let found = store.reader().entry(&key, &alike(last)).expect("a read");
        assert_eq!(found.map(|entry| entry.offset), offset);
        let needs = Needs { identities: vec![alike(last)], ..Needs::default() };
        let streams = [(key.clone(), StreamNeeds { needs, ..StreamNeeds::default() })].into();
        let loaded = store.load(&TurnNeeds { streams, ..TurnNeeds::default() }).expect("a load");
        assert_eq!(loaded.streams[&key].facts.original(&alike(last)).map(|entry| entry.offset), offset);
    }
}

/// Whoever repeats an event has its document. With another one under the same id the original's own is read. While nothing is
/// repeated nothing is kept for that, so the first one reads.
#[test]
fn the_original_of_a_repeat_is_known_without_a_look_at_the_disk() {
    let disk = SimDisk::new(1);
    let (mut twins, _) = played(&disk);
    twins.put(drop, || Busy::open(&disk, options(), 0).expect("it opens").0);
    let (store, key) = (&mut twins.stage.store, twins.stage.stream.clone());
    let model = store.reader().entries(&key, 0, 1).expect("entries").remove(0);
    let version = store.reader().versions(&key).expect("versions").remove(0);
    let commit = |store: &mut Busy, id: &str| {
        let before = store.reader().head(&key).expect("a head");
        let (offset, ordinal, attempt) = (before.offset + 1, before.events + 1, before.attempts + 1);
        let identity = Identity::of(None, id);
        let entry = SharedEntry::from(Entry { offset, ordinal, attempt, identity, ..Entry::clone(&model) });
        let after = Head { offset, events: ordinal, attempts: attempt, hash: model.hash, ..before };
        let changes = Changes { entries: vec![entry.clone()], ..Changes::default() };
        let streams = vec![StreamWrite { key: key.clone(), before, after, version: None, changes }];
        store.commit(Write { streams, ..Write::default() }).expect("a commit");
        entry
    };
    // The same id, with a document or with none.
    let load = |store: &mut Busy, entry: &SharedEntry, document: Option<&[u8]>| {
        let calls = disk.calls();
        let identity = entry.identity;
        let needs = match document {
            Some(document) => {
                let door = Door { salt: &[0; 32], now: entry.at, spare: 0, event_bytes_max: 1000, covers: &|_| true };
                let read = read(document.into(), &version, &door);
                let event = Event { identity, id_source: IdSource::Given, refusal: None, ..read };
                Needs { events: vec![Arc::new(vec![event])], ..Needs::default() }
            }
            None => Needs { identities: vec![identity], ..Needs::default() },
        };
        let streams = [(key.clone(), StreamNeeds { needs, ..StreamNeeds::default() })].into();
        let loaded = store.load(&TurnNeeds { streams, ..TurnNeeds::default() }).expect("a load");
        assert_eq!(loaded.streams[&key].facts.original(&identity), Some(&**entry));
        disk.calls() - calls
    };
    let first = commit(store, "first");
    assert_ne!(load(store, &first, Some(&first.document)), 0, "nobody had repeated anything");
    let second = commit(store, "second");
    assert_eq!(load(store, &second, Some(&second.document)), 0, "nothing is read");
    assert_ne!(load(store, &second, Some(b"{}")), 0, "the original is read");
    let third = commit(store, "third");
    assert_ne!(load(store, &third, None), 0, "the original is read");
}

#[test]
fn the_upkeep_of_a_store_that_is_gone_touches_nothing() {
    let disk = SimDisk::new(1);
    let (mut twins, expected) = played(&disk);
    let upkeep = twins.stage.store.store.upkeep();
    twins.put(drop, || Busy::open(&disk, options(), 0).expect("it opens").0);
    let calls = disk.calls();
    for _ in 0..100 {
        assert_eq!(upkeep.step(Time::from_nanos(i64::MAX)), Ok(false));
    }
    assert_eq!(disk.calls(), calls);
    assert_eq!(all(&mut twins.stage), expected);
}
