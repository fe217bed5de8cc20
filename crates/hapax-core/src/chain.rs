//! The chain: each entry's hash covers the entry before it, so that nobody can edit, drop or swap one unnoticed.
//!
//! It is made in two steps. What an event says about itself is hashed where its document is read, on any processor; only the
//! rest has to wait for the entry before it. What is hashed, in this order (integers big endian):
//!
//! | content | bytes |
//! |---|---|
//! | `hapax.event.v2` | 14 |
//! | SHA-256 of the document | 32 |
//! | epoch | `u64` |
//! | lane, id | texts, each with its length as `u32` before it |
//!
//! | entry | bytes |
//! |---|---|
//! | hash of the entry before, zeros for the first | 32 |
//! | hash of the content | 32 |
//! | `hapax2` | 6 |
//! | kind, offset, contract, `ingested_at` | `u8`, `u64`, `u32`, `i64` |
//! | number | `u8` whether there is one, `u64` |
//! | marks | `u16` bits |
//! | counters | `u16` how many, then each name as a text with its length as `u32`, and its class as `u8` |
//! | stream | text with its length as `u8`; names have at most 128 bytes |
//!
//! Ledgers that were begun earlier have entries whose hash is made [in one step](first). Both kinds hold.

mod first;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::entry::Entry;
use crate::event::{Digest, Input, digest};

/// The hash before the first entry, and the head of an empty stream.
pub const GENESIS: Digest = [0; 32];

/// The hash of what an event says about itself.
pub fn content_hash(document: &Digest, epoch: u64, lane: &str, id: &str) -> Digest {
    let mut input = Input::new();
    input.put(b"hapax.event.v2");
    input.put(document);
    input.put(&epoch.to_be_bytes());
    text(&mut input, lane);
    text(&mut input, id);
    input.digest()
}

/// The hash of an entry, after the one before it.
pub fn entry_hash(stream: &str, previous: &Digest, entry: &Entry) -> Digest {
    link_hash(stream, previous, &content_hash(&entry.digest, entry.epoch, &entry.lane, &entry.id), entry)
}

/// The same, where the hash of the content is known.
#[inline]
pub(crate) fn link_hash(stream: &str, previous: &Digest, content: &Digest, entry: &Entry) -> Digest {
    let mut input = Input::new();
    input.put(previous);
    input.put(content);
    input.put(b"hapax2");
    input.put(&[entry.kind as u8]);
    input.put(&entry.offset.to_be_bytes());
    input.put(&entry.contract.to_be_bytes());
    input.put(&entry.at.nanos().to_be_bytes());
    input.put(&[u8::from(entry.seq.is_some())]);
    input.put(&entry.seq.unwrap_or(0).to_be_bytes());
    input.put(&entry.marks.bits().to_be_bytes());
    counters(&mut input, entry);
    input.put(&[u8::try_from(stream.len()).unwrap_or(u8::MAX)]);
    input.put(stream.as_bytes());
    input.digest()
}

fn counters(input: &mut Input, entry: &Entry) {
    input.put(&u16::try_from(entry.classes.len()).unwrap_or(u16::MAX).to_be_bytes());
    for (name, class) in &entry.classes {
        text(input, name);
        input.put(&[*class as u8]);
    }
}

fn text(input: &mut Input, text: &str) {
    // Every text here is a name of at most a few hundred bytes.
    input.put(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_be_bytes());
    input.put(text.as_bytes());
}

/// Is this the entry that was chained to the one with this hash?
fn is_chained(stream: &str, previous: &Digest, entry: &Entry) -> bool {
    entry_hash(stream, previous, entry) == entry.hash || first::entry_hash(stream, previous, entry) == entry.hash
}

/// What is wrong with a ledger, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Broken {
    /// The offset of the entry that does not fit.
    pub offset: u64,
    /// How.
    pub how: Breach,
}

/// How an entry does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Breach {
    /// Its content is not what was hashed.
    Edited,
    /// An offset was left out.
    Missing,
    /// An entry stands where another should.
    OutOfPlace,
    /// The ledger ends before the saved head.
    Truncated,
}

/// Walks a ledger however damaged it is, and names everything that is wrong with it.
///
/// Memory is bounded by the number of holes, not of entries.
#[derive(Debug)]
pub struct Inspector {
    stream: String,
    /// The next offset.
    expected: u64,
    /// The hash of the entry before it; none if another stands there.
    hash: Option<Digest>,
    /// Entries that stand where others were accepted.
    displaced: BTreeMap<u64, Entry>,
    /// Offsets that were left out so far.
    missing: BTreeSet<u64>,
    /// Hashes of the entries at the edges of holes.
    edges: BTreeMap<u64, Digest>,
    /// Entries behind holes, which can be checked when the hole is filled.
    waiting: BTreeMap<u64, Entry>,
    /// A head that was kept elsewhere: the ledger goes through it, however far it has come since.
    saved: Option<(u64, Digest)>,
    found: Vec<Broken>,
}

/// Beyond so many a hole is told as a whole: each of its offsets costs memory.
const HOLE_MAX: u64 = 1 << 20;

impl Inspector {
    /// At the beginning of a stream's ledger. `saved` is a head that was kept elsewhere.
    pub fn new(stream: &str, saved: Option<(u64, Digest)>) -> Self {
        Self {
            stream: stream.to_owned(),
            expected: 1,
            hash: Some(GENESIS),
            displaced: BTreeMap::new(),
            missing: BTreeSet::new(),
            edges: BTreeMap::new(),
            waiting: BTreeMap::new(),
            saved,
            found: Vec::new(),
        }
    }

