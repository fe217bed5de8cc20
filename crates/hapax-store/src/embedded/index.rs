//! What is derived from the log, on disk: lost without harm, and built again from the frames.
//!
//! What holds: nothing here is the truth. Every file carries the id of the log and the frames that it reflects; one that
//! does not open, or that leaves a hole, is deleted with all the others, and the log is read again.
//!
//! Four tables lead from what is asked for to a frame and a place in it:
//!
//! | table      | key, after the stream's number | place                                                        |
//! |------------|--------------------------------|--------------------------------------------------------------|
//! | `ids`      | 16 bytes of an identity        | of each entry with it                                        |
//! | `places`   | offset                         | of the first entry of the stream in each frame that has one  |
//! | `attempts` | number of an attempt           | of each frame with attempts of the stream, accepted or not   |
//! | `tries`    | 16 bytes of a hash of an id    | of each attempt with it that was not accepted                |
//!
//! Not here: entries, verdicts, and any rule of the ledger.

mod keys;
pub mod table;

use std::io;

use hapax_core::event::Identity;
use hapax_core::planted;

use super::disk::Disk;
use super::log::{FrameNumber, LogId};
use crate::seam::Write;
use table::{Key, Place, Record, Table, TableError, TableOptions};

pub(super) use keys::{id_prefix, identity_key, number_in, number_key, try_key};

/// How many bytes of a key are the stream's number.
pub(super) const STREAM: usize = 4;

/// The directory of everything derived.
pub(super) const DIR: &str = "index";

/// The four tables.
pub(super) struct Index<D: Disk> {
    pub(super) ids: Table<D>,
    pub(super) places: Table<D>,
    pub(super) attempts: Table<D>,
    pub(super) tries: Table<D>,
}

/// How the tables are kept. None of it is part of the format: every start may choose anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexOptions {
    /// So many ids are in memory before they are written as a run.
    pub ids_in_memory: usize,
    /// So many records of each other table are. These have one a frame or one a refusal.
    pub others_in_memory: usize,
    /// Is a run durable before it is used? Without that a power cut may take blocks out of it, which shows only when they
    /// are asked for; then the store has to stop, and the next start builds the index again.
    pub sync: bool,
}

impl Default for IndexOptions {
    fn default() -> Self {
        // A million ids are about 50 MB, and a run of 34 MB: a sync of that, once in a million events and beside the turns,
        // costs less than a rebuild. Half as many would be written and merged once more; with twice as many a start after a
        // crash, which inserts them again, would take three to four seconds.
        Self { ids_in_memory: 1 << 20, others_in_memory: 64 << 10, sync: true }
    }
}

/// What one frame adds to the tables. Kept and used again, so that a commit allocates nothing for it.
#[derive(Debug, Default)]
pub(super) struct Records {
    ids: Vec<Record>,
    places: Vec<Record>,
    attempts: Vec<Record>,
    tries: Vec<Record>,
}

impl Records {
    /// What a frame adds. `numbers` are those of its streams, in their order.
    pub(super) fn fill(&mut self, frame: FrameNumber, write: &Write, numbers: &[u32]) {
        [&mut self.ids, &mut self.places, &mut self.attempts, &mut self.tries].into_iter().for_each(Vec::clear);
        let (mut entries, mut others) = (0, 0);
        for (stream, number) in write.streams.iter().zip(numbers) {
            let at = |index| Place { frame, index };
            let changes = &stream.changes;
            if let Some(first) = changes.entries.first() {
                self.places.push(Record { key: number_key(*number, first.offset), place: at(entries) });
            }
            if stream.after.attempts > stream.before.attempts {
                let first = stream.before.attempts + 1;
                self.attempts.push(Record { key: number_key(*number, first), place: at(others) });
            }
            for entry in &changes.entries {
                self.ids.push(Record { key: identity_key(*number, &entry.identity), place: at(entries) });
                entries += 1;
            }
            for attempt in &changes.attempts {
                if let Some(id) = &attempt.id {
                    self.tries.push(Record { key: try_key(*number, id), place: at(others) });
                }
                others += 1;
            }
        }
    }
}

impl<D: Disk> Index<D> {
    pub(super) fn open(disk: &D, id: LogId, options: &IndexOptions) -> Result<Self, TableError> {
        let open = |name, memory_records_max, ordered| {
            let options = TableOptions { memory_records_max, ordered, sync: options.sync, ..TableOptions::default() };
            Table::open(disk.clone(), name, id, options)
        };
        let IndexOptions { ids_in_memory: many, others_in_memory: few, .. } = *options;
        Ok(Self {
            ids: open("ids", many, false)?,
            places: open("places", few, true)?,
            attempts: open("attempts", few, true)?,
            tries: open("tries", few, false)?,
        })
    }

