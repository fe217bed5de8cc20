//! What is done beside the turns: writing the index, and forgetting what has had its time.
//!
//! What holds: one piece a step, in one thread of the caller's. A step that fails or is cut off loses nothing: the index is
//! derived, and the log is touched only by its own compaction. Nothing is written once the store is closed, for then the
//! directory is somebody else's.
//!
//! Not here: threads, and time, which comes with each step.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};

use hapax_core::planted;
use hapax_core::time::Time;

use super::codec::decode_bare;
use super::disk::{Disk, DiskFile};
use super::expiry::{self, Expiries, Sweep, forget, sweep};
use super::frames::unreadable;
use super::index::table::TableError;
use super::log::{Compactor, FrameNumber, LogError, Spare};
use super::reader::Shared;
use super::snapshot::Writing;
use crate::seam::StoreError;

/// When the index is written. Every start may choose anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpkeepOptions {
    /// The tables are written when the log has grown by so much since, and ids by twice as much unless they have filled their
    /// memory meanwhile: what a start inserts again is bounded by it.
    pub flush_log_bytes: u64,
    /// A snapshot is written when the log has grown by so much since the last, or by twice its size: what a start applies
    /// again is bounded by it, and writing snapshots costs at most half of writing the log.
    pub snapshot_log_bytes: u64,
    /// About so many things of the state are copied under one lock: two thousand lanes take less than a millisecond.
    pub snapshot_piece: usize,
}

impl Default for UpkeepOptions {
    fn default() -> Self {
        Self { flush_log_bytes: 384 << 20, snapshot_log_bytes: 64 << 20, snapshot_piece: 2_000 }
    }
}

/// Does what is due, piece by piece. For one thread beside the writer's.
pub struct Upkeep<D: Disk> {
    pub(super) shared: Arc<Shared<D>>,
    pub(super) spare: Spare<D>,
    pub(super) compactor: Compactor<D>,
}

/// Where the upkeep is.
pub(super) struct Work<F> {
    options: UpkeepOptions,
    closed: bool,
    /// Which task has the next turn.
    turn: usize,
    /// How much of the log had been applied when the tables were last written, and the snapshot.
    flushed_at: u64,
    snapshot_at: u64,
    /// The last frame at that time, or when the upkeep began.
    flushed_to: Option<FrameNumber>,
    /// The last snapshot that is whole.
    snapshot_frame: Option<FrameNumber>,
    snapshot_bytes: u64,
    writing: Option<Writing<F>>,
    /// When there was last nothing more to forget.
    forgot_at: Option<Time>,
    sweep: Option<Sweep>,
    swept_at: Option<Time>,
}

/// So many nonces and requests are forgotten under one lock: about a millisecond.
const FORGOTTEN: usize = 4_000;

/// Nonces and requests are forgotten once a second: asking costs a look at each stream, and they are kept for hours.
const FORGET_EVERY: i128 = 1_000_000_000;

/// What came after all is looked through once an hour: it is kept for days.
const SWEEP_EVERY: i128 = 3_600 * 1_000_000_000;

impl<F: DiskFile> Work<F> {
    pub(super) fn new(options: UpkeepOptions, snapshot: Option<(FrameNumber, u64)>) -> Self {
        Self {
            options,
            closed: false,
            turn: 0,
            flushed_at: 0,
            snapshot_at: 0,
            flushed_to: None,
            snapshot_frame: snapshot.map(|(frame, _)| frame),
            snapshot_bytes: snapshot.map_or(0, |(_, bytes)| bytes),
            writing: None,
            forgot_at: None,
            sweep: None,
            swept_at: None,
        }
    }

    /// Nothing is written from now on.
    pub(super) fn close(&mut self) {
        self.closed = true;
        self.writing = None;
    }
}

