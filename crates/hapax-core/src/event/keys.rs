//! What events are looked up by: hashes of length-prefixed parts, each with a domain of its own.
//!
//! A key of fixed size costs an index nothing to store and compare, and 256 bits cannot be made to collide. They are
//! made where the document is read, on any core, and never by the writer.

use std::hash::{Hash, Hasher};

use sha2::block_api::compress256;
use sha2::{Digest as _, Sha256};

use crate::planted;

/// A SHA-256.
pub type Digest = [u8; 32];

/// The SHA-256 of some bytes. All of them are here, so they are compressed where they lie, without the buffer of a hasher.
pub fn digest(bytes: &[u8]) -> Digest {
    let mut state = FIRST_STATE;
    let (blocks, rest) = bytes.as_chunks::<64>();
    compress256(&mut state, blocks);
    // What is left, a one, zeros, and the length in bits at the end of the block, or of one more (FIPS 180-4, 5.1.1).
    let mut last = [[0; 64]; 2];
    let count = if rest.len() < 56 { 1 } else { 2 };
    let end = last[..count].as_flattened_mut();
    end[..rest.len()].copy_from_slice(rest);
    end[rest.len()] = 0x80;
    if let Some(length) = end.last_chunk_mut() {
        *length = (bytes.len() as u64 * 8).to_be_bytes();
    }
    compress256(&mut state, &last[..count]);
    let mut digest = [0; 32];
    for (place, word) in digest.as_chunks_mut().0.iter_mut().zip(state) {
        *place = word.to_be_bytes();
    }
    digest
}

/// FIPS 180-4, 5.3.3.
const FIRST_STATE: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

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
            return Self(digest(format!("{}:{id}", lane.unwrap_or_default()).as_bytes()));
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
    // Most are short, and are hashed at once.
    let mut short = [0; SHORT_BYTES];
    let length = domain.len() + parts.iter().map(|part| 8 + part.len()).sum::<usize>();
    let Some(whole) = short.get_mut(..length) else { return hash_long(domain, parts) };
    let mut rest = &mut *whole;
    let mut put = |bytes: &[u8]| {
        if let Some((place, after)) = std::mem::take(&mut rest).split_at_mut_checked(bytes.len()) {
            place.copy_from_slice(bytes);
            rest = after;
        }
    };
    put(domain);
    for part in parts {
        put(&(part.len() as u64).to_be_bytes());
        put(part.as_bytes());
    }
    digest(whole)
}

/// A domain, an id as ids usually are, and a lane.
const SHORT_BYTES: usize = 160;

fn hash_long(domain: &[u8], parts: &[&str]) -> Digest {
    let mut hasher = Sha256::new();
    hasher.update(domain);
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().into()
}

#[cfg(test)]
mod tests;
