//! The head witness: what the log had reached, written beside it.
//!
//! What holds: it is written after the sync of the frame that it names, so it may lag and never leads. Frames take
//! turns at the two slots; a slot that a power cut tears leaves the other one. It is not synced on the way (that would
//! cost a second sync per commit) but when the log is closed, and then it is exact.
//!
//! A witness that can not be read is no reason to refuse: the log is as good as before, and only the difference
//! between a torn tail and a damaged one is harder to tell. Recovery says so in a warning.

use std::io;

use super::FrameNumber;
use super::format::{Link, LogId, Mark, MarkOf, SECTOR};
use crate::embedded::disk::{Disk, DiskFile};

/// Its name in the directory of the log.
pub(super) const WITNESS: &str = "witness";

const SLOT: usize = SECTOR as usize;

/// The file, open for the life of the log.
#[derive(Debug)]
pub(super) struct Witness<F> {
    file: F,
    id: LogId,
}

impl<F: DiskFile> Witness<F> {
    /// Makes the file in a directory, saying that there is no frame yet.
    pub(super) fn make<D: Disk<File = F>>(disk: &D, dir: &str, id: LogId) -> io::Result<Self> {
        let witness = Self { file: disk.create(&format!("{dir}/{WITNESS}"))?, id };
        witness.file.allocate(2 * SECTOR)?;
        witness.put(FrameNumber::ORIGIN, &id.origin())?;
        witness.sync()?;
        Ok(witness)
    }

    /// Opens the file in a directory. What it says is the newest slot that can be read, or nothing.
    pub(super) fn open<D: Disk<File = F>>(disk: &D, dir: &str, id: LogId) -> io::Result<(Self, Option<Mark>)> {
        let witness = Self { file: disk.open(&format!("{dir}/{WITNESS}"))?, id };
        let size = witness.file.size()?;
        let mut newest: Option<Mark> = None;
        for at in [0, SECTOR] {
            let mut slot = [0; SLOT];
            if size < at + SECTOR {
                continue;
            }
            witness.file.read_at(at, &mut slot)?;
            if let Ok(mark) = Mark::decode(&slot, MarkOf::Witness)
                && mark.id == id
                && newest.is_none_or(|it| it.frame < mark.frame)
            {
                newest = Some(mark);
            }
        }
        Ok((witness, newest))
    }

    /// Says that this frame is durable.
    pub(super) fn put(&self, frame: FrameNumber, link: &Link) -> io::Result<()> {
        let mark = Mark { id: self.id, frame, link: *link };
        self.file.write_at(frame.0 % 2 * SECTOR, &mark.encode(MarkOf::Witness))
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}
