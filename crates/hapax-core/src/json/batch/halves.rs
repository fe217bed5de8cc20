//! A large array in two parts, for two who scan at the same time.
//!
//! The second part begins where an element seems to begin. Whether one does is known once the first part was scanned: if it is whole
//! elements with a comma behind each, then what follows is an element of the same array, whatever it looks like, and the two parts are
//! what one scan finds. If not, the guess was wrong, and there is no first half.

use super::{Batch, Element, begin, list, step};

/// The first half has so much of all: whoever has the second is woken first.
const FIRST: usize = 9;
const FIRST_OF: usize = 16;

/// So far behind the middle an element is looked for; one that is longer is not worth it.
const LOOKED_AT_MAX: usize = 64 << 10;

/// So much of the first element is compared with what may be another.
const LIKENESS_MAX: usize = 64;

impl<'t> Batch<'t> {
    /// A place near the middle of an array at which an object seems to begin, because it begins with the same key as the first one.
    pub fn middle(bytes: &[u8]) -> Option<usize> {
        let first = bytes.trim_ascii_start().strip_prefix(b"[")?.trim_ascii_start();
        let key = first.iter().take(LIKENESS_MAX).position(|byte| *byte == b':')?;
        let alike = first.get(..=key).filter(|alike| alike.starts_with(b"{"))?;
        let half = bytes.len() / FIRST_OF * FIRST;
        let ahead = bytes.get(half..)?;
        let ahead = &ahead[..ahead.len().min(LOOKED_AT_MAX)];
        let is_one = |at: &usize| {
            let before = bytes[..*at].trim_ascii_end();
            before.strip_suffix(b",").is_some_and(|before| before.trim_ascii_end().ends_with(b"}"))
        };
        let places = ahead.windows(alike.len()).enumerate().filter(|(_, window)| *window == alike);
        places.map(|(place, _)| half + place).find(is_one)
    }

    /// The elements before a place, if it is one at which an element may follow; at most so many.
    pub fn first_half(bytes: &'t [u8], middle: usize, max: usize) -> Option<Batch<'t>> {
        let mut scan = begin(bytes.get(..middle)?).ok()?;
        let mut elements: Vec<Element> = Vec::new();
        step(&mut scan, b"[").ok()?;
        scan.space();
        list(&mut scan, &mut elements, max).ok()?;
        let follows = scan.peek().is_none() && scan.text.trim_ascii_end().ends_with(',');
        follows.then_some(Batch { text: scan.text, tape: scan.tape, elements })
    }

    /// The elements from a place to the end of the array; at most so many. They are an array's only if there is a
    /// [first half](Self::first_half).
    pub fn second_half(bytes: &'t [u8], middle: usize, max: usize) -> Option<Batch<'t>> {
        Batch::between(bytes.get(middle..)?, &[], &[b"]"], max).ok().filter(|half| !half.is_empty())
    }
}
