//! Is a key in a run? "No" is certain, "perhaps" is wrong about once in a hundred times, and neither reads the disk.
//!
//! A blocked Bloom filter: a key's bits all lie in one line of 64 bytes, so that asking costs one cache line. Part of
//! the format, see `format`.
//!
//! What holds: keys are chosen by strangers, so they are hashed with a key of the log's, which no producer knows, and
//! nobody can choose ids that are slow to look up. Each run has a seed of its own, so that a key that one filter is
//! wrong about is not wrong in the next one as well.

use sha2::{Digest, Sha256};

use super::record::Key;
use crate::embedded::log::{FrameNumber, LogId};

/// Bytes of a line.
pub(super) const LINE: usize = 64;

/// Ten bits a key and six of them set: about one "perhaps" in a hundred is wrong.
const BITS_A_KEY: u64 = 10;
const BITS_SET: u32 = 6;

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

/// One cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
struct Line([u64; 8]);

/// The filter of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Filter {
    seed: u64,
    lines: Vec<Line>,
}

impl Filter {
    /// How many lines the filter of so many keys has.
    pub(super) fn lines(keys: u64) -> u64 {
        (keys * BITS_A_KEY).div_ceil(8 * LINE as u64).max(1)
    }

    /// An empty filter for so many keys.
    pub(super) fn new(keys: u64, seed: u64) -> Self {
        Self { seed, lines: vec![Line([0; 8]); Self::lines(keys) as usize] }
    }

    pub(super) fn add(&mut self, hash: u64) {
        let (line, mut bits) = self.spread(hash);
        for _ in 0..BITS_SET {
            self.lines[line].0[(bits >> 6 & 7) as usize] |= 1 << (bits & 63);
            bits >>= 9;
        }
    }

    pub(super) fn perhaps(&self, hash: u64) -> bool {
        let (line, mut bits) = self.spread(hash);
        let line = &self.lines[line].0;
        // Without a branch: what is asked of one key must not wait for what is asked of the one before.
        let mut set = 1;
        for _ in 0..BITS_SET {
            set &= line[(bits >> 6 & 7) as usize] >> (bits & 63);
            bits >>= 9;
        }
        set & 1 == 1
    }

    /// The line of a key, and nine bits for each bit of it in that line.
    fn spread(&self, hash: u64) -> (usize, u64) {
        let mixed = fold(hash ^ self.seed, 0x9e37_79b9_7f4a_7c15);
        let line = (u128::from(mixed) * self.lines.len() as u128) >> 64;
        (line as usize, fold(mixed, 0xd6e8_feb8_6659_fd93))
    }

    pub(super) fn encode(&self, into: &mut Vec<u8>) {
        self.lines.iter().flat_map(|it| it.0).for_each(|it| into.extend_from_slice(&it.to_le_bytes()));
    }

    /// The filter in these bytes, which are whole lines.
    pub(super) fn decode(bytes: &[u8], seed: u64) -> Self {
        let line = |it: &[u8; LINE]| {
            let mut words = [0; 8];
            words.iter_mut().zip(it.as_chunks::<8>().0).for_each(|(word, it)| *word = u64::from_le_bytes(*it));
            Line(words)
        };
        Self { seed, lines: bytes.as_chunks::<LINE>().0.iter().map(line).collect() }
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.lines.len() * LINE) as u64
    }
}

/// Both halves of a product: every bit of it depends on every bit of the number.
fn fold(number: u64, by: u64) -> u64 {
    let product = u128::from(number) * u128::from(by);
    (product >> 64) as u64 ^ product as u64
}
