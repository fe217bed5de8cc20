//! A copy of a log, taken while it is written to. For backups and for bringing them back.
//!
//! What holds: the copy has every frame up to the witness as it was when the copying began, and whole frames that continue
//! it, each checked: after a power cut the witness may lag behind what was acknowledged. It is durable when this returns;
//! damage up to the witness is named and never copied, and what breaks off behind it is not there. Neither log is locked:
//! a whole frame never changes, and a segment that is compacted meanwhile is read on in its old file.

use std::io;

use super::error::What;
use super::format::{Link, Mark, MarkOf};
use super::segment::{DIR, FIRST, first_of, head, name, path};
use super::window::{FAR, Window};
use super::witness::Witness;
use super::{FrameNumber, LogId};
use crate::embedded::disk::{Disk, DiskFile};

/// Bytes are gathered up to so many before they are written.
const PIECE: usize = 1 << 20;

/// What was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The last frame.
    pub last: FrameNumber,
    /// Bytes of all segments.
    pub bytes: u64,
}

/// Why there is no copy.
#[derive(Debug)]
pub enum CopyError {
    /// There is no log to copy, or no witness of how far it goes.
    Missing,
    /// The log is damaged here.
    Damaged(FrameNumber, What),
    /// A disk failed.
    Io(io::Error),
}

impl std::fmt::Display for CopyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing => f.write_str("there is no ledger there, or its witness cannot be read"),
            Self::Damaged(frame, what) => write!(f, "frame {frame} is damaged: {what}"),
            Self::Io(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for CopyError {}

impl From<io::Error> for CopyError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::NotFound { Self::Missing } else { Self::Io(error) }
    }
}

/// Copies the log of one directory into another that has none. `read` is told how many bytes are behind.
pub fn copy<D: Disk, E: Disk>(from: &D, to: &E, mut read: impl FnMut(u64)) -> Result<Copied, CopyError> {
    let id = id_of(from)?;
    // First the witness, then the segments: what it names is in them.
    let (_, witness) = Witness::open(from, DIR, id)?;
    let witness = witness.ok_or(CopyError::Missing)?;
    let mut segments: Vec<_> = from.list(DIR)?.iter().filter_map(|file| first_of(file)).collect();
    segments.sort();
    to.create_dir(DIR)?;
    let mut copied = Copied { last: FrameNumber::ORIGIN, bytes: 0 };
    let mut link = id.origin();
    for first in segments {
        if first > witness.frame.next() && first != copied.last.next() {
            break;
        }
        let mut window = Window::new(from.open(&path(&name(first)))?, FAR)?;
        let mark = head(&mut window)?.map_err(|what| CopyError::Damaged(first, what))?;
        link = segment(&mut window, to, &mark, &witness, &mut copied, &mut read)?;
    }
    if copied.last < witness.frame {
        return Err(CopyError::Damaged(copied.last.next(), What::Absent));
    }
    let made = Witness::make(to, DIR, id)?;
    made.put(copied.last, &link)?;
    made.sync()?;
    to.sync_dir(DIR)?;
    to.sync_dir("")?;
    Ok(copied)
}

fn id_of<D: Disk>(disk: &D) -> Result<LogId, CopyError> {
    let first = disk.list(DIR)?.iter().filter_map(|file| first_of(file)).min().ok_or(CopyError::Missing)?;
    let mut window = Window::new(disk.open(&path(&name(first)))?, FAR)?;
    let mark = head(&mut window)?.map_err(|what| CopyError::Damaged(first, what))?;
    Ok(mark.id)
}

fn segment<F: DiskFile, E: Disk>(
    window: &mut Window<F>,
    to: &E,
    mark: &Mark,
    witness: &Mark,
    copied: &mut Copied,
    read: &mut impl FnMut(u64),
) -> Result<Link, CopyError> {
    let file = to.create(&path(&name(mark.frame)))?;
    let mut piece = mark.encode(MarkOf::Segment).to_vec();
    let (mut at, mut written, mut next, mut link) = (FIRST, 0, mark.frame, mark.link);
    loop {
        let behind = next > witness.frame;
        let (header, extent) = match window.frame(at, &mark.id)? {
            Ok(whole) if behind && (whole.header.number != next || whole.header.previous != link) => break,
            Ok(whole) => {
                piece.extend_from_slice(whole.bytes);
                (whole.header.clone(), whole.header.extent())
            }
            // The next segment goes on; that one is missing is told at the end.
            Err(What::Absent) => break,
            // Not finished, or never acknowledged.
            Err(_) if behind => break,
            Err(what) => return Err(CopyError::Damaged(next, what)),
        };
        if header.number != next || header.previous != link {
            return Err(CopyError::Damaged(next, What::Chain));
        }
        at += extent;
        piece.resize((at - written) as usize, 0);
        link = header.link(&mark.id);
        copied.last = next;
        next = next.next();
        if piece.len() >= PIECE {
            file.write_at(written, &piece)?;
            written += piece.len() as u64;
            piece.clear();
            read(copied.bytes + written);
        }
    }
    file.write_at(written, &piece)?;
    file.set_len(window.size())?;
    file.sync_data()?;
    copied.bytes += window.size();
    read(copied.bytes);
    Ok(link)
}
