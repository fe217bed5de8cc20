//! JSON, written straight into one buffer.
//!
//! Each event is answered with a receipt, and writing it through a serializer took as long as judging the event. So what
//! is answered about events is written with this. What holds: the bytes are those that `serde_json` would write for the
//! same members in the same order. Not here: any check that the calls make up a JSON text; the tests of those who call
//! compare whole texts.

use std::ops::Range;

use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::event::Digest;
use crate::json::write_inner;
use crate::time::{Time, WRITTEN_MAX};

/// A buffer that JSON is written into.
#[derive(Debug, Default)]
pub(crate) struct Out(Vec<u8>);

impl Out {
    /// With room for so many bytes. More are written too, at the price of a copy.
    pub(crate) fn with_room(bytes: usize) -> Self {
        Self(Vec::with_capacity(bytes))
    }

    /// What was written.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// JSON as it stands.
    #[inline(always)]
    pub(crate) fn raw(&mut self, json: &str) {
        self.0.extend_from_slice(json.as_bytes());
    }

    /// A comma, unless what comes is the first in its braces or brackets.
    fn next(&mut self) {
        if !matches!(self.0.last(), Some(b'{' | b'[') | None) {
            self.0.push(b',');
        }
    }

    /// The name of a member whose value comes next. It must need no escape.
    pub(crate) fn member(&mut self, name: &str) -> &mut Self {
        self.next();
        self.0.push(b'"');
        self.raw(name);
        self.raw("\":");
        self
    }

    /// The same, with a name that may hold anything.
    pub(crate) fn member_of(&mut self, name: &str) -> &mut Self {
        self.next();
        self.string(name);
        self.0.push(b':');
        self
    }

    /// An object of the members that `write` writes.
    pub(crate) fn object(&mut self, write: impl FnOnce(&mut Self)) {
        self.0.push(b'{');
        write(self);
        self.0.push(b'}');
    }

    /// A list of what `write` writes of each item.
    pub(crate) fn list<T>(&mut self, items: impl IntoIterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        self.0.push(b'[');
        for item in items {
            self.next();
            write(self, item);
        }
        self.0.push(b']');
    }

    /// A string with its quotes.
    #[inline]
    pub(crate) fn string(&mut self, text: &str) {
        self.0.push(b'"');
        write_inner(&mut self.0, text);
        self.0.push(b'"');
    }

    /// A part of a string, without quotes.
    #[inline]
    pub(crate) fn part(&mut self, text: &str) {
        write_inner(&mut self.0, text);
    }

    /// A word of a closed vocabulary, which never needs an escape.
    #[inline]
    pub(crate) fn word(&mut self, name: &str) {
        self.0.push(b'"');
        self.raw(name);
        self.0.push(b'"');
    }

    /// A number.
    #[inline]
    pub(crate) fn number(&mut self, number: u64) {
        if number < 10 {
            self.0.push(b'0' + number as u8);
            return;
        }
        let mut digits = [0; 20];
        let (mut left, mut at) = (number, digits.len());
        while left >= 10 {
            at -= 2;
            digits[at..at + 2].copy_from_slice(&PAIRS[(left % 100) as usize]);
            left /= 100;
        }
        if left > 0 {
            at -= 1;
            digits[at] = b'0' + left as u8;
        }
        self.0.extend_from_slice(&digits[at..]);
    }

    /// A number, or `null`.
    pub(crate) fn number_or_null(&mut self, number: Option<u64>) {
        match number {
            Some(number) => self.number(number),
            None => self.raw("null"),
        }
    }

    /// A number that may be negative.
    pub(crate) fn signed(&mut self, number: i64) {
        if number < 0 {
            self.0.push(b'-');
        }
        self.number(number.unsigned_abs());
    }

    /// `true` or `false`.
    pub(crate) fn flag(&mut self, flag: bool) {
        self.raw(if flag { "true" } else { "false" });
    }

    /// A hash, as lower-case hex.
    #[inline]
    pub(crate) fn hash(&mut self, hash: &Digest) {
        let mut text = [b'"'; 66];
        let (pairs, _) = text[1..65].as_chunks_mut::<2>();
        for (pair, byte) in pairs.iter_mut().zip(hash) {
            *pair = HEX[usize::from(*byte)];
        }
        self.0.extend_from_slice(&text);
    }

    /// An instant.
    pub(crate) fn time(&mut self, time: Time) {
        self.word(time.written(&mut [0; WRITTEN_MAX]));
    }

    /// Anything else.
    pub(crate) fn value(&mut self, value: &impl Serialize) {
        // Every view is made of plain values, which always serialise.
        _ = serde_json::to_writer(&mut self.0, value);
    }

    /// What depends on `key` alone: copied, if it was written with the same key before.
    #[inline]
    pub(crate) fn repeat<K: PartialEq>(&mut self, known: &mut Repeat<K>, key: K, write: impl FnOnce(&mut Self, &K)) {
        if let Some((before, range)) = &known.0
            && *before == key
        {
            self.0.extend_from_within(range.clone());
            return;
        }
        let begin = self.0.len();
        write(self, &key);
        known.0 = Some((key, begin..self.0.len()));
    }
}

/// Where a buffer holds what was last written of a kind, and what that depended on.
#[derive(Debug)]
pub(crate) struct Repeat<K>(Option<(K, Range<usize>)>);

impl<K> Repeat<K> {
    /// Nothing was written yet.
    pub(crate) const NONE: Self = Self(None);
}

/// For those who have a serializer: hands it the JSON that `write` writes.
pub(crate) fn serialize<S: Serializer>(serializer: S, write: impl FnOnce(&mut Out)) -> Result<S::Ok, S::Error> {
    let mut out = Out::default();
    write(&mut out);
    let text = String::from_utf8(out.into_bytes()).map_err(S::Error::custom)?;
    RawValue::from_string(text).map_err(S::Error::custom)?.serialize(serializer)
}

/// `00` to `99`.
pub(crate) static PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

/// `00` to `ff`.
static HEX: [[u8; 2]; 256] = {
    let digits = b"0123456789abcdef";
    let mut pairs = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        pairs[byte] = [digits[byte >> 4], digits[byte & 15]];
        byte += 1;
    }
    pairs
};

#[cfg(test)]
mod tests;
