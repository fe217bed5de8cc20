//! A picture of the working state on disk, so that a start does not read the whole log.
//!
//! What holds: a snapshot has its name only once all of it is durable. It is taken piece by piece while commits go on, each
//! piece under a lock of its own, so its pieces are of different moments; the state is right once the frames after the
//! one that it was begun with were applied again. It is derived: one that does not open, is of another log or ahead of
//! this one is deleted with the rest of the index.
//!
//! The pieces are commits, in the bytes that the log has for them. There is one way into the state and one format.
//!
//! In `index/`: `state-FRAME.snap`, named by the frame it was begun with in twenty digits; `state.tmp`, which was never
//! finished. Numbers are little-endian, checksums CRC-32 (IEEE). This *is* format 1:
//!
//! | at | bytes | header                                                                          |
//! |----|-------|---------------------------------------------------------------------------------|
//! | 0  | 4     | `HxSt`                                                                          |
//! | 4  | 2     | format: 1                                                                       |
//! | 6  | 2     | zero                                                                            |
//! | 8  | 16    | id of the log                                                                   |
//! | 24 | 8     | FRAME: everything up to it is in the pieces                                     |
//! | 32 | 32    | SHA-256 of what lasts of that frame; zeros if there is none                     |
//! | 64 | 4     | checksum of bytes 0 to 63                                                       |
//!
//! | at | bytes | piece                                                                           |
//! |----|-------|---------------------------------------------------------------------------------|
//! | 0  | 1     | kind: 1 commit, 2 passed, 3 segments, 4 end                                     |
//! | 1  | 3     | zero                                                                            |
//! | 4  | 4     | length of the first part                                                        |
//! | 8  | 4     | length of the second part                                                       |
//! | 12 | 4     | checksum of the header's 64 bytes, the piece's place (`u64`), bytes 0 to 11, and both parts |
//! | 16 | …     | the parts                                                                       |
//!
//! | kind | first part                                                          | second part      |
//! |------|---------------------------------------------------------------------|------------------|
//! | 1    | what lasts of a commit                                              | what expires of it |
//! | 2    | JSON: of each handler tenant, name, `[first, last]` ordinals that are passed | –       |
//! | 3    | as of the last piece, of each segment with something that expires: its first frame `u64`, until when `i64` (the greatest: for ever), how many attempts `u64` | – |
//! | 4    | the last frame that any piece shows `u64`                            | –                |
//!
//! The file ends with the piece of kind 4.

mod gather;
mod pieces;
mod read;
mod write;

pub(super) use read::{Loaded, load};
pub(super) use write::Writing;

use std::io;

use super::disk::Disk;
use super::index::DIR;
use super::log::FrameNumber;

/// What a snapshot is called before it is whole.
const UNFINISHED: &str = "state.tmp";

/// The name of the snapshot that was begun with this frame.
fn name(frame: FrameNumber) -> String {
    format!("state-{:020}.snap", frame.0)
}

/// The frame that the snapshot with this name was begun with, if it is the name of one.
fn frame_of(file: &str) -> Option<FrameNumber> {
    let frame = FrameNumber(file.strip_prefix("state-")?.strip_suffix(".snap")?.parse().ok()?);
    (name(frame) == file).then_some(frame)
}

fn path(file: &str) -> String {
    format!("{DIR}/{file}")
}

/// The snapshots that there are, oldest first.
fn all<D: Disk>(disk: &D) -> io::Result<Vec<FrameNumber>> {
    let mut frames: Vec<FrameNumber> = disk.list(DIR)?.iter().filter_map(|it| frame_of(it)).collect();
    frames.sort_unstable();
    Ok(frames)
}

/// Removes every snapshot: the next start reads the whole log, and builds the rest of the index as well.
pub(super) fn remove_all<D: Disk>(disk: &D) -> io::Result<()> {
    all(disk)?.into_iter().try_for_each(|frame| disk.remove(&path(&name(frame))))
}
