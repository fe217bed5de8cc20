//! Why the log cannot do what it is asked, sorted by what the caller does about it.
//!
//! What is corrupt is named: the segment's file, the frame, what is wrong with it, and why it can not be the torn tail
//! of a write that was never acknowledged.

use std::{fmt, io};

use super::FrameNumber;

/// Why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogError {
    /// A write or a sync has failed, now or earlier, and nothing is known of what it wrote: stop. Recovery is a
    /// restart.
    Poisoned(Failure),
    /// The log contradicts itself: stop, and say where.
    Corrupt(Corrupt),
    /// The disk is nearly full, and nothing was written: refuse, and try again when there is room.
    Low,
    /// Another process has the store open: leave it alone.
    Locked,
    /// There is no log in this directory: create one.
    Missing,
    /// The disk could not be read, or the log could not be opened or created. Nothing was acknowledged.
    Io(Failure),
}

/// What the operating system said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What was being done.
    pub doing: &'static str,
    /// The sort of error.
    pub kind: io::ErrorKind,
    /// The error in words.
    pub text: String,
}

impl Failure {
    pub(super) fn new(doing: &'static str, error: &io::Error) -> Self {
        Self { doing, kind: error.kind(), text: error.to_string() }
    }
}

/// Where the log contradicts itself, and how one knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Corrupt {
    /// The file of the segment, or of the witness.
    pub segment: String,
    /// The frame.
    pub frame: FrameNumber,
    /// What is wrong.
    pub what: What,
    /// Why this is not the torn tail.
    pub because: Because,
}

/// What is wrong with a frame or a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// There are zeros in its place, or the file ends.
    Absent,
    /// Its header is no header, or does not match its checksum.
    Header,
    /// It is of a format that this version does not know.
    Version(u16),
    /// Another number is in its place.
    Number(u64),
    /// It does not continue the frame before.
    Chain,
    /// It is longer than what is left of its segment.
    Length,
    /// What lasts does not match its checksum.
    Lasting,
    /// What expires does not match its checksum.
    Expiring,
    /// The header of its segment is no header, or does not match its checksum.
    SegmentHeader,
    /// Its segment belongs to another log.
    SegmentForeign,
    /// Its segment is missing.
    SegmentAbsent,
}

/// Why something is not the torn tail of a write that was never acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Because {
    /// The witness has seen this frame.
    Witnessed(u64),
    /// A later frame is whole, or a later segment was begun, and neither happens before the sync of this one.
    Followed(u64),
    /// It is whole, and a torn write leaves nothing whole.
    Whole,
    /// It was acknowledged while this process ran, or lies in a segment that is read after opening.
    Acknowledged,
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Poisoned(failure) => write!(f, "the log takes nothing more since {failure}"),
            Self::Corrupt(corrupt) => write!(f, "the log is corrupt: {corrupt}"),
            Self::Low => f.write_str("the disk is nearly full"),
            Self::Locked => f.write_str("another process has the store open"),
            Self::Missing => f.write_str("there is no log"),
            Self::Io(failure) => failure.fmt(f),
        }
    }
}

impl std::error::Error for LogError {}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} failed: {}", self.doing, self.text)
    }
}

impl fmt::Display for Corrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, frame {}: {} ({})", self.segment, self.frame, self.what, self.because)
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("it is not there"),
            Self::Header => f.write_str("its header does not match its checksum"),
            Self::Version(version) => write!(f, "it has format {version}, which this version does not know"),
            Self::Number(number) => write!(f, "number {number} is in its place"),
            Self::Chain => f.write_str("it does not continue the frame before"),
            Self::Length => f.write_str("it is longer than its segment"),
            Self::Lasting => f.write_str("what lasts does not match its checksum"),
            Self::Expiring => f.write_str("what expires does not match its checksum"),
            Self::SegmentHeader => f.write_str("the header of the segment does not match its checksum"),
            Self::SegmentForeign => f.write_str("the segment belongs to another log"),
            Self::SegmentAbsent => f.write_str("the segment is missing"),
        }
    }
}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Witnessed(number) => write!(f, "the witness has seen frame {number}"),
            Self::Followed(number) => write!(f, "frame {number} or its segment follows"),
            Self::Whole => f.write_str("no torn write leaves this"),
            Self::Acknowledged => f.write_str("it was acknowledged"),
        }
    }
}
