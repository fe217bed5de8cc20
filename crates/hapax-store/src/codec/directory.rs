//! The directory of what lasts by itself: all that is needed to read a record, but the record.
//!
//! What holds: it is made of a section that was just written, and never of what was read.

use hapax_core::entry::Entry;

use super::Lasting;
use super::entry::{self, Much};
use super::fault::{Fault, Part, Undecodable};
use super::row::Row;
use super::tables::Apart;
use super::take::Take;

/// A directory, without the records.
#[derive(Debug)]
pub(super) struct Directory {
    /// Its bytes.
    tail: Vec<u8>,
    tables: Apart,
    streams: Vec<Row>,
}

impl Directory {
    /// That of a section.
    pub(super) fn of(Lasting { tables, streams }: Lasting<'_>) -> Self {
        let (tables, tail) = tables.apart();
        Self { tail: tail.to_vec(), tables, streams }
    }

    /// About how much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.tail.capacity() + self.streams.capacity() * size_of::<Row>()
    }

    /// Looks at what will be needed of it.
    pub(super) fn touch(&self) -> u64 {
        let row = self.streams.first().map_or(0, |row| row.entries.end);
        row + self.tail.get(self.tail.len() / 2).copied().map_or(0, u64::from)
    }

    /// The entry at a place, out of its bytes.
    pub(super) fn read(&self, index: u64, record: &[u8], much: Much<'_>) -> Result<Entry, Undecodable> {
        let missing = || Undecodable { part: Part::Lasting, at: 0, fault: Fault::Reference("record") };
        let place = self.streams.partition_point(|row| row.entries.end <= index);
        let row = self.streams.get(place).ok_or_else(missing)?;
        let place = index - row.entries.start;
        let mut take = Take::new(record, 0..record.len(), Part::Lasting)?;
        entry::read(&mut take, &self.tables.over(&self.tail), &row.base, place, much)
    }
}
