//! What events are looked up by: hashes of length-prefixed parts, each with a domain of its own.
//!
//! A key of fixed size costs an index nothing to store and compare, and 256 bits cannot be made to collide. They are
//! made where the document is read, on any core, and never by the writer.

use std::hash::{Hash, Hasher};

use super::hashing::{Digest, Input};
use crate::planted;

/// An id in its scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Identity(pub Digest);

/// A nonce in its lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NonceKey(pub Digest);

/// A table needs only as many bits as it has places, and nobody can make two hashes agree in 64 of them at will.
impl Hash for Identity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(first_bits(&self.0));
    }
}

impl Hash for NonceKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(first_bits(&self.0));
    }
}

fn first_bits(digest: &Digest) -> u64 {
    digest.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// Who chose an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum IdSource {
    /// The sender.
    #[default]
    Given,
    /// The contract's `derive`.
    Derived,
    /// We, because there was nothing to go by. Nobody can send it again.
    Assigned,
}

impl Identity {
    /// How many bytes the identities of one id have in common, whatever their lanes.
    pub const SHARED: usize = 8;

    /// An event's id; `lane` only where ids are unique within a lane. The identities of one id in several lanes begin
    /// alike, so that a sorted index finds them together. What is left still has 192 bits of its own.
    pub fn of(lane: Option<&str>, id: &str) -> Self {
        if planted!(KeyPartsJoined) {
            return Self(super::digest(format!("{}:{id}", lane.unwrap_or_default()).as_bytes()));
        }
        let mut identity = hash(b"hapax.id.v1", &[id]);
        if let Some(lane) = lane {
            let own = hash(b"hapax.id.lane.v1", &[lane, id]);
            identity[Self::SHARED..].copy_from_slice(&own[..32 - Self::SHARED]);
        }
        Self(identity)
    }

    /// The closing of a period; without a key it is for every key.
    pub fn of_closing(counter: &str, key: Option<&str>, period: &str) -> Self {
        match key {
            Some(key) => Self(hash(b"hapax.close.v1", &[counter, period, key])),
            None => Self(hash(b"hapax.close.v1", &[counter, period])),
        }
    }

    /// An event of a stream that is not ours, as a bare registry was told of it.
    pub fn of_claim(stream: &str, id: &str) -> Self {
        Self(hash(b"hapax.claim.v1", &[stream, id]))
    }

    /// A manual correction's id: a namespace of its own, which no event can reach.
    pub fn of_correction(id: &str) -> Self {
        Self(hash(b"hapax.correction.v1", &[id]))
    }
}

impl NonceKey {
    /// A nonce in its lane.
    pub fn of(lane: &str, nonce: &str) -> Self {
        Self(hash(b"hapax.nonce.v1", &[lane, nonce]))
    }
}

/// No separator could keep the parts apart: any of them may contain it. Lengths can.
fn hash(domain: &[u8], parts: &[&str]) -> Digest {
    let mut input = Input::new();
    input.put(domain);
    for part in parts {
        input.put(&(part.len() as u64).to_be_bytes());
        input.put(part.as_bytes());
    }
    input.digest()
}

#[cfg(test)]
mod tests;