impl<D: Disk> Upkeep<D> {
    /// Does one piece of what is due. False if nothing is: ask again in a while. After an error nothing is lost; ask again
    /// when there is room, or stop if it says so.
    pub fn step(&self, now: Time) -> Result<bool, StoreError> {
        let shared = &*self.shared;
        let mut work = shared.work();
        if work.closed {
            return Ok(false);
        }
        if shared.spoiled.load(Ordering::Relaxed) {
            return Err(StoreError::Stopped("the index is damaged; a restart builds it again".to_owned()));
        }
        // What a commit would have to wait for comes first.
        if self.spare.wanted() && self.spare.make()? {
            return Ok(true);
        }
        if shared.index.make_room() {
            return Ok(true);
        }
        // They take turns, so that none waits for another to run out of work.
        for _ in 0..TASKS {
            work.turn = (work.turn + 1) % TASKS;
            let did = match work.turn {
                0 => shared.sound(shared.index.upkeep(shared.durable.reached()))?,
                1 => shared.flush_if_due(&mut work)?,
                2 => shared.snapshot_if_due(&mut work)?,
                3 => shared.forget_if_due(&mut work, now),
                4 => shared.sweep_if_due(&mut work, now),
                _ => self.compact_if_due(&mut work, now)?,
            };
            if did {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Rewrites the first segment of which everything that expires has expired, without it. Entries stay, and so does what
    /// a contract wants kept longer than it did when it was written.
    fn compact_if_due(&self, work: &mut Work<D::File>, now: Time) -> Result<bool, StoreError> {
        let shared = &*self.shared;
        let over = shared.live().expiries.over(now);
        let sealed = |segment: &FrameNumber| *segment < shared.frames.log().segment_of(FrameNumber(u64::MAX));
        let Some(first) = over.filter(sealed) else { return Ok(false) };
        let (mut left, mut last, mut fault) = (Expiries::default(), first, None);
        let compacted = self.compactor.compact(first, |number, lasting, expiring| {
            last = number;
            if expiring.is_empty() {
                return None;
            }
            let found = match decode_bare(lasting, Some(expiring)) {
                Ok(write) => expiry::expiring(&shared.live().state, &write),
                Err(what) => {
                    // What cannot be read is kept as it is.
                    fault = Some(unreadable(number, &what));
                    return Some(expiring.to_vec());
                }
            };
            let kept = found.filter(|it| !it.until.is_over(now) && !planted!(CompactedTooEarly))?;
            left.note(first, kept);
            Some(expiring.to_vec())
        });
        match compacted {
            Ok(_) => {}
            // Closed meanwhile.
            Err(LogError::Missing) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        shared.live_mut().expiries.replace(first, left.of(first));
        shared.frames.forget(&(first..=last));
        // The last snapshot does not know of it.
        work.snapshot_frame = None;
        fault.map_or(Ok(true), Err)
    }

    /// Was the store closed, so that nothing is due any more?
    pub fn is_closed(&self) -> bool {
        self.shared.work().closed
    }

    /// How many ids there are.
    pub fn ids(&self) -> u64 {
        self.shared.index.ids.records()
    }

    /// Bytes in memory for the index: the newest records of the tables, and the filters of the others.
    pub fn index_memory_bytes(&self) -> u64 {
        self.shared.index.memory_bytes()
    }
}

const TASKS: usize = 6;

impl<D: Disk> Shared<D> {
    pub(super) fn work(&self) -> MutexGuard<'_, Work<D::File>> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn flush_if_due(&self, work: &mut Work<D::File>) -> Result<bool, StoreError> {
        let (applied, bytes) = {
            let live = self.live();
            (live.applied, live.bytes)
        };
        let before = *work.flushed_to.get_or_insert(applied);
        if bytes - work.flushed_at < work.options.flush_log_bytes {
            return Ok(false);
        }
        self.sound(self.index.flush_old(before, |frame| self.await_durable(frame)))?;
        (work.flushed_at, work.flushed_to) = (bytes, Some(applied));
        Ok(true)
    }

    /// What the tables say of a frame must not outlive it.
    fn await_durable(&self, frame: FrameNumber) -> Result<(), TableError> {
        self.durable.wait(frame).map_err(|error| TableError::Io(error.to_string()))
    }

    fn snapshot_if_due(&self, work: &mut Work<D::File>) -> Result<bool, StoreError> {
        if work.writing.is_none() {
            let applied = self.live().bytes;
            let enough = work.options.snapshot_log_bytes.max(2 * work.snapshot_bytes);
            if applied - work.snapshot_at < enough {
                return Ok(false);
            }
            work.snapshot_at = applied;
            work.writing = Some(Writing::begin(self, work.options.snapshot_piece)?);
            return Ok(true);
        }
        self.write_piece(work)?;
        Ok(true)
    }

    /// Writes a piece of the snapshot that is under way. One that failed is begun anew when the next is due.
    fn write_piece(&self, work: &mut Work<D::File>) -> Result<bool, StoreError> {
        let Some(mut writing) = work.writing.take() else { return Ok(true) };
        match writing.step(self)? {
            Some(bytes) => {
                work.snapshot_frame = Some(writing.frame());
                work.snapshot_bytes = bytes;
                Ok(true)
            }
            None => {
                work.writing = Some(writing);
                Ok(false)
            }
        }
    }

    fn forget_if_due(&self, work: &mut Work<D::File>, now: Time) -> bool {
        if work.forgot_at.is_some_and(|at| (0..FORGET_EVERY).contains(&now.since(at))) {
            return false;
        }
        let more = forget(&mut self.live_mut().state, now, FORGOTTEN);
        work.forgot_at = (!more).then_some(now);
        more
    }

    fn sweep_if_due(&self, work: &mut Work<D::File>, now: Time) -> bool {
        if work.sweep.is_none() && work.swept_at.is_none_or(|at| now.since(at) > SWEEP_EVERY) {
            work.swept_at = Some(now);
            work.sweep = Some(Sweep::default());
        }
        let Some(at) = work.sweep.take() else { return false };
        work.sweep = sweep(&mut self.live_mut().state, now, at);
        work.sweep.is_some()
    }

    /// Writes all of the index, so that the next start applies nothing again.
    pub(super) fn settle(&self) -> Result<(), StoreError> {
        let mut work = self.work();
        if self.spoiled.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.sound(self.index.flush(|frame| self.await_durable(frame)))?;
        let (applied, bytes) = {
            let live = self.live();
            (live.applied, live.bytes)
        };
        (work.flushed_at, work.snapshot_at) = (bytes, bytes);
        if work.snapshot_frame == Some(applied) {
            return Ok(());
        }
        work.writing = Some(Writing::begin(self, work.options.snapshot_piece)?);
        while !self.write_piece(&mut work)? {}
        Ok(())
    }
}
