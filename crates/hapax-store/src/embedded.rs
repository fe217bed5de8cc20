//! The store in a directory: the log is the truth, and the working state is what its frames add up to.
//!
//! ```text
//! commit: the heads are as they were loaded? ▶ encode ▶ append and sync one frame ▶ apply it to the state
//! open:   every frame of the log ▶ decode ▶ apply it to the state
//! ```
//!
//! `apply` is the only way into the state, in service and at a start alike, so recovery is not a second program. The first
//! failed write or sync stops the store: nothing is acknowledged after it, and recovery is a restart.
//!
//! What is *not* here yet: an index on disk. The whole state is in memory, so a start reads the whole log, and a ledger
//! must fit the memory. See `docs/decisions/0004-embedded-index.md` for what takes its place.
//!
//! Read in this order: [`log`](self::log) (bytes, durable), [`codec`] (what the bytes mean), [`disk`] (what the log asks of a disk).

pub mod disk;

pub mod log;

pub mod codec;

pub mod verify;

use std::sync::Arc;

use crate::memory::Memory;
use crate::seam::{Loaded, Read, Store, StoreError, TurnNeeds, Write};
use codec::{Sections, decode, encode};
use disk::Disk;
use log::{FrameNumber, Log, LogError, LogId, Opened, Options};

/// A ledger in a directory.
pub struct Embedded<D: Disk> {
    log: Log<D>,
    state: Memory,
    /// Of the last commit; kept so that encoding one costs no allocation.
    sections: Sections,
}

impl<D: Disk> Embedded<D> {
    /// Opens the store in a directory, or makes one there. The id is 16 random bytes, used only if it is made.
    pub fn open(disk: D, options: Options, id: LogId) -> Result<(Self, Opened), StoreError> {
        let (log, opened) = match Log::open(disk.clone(), options.clone()) {
            Err(LogError::Missing) => {
                let log = Log::create(disk, options, id)?;
                (log, Opened { frames: 0, cut: None, warnings: Vec::new() })
            }
            opened => opened?,
        };
        let state = Memory::new();
        for frame in log.frames(FrameNumber::ORIGIN.next())? {
            let frame = frame?;
            // An empty section is one that compaction has dropped, or that never had anything in it.
            let expiring = (!frame.expiring.is_empty()).then_some(frame.expiring.as_slice());
            let write = decode(&frame.lasting, expiring)
                .map_err(|fault| StoreError::Corrupt(format!("frame {} cannot be read: {fault}", frame.number)))?;
            if state.state().conflicts(&write) {
                let what = format!("frame {} does not continue the heads before it", frame.number);
                return Err(StoreError::Corrupt(what));
            }
            state.state_mut().apply(write);
        }
        Ok((Self { log, state, sections: Sections::default() }, opened))
    }

    /// Stops in good order: the next start finds everything as it is.
    pub fn close(self) -> Result<(), StoreError> {
        Ok(self.log.close()?)
    }
}

impl<D: Disk> Store for Embedded<D> {
    /// The state is what was committed, so it answers.
    type Reader = Memory;

    fn reader(&self) -> &Memory {
        &self.state
    }

    fn tenant(&mut self, name: &Arc<str>, salt: [u8; 32]) -> Result<[u8; 32], StoreError> {
        if let Some(salt) = self.state.salt(name)? {
            return Ok(salt);
        }
        self.commit(Write { tenants: vec![(Arc::clone(name), salt)], ..Write::default() })?;
        Ok(salt)
    }

    fn load(&mut self, needs: &TurnNeeds) -> Result<Loaded, StoreError> {
        self.state.load(needs)
    }

    fn commit(&mut self, write: Write) -> Result<(), StoreError> {
        if self.state.state().conflicts(&write) {
            return Err(StoreError::Conflict);
        }
        encode(&write, &mut self.sections);
        self.log.append(&self.sections.lasting, &self.sections.expiring)?;
        self.state.state_mut().apply(write);
        Ok(())
    }
}

impl From<LogError> for StoreError {
    fn from(error: LogError) -> Self {
        match error {
            LogError::Poisoned(_) => Self::Stopped(error.to_string()),
            LogError::Corrupt(_) => Self::Corrupt(error.to_string()),
            LogError::Low => Self::Full,
            LogError::Locked | LogError::Missing | LogError::Io(_) => Self::Unreachable(error.to_string()),
        }
    }
}
