//! Commits on their way to the disk, in a thread of their own: while one is encoded, written and synced, the next turn is
//! judged.
//!
//! What holds: frames are written one after the other, each after the sync of the one before, in the order in which they were
//! handed over. Whoever handed one over is told after its sync. At most one waits while another is written, and whoever hands over
//! a third waits with it: more would not be quicker, and an answer would wait longer. After the first that fails none is written.
//!
//! A commit of a few events that a few wait for may be written [at once](Flow::write_at_once), by the one who judged it, if no other is under
//! way: nobody has anything to do meanwhile, and to wake a thread, and to be woken by it, takes longer than to encode a few entries. So may a large one that
//! [comes alone](super::Embedded::begin_alone).
//!
//! Not here: whether a commit may be made at all. What is handed over was checked, and is in the state already.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::codec::{Sections, encode_for};
use super::disk::Disk;
use super::expiry::Segment;
use super::log::{FrameNumber, Log};
use super::reader::Shared;
use crate::begun::Promise;
use crate::seam::{StoreError, Write};

/// A commit that more requests wait for is never written at once: those who have asked besides them have something to do meanwhile, and
/// whoever waits for the disk does it for nobody.
const ASKERS_MAX: usize = 4;

/// A commit that is to be written.
pub(super) struct Job {
    pub(super) frame: FrameNumber,
    pub(super) write: Arc<Write>,
    /// What of it expires.
    pub(super) expiring: Option<Segment>,
    pub(super) promise: Promise,
}

/// The thread that writes. Both are gone once it has ended.
pub(super) struct Flow<D: Disk> {
    jobs: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
    /// Taken by whoever writes. Gone once the log was given back.
    writing: Arc<Mutex<Option<Writing<D>>>>,
    shared: Arc<Shared<D>>,
    /// Commits of so many entries, attempts and claims are written at once.
    at_once_max: usize,
}

impl<D: Disk> Flow<D> {
    pub(super) fn start(log: Log<D>, shared: Arc<Shared<D>>, at_once_max: usize) -> Self {
        let (jobs, waiting) = sync_channel(1);
        let writing = Writing { log, shared: Arc::clone(&shared), sections: Sections::default() };
        let writing = Arc::new(Mutex::new(Some(writing)));
        let (beside, ending) = (Arc::clone(&writing), Ending(Arc::clone(&shared)));
        let run = move || run(&beside, &ending, &waiting);
        let thread = std::thread::Builder::new().name("log".to_owned()).spawn(run).expect("a thread for the log");
        Self { jobs: Some(jobs), thread: Some(thread), writing, shared, at_once_max }
    }

    /// May a commit be written at once: is it small, do few wait for it, and are all before the one of this frame durable?
    pub(super) fn is_at_once(&self, frame: FrameNumber, write: &Write) -> bool {
        let changes = write.streams.iter().map(|stream| &stream.changes);
        let events: usize = changes.map(|changes| changes.entries.len() + changes.attempts.len()).sum();
        let is_small = events + write.claims.len() <= self.at_once_max && write.askers <= ASKERS_MAX;
        is_small && self.is_next(frame)
    }

    /// Are all commits before the one of this frame durable?
    pub(super) fn is_next(&self, frame: FrameNumber) -> bool {
        self.shared.durable.reached().next() == frame
    }

    /// Writes and syncs a commit in this thread. Answers how many bytes it has. After an error nothing is written any more.
    pub(super) fn write_at_once(&self, frame: FrameNumber, write: &Write) -> Result<u64, StoreError> {
        let mut writing = lock(&self.writing);
        let written = writing.as_mut().ok_or_else(gone).and_then(|writing| writing.append(frame, write));
        written.map_err(stopped).inspect_err(|error| self.shared.durable.fail(error.clone()))
    }

    /// Hands a commit over, once the one before the last is written. If the thread is gone, so is the promise, and that is told.
    pub(super) fn hand_over(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            _ = jobs.send(job);
        }
    }

    /// Waits for everything that was handed over, and gives the log back.
    pub(super) fn end(mut self) -> Option<Log<D>> {
        self.join()
    }

    fn join(&mut self) -> Option<Log<D>> {
        self.jobs = None;
        self.thread.take()?.join().ok()?;
        lock(&self.writing).take().map(|writing| writing.log)
    }
}

/// A commit is written by one at a time. Nobody goes on after one who has panicked: a thread says so when it ends, and whoever judges ends
/// with it.
fn lock<D: Disk>(writing: &Mutex<Option<Writing<D>>>) -> MutexGuard<'_, Option<Writing<D>>> {
    writing.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The lock of the directory is given up with the log, and not some time later.
impl<D: Disk> Drop for Flow<D> {
    fn drop(&mut self) {
        self.join();
    }
}

/// A thread that panics writes nothing more, and nobody must wait for it.
struct Ending<D: Disk>(Arc<Shared<D>>);

impl<D: Disk> Drop for Ending<D> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.durable.fail(StoreError::Stopped("the one who writes the log is gone".to_owned()));
        }
    }
}

struct Writing<D: Disk> {
    log: Log<D>,
    shared: Arc<Shared<D>>,
    sections: Sections,
}

/// Writes what is handed over, until nobody can hand over any more.
fn run<D: Disk>(writing: &Mutex<Option<Writing<D>>>, Ending(shared): &Ending<D>, jobs: &Receiver<Job>) {
    for job in jobs {
        let Job { frame, write, expiring, promise } = job;
        let written = lock(writing).as_mut().ok_or_else(gone).and_then(|writing| writing.append(frame, &write));
        let outcome = written.map(|bytes| shared.settled(frame, expiring, bytes)).map_err(stopped);
        if let Err(error) = &outcome {
            shared.durable.fail(error.clone());
        }
        promise.keep(outcome);
        shared.under_way.over(frame);
    }
}

impl<D: Disk> Writing<D> {
    /// Writes and syncs a commit. Answers how many bytes it has.
    fn append(&mut self, frame: FrameNumber, write: &Write) -> Result<u64, StoreError> {
        self.shared.durable.sound()?;
        let frames = &self.shared.frames;
        let fronts = encode_for(write, &mut self.sections, frames.keeps());
        let Sections { lasting, expiring: section } = &self.sections;
        let written = self.log.append_claimed(lasting, section)?;
        assert_eq!(written, frame, "frames are written as they were numbered");
        frames.keep(frame, fronts);
        Ok((lasting.len() + section.len()) as u64)
    }
}

fn gone() -> StoreError {
    StoreError::Stopped("the log was given back".to_owned())
}

/// The state is ahead of the log, so whatever went wrong only a restart helps.
fn stopped(error: StoreError) -> StoreError {
    if matches!(error, StoreError::Stopped(_)) { error } else { StoreError::Stopped(error.to_string()) }
}
