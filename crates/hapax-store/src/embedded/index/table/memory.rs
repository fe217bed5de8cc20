//! The newest records, in memory until they are written as a run.
//!
//! What holds: records are only added, and a table that was frozen never changes. A key is found through the hash that
//! its filters use as well, so that a batch is hashed once; behind a hash is the newest record that has it, and behind
//! each record the one before, so that one key's places come newest first.
//!
//! A table that is asked for stretches keeps its records in order as well, which costs about three times as much per
//! record; one that is asked now and then looks through the tags of all of them instead, four bytes each.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use super::filter::Hashing;
use super::record::{KEY, Key, Place, Raw, Record, Stretch, Wanted, place_of};
use crate::embedded::log::FrameNumber;

/// Records of the frames after `from` up to `to`.
pub(super) struct Memory {
    pub(super) from: FrameNumber,
    pub(super) to: FrameNumber,
    newest: HashMap<u64, u32, BuildHasherDefault<Hashed>>,
    entries: Vec<Entry>,
    /// Of each entry in turn, see [`tag`].
    tags: Vec<u32>,
    ordered: Option<BTreeSet<Raw>>,
}

/// A record, and which one with the same hash came before it.
#[derive(Clone, Copy)]
struct Entry {
    raw: Raw,
    before: u32,
}

/// So many bytes of a key decide its tag.
const TAGGED: usize = 8;

/// So many tags are compared before anything is looked at.
const TAGS: usize = 64;

/// What a record that is looked for has in common with few others: four bytes behind the number of the stream, which are
/// those of a hash in the tables that this is for.
fn tag(raw: &Raw) -> u32 {
    u32::from_be_bytes([raw[4], raw[5], raw[6], raw[7]])
}

/// There is none before.
const NONE: u32 = u32::MAX;

impl Memory {
    /// All of the room is asked for now: growing would move every record at once, in the middle of an insert.
    pub(super) fn new(from: FrameNumber, records: usize, ordered: bool) -> Self {
        let newest = HashMap::with_capacity_and_hasher(records, BuildHasherDefault::default());
        let ordered = ordered.then(BTreeSet::new);
        let (entries, tags) = (Vec::with_capacity(records), Vec::with_capacity(records));
        Self { from, to: from, newest, entries, tags, ordered }
    }

    pub(super) fn insert(&mut self, frame: FrameNumber, records: &[Record], hashing: &Hashing) {
        self.to = frame;
        for record in records {
            let raw = record.encode();
            let number = u32::try_from(self.entries.len()).expect("a table in memory has fewer than 2^32 records");
            let before = self.newest.insert(hashing.of(&record.key), number).unwrap_or(NONE);
            self.entries.push(Entry { raw, before });
            self.tags.push(tag(&raw));
            if let Some(ordered) = &mut self.ordered {
                ordered.insert(raw);
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The places of these keys, each with the position of its key, newest first.
    pub(super) fn find_all(&self, keys: &[Key], hashes: &[u64], found: &mut Vec<(usize, Place)>) {
        if self.entries.is_empty() {
            return;
        }
        for (position, (key, hash)) in keys.iter().zip(hashes).enumerate() {
            let Some(newest) = self.newest.get(hash) else { continue };
            let mut number = *newest;
            while number != NONE {
                let entry = &self.entries[number as usize];
                if entry.raw[..KEY] == key.0 {
                    found.push((position, place_of(&entry.raw)));
                }
                number = entry.before;
            }
        }
    }

    /// What is wanted of a stretch among these entries, and perhaps more; all entries if they are in order.
    pub(super) fn stretch(&self, entries: Range<usize>, stretch: &Stretch, wanted: Wanted, found: &mut Vec<Raw>) {
        match (&self.ordered, wanted) {
            (Some(ordered), Wanted::Lowest(limit)) => {
                found.extend(ordered.range(stretch.low..=stretch.high).take(limit));
            }
            (Some(ordered), Wanted::Greatest) => {
                found.extend(ordered.range(stretch.low..=stretch.high).next_back());
            }
            (None, Wanted::Lowest(_) | Wanted::Greatest) => {
                self.look_through(entries, stretch, found);
                wanted.choose(found);
            }
        }
    }

    /// All of a stretch among these entries. If it is within one tag, the others are passed over at their tags, which are
    /// a ninth of the memory.
    fn look_through(&self, entries: Range<usize>, stretch: &Stretch, found: &mut Vec<Raw>) {
        if stretch.low[..TAGGED] != stretch.high[..TAGGED] {
            found.extend(self.entries[entries].iter().map(|it| it.raw).filter(|it| stretch.holds(it)));
            return;
        }
        let wanted = tag(&stretch.low);
        let mut begin = entries.start;
        for tags in self.tags[entries].chunks(TAGS) {
            // Without a branch for each, the compiler compares many at once.
            if tags.iter().fold(false, |any, it| any | (*it == wanted)) {
                let near = &self.entries[begin..begin + tags.len()];
                found.extend(near.iter().map(|it| it.raw).filter(|it| stretch.holds(it)));
            }
            begin += tags.len();
        }
    }

    /// Every record, in order.
    pub(super) fn sorted(&self) -> Vec<Raw> {
        if let Some(ordered) = &self.ordered {
            return ordered.iter().copied().collect();
        }
        let mut all: Vec<Raw> = self.entries.iter().map(|it| it.raw).collect();
        all.sort_unstable();
        all
    }

    pub(super) fn bytes(&self) -> u64 {
        let hashed = self.newest.capacity() * 8 / 7 * (size_of::<(u64, u32)>() + 1);
        // A node of a tree is about three quarters full.
        let ordered = self.ordered.as_ref().map_or(0, |it| it.len() * size_of::<Raw>() * 4 / 3);
        (hashed + self.entries.len() * (size_of::<Entry>() + size_of::<u32>()) + ordered) as u64
    }
}

/// What is put in is a hash already, with a key that nobody knows: hashing it again would add nothing.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|it| self.0 = self.0.rotate_left(8) ^ u64::from(*it));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
