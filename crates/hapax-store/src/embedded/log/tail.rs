//! The end of the last segment: torn, damaged, or only not known to be durable.
//!
//! What holds afterwards: the last frame is durable, behind it are zeros, and nothing that was acknowledged was
//! touched. The zeros are what keeps the remains of one torn write from ever lying behind the next.

use hapax_core::planted;

use super::FrameNumber;
use super::error::{Because, Corrupt, Failure, LogError, What};
use super::format::{LogId, Mark, SECTOR};
use super::recovery::Cut;
use super::segment::Walk;
use super::window::Window;
use crate::embedded::disk::DiskFile;

use std::io;

/// The tail is looked at, and overwritten, in pieces of this size.
const PIECE: usize = 1 << 20;

/// The file of the last segment, and what was cut off it.
pub(super) struct Settled<F> {
    pub(super) file: F,
    pub(super) cut: Option<Cut>,
}

/// Decides what the place is where a walk of the last segment came to its end, and makes it a clean one.
pub(super) fn settle<F: DiskFile>(
    mut window: Window<F>,
    id: &LogId,
    walk: &Walk,
    seen: &Mark,
    segment: &str,
) -> Result<Settled<F>, LogError> {
    let failed = |it: io::Error| LogError::Io(Failure::new("settling the tail of the log", &it));
    let remains = look(&mut window, id, walk).map_err(failed)?;
    if let Some(because) = verdict(walk, seen, &remains) {
        let segment = segment.to_owned();
        return Err(LogError::Corrupt(Corrupt { segment, frame: walk.next, what: walk.stop, because }));
    }
    let last = if FrameNumber(walk.next.0 - 1) > seen.frame { walk.last } else { None };
    let last = last.filter(|_| !planted!(LastFrameBelieved));
    let last = match last {
        None => None,
        Some(at) => match window.frame(at, id).map_err(failed)? {
            Ok(whole) => Some((at, whole.bytes.to_vec())),
            // It was whole a moment ago: the memory of a page that never reached the disk is gone. The next start
            // sees what the disk has.
            Err(_) => return Err(failed(io::Error::other("the last frame reads differently the second time"))),
        },
    };
    let file = window.into_file();
    if let Some((at, bytes)) = &last {
        file.write_at(*at, bytes).map_err(failed)?;
    }
    if let Some(end) = remains.end {
        zero(&file, walk.end, end).map_err(failed)?;
    }
    if last.is_some() || remains.end.is_some() {
        file.sync_data().map_err(failed)?;
    }
    let cut = remains.end.map(|end| Cut {
        segment: segment.to_owned(),
        frame: walk.next,
        what: walk.stop,
        bytes: end - walk.end,
    });
    Ok(Settled { file, cut })
}

/// Why the place is damage, if it is.
fn verdict(walk: &Walk, seen: &Mark, remains: &Remains) -> Option<Because> {
    match walk.stop {
        What::Version(_) | What::Number(_) | What::Chain => return Some(Because::Whole),
        What::Absent
        | What::Header
        | What::Length
        | What::Lasting
        | What::Expiring
        | What::SegmentHeader
        | What::SegmentForeign
        | What::SegmentAbsent => {}
    }
    if walk.next <= seen.frame {
        return Some(Because::Witnessed(seen.frame.0));
    }
    remains.follower.map(|it| Because::Followed(it.0))
}

/// What is behind the last whole frame.
struct Remains {
    /// Where the zeros begin that go to the end of the file; nothing if there are only zeros.
    end: Option<u64>,
    /// A later frame, whole.
    follower: Option<FrameNumber>,
}

fn look<F: DiskFile>(window: &mut Window<F>, id: &LogId, walk: &Walk) -> io::Result<Remains> {
    let mut remains = Remains { end: None, follower: None };
    // A frame whose header is good owns its bytes, whatever they look like.
    let own = match window.header(walk.end, id)? {
        Ok(header) => walk.end.saturating_add(header.extent()),
        Err(_) => walk.end,
    };
    let mut at = walk.end;
    while at < window.size() {
        let len = PIECE.min((window.size() - at) as usize);
        let piece = window.bytes(at, len)?.unwrap_or_default();
        if is_blank(piece) {
            at += len as u64;
            continue;
        }
        let sectors = len.div_ceil(SECTOR as usize) as u64;
        for place in (0..sectors).map(|it| at + it * SECTOR) {
            let len = (SECTOR).min(window.size() - place) as usize;
            let sector = window.bytes(place, len)?.unwrap_or_default();
            if is_blank(sector) {
                continue;
            }
            remains.end = Some(place + len as u64);
            if place >= own
                && sector.starts_with(b"HxFr")
                && let Ok(whole) = window.frame(place, id)?
                && whole.header.number > walk.next
            {
                remains.follower = remains.follower.or(Some(whole.header.number));
            }
        }
        at += len as u64;
    }
    Ok(remains)
}

/// Are there only zeros? A start looks at a whole segment like this, so many bytes at a time: to stop at each would take a tenth of a second.
fn is_blank(bytes: &[u8]) -> bool {
    bytes.chunks(SECTOR as usize).all(|sector| sector.iter().fold(0, |so_far, byte| so_far | byte) == 0)
}

fn zero<F: DiskFile>(file: &F, from: u64, to: u64) -> io::Result<()> {
    let zeros = vec![0; PIECE.min((to - from) as usize)];
    let mut at = from;
    while at < to {
        let len = zeros.len().min((to - at) as usize);
        file.write_at(at, &zeros[..len])?;
        at += len as u64;
    }
    Ok(())
}
