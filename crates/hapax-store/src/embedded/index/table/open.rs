//! Which runs there are, and what is left over.
//!
//! What holds: the runs that are opened cover every frame from the first to the last of them once. A run that lies within
//! another was merged into it, and is removed once that one has been opened. Anything else that overlaps, or a hole, is
//! damage: some of the names did not survive a power cut.

use std::sync::Arc;

use super::TableError;
use super::format::{DIR, Header, Writing, frames_of, temporary};
use super::run::Run;
use crate::embedded::disk::Disk;
use crate::embedded::log::{FrameNumber, LogId};

/// The runs of a table, oldest first.
pub(super) fn runs<D: Disk>(disk: &D, name: &'static str, log: LogId) -> Result<Vec<Arc<Run<D::File>>>, TableError> {
    let names = names(disk)?;
    for writing in [Writing::Flush, Writing::Merge] {
        let unfinished = temporary(name, writing);
        if names.contains(&unfinished) {
            disk.remove(&format!("{DIR}/{unfinished}")).map_err(TableError::writing)?;
        }
    }
    let mut frames: Vec<(FrameNumber, FrameNumber)> = names.iter().filter_map(|it| frames_of(name, it)).collect();
    // Of those that begin with the same frame, the one that goes furthest comes first.
    frames.sort_unstable_by_key(|it| (it.0, std::cmp::Reverse(it.1)));
    let mut runs = Vec::new();
    let mut merged = Vec::new();
    let mut covered = FrameNumber::ORIGIN;
    for (from, to) in frames {
        let header = Header { log, name, from, to, records: 0 };
        if to <= covered {
            merged.push(header.path());
            continue;
        }
        if from != covered {
            let what = format!("{}: it does not follow the frames up to {covered}", header.path());
            return Err(TableError::Damaged(what));
        }
        runs.push(Arc::new(Run::open(disk, header)?));
        covered = to;
    }
    for path in merged {
        disk.remove(&path).map_err(TableError::writing)?;
    }
    Ok(runs)
}

/// What is in the directory, which is made if it was not there.
fn names<D: Disk>(disk: &D) -> Result<Vec<String>, TableError> {
    if !disk.list("").map_err(TableError::reading)?.iter().any(|it| it == DIR) {
        disk.create_dir(DIR).map_err(TableError::writing)?;
        // Once in the life of a store: without it a run that was synced could be lost with the directory around it.
        disk.sync_dir("").map_err(TableError::writing)?;
    }
    disk.list(DIR).map_err(TableError::reading)
}
