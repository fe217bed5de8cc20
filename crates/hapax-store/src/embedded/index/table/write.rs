//! Writing a run: records in order, then the tail, then the name.
//!
//! What holds: a run has its name only once all of it was written, and the run in memory is made of what was written.
//! Nothing is synced unless asked for: what a power cut takes is found by its checksum.

use super::filter::{Filter, Hashing, TOGETHER};
use super::format::{BLOCK, DIR, Header, RECORDS, RECORDS_AT, Writing, checksum, temporary};
use super::record::{Raw, key_of};
use super::run::Run;
use super::{TableError, TableOptions};
use crate::embedded::disk::{Disk, DiskFile};

/// A run that is being written.
pub(super) struct Writer<'a, D: Disk> {
    disk: &'a D,
    options: &'a TableOptions,
    hashing: &'a Hashing,
    header: Header,
    seed: u64,
    file: D::File,
    temporary: String,
    firsts: Vec<Raw>,
    filter: Filter,
    /// What is not in the filter yet.
    hashes: Vec<u64>,
    /// Whole blocks, and the one that is being filled behind them.
    piece: Vec<u8>,
    written: u64,
    records: u64,
}

impl<'a, D: Disk> Writer<'a, D> {
    pub(super) fn new(
        disk: &'a D,
        options: &'a TableOptions,
        hashing: &'a Hashing,
        header: Header,
        writing: Writing,
    ) -> Result<Self, TableError> {
        let temporary = format!("{DIR}/{}", temporary(header.name, writing));
        // One that an error left; else there is none, and that is no error.
        let _ = disk.remove(&temporary);
        let file = disk.create(&temporary).map_err(TableError::writing)?;
        let seed = header.seed();
        let (firsts, filter) = (Vec::with_capacity(header.blocks() as usize), Filter::new(header.records, seed));
        let piece = header.encode().to_vec();
        Ok(Self {
            disk,
            options,
            hashing,
            header,
            seed,
            file,
            temporary,
            firsts,
            filter,
            hashes: Vec::with_capacity(TOGETHER),
            piece,
            written: 0,
            records: 0,
        })
    }

    /// Takes the next record. True if a piece was written with it: the moment to look after something else.
    pub(super) fn push(&mut self, raw: &Raw) -> Result<bool, TableError> {
        if self.records.is_multiple_of(RECORDS as u64) {
            self.firsts.push(*raw);
            self.piece.extend_from_slice(&[0; RECORDS_AT]);
        }
        self.piece.extend_from_slice(raw);
        self.hashes.push(self.hashing.of(&key_of(raw)));
        if self.hashes.len() == TOGETHER {
            self.add_hashes();
        }
        self.records += 1;
        if !self.records.is_multiple_of(RECORDS as u64) {
            return Ok(false);
        }
        self.seal();
        if self.piece.len() < self.options.piece_bytes {
            return Ok(false);
        }
        self.write()?;
        Ok(true)
    }

    /// To the filter, which in a large run is in no cache: its lines are fetched together.
    fn add_hashes(&mut self) {
        self.filter.add_all(&self.hashes);
        self.hashes.clear();
    }

    /// Puts the checksum before the block that was filled.
    fn seal(&mut self) {
        self.piece.resize(self.piece.len().next_multiple_of(BLOCK), 0);
        let at = self.piece.len() - BLOCK;
        let sum = checksum(self.seed, Some(self.firsts.len() as u64 - 1), &self.piece[at + 4..]);
        self.piece[at..at + 4].copy_from_slice(&sum);
    }

    fn write(&mut self) -> Result<(), TableError> {
        self.file.write_at(self.written, &self.piece).map_err(TableError::writing)?;
        self.written += self.piece.len() as u64;
        self.piece.clear();
        Ok(())
    }

    /// Writes the rest and gives the run its name.
    ///
    /// # Panics
    /// If there were not as many records as the header says.
    pub(super) fn finish(mut self) -> Result<Run<D::File>, TableError> {
        assert_eq!(self.records, self.header.records, "a run has as many records as its header says");
        if !self.records.is_multiple_of(RECORDS as u64) {
            self.seal();
        }
        self.add_hashes();
        self.write()?;
        debug_assert_eq!(self.written, self.header.tail_at(), "the tail follows the last block");
        self.firsts.iter().for_each(|it| self.piece.extend_from_slice(it));
        self.filter.encode(&mut self.piece);
        let sum = checksum(self.seed, None, &self.piece);
        self.piece.extend_from_slice(&sum);
        self.write()?;
        if self.options.sync {
            self.file.sync_data().map_err(TableError::writing)?;
        }
        let path = self.header.path();
        self.disk.rename(&self.temporary, &path).map_err(TableError::writing)?;
        if self.options.sync {
            self.disk.sync_dir(DIR).map_err(TableError::writing)?;
        }
        Ok(Run::new(self.file, path, self.header, self.firsts, self.filter))
    }
}