    fn tables(&self) -> [&Table<D>; 4] {
        [&self.ids, &self.places, &self.attempts, &self.tries]
    }

    /// The last frame that every table has on disk.
    pub(super) fn flushed(&self) -> FrameNumber {
        self.tables().map(Table::flushed).into_iter().min().unwrap_or(FrameNumber::ORIGIN)
    }

    /// The last frame that any table has on disk.
    pub(super) fn reaches(&self) -> FrameNumber {
        self.tables().map(Table::flushed).into_iter().max().unwrap_or(FrameNumber::ORIGIN)
    }

    /// Adds what a frame led to; every frame, in order.
    pub(super) fn insert(&self, frame: FrameNumber, records: &Records) {
        let new = [&records.ids, &records.places, &records.attempts, &records.tries];
        self.tables().into_iter().zip(new).for_each(|(table, records)| table.insert(frame, records));
    }

    /// The same while a whole log is read: what is due is done at once, so that memory stays bounded.
    pub(super) fn replay(&self, frame: FrameNumber, records: &Records) -> Result<(), TableError> {
        let none = Vec::new();
        let ids = if planted!(IdsInMemoryOnly) { &none } else { &records.ids };
        let new = [ids, &records.places, &records.attempts, &records.tries];
        self.tables().into_iter().zip(new).try_for_each(|(table, records)| table.replay(frame, records))
    }

    /// Makes some of the room that commits will need soon. Answers whether there may be more to make.
    pub(super) fn make_room(&self) -> bool {
        self.tables().into_iter().any(Table::make_room)
    }

    /// Does some of what is due, with what is durable. Answers whether there is more.
    pub(super) fn upkeep(&self, durable: FrameNumber) -> Result<bool, TableError> {
        for table in self.tables() {
            if table.upkeep_to(durable)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Writes everything that is in memory, once it is durable.
    pub(super) fn flush(&self, durable: impl Fn(FrameNumber) -> Result<(), TableError>) -> Result<(), TableError> {
        self.tables().into_iter().try_for_each(|table| table.flush_once(&durable))
    }

    /// The same as the log grows: the few records of the small tables, and ids only if some of them were there before this
    /// frame. Those that fill their memory in time are written when they have.
    pub(super) fn flush_old(
        &self,
        before: FrameNumber,
        durable: impl Fn(FrameNumber) -> Result<(), TableError>,
    ) -> Result<(), TableError> {
        let old = |table: &&Table<D>| !std::ptr::eq(*table, &self.ids) || table.flushed() < before;
        self.tables().into_iter().filter(old).try_for_each(|table| table.flush_once(&durable))
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        self.tables().map(Table::memory_bytes).into_iter().sum()
    }

    /// Removes everything derived.
    pub(super) fn remove_all(disk: &D) -> io::Result<()> {
        if !disk.list("")?.iter().any(|it| it == DIR) {
            return Ok(());
        }
        disk.list(DIR)?.iter().try_for_each(|name| disk.remove(&format!("{DIR}/{name}")))
    }

    /// The places of entries that may have an identity, newest first.
    pub(super) fn entries_of(&self, stream: u32, identity: &Identity) -> Result<Vec<Place>, TableError> {
        self.ids.find(&identity_key(stream, identity))
    }
}

/// Walks the frames of a table whose keys are numbers, in order, from the one that holds a number.
pub(super) struct Walk<'t, D: Disk> {
    table: &'t Table<D>,
    last: Key,
    ahead: std::vec::IntoIter<Record>,
    begun: bool,
}

/// How many frames are looked up at once: enough that looking up does not count, few enough for a short page.
const AHEAD: usize = 32;

impl<'t, D: Disk> Walk<'t, D> {
    pub(super) fn from(table: &'t Table<D>, stream: u32, number: u64) -> Self {
        Self { table, last: number_key(stream, number), ahead: Vec::new().into_iter(), begun: false }
    }

    /// The next frame, and the number that it begins with.
    pub(super) fn next(&mut self) -> Result<Option<(u64, Place)>, TableError> {
        if self.ahead.len() == 0 {
            let first = if self.begun { None } else { self.table.at_or_before(&self.last, STREAM)? };
            self.begun = true;
            let ahead = match first {
                Some(first) => vec![first],
                None => self.table.after(&self.last, STREAM, AHEAD)?,
            };
            self.ahead = ahead.into_iter();
        }
        Ok(self.ahead.next().map(|record| {
            self.last = record.key;
            (number_in(&record.key), record.place)
        }))
    }
}

#[cfg(test)]
mod tests;
