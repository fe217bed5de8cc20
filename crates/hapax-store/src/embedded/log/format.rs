//! Every byte that the log writes. These tables *are* format 1; numbers are little-endian, checksums CRC-32 (IEEE).
//!
//! In `log/`: segments `NNNNNNNNNNNNNNNNNNNN.seg`, named by the number of their first frame in twenty digits;
//! `witness`; `reserve`, zeros of no meaning; `*.tmp`, which were never finished and are removed at the next start.
//! Every record begins at a multiple of 512, so that no write touches a sector of an earlier frame.
//!
//! A segment begins with a header; frames follow, then zeros to the end of the file:
//!
//! | at  | bytes | segment header                                                       |
//! |-----|-------|----------------------------------------------------------------------|
//! | 0   | 4     | `HxSg`                                                               |
//! | 4   | 2     | format: 1                                                            |
//! | 6   | 2     | zero                                                                 |
//! | 8   | 16    | id of the log                                                        |
//! | 24  | 8     | number of its first frame                                            |
//! | 32  | 32    | link of the frame before that one                                    |
//! | 64  | 444   | zero                                                                 |
//! | 508 | 4     | checksum of bytes 0 to 507                                           |
//!
//! | at  | bytes | frame                                                                |
//! |-----|-------|----------------------------------------------------------------------|
//! | 0   | 4     | `HxFr`                                                               |
//! | 4   | 2     | format: 1                                                            |
//! | 6   | 2     | zero                                                                 |
//! | 8   | 8     | number: 1 for the first frame of the log, then one more each         |
//! | 16  | 32    | link of the frame before; of the first frame: SHA-256 of the id      |
//! | 48  | 4     | length of what lasts                                                 |
//! | 52  | 4     | checksum of what lasts                                               |
//! | 56  | 4     | length of what expires                                               |
//! | 60  | 4     | checksum of what expires                                             |
//! | 64  | 4     | zero                                                                 |
//! | 68  | 4     | checksum of the id of the log followed by bytes 0 to 67              |
//! | 72  | …     | what lasts, what expires, zeros up to the next multiple of 512       |
//!
//! A frame's *link* is the SHA-256 of its bytes 0 to 55. It covers the number, the link before, and length and
//! checksum of what lasts, and nothing of what expires: compaction takes that away and the chain stays as it was.
//!
//! The checksum of a header begins with the id, which no producer knows: an event that carries the bytes of a frame is
//! not taken for one when the frame around it is torn.
//!
//! | at  | bytes | slot of the witness, at 0 (even frames) and at 512 (odd frames)      |
//! |-----|-------|----------------------------------------------------------------------|
//! | 0   | 4     | `HxWi`                                                               |
//! | 4   | 2     | format: 1                                                            |
//! | 6   | 2     | zero                                                                 |
//! | 8   | 16    | id of the log                                                        |
//! | 24  | 8     | number of the newest frame that is known to be synced                |
//! | 32  | 32    | its link                                                             |
//! | 64  | 444   | zero                                                                 |
//! | 508 | 4     | checksum of bytes 0 to 507                                           |

use sha2::{Digest, Sha256};

use super::FrameNumber;
use super::error::What;

/// The only format there is.
pub(super) const FORMAT: u16 = 1;

/// Every record begins at a multiple of this: what a disk writes as one.
pub(super) const SECTOR: u64 = 512;

/// Bytes of a frame before its sections.
pub(super) const HEADER: usize = 72;

const LINKED: usize = 56;
const SUMMED: usize = 68;

/// What sets a log apart from every other one, drawn when it is created. Producers never see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogId(pub [u8; 16]);

/// What a frame says of the one before it.
pub(super) type Link = [u8; 32];

impl LogId {
    /// What the first frame continues.
    pub(super) fn origin(&self) -> Link {
        Sha256::digest(self.0).into()
    }
}

/// The header of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) number: FrameNumber,
    pub(super) previous: Link,
    pub(super) lasting: Section,
    pub(super) expiring: Section,
}

/// A section of a frame as its header has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) bytes: u32,
    checksum: u32,
}

impl Section {
    /// The section with this content, which must be below 4 GiB.
    pub(super) fn of(content: &[u8]) -> Self {
        let bytes = u32::try_from(content.len()).expect("a section is smaller than 4 GiB");
        Self { bytes, checksum: crc32fast::hash(content) }
    }

