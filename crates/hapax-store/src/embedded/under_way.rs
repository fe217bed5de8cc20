//! Commits that are on their way to the disk: what they hold is looked up in memory, by the one who judges.
//!
//! A turn that repeats an event of the turn before need not wait until that is durable: it is written after it, and answered
//! after that. Everybody else [waits](super::durable).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hapax_core::entry::SharedEntry;

use super::index::table::Place;
use super::log::FrameNumber;
use crate::seam::Write;

/// The commits, oldest first. There are three at most.
#[derive(Debug, Default)]
pub(super) struct UnderWay(Mutex<VecDeque<(FrameNumber, Arc<Write>)>>);

impl UnderWay {
    fn commits(&self) -> MutexGuard<'_, VecDeque<(FrameNumber, Arc<Write>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more.
    pub(super) fn begin(&self, frame: FrameNumber, write: &Arc<Write>) {
        self.commits().push_back((frame, Arc::clone(write)));
    }

    /// It is durable, or never will be.
    pub(super) fn over(&self, frame: FrameNumber) {
        self.commits().retain(|(under_way, _)| *under_way != frame);
    }

    /// The commit of a frame, if it is under way.
    pub(super) fn get(&self, frame: FrameNumber) -> Option<Arc<Write>> {
        self.commits().iter().find(|(under_way, _)| *under_way == frame).map(|(_, write)| Arc::clone(write))
    }
}

/// The entry at a place of a commit.
pub(super) fn entry_at<'w>(write: &'w Write, place: &Place) -> Option<&'w SharedEntry> {
    let mut index = place.index as usize;
    for stream in &write.streams {
        let entries = &stream.changes.entries;
        match entries.get(index) {
            Some(entry) => return Some(entry),
            None => index -= entries.len(),
        }
    }
    None
}
