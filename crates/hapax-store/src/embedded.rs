//! The store in a directory: the log is the truth, everything else is what its frames add up to.
//!
//! ```text
//! commit: the heads are as they were loaded? ▶ encode ▶ append and sync one frame ▶ tell the index ▶ apply it to the state
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
//! a disk), [`index`] (where in the log something is), `frames` and [`reader`] (finding it).

pub mod disk;

pub mod log;

pub mod codec;

pub mod index;

mod frames;

pub mod reader;

use std::sync::{Arc, RwLock};

use crate::seam::{Loaded, Read, Store, StoreError, TurnNeeds, Write};
use codec::{Sections, decode, encode};
use disk::Disk;
use frames::{Frames, unreadable};
use index::{Index, IndexOptions, Records};
use log::{Frame, FrameNumber, Log, LogError, LogId, Opened};
use reader::{EmbeddedReader, Live, Shared};

/// How a store is kept. None of it is part of the format: every start may choose anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The log.
    pub log: log::Options,
    /// The index.
    pub index: IndexOptions,
    /// Bytes of frames that are kept in memory for those who read.
    pub frames_bytes_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        let log = log::Options { check: log::Check::Tail, ..log::Options::default() };
        Self { log, index: IndexOptions::default(), frames_bytes_max: 32 << 20 }
    }
}

impl From<log::Options> for Options {
    fn from(log: log::Options) -> Self {
        Self { log, ..Self::default() }
    }
}

/// A ledger in a directory.
pub struct Embedded<D: Disk> {
    log: Log<D>,
    reader: EmbeddedReader<D>,
    /// Of the last commit; kept so that encoding one costs no allocation.
    sections: Sections,
    records: Records,
}

impl<D: Disk> Embedded<D> {
    /// Opens the store in a directory, or makes one there. The id is 16 random bytes, used only if it is made.
    pub fn open(disk: D, options: impl Into<Options>, id: LogId) -> Result<(Self, Opened), StoreError> {
        let options = options.into();
        let (log, opened) = match Log::open(disk.clone(), options.log.clone()) {
            Err(LogError::Missing) => {
                let log = Log::create(disk.clone(), options.log.clone(), id)?;
                (log, Opened { frames: 0, cut: None, warnings: Vec::new() })
            }
            opened => opened?,
        };
        let index = Index::open(&disk, id, &options.index)?;
        let frames = Frames::new(log.reader(), options.frames_bytes_max);
        let shared = Shared { disk, live: RwLock::new(Live::default()), index, frames };
        let mut records = Records::default();
        for frame in log.frames(FrameNumber::ORIGIN.next())? {
            let frame = frame?;
            let write = read(&frame)?;
            if shared.live().state.conflicts(&write) {
                let what = format!("frame {} does not continue the heads before it", frame.number);
                return Err(StoreError::Corrupt(what));
            }
            shared.apply(frame.number, write, &mut records);
        }
        let reader = EmbeddedReader { shared: Arc::new(shared) };
        Ok((Self { log, reader, sections: Sections::default(), records }, opened))
    }

    /// Stops in good order: the next start finds everything as it is.
    pub fn close(self) -> Result<(), StoreError> {
        Ok(self.log.close()?)
    }
}

fn read(frame: &Frame) -> Result<Write, StoreError> {
    // An empty section is one that compaction has dropped, or that never had anything in it.
    let expiring = (!frame.expiring.is_empty()).then_some(frame.expiring.as_slice());
    decode(&frame.lasting, expiring).map_err(|fault| unreadable(frame.number, &fault))
}

impl<D: Disk> Shared<D> {
    /// Takes in what a frame says. The index first: whoever sees the state of a commit finds its entries.
    fn apply(&self, frame: FrameNumber, write: Write, records: &mut Records) {
        let numbers = self.live().state.numbers(&write);
        records.fill(frame, &write, &numbers);
        self.index.insert(frame, records);
        let mut live = self.live_mut();
        live.attempts += write.streams.iter().map(|stream| stream.changes.attempts.len() as u64).sum::<u64>();
        live.state.apply(write);
        live.applied = frame;
    }
}

impl<D: Disk> Store for Embedded<D> {
    type Reader = EmbeddedReader<D>;

    fn reader(&self) -> &EmbeddedReader<D> {
        &self.reader
    }

    fn tenant(&mut self, name: &Arc<str>, salt: [u8; 32]) -> Result<[u8; 32], StoreError> {
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
        Ok(loaded)
    }

    fn commit(&mut self, write: Write) -> Result<(), StoreError> {
        if self.reader.shared.live().state.conflicts(&write) {
            return Err(StoreError::Conflict);
        }
        encode(&write, &mut self.sections);
        let frame = self.log.append(&self.sections.lasting, &self.sections.expiring)?;
        self.reader.shared.apply(frame, write, &mut self.records);
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
