//! Room on the disk: the low-water mark and the reserve.
//!
//! What holds: below the mark nothing is taken and nothing is written. The reserve is a file of zeros that is removed
//! at that moment, so that what is under way elsewhere (a flush of the index, a compaction) can finish. Taking begins
//! again only with room for the reserve above the mark; else giving it back would end the very state that it serves.
//!
//! The reserve is no part of the truth: that it can not be made again is low disk, and never poison.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::error::{Failure, LogError};
use super::segment::path;
use crate::embedded::disk::{Disk, DiskFile};

/// Its name in the directory of the log.
pub(super) const RESERVE: &str = "reserve";

/// How much room there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Bytes that could still be written.
    pub free: u64,
    /// Is that too little to take anything?
    pub low: bool,
}

/// Nothing in here panics half way.
pub(super) fn locked(reserve: &Mutex<Reserve>) -> MutexGuard<'_, Reserve> {
    reserve.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug)]
pub(super) struct Reserve {
    bytes: u64,
    low_water: u64,
    held: bool,
}

impl Reserve {
    /// The reserve of a log whose directory has these names.
    pub(super) fn found(bytes: u64, low_water: u64, names: &[String]) -> Self {
        Self { bytes, low_water, held: names.iter().any(|it| it == RESERVE) }
    }

    /// Is there room for so much more?
    pub(super) fn ask<D: Disk>(&self, disk: &D, wanted: u64) -> Result<Space, LogError> {
        let free = disk.free_space().map_err(|it| LogError::Io(Failure::new("asking for free space", &it)))?;
        let above = if self.held { 0 } else { self.bytes };
        Ok(Space { free, low: free < self.low_water.saturating_add(above).saturating_add(wanted) })
    }

    /// Makes sure that there is room for so much more, or gives the reserve back and says `Low`.
    pub(super) fn claim<D: Disk>(&mut self, disk: &D, wanted: u64) -> Result<(), LogError> {
        if self.ask(disk, wanted)?.low {
            if self.held && disk.remove(&path(RESERVE)).is_ok() {
                self.held = false;
            }
            return Err(LogError::Low);
        }
        if !self.held {
            self.refill(disk)?;
        }
        Ok(())
    }

    fn refill<D: Disk>(&mut self, disk: &D) -> Result<(), LogError> {
        let made = disk.create(&path(RESERVE)).and_then(|it| it.allocate(self.bytes));
        if made.is_err() {
            // Half a reserve must not count as one at the next start; if it can not even be removed it does no harm.
            let _ = disk.remove(&path(RESERVE));
            return Err(LogError::Low);
        }
        self.held = true;
        Ok(())
    }
}
