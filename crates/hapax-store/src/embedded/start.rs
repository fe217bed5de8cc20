//! A start: the snapshot and the tables, then the frames that they lack; or, if they cannot be used, every frame.
//!
//! What holds: whatever the index says, the store that comes out is the one that the log says. A snapshot that cannot be
//! read, tables with a hole, either of another log or ahead of this one, a frame that does not continue the heads: the
//! whole index is deleted and built again, once. Only a fault of the log itself is an error.
//!
//! The log is read once: replaying checks every frame that it reads, so a rebuild needs no check beforehand.

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, RwLock};

use hapax_core::planted;

use super::codec::{Sections, decode_bare};
use super::disk::Disk;
use super::durable::Durable;
use super::expiry::Expiries;
use super::frames::{Frames, unreadable};
use super::index::table::TableError;
use super::index::{Index, Records};
use super::log::{Check, Frame, FrameNumber, Log, LogError, LogId, Opened};
use super::reader::{EmbeddedReader, Live, Shared};
use super::snapshot;
use super::under_way::UnderWay;
use super::upkeep::Work;
use super::{Embedded, Options, Stop, Way};
use crate::seam::{StoreError, Write};

/// How far a start has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Is the index built again from the first frame?
    pub rebuilds: bool,
    /// Frames that were read.
    pub frames: u64,
    /// Frames that are to be read.
    pub frames_total: u64,
    /// Entries in those that were read.
    pub entries: u64,
}

/// Progress is told every so many frames.
const TOLD: u64 = 256;

/// What the index gave, before the log was asked for the rest.
struct Found<D: Disk> {
    live: Live,
    index: Index<D>,
    /// The last frame that is applied already, and the one from which on heads must fit.
    shows: FrameNumber,
    /// What expires, as of that one.
    expiries: Expiries,
    /// The frame of the snapshot, and its size.
    snapshot: Option<(FrameNumber, u64)>,
    rebuilds: bool,
}

