//! The bytes of a snapshot: its header, and pieces that each carry their checksum.

use crate::embedded::log::{FrameNumber, LogId};

pub(super) const HEADER: usize = 68;
const SUMMED: usize = 64;
pub(super) const PIECE: usize = 16;
const FORMAT: u16 = 1;

/// What a snapshot says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) log: LogId,
    pub(super) frame: FrameNumber,
    pub(super) digest: [u8; 32],
}

impl Header {
    pub(super) fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..4].copy_from_slice(b"HxSt");
        bytes[4..6].copy_from_slice(&FORMAT.to_le_bytes());
        bytes[8..24].copy_from_slice(&self.log.0);
        bytes[24..32].copy_from_slice(&self.frame.0.to_le_bytes());
        bytes[32..64].copy_from_slice(&self.digest);
        let checksum = crc32fast::hash(&bytes[..SUMMED]);
        bytes[SUMMED..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// What is wrong with it, if it is not a header of this log and this frame.
    pub(super) fn decode(bytes: &[u8; HEADER], log: LogId, frame: FrameNumber) -> Result<Self, &'static str> {
        let mut digest = [0; 32];
        digest.copy_from_slice(&bytes[32..64]);
        let header = Self { log, frame, digest };
        if header.encode() == *bytes { Ok(header) } else { Err("its header is not that of a snapshot of this log") }
    }
}

/// What a piece is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Commit = 1,
    Passed = 2,
    Segments = 3,
    End = 4,
}

impl Kind {
    fn of(byte: u8) -> Option<Self> {
        [Self::Commit, Self::Passed, Self::Segments, Self::End].into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// The beginning of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) kind: Kind,
    pub(super) first: u32,
    pub(super) second: u32,
    checksum: u32,
}

impl Head {
    pub(super) fn decode(bytes: &[u8; PIECE]) -> Option<Self> {
        let word = |at: usize| bytes[at..].first_chunk().map_or(0, |it| u32::from_le_bytes(*it));
        let (first, second, checksum) = (word(4), word(8), word(12));
        let zero = bytes[1..4] == [0; 3];
        Kind::of(bytes[0]).filter(|_| zero).map(|kind| Self { kind, first, second, checksum })
    }

    pub(super) fn matches(&self, header: &Header, place: u64, parts: &[u8]) -> bool {
        let (first, second) = parts.split_at(self.first as usize);
        begin(self.kind, header, place, first, second)[12..] == self.checksum.to_le_bytes()
    }
}

/// The beginning of the piece at this place with these parts, which must be below 4 GiB.
pub(super) fn begin(kind: Kind, header: &Header, place: u64, first: &[u8], second: &[u8]) -> [u8; PIECE] {
    let length = |part: &[u8]| u32::try_from(part.len()).expect("a piece is smaller than 4 GiB").to_le_bytes();
    let mut bytes = [0; PIECE];
    bytes[0] = kind as u8;
    bytes[4..8].copy_from_slice(&length(first));
    bytes[8..12].copy_from_slice(&length(second));
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&header.encode()[..SUMMED]);
    hasher.update(&place.to_le_bytes());
    hasher.update(&bytes[..12]);
    hasher.update(first);
    hasher.update(second);
    bytes[12..].copy_from_slice(&hasher.finalize().to_le_bytes());
    bytes
}
