//! A run: records of some frames in a file, sorted, never changed.
//!
//! What holds: every byte that an answer rests on was checked against a checksum. "Not in this run" is said by the
//! filter or by a block that was checked, never by one that could not be read. The filter and the first record of each
//! block are in memory, so a lookup reads one block, and most read none.
//!
//! Not here: a cache of blocks. The page cache is one, and the check is about as fast as a copy.

use std::io;

use super::TableError;
use super::filter::{Filter, TOGETHER};
use super::format::{BLOCK, Header, RECORDS_AT, check_block, checksum};
use super::record::{Key, Place, RECORD, Raw, Stretch, Wanted, place_of};
use crate::embedded::disk::{Disk, DiskFile};

/// A run that is open.
pub(super) struct Run<F> {
    file: F,
    pub(super) path: String,
    pub(super) header: Header,
    seed: u64,
    firsts: Vec<Raw>,
    filter: Filter,
}

impl<F: DiskFile> Run<F> {
    pub(super) fn new(file: F, path: String, header: Header, firsts: Vec<Raw>, filter: Filter) -> Self {
        let seed = header.seed();
        Self { file, path, header, seed, firsts, filter }
    }

    /// Opens the run that this header, but for the number of records, is of.
    pub(super) fn open<D: Disk<File = F>>(disk: &D, expected: Header) -> Result<Self, TableError> {
        let path = expected.path();
        let damaged = |what: &str| TableError::Damaged(format!("{path}: {what}"));
        let file = disk.open(&path).map_err(TableError::reading)?;
        let size = file.size().map_err(TableError::reading)?;
        if size < BLOCK as u64 {
            return Err(damaged("it is too short for a header"));
        }
        let mut head = [0; BLOCK];
        file.read_at(0, &mut head).map_err(TableError::reading)?;
        let header = expected.decode(&head).map_err(damaged)?;
        if header.records > size / RECORD as u64 || header.tail_at() + header.tail_bytes() != size {
            return Err(damaged("it is not as long as its header says"));
        }
        let mut tail = vec![0; header.tail_bytes() as usize];
        file.read_at(header.tail_at(), &mut tail).map_err(TableError::reading)?;
        let sum = tail.split_off(tail.len() - 4);
        if sum != checksum(header.seed(), None, &tail) {
            return Err(damaged("its tail does not match its checksum"));
        }
        let (firsts, filter) = tail.split_at(header.blocks() as usize * RECORD);
        let filter = Filter::decode(filter, header.seed());
        let firsts = firsts.as_chunks::<RECORD>().0.to_vec();
        Ok(Self::new(file, path, header, firsts, filter))
    }

    /// The places of these keys, each with the position of its key, newest first. `hashes` are theirs.
    pub(super) fn find_all(
        &self,
        keys: &[Key],
        hashes: &[u64],
        mut found: impl FnMut(usize, Place),
    ) -> Result<(), TableError> {
        // First the filter for all of them, so that its cache lines are fetched side by side; then the few blocks, each
        // of them once.
        let mut asked: Vec<(usize, usize)> = Vec::new();
        let mut position = 0;
        for together in hashes.chunks(TOGETHER) {
            self.filter.touch(together);
            for hash in together {
                if self.filter.perhaps(*hash) {
                    asked.push((0, position));
                }
                position += 1;
            }
        }
        for (block, position) in &mut asked {
            *block = self.before(&Stretch::of(&keys[*position]).low);
        }
        asked.sort_unstable();
        let mut block = Block::new();
        let mut raws: Vec<Raw> = Vec::new();
        for (number, position) in asked {
            let stretch = Stretch::of(&keys[position]);
            self.lowest(number, &stretch, usize::MAX, &mut block, &mut raws)?;
            raws.drain(..).rev().for_each(|it| found(position, place_of(&it)));
        }
        Ok(())
    }

    /// What is wanted of a stretch.
    pub(super) fn stretch(&self, stretch: &Stretch, wanted: Wanted, found: &mut Vec<Raw>) -> Result<(), TableError> {
        let mut block = Block::new();
        match wanted {
            Wanted::Lowest(limit) => self.lowest(self.before(&stretch.low), stretch, limit, &mut block, found),
            Wanted::Greatest => {
                let Some(number) = self.firsts.partition_point(|it| *it <= stretch.high).checked_sub(1) else {
                    return Ok(());
                };
                self.read(number, &mut block)?;
                let records = block.records();
                let end = records.partition_point(|it| *it <= stretch.high);
                found.extend(records[..end].last().filter(|it| stretch.holds(it)));
                Ok(())
            }
        }
    }

    /// The records of a stretch from this block on, in order, up to so many.
    fn lowest(
        &self,
        mut number: usize,
        stretch: &Stretch,
        limit: usize,
        block: &mut Block,
        found: &mut Vec<Raw>,
    ) -> Result<(), TableError> {
        let mut left = limit;
        while left > 0 && self.firsts.get(number).is_some_and(|it| *it <= stretch.high) {
            self.read(number, block)?;
            let records = block.records();
            let begin = records.partition_point(|it| *it < stretch.low);
            let inside = records[begin..].iter().take_while(|it| **it <= stretch.high).take(left);
            let before = found.len();
            found.extend(inside);
            left -= found.len() - before;
            if begin + (found.len() - before) < records.len() {
                return Ok(());
            }
            number += 1;
        }
        Ok(())
    }

    /// The block in which this record would be, if it were here.
    fn before(&self, raw: &Raw) -> usize {
        self.firsts.partition_point(|it| it <= raw).saturating_sub(1)
    }

    fn read(&self, number: usize, block: &mut Block) -> Result<(), TableError> {
        if block.number == Some(number) {
            return Ok(());
        }
        block.number = None;
        block.bytes.resize(BLOCK, 0);
        self.read_blocks(number, &mut block.bytes)?;
        block.number = Some(number);
        block.records = self.header.records_in(number as u64);
        Ok(())
    }

    /// Reads whole blocks from this one on, and checks each.
    pub(super) fn read_blocks(&self, number: usize, into: &mut [u8]) -> Result<(), TableError> {
        self.file.read_at((1 + number as u64) * BLOCK as u64, into).map_err(|it| {
            if it.kind() == io::ErrorKind::UnexpectedEof {
                return TableError::Damaged(format!("{}: block {number} is gone", self.path));
            }
            TableError::reading(it)
        })?;
        let blocks = into.as_chunks::<BLOCK>().0;
        (number as u64..).zip(blocks).try_for_each(|(it, bytes)| check_block(&self.path, self.seed, it, bytes))
    }

    /// Bytes of the file.
    pub(super) fn bytes(&self) -> u64 {
        self.header.tail_at() + self.header.tail_bytes()
    }

    /// Bytes in memory.
    pub(super) fn memory_bytes(&self) -> u64 {
        (self.firsts.len() * RECORD) as u64 + self.filter.bytes()
    }
}

/// The block that was read last. It has no memory before the first: most lookups read none.
struct Block {
    number: Option<usize>,
    records: usize,
    bytes: Vec<u8>,
}

impl Block {
    fn new() -> Self {
        Self { number: None, records: 0, bytes: Vec::new() }
    }

    fn records(&self) -> &[Raw] {
        &self.bytes[RECORDS_AT..].as_chunks::<RECORD>().0[..self.records]
    }
}
