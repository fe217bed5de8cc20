//! Reading the few shapes that everything else is made of, from bytes that may be anything.
//!
//! What holds: nothing panics; every fault has the byte at which it shows; nothing is allocated for a length before the
//! bytes of that length are there.

use std::ops::Range;

use hapax_core::amount::Amount;
use hapax_core::time::Time;

use super::fault::{Fault, Part, Undecodable};

/// A place in a section, and the place before which to stop.
#[derive(Clone, Debug)]
pub(super) struct Take<'b> {
    bytes: &'b [u8],
    at: usize,
    part: Part,
}

/// A list of unknown honesty gets room for so many items at first; it grows with what is really there.
const ROOM: u64 = 1024;

impl<'b> Take<'b> {
    /// A range of a section. Places stay those of the section, so that faults can name them.
    pub(super) fn new(section: &'b [u8], range: Range<usize>, part: Part) -> Result<Self, Undecodable> {
        match section.get(..range.end) {
            Some(bytes) if range.start <= range.end => Ok(Self { bytes, at: range.start, part }),
            _ => Err(Undecodable { part, at: range.start.min(section.len()), fault: Fault::Ended }),
        }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// A fault here.
    pub(super) fn fault<T>(&self, fault: Fault) -> Result<T, Undecodable> {
        self.fault_at(self.at, fault)
    }

    /// A fault that began earlier.
    pub(super) fn fault_at<T>(&self, at: usize, fault: Fault) -> Result<T, Undecodable> {
        Err(Undecodable { part: self.part, at, fault })
    }

    /// Is everything read?
    pub(super) fn finish(&self) -> Result<(), Undecodable> {
        match self.bytes.len() - self.at {
            0 => Ok(()),
            left => self.fault(Fault::Left(left)),
        }
    }

    /// All that is left.
    pub(super) fn rest(&mut self) -> &'b [u8] {
        let rest = &self.bytes[self.at..];
        self.at = self.bytes.len();
        rest
    }

    pub(super) fn raw(&mut self, length: u64) -> Result<&'b [u8], Undecodable> {
        let left = &self.bytes[self.at..];
        match usize::try_from(length).ok().and_then(|length| left.get(..length)) {
            Some(bytes) => {
                self.at += bytes.len();
                Ok(bytes)
            }
            None => self.fault(Fault::Ended),
        }
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Undecodable> {
        match self.bytes[self.at..].first_chunk() {
            Some(bytes) => {
                self.at += N;
                Ok(*bytes)
            }
            None => self.fault(Fault::Ended),
        }
    }

    pub(super) fn byte(&mut self) -> Result<u8, Undecodable> {
        self.array().map(|[byte]| byte)
    }

    pub(super) fn number(&mut self) -> Result<u64, Undecodable> {
        // Nearly every integer of a section is one byte.
        match self.bytes.get(self.at) {
            Some(byte @ 0..0x80) => {
                self.at += 1;
                Ok(u64::from(*byte))
            }
            _ => self.long(64).and_then(|wide| u64::try_from(wide).or_else(|_| self.fault(Fault::Number))),
        }
    }

    /// An integer of at most so many bits. One value has one spelling, so nothing may end in a byte of zeros.
    fn long(&mut self, bits: u32) -> Result<u128, Undecodable> {
        let start = self.at;
        let mut value = 0;
        for shift in (0..bits).step_by(7) {
            let byte = self.byte()?;
            let part = u128::from(byte & 0x7f);
            if (part << shift) >> shift != part || (byte == 0 && shift > 0) {
                return self.fault_at(start, Fault::Number);
            }
            value |= part << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        self.fault_at(start, Fault::Number)
    }

    pub(super) fn short(&mut self) -> Result<u32, Undecodable> {
        let start = self.at;
        u32::try_from(self.number()?).or_else(|_| self.fault_at(start, Fault::Number))
    }

    pub(super) fn signed(&mut self) -> Result<i64, Undecodable> {
        let value = self.number()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    pub(super) fn apart(&mut self, from: u64) -> Result<u64, Undecodable> {
        Ok(from.wrapping_add(self.signed()?.cast_unsigned()))
    }

    pub(super) fn time(&mut self) -> Result<Time, Undecodable> {
        let start = self.at;
        let nanos = self.array().map(i64::from_le_bytes)?;
        self.within(start, nanos)
    }

    pub(super) fn time_from(&mut self, from: Time) -> Result<Time, Undecodable> {
        let start = self.at;
        let nanos = from.nanos().wrapping_add(self.signed()?);
        self.within(start, nanos)
    }

    fn within(&self, start: usize, nanos: i64) -> Result<Time, Undecodable> {
        let time = Time::from_nanos(nanos);
        if time.nanos() == nanos { Ok(time) } else { self.fault_at(start, Fault::Value("time")) }
    }

    pub(super) fn amount(&mut self) -> Result<Amount, Undecodable> {
        let start = self.at;
        let value = self.long(128)?;
        let scaled = (value >> 1).cast_signed() ^ -(value & 1).cast_signed();
        match Amount::from_scaled(scaled) {
            Some(amount) => Ok(amount),
            None => self.fault_at(start, Fault::Value("amount")),
        }
    }

    pub(super) fn bytes(&mut self) -> Result<&'b [u8], Undecodable> {
        let length = self.number()?;
        self.raw(length)
    }

    pub(super) fn text(&mut self) -> Result<&'b str, Undecodable> {
        let start = self.at;
        let bytes = self.bytes()?;
        str::from_utf8(bytes).or_else(|_| self.fault_at(start, Fault::NotText))
    }

    pub(super) fn string(&mut self) -> Result<String, Undecodable> {
        self.text().map(str::to_owned)
    }

    /// A yes or no that has a byte of its own.
    pub(super) fn flag(&mut self) -> Result<bool, Undecodable> {
        self.bits("flag", 1).map(|bits| bits == 1)
    }

    /// Presence bits, of which these are known.
    pub(super) fn bits(&mut self, of: &'static str, known: u64) -> Result<u64, Undecodable> {
        let start = self.at;
        let tag = self.number()?;
        if tag & !known == 0 { Ok(tag) } else { self.fault_at(start, Fault::Tag { of, tag }) }
    }

    /// A word of a vocabulary, by its place in the table.
    pub(super) fn word<T: Copy>(&mut self, all: &[T], of: &'static str) -> Result<T, Undecodable> {
        let tag = self.byte()?;
        match all.get(usize::from(tag)) {
            Some(word) => Ok(*word),
            None => self.unknown(of, tag),
        }
    }

    /// The fault of a tag that was just read and is not known.
    pub(super) fn unknown<T>(&self, of: &'static str, tag: u8) -> Result<T, Undecodable> {
        self.fault_at(self.at.saturating_sub(1), Fault::Tag { of, tag: u64::from(tag) })
    }

    /// A value that is there only if its bit is set.
    pub(super) fn when<T>(
        &mut self,
        present: bool,
        read: impl FnOnce(&mut Self) -> Result<T, Undecodable>,
    ) -> Result<Option<T>, Undecodable> {
        if present { read(self).map(Some) } else { Ok(None) }
    }

    /// Some things of one kind, with how many there are.
    pub(super) fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, Undecodable>,
    ) -> Result<Vec<T>, Undecodable> {
        let count = self.number()?;
        let mut items = Vec::with_capacity(count.min(ROOM) as usize);
        for _ in 0..count {
            items.push(read(self)?);
        }
        Ok(items)
    }
}
