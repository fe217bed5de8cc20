//! The chain of a ledger verifies, and whatever is done to one entry is found and named.

use std::sync::Arc;

use hapax_core::chain::{Breach, Broken, Verifier};
use hapax_core::counter::Class;
use hapax_core::entry::{Entry, EntryKind};
use hapax_core::facts::Head;
use hapax_core::time::Time;
use hapax_core::words::Mark;
use hapax_store::seam::{Read, Store};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::acts::stories;
use super::cases;

proptest! {
    #![proptest_config(cases(80))]

    #[test]
    fn the_chain_verifies_and_names_what_was_done_to_it(
        story in stories(),
        at in any::<Index>(),
        other in any::<Index>(),
        edit in select(EDITS.to_vec()),
    ) {
        let stage = story.play();
        let head = stage.store.reader().head(&stage.stream).expect("a head");
        let sound: Vec<Entry> = stage.entries().iter().map(|entry| (**entry).clone()).collect();
        prop_assert_eq!(verify(&sound, &head), Ok(()));
        let offsets: Vec<u64> = sound.iter().map(|entry| entry.offset).collect();
        prop_assert_eq!(offsets, (1..=head.offset).collect::<Vec<_>>());
        if sound.is_empty() {
            return Ok(());
        }
        let (at, other) = (at.index(sound.len()), other.index(sound.len()));
        let offset = at as u64 + 1;

        let mut edited = sound.clone();
        edit.apply(&mut edited[at]);
        prop_assert_ne!(&edited[at], &sound[at]);
        prop_assert_eq!(verify(&edited, &head), Err(Broken { offset, how: Breach::Edited }), "{:?}", edit);

        let mut removed = sound.clone();
        removed.remove(at);
        let how = if at == removed.len() { Breach::Truncated } else { Breach::Missing };
        prop_assert_eq!(verify(&removed, &head), Err(Broken { offset, how }));

        let mut closed_up = removed;
        for entry in &mut closed_up[at..] {
            entry.offset -= 1;
        }
        let how = if at == closed_up.len() { Breach::Truncated } else { Breach::Edited };
        prop_assert_eq!(verify(&closed_up, &head), Err(Broken { offset, how }));

        let mut twice = sound.clone();
        twice.insert(at, sound[at].clone());
        prop_assert_eq!(verify(&twice, &head), Err(Broken { offset: offset + 1, how: Breach::OutOfPlace }));

        prop_assert_eq!(verify(&sound[..at], &head), Err(Broken { offset, how: Breach::Truncated }));

        if at != other {
            let first = at.min(other);
            let mut swapped = sound.clone();
            swapped.swap(at, other);
            let broken = verify(&swapped, &head).expect_err("two entries changed places");
            prop_assert_eq!(broken.offset, first as u64 + 1);
            let mut renumbered = swapped;
            renumbered[at].offset = at as u64 + 1;
            renumbered[other].offset = other as u64 + 1;
            let expected = Broken { offset: first as u64 + 1, how: Breach::Edited };
            prop_assert_eq!(verify(&renumbered, &head), Err(expected));
        }
        prop_assert!(walk("another", &sound, &head).is_err(), "the name of the stream is covered");
    }
}

fn verify(entries: &[Entry], head: &Head) -> Result<(), Broken> {
    walk("stream", entries, head)
}

fn walk(stream: &str, entries: &[Entry], head: &Head) -> Result<(), Broken> {
    let mut verifier = Verifier::new(stream);
    entries.iter().try_for_each(|entry| verifier.next(entry))?;
    verifier.finish(head.offset, &head.hash)
}

/// What can be edited in an entry.
#[derive(Debug, Clone, Copy)]
enum Edit {
    Document,
    Digest,
    Kind,
    Marks,
    Id,
    Lane,
    /// A letter moves from one text to the next: only lengths tell.
    Boundary,
    Epoch,
    Seq,
    At,
    Contract,
    Classes,
    Hash,
}

const EDITS: [Edit; 13] = [
    Edit::Document,
    Edit::Digest,
    Edit::Kind,
    Edit::Marks,
    Edit::Id,
    Edit::Lane,
    Edit::Boundary,
    Edit::Epoch,
    Edit::Seq,
    Edit::At,
    Edit::Contract,
    Edit::Classes,
    Edit::Hash,
];

impl Edit {
    fn apply(self, entry: &mut Entry) {
        match self {
            Self::Document => {
                let mut document = entry.document.to_vec();
                document.push(b' ');
                entry.document = document.into();
            }
            Self::Digest => entry.digest[31] ^= 1,
            Self::Kind => {
                entry.kind = match entry.kind {
                    EntryKind::Event | EntryKind::Correction => EntryKind::Close,
                    EntryKind::Close => EntryKind::Event,
                }
            }
            Self::Marks => {
                let mark = if entry.marks.has(Mark::Override) { Mark::ClockSkew } else { Mark::Override };
                let before = entry.marks;
                entry.marks.add(mark);
                if entry.marks == before {
                    entry.marks = hapax_core::words::Marks::NONE;
                }
            }
            Self::Id => entry.id = Arc::from(entry.id.to_uppercase() + " "),
            Self::Lane => entry.lane = Arc::from(format!("{} ", entry.lane)),
            Self::Boundary => {
                let id = entry.id.to_string();
                let first = id.chars().next().map(String::from).unwrap_or_default();
                entry.id = Arc::from(&id[first.len()..]);
                entry.lane = Arc::from(entry.lane.to_string() + &first);
            }
            Self::Epoch => entry.epoch ^= 1,
            Self::Seq => {
                entry.seq = match entry.seq {
                    Some(0) => None,
                    None => Some(0),
                    Some(number) => Some(number - 1),
                }
            }
            Self::At => entry.at = Time::from_nanos(entry.at.nanos() ^ 1),
            Self::Contract => entry.contract += 1,
            Self::Classes => match entry.classes.first_mut() {
                Some((_, class)) => {
                    *class = match class {
                        Class::Folded => Class::Late,
                        Class::Late | Class::Closed => Class::Folded,
                    }
                }
                None => entry.classes.push((Arc::from("usage"), Class::Folded)),
            },
            Self::Hash => entry.hash[0] ^= 1,
        }
    }
}
