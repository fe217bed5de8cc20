//! What a table holds: a key and the place in the log that it leads to, 32 bytes together.
//!
//! What holds: a record's bytes sort as the record does, key first, then frame, then index. So memory, runs and merges
//! compare bytes and never decode to compare, and every question to a table is a stretch between two records.

use crate::embedded::log::FrameNumber;

/// Bytes of a key.
pub const KEY: usize = 20;

/// Bytes of a record.
pub(super) const RECORD: usize = 32;

/// What is looked up, compared as bytes: the number of the stream (big-endian), then 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub [u8; KEY]);

/// Where in the log something is: in which frame, and which of the things in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The frame.
    pub frame: FrameNumber,
    /// Which one in it, as the frame counts them.
    pub index: u32,
}

/// A key and a place. One key may have many places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Record {
    /// What is looked up.
    pub key: Key,
    /// Where it is.
    pub place: Place,
}

/// A record as it is kept, in memory and on disk.
pub(super) type Raw = [u8; RECORD];

impl Record {
    pub(super) fn encode(&self) -> Raw {
        let mut raw = [0; RECORD];
        raw[..KEY].copy_from_slice(&self.key.0);
        raw[20..28].copy_from_slice(&self.place.frame.0.to_be_bytes());
        raw[28..].copy_from_slice(&self.place.index.to_be_bytes());
        raw
    }

    pub(super) fn decode(raw: &Raw) -> Self {
        Self { key: key_of(raw), place: place_of(raw) }
    }
}

pub(super) fn key_of(raw: &Raw) -> Key {
    let mut key = [0; KEY];
    key.copy_from_slice(&raw[..KEY]);
    Key(key)
}

pub(super) fn place_of(raw: &Raw) -> Place {
    let (mut frame, mut index) = ([0; 8], [0; 4]);
    frame.copy_from_slice(&raw[20..28]);
    index.copy_from_slice(&raw[28..]);
    Place { frame: FrameNumber(u64::from_be_bytes(frame)), index: u32::from_be_bytes(index) }
}

/// All records from one to another, both included. No frame has the greatest number, so a place of ones is behind all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) low: Raw,
    pub(super) high: Raw,
}

impl Stretch {
    /// The keys that begin with these bytes.
    ///
    /// # Panics
    /// If they are more than a key has.
    pub(super) fn beginning(bytes: &[u8]) -> Self {
        assert!(bytes.len() <= KEY, "a key begins with at most all of itself");
        let (mut low, mut high) = ([0; RECORD], [0xff; RECORD]);
        low[..bytes.len()].copy_from_slice(bytes);
        high[..bytes.len()].copy_from_slice(bytes);
        Self { low, high }
    }

    /// Every place of a key.
    pub(super) fn of(key: &Key) -> Self {
        Self::beginning(&key.0)
    }

    /// Keys up to this one that share its first bytes.
    pub(super) fn up_to(key: &Key, shared: usize) -> Self {
        Self { low: Self::beginning(&key.0[..shared]).low, high: Self::of(key).high }
    }

    /// Keys above this one that share its first bytes.
    pub(super) fn after(key: &Key, shared: usize) -> Self {
        Self { low: Self::of(key).high, high: Self::beginning(&key.0[..shared]).high }
    }

    pub(super) fn holds(&self, raw: &Raw) -> bool {
        self.low <= *raw && *raw <= self.high
    }
}

/// Which records of a stretch are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The lowest, up to so many.
    Lowest(usize),
    /// The greatest one.
    Greatest,
}

impl Wanted {
    /// Drops what is not wanted from all that was found, and leaves the rest in order.
    pub(super) fn choose(self, found: &mut Vec<Raw>) {
        found.sort_unstable();
        match self {
            Self::Lowest(limit) => found.truncate(limit),
            Self::Greatest => drop(found.drain(..found.len().saturating_sub(1))),
        }
    }
}
