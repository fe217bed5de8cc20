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

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::entry::Entry;
use crate::event::{Digest, digest};

/// The hash before the first entry, and the head of an empty stream.
pub const GENESIS: Digest = [0; 32];

/// The hash of an entry, after the one before it. `scratch` is memory to build the input in.
pub fn entry_hash(stream: &str, previous: &Digest, entry: &Entry, scratch: &mut Vec<u8>) -> Digest {
    let out = scratch;
    out.clear();
    out.extend_from_slice(b"hapax.entry.v1");
    out.extend_from_slice(previous);
    out.extend_from_slice(&entry.digest);
    out.push(entry.kind as u8);
    out.extend_from_slice(&entry.offset.to_be_bytes());
    out.extend_from_slice(&entry.contract.to_be_bytes());
    out.extend_from_slice(&entry.at.nanos().to_be_bytes());
    out.extend_from_slice(&entry.epoch.to_be_bytes());
    out.push(u8::from(entry.seq.is_some()));
    out.extend_from_slice(&entry.seq.unwrap_or(0).to_be_bytes());
    out.extend_from_slice(&entry.marks.bits().to_be_bytes());
    text(out, stream);
    text(out, &entry.lane);
    text(out, &entry.id);
    out.extend_from_slice(&u16::try_from(entry.classes.len()).unwrap_or(u16::MAX).to_be_bytes());
    for (name, class) in &entry.classes {
        text(out, name);
        out.push(*class as u8);
    }
    Sha256::digest(&*out).into()
}

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

/// Walks a ledger entry by entry.
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
            std::cmp::Ordering::Less => Err(Broken { offset: self.offset + 1, how: Breach::Truncated }),
            std::cmp::Ordering::Equal if self.hash == *hash => Ok(()),
            std::cmp::Ordering::Equal | std::cmp::Ordering::Greater => {
                Err(Broken { offset: self.offset, how: Breach::OutOfPlace })
            }
        }
    }
}

#[cfg(test)]
mod tests;