    /// The next entry, as it stands.
    pub fn meet(&mut self, entry: &Entry) {
        if digest(&entry.document) != entry.digest {
            self.found.push(Broken { offset: entry.offset, how: Breach::Edited });
        }
        match entry.offset.cmp(&self.expected) {
            Ordering::Equal => match self.hash {
                Some(previous) => self.check(&previous, entry),
                None => _ = self.waiting.insert(entry.offset, entry.clone()),
            },
            Ordering::Greater => {
                self.edges.extend(self.hash.map(|hash| (self.expected - 1, hash)));
                self.missing.extend(self.expected..entry.offset.min(self.expected.saturating_add(HOLE_MAX)));
                self.waiting.insert(entry.offset, entry.clone());
            }
            Ordering::Less => {
                self.found.push(Broken { offset: entry.offset, how: Breach::OutOfPlace });
                self.fill(entry);
                return;
            }
        }
        if self.saved.is_some_and(|(offset, hash)| offset == entry.offset && hash != entry.hash) {
            self.found.push(Broken { offset: entry.offset, how: Breach::OutOfPlace });
        }
        (self.expected, self.hash) = (entry.offset + 1, Some(entry.hash));
    }

    /// An entry that stands where the one with another offset was accepted.
    pub fn displaced(&mut self, position: u64, entry: &Entry) {
        self.found.push(Broken { offset: entry.offset, how: Breach::OutOfPlace });
        self.edges.extend(self.hash.map(|hash| (self.expected - 1, hash)));
        self.missing.extend(self.expected..=position.min(self.expected.saturating_add(HOLE_MAX)));
        self.displaced.insert(entry.offset, entry.clone());
        (self.expected, self.hash) = (position + 1, None);
    }

    fn check(&mut self, previous: &Digest, entry: &Entry) {
        let already = self.found.last().is_some_and(|last| last.offset == entry.offset);
        if !already && !is_chained(&self.stream, previous, entry) {
            self.found.push(Broken { offset: entry.offset, how: Breach::Edited });
        }
    }

    /// An entry that came after its place.
    fn fill(&mut self, entry: &Entry) {
        if !self.missing.remove(&entry.offset) {
            return;
        }
        if let Some(previous) = self.edges.get(&(entry.offset - 1)).copied() {
            self.check(&previous, entry);
        }
        self.edges.insert(entry.offset, entry.hash);
        if let Some(next) = self.waiting.remove(&(entry.offset + 1)) {
            self.check(&entry.hash, &next);
        }
    }

    /// An entry whose place is known and that cannot be read.
    pub fn unreadable(&mut self, offset: u64) {
        self.found.push(Broken { offset, how: Breach::Edited });
    }

    /// Where the walk is: the last offset and its hash.
    pub fn head(&self) -> (u64, Digest) {
        (self.expected - 1, self.hash.unwrap_or(GENESIS))
    }

    /// After the last entry: everything that is wrong, in the order of offsets.
    pub fn finish(mut self) -> Vec<Broken> {
        for entry in std::mem::take(&mut self.displaced).into_values() {
            self.fill(&entry);
        }
        let missing = self.missing.iter().filter(|it| !self.found.iter().any(|found| found.offset == **it));
        let missing: Vec<_> = missing.map(|offset| Broken { offset: *offset, how: Breach::Missing }).collect();
        self.found.extend(missing);
        if self.saved.is_some_and(|(offset, _)| self.expected <= offset) {
            self.found.push(Broken { offset: self.expected, how: Breach::Truncated });
        }
        self.found.sort_by_key(|broken| broken.offset);
        self.found.dedup();
        self.found
    }
}

/// Walks a ledger entry by entry, up to the first that does not fit.
#[derive(Debug)]
pub struct Verifier<'s> {
    stream: &'s str,
    offset: u64,
    hash: Digest,
}

impl<'s> Verifier<'s> {
    /// Before the first entry.
    pub fn new(stream: &'s str) -> Self {
        Self { stream, offset: 0, hash: GENESIS }
    }

    /// The next entry.
    pub fn next(&mut self, entry: &Entry) -> Result<(), Broken> {
        let expected = self.offset + 1;
        if entry.offset != expected {
            let how = if entry.offset > expected { Breach::Missing } else { Breach::OutOfPlace };
            return Err(Broken { offset: expected, how });
        }
        let sound = digest(&entry.document) == entry.digest && is_chained(self.stream, &self.hash, entry);
        if !sound {
            return Err(Broken { offset: expected, how: Breach::Edited });
        }
        self.offset = expected;
        self.hash = entry.hash;
        Ok(())
    }

    /// After the last entry: is this the head that was saved?
    pub fn finish(self, offset: u64, hash: &Digest) -> Result<(), Broken> {
        match self.offset.cmp(&offset) {
            Ordering::Less => Err(Broken { offset: self.offset + 1, how: Breach::Truncated }),
            Ordering::Equal if self.hash == *hash => Ok(()),
            Ordering::Equal | Ordering::Greater => Err(Broken { offset: self.offset, how: Breach::OutOfPlace }),
        }
    }
}

#[cfg(test)]
mod tests;
