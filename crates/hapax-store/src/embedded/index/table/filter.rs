//! Is a key in a run? Its [filter](Filter) says so without reading the disk. Part of the format, see `format`.
//!
//! What holds: keys are chosen by strangers, so they are hashed with a key of the log's, which no producer knows, and
//! nobody can choose ids that are slow to look up. Each run has a seed of its own, so that a key that one filter is
//! wrong about is not wrong in the next one as well.

use sha2::{Digest, Sha256};

use super::record::Key;
use crate::embedded::log::{FrameNumber, LogId};
use crate::filter::fold;
pub(super) use crate::filter::{Filter, LINE, TOGETHER};

/// How the keys of one table are hashed.
#[derive(Clone, Debug)]
pub(super) struct Hashing {
    first: u64,
    second: u64,
}

impl Hashing {
    pub(super) fn new(log: LogId, name: &str) -> Self {
        let (first, second) = digest(&[b"hapax table", &log.0, name.as_bytes()]);
        Self { first, second }
    }

    /// Two products of what nobody outside knows: every id of every batch is hashed twice, and most of a key is a piece of
    /// a SHA-256 already.
    pub(super) fn of(&self, key: &Key) -> u64 {
        let (words, rest) = key.0.as_chunks::<8>();
        let rest = rest.first_chunk::<4>().map_or(0, |it| u32::from_le_bytes(*it));
        let word = |at: usize| u64::from_le_bytes(words[at]);
        let both = fold(word(0) ^ self.first, word(1) ^ self.second);
        fold(both ^ u64::from(rest), self.first | 1)
    }
}

/// The seed of the run of these frames. The same frames have the same records, so it may be the same as well.
pub(super) fn seed(log: LogId, name: &str, from: FrameNumber, to: FrameNumber) -> u64 {
    digest(&[b"hapax run", &log.0, &from.0.to_le_bytes(), &to.0.to_le_bytes(), name.as_bytes()]).0
}

fn digest(parts: &[&[u8]]) -> (u64, u64) {
    let mut hasher = Sha256::new();
    parts.iter().for_each(|it| hasher.update(it));
    let all: [u8; 32] = hasher.finalize().into();
    let (mut first, mut second) = ([0; 8], [0; 8]);
    first.copy_from_slice(&all[..8]);
    second.copy_from_slice(&all[8..16]);
    (u64::from_le_bytes(first), u64::from_le_bytes(second))
}