impl<D: Disk> Embedded<D> {
    pub(super) fn start(
        disk: D,
        options: &Options,
        id: LogId,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(Self, Opened), StoreError> {
        let (log, opened) = open_log(&disk, options, id)?;
        let shared = match find(&disk, &log, options)? {
            Some(found) => replay(&disk, &log, found, options, progress),
            None => Err(None),
        };
        let shared = match shared {
            Ok(shared) => shared,
            Err(Some(error)) => return Err(error),
            Err(None) => rebuild(&disk, &log, options, progress)?,
        };
        shared.durable.advance(log.last());
        let (shared, beside) = (Arc::new(shared), log.beside());
        let (stop, reader) = (Stop(Arc::clone(&shared)), EmbeddedReader { shared });
        Ok((
            Self {
                stop,
                way: Way::Here(Box::new(log)),
                beside,
                reader,
                sections: Sections::default(),
                records: Records::default(),
            },
            opened,
        ))
    }
}

/// Applies what the log has and the index lacks. No error means that the index cannot be used.
fn replay<D: Disk>(
    disk: &D,
    log: &Log<D>,
    found: Found<D>,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<Shared<D>, Option<StoreError>> {
    let Found { live, index, shows, expiries, snapshot, rebuilds } = found;
    let applied = live.applied;
    let shared = Shared {
        disk: disk.clone(),
        id: log.id(),
        live: RwLock::new(live),
        index,
        frames: Frames::new(log.reader(), options.frames_bytes_max),
        work: Mutex::new(Work::new(options.upkeep.clone(), snapshot)),
        durable: Durable::new(log.last()),
        under_way: UnderWay::default(),
        spoiled: AtomicBool::new(false),
    };
    Replay { shared: &shared, applied, shows, expiries, rebuilds }.run(log, progress)?;
    Ok(shared)
}

/// Deletes the index and applies every frame, and writes the result at once, so that nobody has to wait for it a second
/// time.
fn rebuild<D: Disk>(
    disk: &D,
    log: &Log<D>,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<Shared<D>, StoreError> {
    let found = from_nothing(disk, log, options)?;
    let damaged = || StoreError::Unreachable("the index that was just written cannot be read".to_owned());
    let built = replay(disk, log, found, options, progress);
    let shared = built.map_err(|error| error.unwrap_or_else(damaged))?;
    if log.last() == FrameNumber::ORIGIN {
        return Ok(shared);
    }
    match shared.settle() {
        // What is in memory is right without it; the upkeep tries again.
        Ok(()) | Err(StoreError::Unreachable(_)) => Ok(shared),
        Err(error) => Err(error),
    }
}

fn open_log<D: Disk>(disk: &D, options: &Options, id: LogId) -> Result<(Log<D>, Opened), StoreError> {
    let mut log_options = options.log.clone();
    if !has_snapshot(disk) {
        // Every frame will be read and checked anyway.
        log_options.check = Check::Tail;
    }
    match Log::open(disk.clone(), log_options.clone()) {
        Err(LogError::Missing) => {
            let log = Log::create(disk.clone(), log_options, id)?;
            Ok((log, Opened { frames: 0, cut: None, warnings: Vec::new() }))
        }
        opened => Ok(opened?),
    }
}

/// Only a guess, for the store is not locked yet: at worst the log is read twice.
fn has_snapshot<D: Disk>(disk: &D) -> bool {
    disk.list(super::index::DIR).is_ok_and(|names| names.iter().any(|name| name.ends_with(".snap")))
}

/// What the index has, if it can be used.
fn find<D: Disk>(disk: &D, log: &Log<D>, options: &Options) -> Result<Option<Found<D>>, StoreError> {
    let Some(loaded) = snapshot::load(disk, log)? else { return Ok(None) };
    let index = match Index::open(disk, log.id(), &options.index) {
        Ok(index) => index,
        // What cannot be read is no better than what is wrong: both are built again.
        Err(TableError::Damaged(_) | TableError::Io(_)) => return Ok(None),
    };
    if index.reaches() > log.last() {
        return Ok(None);
    }
    let snapshot::Loaded { live, shows, expiries, bytes } = loaded;
    let snapshot = Some((live.applied, bytes));
    Ok(Some(Found { live, index, shows, expiries, snapshot, rebuilds: false }))
}

fn from_nothing<D: Disk>(disk: &D, log: &Log<D>, options: &Options) -> Result<Found<D>, StoreError> {
    let removing = |error| StoreError::Unreachable(format!("removing the index failed: {error}"));
    Index::remove_all(disk).map_err(removing)?;
    let opening = |error: TableError| StoreError::Unreachable(error.to_string());
    let index = Index::open(disk, log.id(), &options.index).map_err(opening)?;
    let (live, shows, expiries) = (Live::default(), FrameNumber::ORIGIN, Expiries::default());
    Ok(Found { live, index, shows, expiries, snapshot: None, rebuilds: true })
}

struct Replay<'s, D: Disk> {
    shared: &'s Shared<D>,
    /// The state has everything up to here.
    applied: FrameNumber,
    /// And perhaps something up to here.
    shows: FrameNumber,
    expiries: Expiries,
    rebuilds: bool,
}

impl<D: Disk> Replay<'_, D> {
    /// An error of the log, or none if it is the index's fault.
    fn run(&self, log: &Log<D>, progress: &mut dyn FnMut(Progress)) -> Result<(), Option<StoreError>> {
        let from = self.applied.min(self.shared.index.flushed()).next();
        let frames = log.frames(from).map_err(|error| Some(error.into()))?;
        let frames_total = (log.last().0 + 1).saturating_sub(from.0);
        if self.applied == self.shows {
            self.shared.live_mut().expiries.clone_from(&self.expiries);
        }
        let told = Progress { rebuilds: self.rebuilds, frames: 0, frames_total, entries: 0 };
        if frames_total < APART {
            return self.take(frames.map(|frame| Read::of(frame?)), told, progress);
        }
        std::thread::scope(|scope| {
            let (send, receive) = sync_channel(AHEAD);
            scope.spawn(move || {
                for frame in frames {
                    // Nobody takes it any more: an error on the other side.
                    if send.send(frame.map_err(StoreError::from).and_then(Read::of)).is_err() {
                        return;
                    }
                }
            });
            self.take(receive.into_iter(), told, progress)
        })
    }

    fn take(
        &self,
        frames: impl Iterator<Item = Result<Read, StoreError>>,
        mut told: Progress,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), Option<StoreError>> {
        let mut records = Records::default();
        for frame in frames {
            let Read { number, write, bytes } = frame?;
            told.frames += 1;
            told.entries += write.streams.iter().map(|stream| stream.changes.entries.len() as u64).sum::<u64>();
            let numbers = self.shared.live().state.numbers(&write);
            records.fill(number, &write, &numbers);
            self.shared.index.replay(number, &records).map_err(|error| match error {
                TableError::Damaged(_) => None,
                TableError::Io(what) => Some(StoreError::Unreachable(what)),
            })?;
            if planted!(ReplayTooLate) && number == self.applied.next() && !self.rebuilds {
                continue;
            }
            if number > self.applied {
                self.apply(number, write, bytes)?;
            }
            if told.frames.is_multiple_of(TOLD) || told.frames == told.frames_total {
                progress(told);
            }
        }
        Ok(())
    }

    fn apply(&self, number: FrameNumber, write: Write, bytes: u64) -> Result<(), Option<StoreError>> {
        if number > self.shows && self.shared.live().state.conflicts(&write) {
            let what = format!("frame {number} does not continue the heads before it");
            return Err(self.rebuilds.then_some(StoreError::Corrupt(what)));
        }
        let expiring = self.shared.apply(number, &write);
        self.shared.settled(number, expiring, bytes);
        if number == self.shows {
            self.shared.live_mut().expiries.clone_from(&self.expiries);
        }
        Ok(())
    }
}

/// With so many frames or more, reading them and taking them in are done side by side.
const APART: u64 = 256;

/// So many frames are read ahead: enough that neither side waits for the other, little enough memory.
const AHEAD: usize = 16;

/// A frame as a start needs it.
struct Read {
    number: FrameNumber,
    write: Write,
    bytes: u64,
}

impl Read {
    fn of(frame: Frame) -> Result<Self, StoreError> {
        let Frame { number, lasting, expiring } = frame;
        // An empty section is one that compaction has dropped, or that never had anything in it.
        let kept = !expiring.is_empty() && !planted!(ExpiringInMemoryOnly);
        let write = decode_bare(&lasting, kept.then_some(expiring.as_slice()));
        let write = write.map_err(|fault| unreadable(number, &fault))?;
        Ok(Self { number, write, bytes: (lasting.len() + expiring.len()) as u64 })
    }
}
