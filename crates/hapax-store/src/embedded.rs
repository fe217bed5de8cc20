//! The store in a directory: the log is the truth, everything else is what its frames add up to.
//!
//! ```text
//! commit: the facts are as they were loaded? ▶ encode ▶ append and sync one frame ▶ tell the index ▶ apply it to the state
//! open:   the frames that index and state lack ▶ decode ▶ tell the index ▶ apply it to the state
//! ```
//!
//! `apply` is the only way into the state, in service and at a start alike, so recovery is not a second program. The first
//! failed write or sync stops the store: nothing is acknowledged after it, and recovery is a restart.
//!
//! Entries, identities and attempts are not in memory: the index says in which frame they are, and they are read from
//! there. See `docs/decisions/0004-embedded-index.md`.
//!
//! Read in this order: [`log`](self::log) (bytes, durable), [`codec`] (what the bytes mean), [`disk`] (what the log asks of
//! a disk), [`index`] (where in the log something is), `frames` and [`reader`] (finding it), `snapshot` (the state on disk),
//! `start` (what a start does), [`upkeep`] (what is done beside the turns).

pub mod disk;

pub mod log;

pub use crate::codec;

pub mod index;

mod frames;

pub mod reader;

mod expiry;
mod snapshot;

mod start;
pub mod upkeep;

pub mod verify;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hapax_core::planted;

use crate::seam::{Loaded, Read, Store, StoreError, TurnNeeds, Write};
use codec::{Sections, encode};
use disk::Disk;
use index::{IndexOptions, Records};
use log::{FrameNumber, Log, LogError, LogId, Opened};
use reader::{EmbeddedReader, Shared, keep_places};
pub use start::Progress;
use upkeep::{Upkeep, UpkeepOptions};

/// How a store is kept. None of it is part of the format: every start may choose anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The log.
    pub log: log::Options,
    /// The index.
    pub index: IndexOptions,
    /// When the index is written.
    pub upkeep: UpkeepOptions,
    /// Bytes of frames that are kept in memory for those who read.
    pub frames_bytes_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        let log = log::Options { check: log::Check::Tail, ..log::Options::default() };
        Self { log, index: IndexOptions::default(), upkeep: UpkeepOptions::default(), frames_bytes_max: 32 << 20 }
    }
}

impl From<log::Options> for Options {
    fn from(log: log::Options) -> Self {
        Self { log, ..Self::default() }
    }
}

/// A ledger in a directory. Dropping it without [`Embedded::close`] is a crash, which costs the next start a moment.
pub struct Embedded<D: Disk> {
    /// First, so that the upkeep ends before the lock is given up.
    stop: Stop<D>,
    log: Log<D>,
    reader: EmbeddedReader<D>,
    /// Of the last commit; kept so that encoding one costs no allocation.
    sections: Sections,
    records: Records,
}

/// Ends the upkeep when the store goes: the directory may be another's the moment after.
struct Stop<D: Disk>(Arc<Shared<D>>);

impl<D: Disk> Drop for Stop<D> {
    fn drop(&mut self) {
        self.0.work().close();
    }
}

impl<D: Disk> Embedded<D> {
    /// Opens the store in a directory, or makes one there. The id is 16 random bytes, used only if it is made.
    pub fn open(disk: D, options: impl Into<Options>, id: LogId) -> Result<(Self, Opened), StoreError> {
        Self::open_telling(disk, options, id, |_| {})
    }

    /// The same, and tells how far it has come while it reads the log.
    pub fn open_telling(
        disk: D,
        options: impl Into<Options>,
        id: LogId,
        mut progress: impl FnMut(Progress),
    ) -> Result<(Self, Opened), StoreError> {
        Self::start(disk, &options.into(), id, &mut progress)
    }

    /// What is to be done beside the turns, for one thread that is not the writer's.
    pub fn upkeep(&self) -> Upkeep<D> {
        Upkeep { shared: Arc::clone(&self.reader.shared), spare: self.log.spare(), compactor: self.log.compactor() }
    }

    /// Stops in good order: the next start finds everything as it is, and reads nothing again. What fails of the index
    /// costs that start a moment, and nothing else.
    pub fn close(self) -> Result<(), StoreError> {
        let settled = self.reader.shared.settle();
        let Self { stop, log, .. } = self;
        drop(stop);
        log.close()?;
        settled
    }
}

impl<D: Disk> Shared<D> {
    /// Takes a frame into the state, once the index has it: whoever sees a commit finds its entries.
    fn apply(&self, frame: FrameNumber, mut write: Write, bytes: u64) {
        keep_places(&mut write, frame);
        let segment = self.frames.log().segment_of(frame);
        let mut live = self.live_mut();
        let expiring = expiry::expiring(&live.state, &write);
        live.state.apply(write);
        if let Some(expiring) = expiring {
            live.expiries.note(segment, expiring);
        }
        live.bytes += bytes;
        live.applied = frame;
    }
}

impl<D: Disk> Store for Embedded<D> {
    type Reader = EmbeddedReader<D>;

    fn reader(&self) -> &EmbeddedReader<D> {
        &self.reader
    }

    fn tenant(&mut self, name: &Arc<str>, salt: [u8; 32]) -> Result<[u8; 32], StoreError> {
        if planted!(SaltMadeAnew) && self.reader.salt(name)?.is_some() {
            self.reader.shared.live_mut().state.tenants.insert(Arc::clone(name), salt);
        }
        if let Some(salt) = self.reader.salt(name)? {
            return Ok(salt);
        }
        self.commit(Write { tenants: vec![(Arc::clone(name), salt)], ..Write::default() })?;
        Ok(salt)
    }

    fn load(&mut self, needs: &TurnNeeds) -> Result<Loaded, StoreError> {
        let shared = &self.reader.shared;
        let mut loaded = shared.live().state.load(needs);
        shared.load_originals(needs, &mut loaded)?;
        shared.load_answers(&mut loaded)?;
        Ok(loaded)
    }

    fn commit(&mut self, write: Write) -> Result<(), StoreError> {
        if self.reader.shared.spoiled.load(Ordering::Relaxed) {
            return Err(StoreError::Stopped("the index is damaged; a restart builds it again".to_owned()));
        }
        if self.reader.shared.live().state.is_old(&write) {
            return Err(StoreError::Conflict);
        }
        if planted!(AppliedBeforeDurable) {
            let frame = self.log.last().next();
            let numbers = self.reader.shared.live().state.numbers(&write);
            self.records.fill(frame, &write, &numbers);
            self.reader.shared.index.insert(frame, &self.records);
            self.reader.shared.apply(frame, write.clone(), 0);
        }
        encode(&write, &mut self.sections);
        let frame = self.log.append(&self.sections.lasting, &self.sections.expiring)?;
        let shared = &self.reader.shared;
        let numbers = shared.live().state.numbers(&write);
        self.records.fill(frame, &write, &numbers);
        shared.index.insert(frame, &self.records);
        shared.apply(frame, write, (self.sections.lasting.len() + self.sections.expiring.len()) as u64);
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
