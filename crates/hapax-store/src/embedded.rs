//! The store in a directory: the log is the truth, everything else is what its frames add up to.
//!
//! ```text
//! commit: the facts are as they were loaded? ▶ encode ▶ append and sync one frame ▶ tell the index ▶ apply it to the state
//! flow:   the facts are as they were loaded? ▶ tell the index ▶ apply it to the state ▶ hand it over
//!         in another thread: encode ▶ append and sync one frame ▶ tell those who wait
//! alone:  the facts are as they were loaded? ▶ encode ▶ append and sync one frame
//!         in another thread: tell the index ▶ apply it to the state
//! open:   the frames that index and state lack ▶ decode ▶ tell the index ▶ apply it to the state
//! ```
//!
//! `apply` is the only way into the state, in service and at a start alike, so recovery is not a second program. The first
//! failed write or sync stops the store: nothing is acknowledged after it, and recovery is a restart.
//!
//! A store that [flows](Embedded::flow) is ahead of its disk by at most three commits. Whoever reads it waits until what was
//! read is durable, so nobody sees what a power cut could take back.
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
mod ring;

pub mod reader;

mod durable;
mod expiry;
mod flow;
mod snapshot;

mod start;
mod under_way;
pub mod upkeep;

pub mod verify;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, channel};

use hapax_core::planted;

use crate::begun::{Begun, begun};
use crate::seam::{Elsewhere, Loaded, Read, Store, StoreError, TurnNeeds, Write};
use codec::{Sections, encode_for};
use disk::Disk;
use flow::{Flow, Job};
use index::{IndexOptions, Records};
use log::{Beside, FrameNumber, Log, LogError, LogId, Opened};
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
        Self { log, index: IndexOptions::default(), upkeep: UpkeepOptions::default(), frames_bytes_max: 128 << 20 }
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
    way: Way<D>,
    beside: Beside<D>,
    reader: EmbeddedReader<D>,
    /// Of the last commit; kept so that encoding one costs no allocation.
    sections: Sections,
    records: Records,
}

/// How commits get to the disk.
enum Way<D: Disk> {
    /// Here: a commit is durable when it returns.
    Here(Box<Log<D>>),
    /// In a thread of its own.
    Flow(Flow<D>),
    /// The store is being closed.
    Gone,
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
        let (spare, compactor) = (self.beside.spare.clone(), self.beside.compactor.clone());
        Upkeep { shared: Arc::clone(&self.reader.shared), spare, compactor }
    }

    /// From now on commits that are [begun](Store::begin) are written in a thread of their own, while the next turn is judged.
    #[must_use]
    pub fn flow(self) -> Self {
        self.flow_beyond(0)
    }

    /// The same, but for commits of at most so many entries, attempts and claims that few requests wait for: they are written by who
    /// begins them, if none is under way.
    #[must_use]
    pub fn flow_beyond(mut self, at_once_max: usize) -> Self {
        if let Way::Here(log) = std::mem::replace(&mut self.way, Way::Gone) {
            self.way = Way::Flow(Flow::start(*log, Arc::clone(&self.reader.shared), at_once_max));
        }
        self
    }

    /// The frame that was decided last.
    fn last(&self) -> FrameNumber {
        self.reader.shared.live().applied
    }

    /// Takes a commit into index and state; the frame is this.
    fn take_in(&mut self, frame: FrameNumber, write: &Write) -> Option<expiry::Segment> {
        self.reader.shared.take_in(frame, write, &mut self.records)
    }

    /// Writes and syncs a commit in this thread. Answers how many bytes it has.
    fn write_here(&mut self, write: &Write) -> Result<u64, StoreError> {
        let frames = &self.reader.shared.frames;
        let fronts = encode_for(write, &mut self.sections, frames.keeps());
        let Sections { lasting, expiring } = &self.sections;
        if let Way::Here(log) = &mut self.way {
            let frame = log.append(lasting, expiring)?;
            frames.keep(frame, fronts);
        }
        Ok((lasting.len() + expiring.len()) as u64)
    }

    /// May this be committed?
    fn check(&self, write: &Write) -> Result<(), StoreError> {
        if self.reader.shared.spoiled.load(Ordering::Relaxed) {
            return Err(StoreError::Stopped("the index is damaged; a restart builds it again".to_owned()));
        }
        if self.reader.shared.live().state.is_old(write) {
            return Err(StoreError::Conflict);
        }
        Ok(())
    }

    /// Stops in good order: the next start finds everything as it is, and reads nothing again. What fails of the index
    /// costs that start a moment, and nothing else.
    pub fn close(self) -> Result<(), StoreError> {
        let Self { stop, way, reader, .. } = self;
        let log = match way {
            Way::Here(log) => Some(*log),
            Way::Flow(flow) => flow.end(),
            Way::Gone => None,
        };
        let log = log.ok_or_else(|| StoreError::Stopped("the one who writes the log is gone".to_owned()))?;
        let settled = reader.shared.durable.sound().and_then(|()| reader.shared.settle());
        drop(stop);
        log.close()?;
        settled
    }
}

impl<D: Disk> Shared<D> {
    /// Takes a commit into index and state; the frame is this.
    fn take_in(&self, frame: FrameNumber, write: &Write, records: &mut Records) -> Option<expiry::Segment> {
        let numbers = self.live().state.numbers(write);
        records.fill(frame, write, &numbers);
        self.index.insert(frame, records);
        self.apply(frame, write)
    }