    pub(super) fn matches(&self, content: &[u8]) -> bool {
        self.bytes as usize == content.len() && self.checksum == crc32fast::hash(content)
    }
}

impl Header {
    pub(super) fn encode(&self, id: &LogId) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..4].copy_from_slice(b"HxFr");
        bytes[4..6].copy_from_slice(&FORMAT.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.number.0.to_le_bytes());
        bytes[16..48].copy_from_slice(&self.previous);
        bytes[48..52].copy_from_slice(&self.lasting.bytes.to_le_bytes());
        bytes[52..56].copy_from_slice(&self.lasting.checksum.to_le_bytes());
        bytes[56..60].copy_from_slice(&self.expiring.bytes.to_le_bytes());
        bytes[60..64].copy_from_slice(&self.expiring.checksum.to_le_bytes());
        let checksum = checksum(id, &bytes[..SUMMED]);
        bytes[SUMMED..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8; HEADER], id: &LogId) -> Result<Self, What> {
        if bytes.iter().all(|it| *it == 0) {
            return Err(What::Absent);
        }
        if &bytes[..4] != b"HxFr" || u32_at(bytes, SUMMED) != checksum(id, &bytes[..SUMMED]) {
            return Err(What::Header);
        }
        let version = u16_at(bytes, 4);
        if version != FORMAT {
            return Err(What::Version(version));
        }
        Ok(Self {
            number: FrameNumber(u64_at(bytes, 8)),
            previous: array_at(bytes, 16),
            lasting: Section { bytes: u32_at(bytes, 48), checksum: u32_at(bytes, 52) },
            expiring: Section { bytes: u32_at(bytes, 56), checksum: u32_at(bytes, 60) },
        })
    }

    /// What the next frame says of this one.
    pub(super) fn link(&self, id: &LogId) -> Link {
        Sha256::digest(&self.encode(id)[..LINKED]).into()
    }

    /// Bytes of the frame without the zeros at its end.
    pub(super) fn bytes(&self) -> u64 {
        HEADER as u64 + u64::from(self.lasting.bytes) + u64::from(self.expiring.bytes)
    }

    /// Bytes from the beginning of this frame to that of the next.
    pub(super) fn extent(&self) -> u64 {
        self.bytes().next_multiple_of(SECTOR)
    }
}

fn checksum(id: &LogId, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&id.0);
    hasher.update(bytes);
    hasher.finalize()
}

/// What a segment's header and a slot of the witness have in common: which log, a frame, a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) id: LogId,
    pub(super) frame: FrameNumber,
    pub(super) link: Link,
}

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkOf {
    Segment,
    Witness,
}

impl MarkOf {
    fn magic(self) -> &'static [u8; 4] {
        match self {
            Self::Segment => b"HxSg",
            Self::Witness => b"HxWi",
        }
    }
}

impl Mark {
    pub(super) fn encode(&self, of: MarkOf) -> [u8; SECTOR as usize] {
        let mut bytes = [0; SECTOR as usize];
        bytes[..4].copy_from_slice(of.magic());
        bytes[4..6].copy_from_slice(&FORMAT.to_le_bytes());
        bytes[8..24].copy_from_slice(&self.id.0);
        bytes[24..32].copy_from_slice(&self.frame.0.to_le_bytes());
        bytes[32..64].copy_from_slice(&self.link);
        let checksum = crc32fast::hash(&bytes[..508]);
        bytes[508..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8; SECTOR as usize], of: MarkOf) -> Result<Self, What> {
        if &bytes[..4] != of.magic() || u32_at(bytes, 508) != crc32fast::hash(&bytes[..508]) {
            return Err(What::SegmentHeader);
        }
        let version = u16_at(bytes, 4);
        if version != FORMAT {
            return Err(What::Version(version));
        }
        let frame = FrameNumber(u64_at(bytes, 24));
        Ok(Self { id: LogId(array_at(bytes, 8)), frame, link: array_at(bytes, 32) })
    }
}

/// Takes a fixed number of bytes out of a record that is long enough.
fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(array_at(bytes, at))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array_at(bytes, at))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array_at(bytes, at))
}
