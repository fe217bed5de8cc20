//! Many runs into one: which, and how.
//!
//! What holds: runs are merged only with their neighbours, so that what is left still covers every frame once. A merge
//! takes at least as many runs as the options say, of one tier; its result is of a higher one, or took in small runs that
//! were in the way. So a record is written again about once per tier, and there are fewer runs per tier than that.
//!
//! Records are never dropped: each leads to something in the log, which drops nothing that lasts.

use std::ops::Range;

use super::TableError;
use super::format::{BLOCK, RECORDS_AT};
use super::record::{RECORD, Raw};
use super::run::Run;
use crate::embedded::disk::DiskFile;

/// Which neighbours are to be merged, given the number of records of each run, oldest first.
///
/// A run's tier is the logarithm of its records. One that is followed by larger ones counts as one of theirs: else the
/// small run of a clean stop would keep apart for ever what is on its two sides.
pub(super) fn choose(records: &[u64], width: usize) -> Option<Range<usize>> {
    let width = width.max(2);
    let mut end = records.len();
    let mut tier = 0;
    let mut begin = end;
    for number in (0..records.len()).rev() {
        let own = records[number].max(1).ilog(width as u64);
        if own > tier {
            if end - begin >= width {
                return Some(begin..end);
            }
            (tier, end) = (own, number + 1);
        }
        begin = number;
    }
    (end - begin >= width).then_some(begin..end)
}

/// So many blocks are read at once.
const BLOCKS: usize = 64;

/// The records of a run, one after the other.
struct Cursor<'a, F> {
    run: &'a Run<F>,
    bytes: Vec<u8>,
    /// The block after those in memory.
    block: usize,
    /// Where in memory the next record is, and where the last one ends that is one.
    at: usize,
    end: usize,
    /// How many are not read yet.
    left: u64,
}

impl<'a, F: DiskFile> Cursor<'a, F> {
    fn new(run: &'a Run<F>) -> Self {
        Self { run, bytes: Vec::new(), block: 0, at: 0, end: 0, left: run.header.records }
    }

    fn next(&mut self) -> Result<Option<Raw>, TableError> {
        if self.left == 0 {
            return Ok(None);
        }
        if self.at == self.end {
            let blocks = BLOCKS.min(self.run.header.blocks() as usize - self.block);
            self.bytes.resize(blocks * BLOCK, 0);
            self.run.read_blocks(self.block, &mut self.bytes)?;
            self.block += blocks;
            (self.at, self.end) = (0, self.bytes.len());
        }
        if self.at.is_multiple_of(BLOCK) {
            self.at += RECORDS_AT;
        }
        let mut raw = [0; RECORD];
        raw.copy_from_slice(&self.bytes[self.at..self.at + RECORD]);
        self.at += RECORD;
        self.left -= 1;
        Ok(Some(raw))
    }
}

/// Every record of these runs, in order.
pub(super) struct Merge<'a, F> {
    cursors: Vec<(Raw, Cursor<'a, F>)>,
}

impl<'a, F: DiskFile> Merge<'a, F> {
    pub(super) fn new(runs: impl Iterator<Item = &'a Run<F>>) -> Result<Self, TableError> {
        let mut cursors = Vec::new();
        for run in runs {
            let mut cursor = Cursor::new(run);
            if let Some(first) = cursor.next()? {
                cursors.push((first, cursor));
            }
        }
        Ok(Self { cursors })
    }

    pub(super) fn next(&mut self) -> Result<Option<Raw>, TableError> {
        // A handful of runs: looking at each is no slower than a heap.
        let Some(least) = (0..self.cursors.len()).min_by(|a, b| self.cursors[*a].0.cmp(&self.cursors[*b].0)) else {
            return Ok(None);
        };
        let (head, cursor) = &mut self.cursors[least];
        let raw = *head;
        match cursor.next()? {
            Some(next) => *head = next,
            None => drop(self.cursors.swap_remove(least)),
        }
        Ok(Some(raw))
    }
}
