//! No key twice: what is remembered of an object's keys while it is open, and the check when it closes.
//!
//! Most objects are small and their keys have no escapes. Each such key leaves its hash in its cell and one of 64 bits in
//! a mask; keys are compared only where two bits meet. Large objects, and those with escapes, are sorted. Both are bounded
//! by the text's length times a logarithm or a small constant, so no input makes the check quadratic.

use std::borrow::Cow;

use super::{Cell, text};

/// Up to this many members comparing pairs beats sorting; it is also the constant in the worst case.
const PAIRS_MAX: usize = 32;

/// What is known of the keys of an open object.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// A bit for each key.
    mask: u64,
    /// The first key that was there before; zero if there is none, for no key is the first on a tape.
    repeated: usize,
    /// Does some key have escapes?
    escaped: bool,
}

/// A hash of a key from its length and its first and last bytes: cheap, and different for the keys that people write.
/// Whoever makes many agree gains nothing: they are compared as well.
#[inline]
pub(crate) fn hash(key: &[u8]) -> u32 {
    let (first, last) = if let (Some(first), Some(last)) = (key.first_chunk(), key.last_chunk()) {
        (u64::from_le_bytes(*first), u64::from_le_bytes(*last))
    } else if let (Some(first), Some(last)) = (key.first_chunk(), key.last_chunk()) {
        (u64::from(u32::from_le_bytes(*first)), u64::from(u32::from_le_bytes(*last)))
    } else if let (Some(&first), Some(&last)) = (key.first(), key.last()) {
        (u64::from(first) | u64::from(key[key.len() / 2]) << 8, u64::from(last))
    } else {
        (0, 0)
    };
    let mixed = first.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ last.rotate_left(23) ^ key.len() as u64;
    (mixed.wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32) as u32
}

/// The bit of a key with this hash.
#[inline]
pub(super) fn bit(hash: u32) -> u64 {
    1 << (hash >> 26)
}

impl Seen {
    /// Takes note of the next key of the object at `open`, which had `count` before it and is not on the tape yet.
    #[inline]
    pub(super) fn note(&mut self, bytes: &[u8], cells: &[Cell], open: usize, count: usize, hash: u32, inner: &[u8]) {
        let bit = bit(hash);
        let is_new = self.mask & bit == 0 || self.repeated != 0 || count >= PAIRS_MAX;
        self.mask |= bit;
        if !is_new && is_among(bytes, cells, open + 1, hash, inner) {
            self.repeated = cells.len();
        }
    }

    /// A key with escapes may be any other.
    pub(super) fn note_escaped(&mut self) {
        self.escaped = true;
    }
}

#[cold]
fn is_among(bytes: &[u8], cells: &[Cell], from: usize, hash: u32, inner: &[u8]) -> bool {
    let mut at = from;
    while at < cells.len() {
        let key = cells[at];
        if key.next == hash && !key.is_escaped() && &bytes[key.start as usize + 1..key.end as usize - 1] == inner {
            return true;
        }
        at = cells[at + 1].next as usize;
    }
    false
}

/// The cell of a key that the object at `open` had before, if there is one. The object's cells are complete but its
/// own end is not written yet.
#[inline]
pub(super) fn repeated(source: &str, cells: &[Cell], open: usize, count: usize, seen: Seen) -> Option<usize> {
    if seen.mask == 0 && !seen.escaped {
        // An array has no keys, and an object without any has none twice.
        return None;
    }
    if count > PAIRS_MAX || seen.escaped {
        return by_sorting(source, cells, open, count);
    }
    (seen.repeated != 0).then_some(seen.repeated)
}

#[cold]
fn by_sorting(source: &str, cells: &[Cell], open: usize, count: usize) -> Option<usize> {
    let mut keys: Vec<(Cow<'_, str>, usize)> = Vec::with_capacity(count);
    let mut at = open + 1;
    while at < cells.len() {
        let inner = cells[at].inner(source);
        let key = if cells[at].is_escaped() { text::unescape(inner) } else { Cow::Borrowed(inner) };
        keys.push((key, at));
        at = cells[at + 1].next as usize;
    }
    keys.sort_unstable();
    // Of several repeated keys the first in the text is named, as the other way of checking does.
    keys.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| pair[1].1).min()
}
