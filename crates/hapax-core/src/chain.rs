//! The chain: each entry's hash covers the entry before it, so that nobody can edit, drop or swap one unnoticed.
//!
//! What is hashed, in this order (integers big endian, texts with their length as `u32` before them):
//!
//! | part | bytes |
//! |---|---|
//! | `hapax.entry.v1` | 14 |
//! | hash of the entry before, zeros for the first | 32 |
//! | SHA-256 of the document | 32 |
//! | kind, offset, contract, `ingested_at`, epoch | `u8`, `u64`, `u32`, `i64`, `u64` |
//! | number | `u8` whether there is one, `u64` |
//! | marks | `u16` bits |
//! | stream, lane, id | texts |
//! | counters | `u16` how many, then each name as a text and its class as `u8` |

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::entry::Entry;
use crate::event::{Digest, digest};

/// The hash before the first entry, and the head of an empty stream.
pub const GENESIS: Digest = [0; 32];

/// The hash of an entry, after the one before it. `scratch` is memory to build the input in.
pub fn entry_hash(stream: &str, previous: &Digest, entry: &Entry, scratch: &mut Vec<u8>) -> Digest {
    let mut fixed = [0; FIXED];
    let mut rest = &mut fixed[..];
    let mut put = |bytes: &[u8]| {
        if let Some((place, after)) = std::mem::take(&mut rest).split_at_mut_checked(bytes.len()) {
            place.copy_from_slice(bytes);
            rest = after;
        }
    };
    put(b"hapax.entry.v1");
    put(previous);
    put(&entry.digest);
    put(&[entry.kind as u8]);
    put(&entry.offset.to_be_bytes());
    put(&entry.contract.to_be_bytes());
    put(&entry.at.nanos().to_be_bytes());
    put(&entry.epoch.to_be_bytes());
    put(&[u8::from(entry.seq.is_some())]);
    put(&entry.seq.unwrap_or(0).to_be_bytes());
    put(&entry.marks.bits().to_be_bytes());
    let out = scratch;
    out.clear();
    out.extend_from_slice(&fixed);
    text(out, stream);
    text(out, &entry.lane);
    text(out, &entry.id);
    out.extend_from_slice(&u16::try_from(entry.classes.len()).unwrap_or(u16::MAX).to_be_bytes());
    for (name, class) in &entry.classes {
        text(out, name);
        out.push(*class as u8);
    }
    digest(out)
}

/// What has the same length in every entry: it is put together at once, and only texts grow what is hashed.
const FIXED: usize = 14 + 32 + 32 + 1 + 8 + 4 + 8 + 8 + 1 + 8 + 2;

fn text(out: &mut Vec<u8>, text: &str) {
    // Every text here is a name of at most a few hundred bytes.
    out.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend_from_slice(text.as_bytes());
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
    scratch: Vec<u8>,
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
            scratch: Vec::new(),
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
        if !already && entry_hash(&self.stream, previous, entry, &mut self.scratch) != entry.hash {
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
    scratch: Vec<u8>,
}

impl<'s> Verifier<'s> {
    /// Before the first entry.
    pub fn new(stream: &'s str) -> Self {
        Self { stream, offset: 0, hash: GENESIS, scratch: Vec::new() }
    }

    /// The next entry.
    pub fn next(&mut self, entry: &Entry) -> Result<(), Broken> {
        let expected = self.offset + 1;
        if entry.offset != expected {
            let how = if entry.offset > expected { Breach::Missing } else { Breach::OutOfPlace };
            return Err(Broken { offset: expected, how });
        }
        let sound = digest(&entry.document) == entry.digest
            && entry_hash(self.stream, &self.hash, entry, &mut self.scratch) == entry.hash;
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
