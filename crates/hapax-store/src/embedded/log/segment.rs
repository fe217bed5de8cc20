//! A segment: how it comes to be, where its frames are, and walking it from end to end.
//!
//! What holds: a segment has its name only once its header and its zeros are durable, so a named segment without a
//! good header is damage and never a crash. Between two entries of the table lie at most [`STRIDE`] bytes and one
//! frame.
//!
//! Not here: which segment is being written, and what to do about a frame that is not whole.

use std::io;

use hapax_core::planted;

use super::error::What;
use super::format::{Header, Link, LogId, Mark, MarkOf, SECTOR};
use super::window::Window;
use super::{FrameNumber, Options};
use crate::embedded::disk::{Disk, DiskFile};

/// The directory of the log, below the root of the disk.
pub(super) const DIR: &str = "log";

/// Where the first frame of a segment begins.
pub(super) const FIRST: u64 = SECTOR;

/// Bytes between two entries of a table: 1 024 entries for a segment of 64 MiB.
const STRIDE: u64 = 64 << 10;

/// What a segment that is being made is called.
pub(super) const NEXT: &str = "next.tmp";

/// The name of the segment that begins with this frame. Twenty digits hold every number, so names sort as numbers do.
pub(super) fn name(first: FrameNumber) -> String {
    format!("{:020}.seg", first.0)
}

/// The frame that the segment with this name begins with, if it is the name of a segment.
pub(super) fn first_of(file: &str) -> Option<FrameNumber> {
    let first = FrameNumber(file.strip_suffix(".seg")?.parse().ok()?);
    (name(first) == file).then_some(first)
}

pub(super) fn path(file: &str) -> String {
    format!("{DIR}/{file}")
}

/// How large a segment is that is made without a frame waiting for it.
pub(super) fn bytes(options: &Options) -> u64 {
    options.segment_bytes.max(2 * SECTOR).next_multiple_of(SECTOR)
}

/// Makes a segment of this size in a directory: zeros and header first, durable, then the name.
pub(super) fn make<D: Disk>(disk: &D, dir: &str, mark: &Mark, bytes: u64) -> io::Result<D::File> {
    let temporary = format!("{dir}/{NEXT}");
    let file = blank(disk, &temporary, bytes)?;
    begin(disk, dir, mark, (&file, &temporary))?;
    Ok(file)
}

/// A file of zeros, not durable yet.
pub(super) fn blank<D: Disk>(disk: &D, path: &str, bytes: u64) -> io::Result<D::File> {
    let file = disk.create(path)?;
    file.allocate(bytes)?;
    Ok(file)
}

/// Makes a segment of a file of zeros: the header, durable with all that was written before, then the name.
pub(super) fn begin<D: Disk>(disk: &D, dir: &str, mark: &Mark, (file, path): (&D::File, &str)) -> io::Result<()> {
    file.write_at(0, &mark.encode(MarkOf::Segment))?;
    file.sync_data()?;
    disk.rename(path, &format!("{dir}/{}", name(mark.frame)))?;
    if planted!(NameNotSynced) {
        return Ok(());
    }
    disk.sync_dir(dir)
}

/// Where the frames of a segment are: every so many bytes the number and the place of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    marks: Vec<(FrameNumber, u64)>,
}

impl Table {
    pub(super) fn new(first: FrameNumber) -> Self {
        Self { marks: vec![(first, FIRST)] }
    }

    /// Takes note of a frame; they come in order.
    pub(super) fn note(&mut self, number: FrameNumber, at: u64) {
        if self.marks.last().is_none_or(|last| at >= last.1 + STRIDE) {
            self.marks.push((number, at));
        }
    }

    /// The last noted frame that is not behind this one.
    pub(super) fn near(&self, number: FrameNumber) -> (FrameNumber, u64) {
        let after = self.marks.partition_point(|it| it.0 <= number);
        self.marks[after.saturating_sub(1)]
    }
}

/// What was found from the beginning of a segment to the first place without a whole frame that continues it.
#[derive(Debug)]
pub(super) struct Walk {
    pub(super) table: Table,
    /// The frame that was not found.
    pub(super) next: FrameNumber,
    /// The link of the one before it.
    pub(super) link: Link,
    /// Where it should have been.
    pub(super) end: u64,
    /// Why it was not found.
    pub(super) stop: What,
    /// Where the last whole frame is, if there is one.
    pub(super) last: Option<u64>,
    /// The link of the frame that was to be watched for, if it was met.
    pub(super) watched: Option<Link>,
}

/// Walks a segment that begins as its header says, checking every byte of every frame.
pub(super) fn walk<F: DiskFile>(
    window: &mut Window<F>,
    id: &LogId,
    (first, previous): (FrameNumber, Link),
    watch: FrameNumber,
) -> io::Result<Walk> {
    let mut walk = Walk {
        table: Table::new(first),
        next: first,
        link: previous,
        end: FIRST,
        stop: What::Absent,
        last: None,
        watched: None,
    };
    loop {
        // Number and link before the sections: a good header in the wrong place is no torn write, whatever follows it.
        walk.stop = match window.header(walk.end, id)? {
            Ok(header) if header.number != walk.next => What::Number(header.number.0),
            Ok(header) if header.previous != walk.link => What::Chain,
            Err(what) => what,
            Ok(_) => match window.frame(walk.end, id)? {
                Ok(whole) => {
                    walk.take(&whole.header, id, watch);
                    continue;
                }
                Err(what) => what,
            },
        };
        return Ok(walk);
    }
}

impl Walk {
    fn take(&mut self, header: &Header, id: &LogId, watch: FrameNumber) {
        self.table.note(self.next, self.end);
        self.link = header.link(id);
        if self.next == watch {
            self.watched = Some(self.link);
        }
        self.last = Some(self.end);
        self.end += header.extent();
        self.next = self.next.next();
    }
}

/// What the header of a segment says.
pub(super) fn head<F: DiskFile>(window: &mut Window<F>) -> io::Result<Result<Mark, What>> {
    let Some(bytes) = window.bytes(0, SECTOR as usize)? else { return Ok(Err(What::SegmentHeader)) };
    let mut head = [0; SECTOR as usize];
    head.copy_from_slice(bytes);
    Ok(Mark::decode(&head, MarkOf::Segment))
}
