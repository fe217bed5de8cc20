//! The newest records, in memory until they are written as a run.
//!
//! What holds: records are only added, and a table that was frozen never changes. A key is found through the hash that
//! its filters use as well; behind a key is its newest record, and behind each record the one before, so that one key's
//! places come newest first.
//!
//! A table that is asked for stretches keeps its records in order as well, which costs about three times as much per
//! record; one that is asked now and then looks through the tags of all of them instead, four bytes each.

use std::collections::BTreeSet;
use std::ops::Range;

use super::filter::Hashing;
use super::list::{Entry, List, NONE, Piece};
use super::places::Places;
use super::record::{KEY, Key, Place, Raw, Record, Stretch, Wanted, key_of, place_of};
use crate::embedded::log::FrameNumber;

/// Records of the frames after `from` up to `to`.
pub(super) struct Memory {
    pub(super) from: FrameNumber,
    pub(super) to: FrameNumber,
    newest: Places,
    /// Each with its [`tag`].
    entries: List,
    /// So many records are expected.
    records: usize,
    ordered: Option<BTreeSet<Raw>>,
}

/// There is room ahead for one of so many records that a table holds: of a million ids for what comes in a tenth of a second, which is how
/// long a server's upkeep rests.
const AHEAD: usize = 8;

/// So many bytes of a key decide its tag.
const TAGGED: usize = 8;

/// So many tags are compared before anything is looked at.
const TAGS: usize = 64;

/// What a record that is looked for has in common with few others: four bytes behind the number of the stream, which are
/// those of a hash in the tables that this is for.
fn tag(raw: &Raw) -> u32 {
    u32::from_be_bytes([raw[4], raw[5], raw[6], raw[7]])
}

/// A record as numbers that sort as its bytes do, which costs a third of comparing those.
fn in_order(raw: &Raw) -> [u128; 2] {
    let (halves, _) = raw.as_chunks::<16>();
    [u128::from_be_bytes(halves[0]), u128::from_be_bytes(halves[1])]
}

/// So many records are put in, or looked for, together: as many lines of memory as a processor fetches at a time, and some.
const TOGETHER: usize = 16;

impl Memory {
    /// For so many records; if there are more, finding them again moves, in the middle of an insert.
    pub(super) fn new(from: FrameNumber, records: usize, ordered: bool) -> Self {
        let newest = Places::for_records(records);
        let ordered = ordered.then(BTreeSet::new);
        Self { from, to: from, newest, entries: List::default(), records, ordered }
    }

    /// The same, with memory that is there already: else the first thousands of records would each meet a page that is not.
    pub(super) fn touched(mut self) -> Self {
        self.newest.clear();
        self
    }

    /// Is there less room than will be needed soon?
    pub(super) fn wants_room(&self) -> bool {
        let left = self.records.saturating_sub(self.entries.len());
        self.entries.room() < left.min(self.records / AHEAD)
    }

    /// Takes room that was made ahead.
    pub(super) fn add_room(&mut self, piece: Piece) {
        self.entries.add(piece);
    }

    /// Is it so full that another should be ready to take its place?
    pub(super) fn is_half_full(&self) -> bool {
        self.entries.len() >= self.records / 2
    }

    pub(super) fn insert(&mut self, frame: FrameNumber, records: &[Record], hashing: &Hashing) {
        self.to = frame;
        for some in records.chunks(TOGETHER) {
            let mut hashes = [0; TOGETHER];
            hashes.iter_mut().zip(some).for_each(|(hash, record)| *hash = hashing.of(&record.key));
            self.newest.touch(&hashes[..some.len()]);
            some.iter().zip(hashes).for_each(|(record, hash)| self.insert_one(record, hash, hashing));
        }
    }

    fn insert_one(&mut self, record: &Record, hash: u64, hashing: &Hashing) {
        let raw = record.encode();
        let number = u32::try_from(self.entries.len()).expect("a table in memory has fewer than 2^32 records");
        let (entries, same) = (&self.entries, |at: u32| self.entries.get(at).raw[..KEY] == record.key.0);
        let hash_of = |at: u32| hashing.of(&key_of(&entries.get(at).raw));
        let before = self.newest.put(hash, number, same, hash_of).unwrap_or(NONE);
        self.entries.push(Entry { raw, before }, tag(&raw));
        if let Some(ordered) = &mut self.ordered {
            ordered.insert(raw);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The places of these keys, each with the position of its key, newest first.
    pub(super) fn find_all(&self, keys: &[Key], hashes: &[u64], found: &mut Vec<(usize, Place)>) {
        if self.entries.len() == 0 {
            return;
        }
        let mut position = 0;
        for (keys, hashes) in keys.chunks(TOGETHER).zip(hashes.chunks(TOGETHER)) {
            self.newest.touch(hashes);
            for (key, hash) in keys.iter().zip(hashes) {
                let mut next = self.newest.get(*hash, |at| self.entries.get(at).raw[..KEY] == key.0);
                while let Some(number) = next {
                    let entry = self.entries.get(number);
                    found.push((position, place_of(&entry.raw)));
                    next = (entry.before != NONE).then_some(entry.before);
                }
                position += 1;
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
        let within = self.entries.within(entries);
        if stretch.low[..TAGGED] != stretch.high[..TAGGED] {
            let all = within.flat_map(|(entries, _)| entries).map(|it| it.raw);
            found.extend(all.filter(|it| stretch.holds(it)));
            return;
        }
        let wanted = tag(&stretch.low);
        let some = within.flat_map(|(entries, tags)| entries.chunks(TAGS).zip(tags.chunks(TAGS)));
        for (entries, tags) in some {
            // Without a branch for each, the compiler compares many at once.
            if tags.iter().fold(false, |any, it| any | (*it == wanted)) {
                found.extend(entries.iter().map(|it| it.raw).filter(|it| stretch.holds(it)));
            }
        }
    }

    /// Every record, in order, over whatever was there.
    pub(super) fn sort_into(&self, all: &mut Vec<Raw>) {
        all.clear();
        if let Some(ordered) = &self.ordered {
            all.extend(ordered);
            return;
        }
        all.reserve_exact(self.entries.len());
        self.entries.within(0..self.entries.len()).for_each(|(entries, _)| all.extend(entries.iter().map(|it| it.raw)));
        all.sort_unstable_by_key(in_order);
    }

    /// Forgets every record, and keeps the room.
    pub(super) fn clear(&mut self) {
        self.newest.clear();
        self.entries.clear();
        self.ordered.iter_mut().for_each(BTreeSet::clear);
    }

    /// An empty one, for the frames after this one.
    pub(super) fn after(mut self, from: FrameNumber) -> Self {
        (self.from, self.to) = (from, from);
        self
    }

    pub(super) fn bytes(&self) -> u64 {
        let hashed = self.newest.bytes();
        // A node of a tree is about three quarters full.
        let ordered = self.ordered.as_ref().map_or(0, |it| it.len() * size_of::<Raw>() * 4 / 3);
        (hashed + self.entries.bytes() + ordered) as u64
    }
}
