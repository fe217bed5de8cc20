//! The directory of what lasts by itself: who keeps it finds any entry of a commit in a file, and reads that one alone.
//!
//! What holds: the checksum of a section says nothing about a part of it, so a directory has one of each record. It is made of a
//! section that was just written, and never of what was read.

use std::ops::Range;

use hapax_core::entry::Entry;
use hapax_core::event::Identity;

use super::Lasting;
use super::entry::{self, Much};
use super::fault::{Fault, Part, Undecodable};
use super::row::Row;
use super::tables::Apart;
use super::take::Take;

/// A directory, without the records.
#[derive(Debug)]
pub struct Directory {
    /// Its bytes.
    tail: Vec<u8>,
    tables: Apart,
    streams: Vec<Row>,
    /// CRC-32 of each record.
    sums: Vec<u32>,
}

impl Directory {
    /// That of a section.
    pub fn of(section: &[u8]) -> Result<Self, Undecodable> {
        let Lasting { tables, streams } = Lasting::open(section)?;
        let sum = |index| Ok(crc32fast::hash(section.get(tables.record(index)?).unwrap_or_default()));
        let sums = (0..tables.records()).map(sum).collect::<Result<_, _>>()?;
        let (tables, tail) = tables.apart();
        Ok(Self { tail: tail.to_vec(), tables, streams, sums })
    }

    /// About how much memory it takes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.tail.capacity()
            + self.streams.capacity() * size_of::<Row>()
            + self.sums.capacity() * size_of::<u32>()
    }

    /// How many entries there are.
    pub fn count(&self) -> usize {
        self.sums.len()
    }

    /// Where the entry at a place stands in its section.
    pub fn range(&self, index: u64) -> Result<Range<usize>, Undecodable> {
        self.tables.over(&self.tail).record(index)
    }

    /// Are these the bytes that were written there?
    pub fn is_sound(&self, index: u64, record: &[u8]) -> bool {
        let sum = usize::try_from(index).ok().and_then(|index| self.sums.get(index));
        sum.is_some_and(|sum| *sum == crc32fast::hash(record))
    }

    /// The entry at a place, out of its bytes, if it is of this identity.
    pub fn entry(&self, index: u64, record: &[u8], identity: &Identity) -> Result<Option<Entry>, Undecodable> {
        self.read(index, record, identity, Much::Whole)
    }

    pub(super) fn read(
        &self,
        index: u64,
        record: &[u8],
        identity: &Identity,
        much: Much<'_>,
    ) -> Result<Option<Entry>, Undecodable> {
        let missing = || Undecodable { part: Part::Lasting, at: 0, fault: Fault::Reference("record") };
        let place = self.streams.partition_point(|row| row.entries.end <= index);
        let row = self.streams.get(place).ok_or_else(missing)?;
        let place = index - row.entries.start;
        let mut take = Take::new(record, 0..record.len(), Part::Lasting)?;
        if entry::glance(&mut take.clone(), &row.base, place)?.identity != *identity {
            return Ok(None);
        }
        entry::read(&mut take, &self.tables.over(&self.tail), &row.base, place, much).map(Some)
    }
}
