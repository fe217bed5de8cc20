//! Every byte of a run. These tables *are* format 3; numbers are little-endian but for those in a record, checksums
//! CRC-32 (IEEE).
//!
//! In `index/`: runs `NAME-FROM-TO.run`, named by their table and the frames that they cover, in twenty digits each: those
//! after FROM up to TO. `NAME-flush.tmp` and `NAME-merge.tmp` were never finished and are removed at the next start.
//!
//! A run is a header, blocks of 4 096 bytes, then the tail: the first record of each block, and the filter. The file ends
//! there.
//!
//! | at   | bytes | header                                                              |
//! |------|-------|---------------------------------------------------------------------|
//! | 0    | 4     | `HxRn`                                                              |
//! | 4    | 2     | format: 3                                                           |
//! | 6    | 2     | zero                                                                |
//! | 8    | 16    | id of the log                                                       |
//! | 24   | 8     | FROM: the frame before the first that it covers                     |
//! | 32   | 8     | TO: the last frame that it covers                                   |
//! | 40   | 8     | number of records                                                   |
//! | 48   | 32    | NAME of the table, then zeros                                       |
//! | 80   | 4012  | zero                                                                |
//! | 4092 | 4     | checksum of bytes 0 to 4091                                         |
//!
//! | at   | bytes | block                                                               |
//! |------|-------|---------------------------------------------------------------------|
//! | 0    | 4     | checksum of the seed, the number of the block (`u64`, 0 for the first), and bytes 4 to 4095 |
//! | 4    | 28    | zero                                                                |
//! | 32   | 4064  | 127 records in order; behind the last record of the run, zeros      |
//!
//! | at   | bytes | record                                                              |
//! |------|-------|---------------------------------------------------------------------|
//! | 0    | 20    | key                                                                 |
//! | 20   | 8     | frame, big-endian                                                   |
//! | 28   | 4     | index, big-endian: so that records sort as their bytes do           |
//!
//! | bytes          | tail                                                              |
//! |----------------|-------------------------------------------------------------------|
//! | 32 a block     | its first record                                                  |
//! | 64 a line      | the filter: 16 bits a record, rounded up to lines, at least one   |
//! | 4              | checksum of the seed followed by both                             |
//!
//! The *seed* is the first eight bytes of SHA-256 of `hapax run`, the id, FROM, TO and NAME. It is not written down; it
//! keeps the remains of one run, which a power cut may leave in the blocks of another, from being taken for that one's.
//! A key's *hash* is made of it and of two numbers, the first sixteen bytes of SHA-256 of `hapax table`, the id and NAME.
//! It, its line and its seven bits in that are computed in `filter`. (Format 1 had SipHash, format 2 ten bits a record, six of them set.)

use super::TableError;
use super::filter::{Filter, seed};
use super::record::RECORD;
use crate::embedded::log::{FrameNumber, LogId};

/// The only format there is.
const FORMAT: u16 = 3;

/// Bytes of a block, and of the header: what a disk reads as one.
pub(super) const BLOCK: usize = 4096;

/// Where the records of a block begin.
pub(super) const RECORDS_AT: usize = 32;

/// Records in a block.
pub(super) const RECORDS: usize = (BLOCK - RECORDS_AT) / RECORD;

/// The longest name of a table.
const NAME: usize = 32;

/// Where the runs are, below the root of the disk.
pub(super) const DIR: &str = "index";

/// What a run says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) log: LogId,
    pub(super) name: &'static str,
    pub(super) from: FrameNumber,
    pub(super) to: FrameNumber,
    pub(super) records: u64,
}

impl Header {
    pub(super) fn encode(&self) -> [u8; BLOCK] {
        assert!(self.name.len() <= NAME, "the name of a table has at most 32 bytes");
        let mut bytes = [0; BLOCK];
        bytes[..4].copy_from_slice(b"HxRn");
        bytes[4..6].copy_from_slice(&FORMAT.to_le_bytes());
        bytes[8..24].copy_from_slice(&self.log.0);
        bytes[24..32].copy_from_slice(&self.from.0.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.to.0.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.records.to_le_bytes());
        bytes[48..48 + self.name.len()].copy_from_slice(self.name.as_bytes());
        let checksum = crc32fast::hash(&bytes[..BLOCK - 4]);
        bytes[BLOCK - 4..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Takes the number of records from these bytes, if they are otherwise what this header's would be.
    pub(super) fn decode(mut self, bytes: &[u8; BLOCK]) -> Result<Self, &'static str> {
        let mut records = [0; 8];
        records.copy_from_slice(&bytes[40..48]);
        self.records = u64::from_le_bytes(records);
        let expected = self.encode();
        if bytes[BLOCK - 4..] != crc32fast::hash(&bytes[..BLOCK - 4]).to_le_bytes() {
            return Err("its header does not match its checksum");
        }
        if bytes[8..24] != expected[8..24] {
            return Err("it belongs to another log");
        }
        if *bytes != expected { Err("its header says something else than its name") } else { Ok(self) }
    }

    pub(super) fn seed(&self) -> u64 {
        seed(self.log, self.name, self.from, self.to)
    }

    pub(super) fn blocks(&self) -> u64 {
        self.records.div_ceil(RECORDS as u64)
    }

    /// How many records this block has.
    pub(super) fn records_in(&self, block: u64) -> usize {
        self.records.saturating_sub(block * RECORDS as u64).min(RECORDS as u64) as usize
    }

    pub(super) fn tail_at(&self) -> u64 {
        (1 + self.blocks()) * BLOCK as u64
    }

    pub(super) fn tail_bytes(&self) -> u64 {
        self.blocks() * RECORD as u64 + Filter::lines(self.records) * super::filter::LINE as u64 + 4
    }

    pub(super) fn path(&self) -> String {
        format!("{DIR}/{}", file_name(self.name, self.from, self.to))
    }
}

/// The checksum of a part of a run.
pub(super) fn checksum(seed: u64, block: Option<u64>, bytes: &[u8]) -> [u8; 4] {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    if let Some(block) = block {
        hasher.update(&block.to_le_bytes());
    }
    hasher.update(bytes);
    hasher.finalize().to_le_bytes()
}

/// Checks a block that was read.
pub(super) fn check_block(path: &str, seed: u64, block: u64, bytes: &[u8]) -> Result<(), TableError> {
    if bytes[..4] == checksum(seed, Some(block), &bytes[4..]) {
        return Ok(());
    }
    Err(TableError::Damaged(format!("{path}: block {block} does not match its checksum")))
}

fn file_name(name: &str, from: FrameNumber, to: FrameNumber) -> String {
    format!("{name}-{:020}-{:020}.run", from.0, to.0)
}

/// The frames of the run with this name, if it is a run of this table.
pub(super) fn frames_of(name: &str, file: &str) -> Option<(FrameNumber, FrameNumber)> {
    let (from, to) = file.strip_prefix(name)?.strip_prefix('-')?.strip_suffix(".run")?.split_once('-')?;
    let (from, to) = (FrameNumber(from.parse().ok()?), FrameNumber(to.parse().ok()?));
    (file_name(name, from, to) == file).then_some((from, to))
}

/// What a run is called while it is written.
pub(super) fn temporary(name: &str, writing: Writing) -> String {
    match writing {
        Writing::Flush => format!("{name}-flush.tmp"),
        Writing::Merge => format!("{name}-merge.tmp"),
    }
}

/// Why a run is written: both may be under way at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writing {
    Flush,
    Merge,
}
