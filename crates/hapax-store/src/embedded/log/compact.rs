//! Compaction: a sealed segment without what has expired.
//!
//! What holds: numbers, what lasts, and the chain are byte for byte what they were, because a frame's link covers
//! nothing of what expires. The new file is durable before it takes the old one's name, so a crash leaves one or the
//! other, and both are right. Readers that have the old file open read on in it. Appends go on beside it: they share
//! nothing with a sealed segment but the list of all segments, which is held for as long as a rename takes. A write or
//! sync that fails poisons the log, in whichever thread it was.
//!
//! Not here: when to compact, and what has expired. The caller says so, frame by frame.

use std::io;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use hapax_core::planted;

use super::error::{Failure, LogError};
use super::format::{Header, Mark, MarkOf, SECTOR, Section};
use super::segment::{self, DIR, FIRST, Table};
use super::window::FAR;
use super::{Frame, FrameNumber, Frames, Log, Reader};
use crate::embedded::disk::{Disk, DiskFile};

/// What a segment that is being compacted is called.
const COMPACTED: &str = "log/compacted.tmp";

/// Frames are gathered up to so many bytes before they are written.
const PIECE: usize = 1 << 20;

/// What a compaction did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// Bytes of the segment's file before.
    pub before: u64,
    /// Bytes of it now.
    pub after: u64,
}

/// Compacts sealed segments, from any thread, while the log is written. A clone is the same.
pub struct Compactor<D: Disk> {
    reader: Reader<D>,
    work: Arc<Mutex<()>>,
    /// The log's: when that is gone the files are somebody else's, and until a compaction has ended they are not.
    lock: Weak<D::Lock>,
}

impl<D: Disk> Clone for Compactor<D> {
    fn clone(&self) -> Self {
        let (reader, work) = (self.reader.clone(), Arc::clone(&self.work));
        Self { reader, work, lock: Weak::clone(&self.lock) }
    }
}

impl<D: Disk> Log<D> {
    /// The same as [`Compactor::compact`].
    ///
    /// # Panics
    /// If no sealed segment begins with this frame.
    pub fn compact(
        &self,
        first: FrameNumber,
        keep: impl FnMut(FrameNumber, &[u8], &[u8]) -> Option<Vec<u8>>,
    ) -> Result<Compacted, LogError> {
        self.compactor().compact(first, keep)
    }
}

impl<D: Disk> Compactor<D> {
    pub(super) fn new(reader: Reader<D>, work: Arc<Mutex<()>>, lock: Weak<D::Lock>) -> Self {
        Self { reader, work, lock }
    }

    /// Rewrites the sealed segment that begins with `first`. `keep` gets each frame and says what expires later, or
    /// nothing to drop that section. [`LogError::Low`] means that there is no room for the new file, [`LogError::Missing`]
    /// that the log was closed; nothing was done. One that is under way elsewhere is waited for.
    ///
    /// # Panics
    /// If no sealed segment begins with this frame.
    pub fn compact(
        &self,
        first: FrameNumber,
        keep: impl FnMut(FrameNumber, &[u8], &[u8]) -> Option<Vec<u8>>,
    ) -> Result<Compacted, LogError> {
        let _work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        self.reader.sound()?;
        let _lock = self.lock.upgrade().ok_or(LogError::Missing)?;
        let view = self.reader.segments().into_iter().find(|it| it.first == first && it.sealed);
        let view = view.expect("only a sealed segment is compacted");
        let path = segment::path(&segment::name(first));
        let reading = |it: io::Error| LogError::Io(Failure::new("reading a segment", &it));
        let old = self.reader.disk().open(&path).map_err(reading)?;
        let before = old.size().map_err(reading)?;
        let asking = |it: io::Error| LogError::Io(Failure::new("asking for free space", &it));
        if self.reader.disk().free_space().map_err(asking)? < before {
            return Err(LogError::Low);
        }
        let mut head = [0; SECTOR as usize];
        old.read_at(0, &mut head).map_err(reading)?;
        let mark = Mark::decode(&head, MarkOf::Segment).map_err(|what| self.reader.damaged(first, what))?;

        let copied = self.copy(&mark, view.last, keep);
        if copied.is_err() && self.reader.sound().is_ok() {
            // What was to be read is damaged. The half of a copy is in nobody's way; the next start removes it too.
            let _ = self.reader.disk().remove(COMPACTED);
        }
        let (table, after) = copied?;
        let mut known = self.reader.known_mut();
        self.reader.fatal("naming a compacted segment", self.reader.disk().rename(COMPACTED, &path))?;
        if let Some(known) = known.segments.iter_mut().find(|it| it.first == first) {
            known.table = Some(table);
        }
        drop(known);
        self.reader.fatal("the sync of the directory", self.reader.disk().sync_dir(DIR))?;
        Ok(Compacted { before, after })
    }

    /// Writes the segment anew, under another name, and makes it durable.
    fn copy(
        &self,
        mark: &Mark,
        last: FrameNumber,
        mut keep: impl FnMut(FrameNumber, &[u8], &[u8]) -> Option<Vec<u8>>,
    ) -> Result<(Table, u64), LogError> {
        let fatal = |it: io::Result<()>| self.reader.fatal("writing a compacted segment", it);
        let file = self.reader.fatal("writing a compacted segment", self.reader.disk().create(COMPACTED))?;
        let mut table = Table::new(mark.frame);
        let mut piece = mark.encode(MarkOf::Segment).to_vec();
        let mut written = 0;
        let mut link = mark.link;
        for frame in Frames::new(self.reader.clone(), mark.frame, last, FAR) {
            let Frame { number, lasting, expiring } = frame?;
            let expiring = keep(number, &lasting, &expiring).unwrap_or_default();
            let header =
                Header { number, previous: link, lasting: Section::of(&lasting), expiring: Section::of(&expiring) };
            link = header.link(&mark.id);
            let at = written + piece.len() as u64;
            debug_assert!(at >= FIRST && at.is_multiple_of(SECTOR), "a frame begins with a sector");
            table.note(number, at);
            piece.extend_from_slice(&header.encode(&mark.id));
            piece.extend_from_slice(&lasting);
            piece.extend_from_slice(&expiring);
            piece.resize(piece.len().next_multiple_of(SECTOR as usize), 0);
            if piece.len() >= PIECE {
                fatal(file.write_at(written, &piece))?;
                written += piece.len() as u64;
                piece.clear();
            }
        }
        fatal(file.write_at(written, &piece))?;
        if !planted!(CompactedNotSynced) {
            fatal(file.sync_data())?;
        }
        Ok((table, written + piece.len() as u64))
    }
}