    /// The same, elsewhere. Answers where it will be told what of it expires; nothing if it has to be done here.
    fn take_in_elsewhere(
        self: &Arc<Self>,
        frame: FrameNumber,
        write: &Arc<Write>,
        elsewhere: Elsewhere<'_>,
    ) -> Option<Receiver<Option<expiry::Segment>>> {
        let (tells, told) = channel();
        let (shared, write) = (Arc::clone(self), Arc::clone(write));
        let job = move || {
            // If nobody listens, the one who writes is gone.
            _ = tells.send(shared.take_in(frame, &write, &mut Records::default()));
        };
        elsewhere(Box::new(job)).then_some(told)
    }

    /// Takes a frame into the state, once the index has it: whoever sees a commit finds its entries.
    fn apply(&self, frame: FrameNumber, write: &Write) -> Option<expiry::Segment> {
        let mut live = self.live_mut();
        let expiring = expiry::expiring(&live.state, write);
        live.state.apply(write);
        keep_places(&mut live.state, write, frame);
        live.applied = frame;
        if write.is_registry() {
            live.registry = frame;
        }
        expiring
    }

    /// A frame is in the log: so many bytes, of which this expires.
    fn settled(&self, frame: FrameNumber, expiring: Option<expiry::Segment>, bytes: u64) {
        let segment = self.frames.log().segment_of(frame);
        {
            let mut live = self.live_mut();
            if let Some(expiring) = expiring {
                live.expiries.note(segment, expiring);
            }
            live.bytes += bytes;
            live.settled = frame;
        }
        self.durable.advance(frame);
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
        self.begin(write)?.wait()
    }

    fn begin(&mut self, write: Write) -> Result<Begun, StoreError> {
        self.check(&write)?;
        let frame = self.last().next();
        match &self.way {
            Way::Here(_) => {
                let early = planted!(AppliedBeforeDurable).then(|| {
                    let expiring = self.take_in(frame, &write);
                    self.reader.shared.durable.advance(frame);
                    expiring
                });
                let bytes = self.write_here(&write)?;
                let expiring = early.unwrap_or_else(|| self.take_in(frame, &write));
                self.reader.shared.settled(frame, expiring, bytes);
                Ok(Begun::durable())
            }
            Way::Flow(flow) => {
                self.reader.shared.durable.sound()?;
                self.beside.room.claim(rough_bytes(&write))?;
                if flow.is_at_once(frame, &write) {
                    let bytes = flow.write_at_once(frame, &write)?;
                    let expiring = self.take_in(frame, &write);
                    self.reader.shared.settled(frame, expiring, bytes);
                    return Ok(Begun::durable());
                }
                let write = Arc::new(write);
                self.reader.shared.under_way.begin(frame, &write);
                let expiring = self.take_in(frame, &write);
                let (promise, begun) = begun();
                if let Way::Flow(flow) = &self.way {
                    flow.hand_over(Job { frame, write, expiring, promise });
                }
                Ok(begun)
            }
            Way::Gone => Err(StoreError::Stopped("the store was closed".to_owned())),
        }
    }

    /// Written here, so that no other thread has to wake up first, and taken into index and state elsewhere meanwhile.
    fn begin_alone(&mut self, write: Write, elsewhere: Elsewhere<'_>) -> Result<Begun, StoreError> {
        let frame = self.last().next();
        let Way::Flow(flow) = &self.way else { return self.begin(write) };
        if flow.is_at_once(frame, &write) || !flow.is_next(frame) {
            return self.begin(write);
        }
        self.check(&write)?;
        let shared = Arc::clone(&self.reader.shared);
        shared.durable.sound()?;
        self.beside.room.claim(rough_bytes(&write))?;
        let write = Arc::new(write);
        // It is in the state before it is in the log, as what is handed over is.
        shared.under_way.begin(frame, &write);
        let taking_in = shared.take_in_elsewhere(frame, &write, elsewhere);
        let written = flow.write_at_once(frame, &write);
        // Nobody goes on while the state is half way, whatever became of the log.
        let taken_in = match taking_in {
            Some(told) => told.recv().map_err(|_| StoreError::Stopped("a commit was left half way".to_owned())),
            None => Ok(self.take_in(frame, &write)),
        };
        let expiring = taken_in.inspect_err(|error| shared.durable.fail(error.clone()))?;
        let done = written.map(|bytes| shared.settled(frame, expiring, bytes));
        shared.under_way.over(frame);
        done.map(|()| Begun::durable())
    }

    fn settle(&mut self) -> Result<(), StoreError> {
        self.reader.shared.durable.wait(self.last())
    }

    fn is_at_hand(&self) -> bool {
        matches!(self.way, Way::Flow(_))
    }

    fn is_shared(&self) -> bool {
        false
    }
}

/// About how large a commit will be. It decides only when the disk counts as full, and that has room to spare.
fn rough_bytes(write: &Write) -> u64 {
    let entries = write.streams.iter().flat_map(|stream| &stream.changes.entries);
    let attempts = write.streams.iter().map(|stream| stream.changes.attempts.len() as u64);
    let requests = write.requests.iter().map(|(_, record)| record.body.len() as u64 + 256);
    entries.map(|entry| entry.document.len() as u64 + 256).sum::<u64>()
        + attempts.sum::<u64>() * 512
        + requests.sum::<u64>()
        + 64 * 1024
}

impl Write {
    /// Does it change what is [looked up](crate::state::Keeper::look_up)?
    fn is_registry(&self) -> bool {
        !(self.tenants.is_empty() && self.handlers.is_empty() && self.keys.is_empty())
            || self.streams.iter().any(|stream| stream.version.is_some())
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
