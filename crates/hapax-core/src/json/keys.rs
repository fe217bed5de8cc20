//! No key twice: the check of one object when it closes.
//!
//! Most objects are small and their keys have no escapes; they are checked with a 64-bit mask of fingerprints and
//! compare bytes only where two fingerprints meet. Large objects, and those with escapes, are sorted. Both are bounded
//! by the text's length times a logarithm or a small constant, so no input makes the check quadratic.

use std::borrow::Cow;

use super::{Cell, text};

/// Up to this many members comparing pairs beats sorting; it is also the constant in the worst case.
const PAIRS_MAX: usize = 32;

/// The cell of a key that the object at `open` had before, if there is one. The object's cells are complete but its
/// own end is not written yet.
pub(super) fn repeated(source: &str, cells: &[Cell], open: usize, count: usize) -> Option<usize> {
    if count < 2 {
        return None;
    }
    if count > PAIRS_MAX {
        return by_sorting(source, cells, open, count);
    }
    let mut seen = 0_u64;
    let mut at = open + 1;
    while at < cells.len() {
        let key = cells[at];
        if key.is_escaped() {
            return by_sorting(source, cells, open, count);
        }
        let inner = key.inner_bytes(source);
        let bit = fingerprint(inner);
        if seen & bit != 0 && is_among(source, cells, open + 1, at, inner) {
            return Some(at);
        }
        seen |= bit;
        at = cells[at + 1].next as usize;
    }
    None
}

/// One of 64 bits, from the length and three bytes: cheap, and different for the keys that people write.
fn fingerprint(key: &[u8]) -> u64 {
    let (Some(&first), Some(&last)) = (key.first(), key.last()) else { return 1 };
    let middle = key[key.len() / 2];
    let mixed = u64::from(first) | u64::from(middle) << 8 | u64::from(last) << 16 | (key.len() as u64) << 24;
    1 << (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58)
}

fn is_among(source: &str, cells: &[Cell], from: usize, to: usize, inner: &[u8]) -> bool {
    let mut at = from;
    while at < to {
        if cells[at].inner_bytes(source) == inner {
            return true;
        }
        at = cells[at + 1].next as usize;
    }
    false
}

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
