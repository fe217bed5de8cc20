//! Commits on their way to the disk, in a thread of their own: while one is encoded, written and synced, the next turn is
//! judged.
//!
//! What holds: frames are written one after the other, each after the sync of the one before, in the order in which they were
//! handed over. Whoever handed one over is told after its sync. At most one waits while another is written: more would not
//! be quicker, and an answer would wait longer. After the first that fails none is written.
//!
//! Not here: whether a commit may be made at all. What is handed over was checked, and is in the state already.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::codec::{Sections, encode_for};
use super::disk::Disk;
use super::expiry::Segment;
use super::log::{FrameNumber, Log};
use super::reader::Shared;
use crate::begun::Promise;
use crate::seam::{StoreError, Write};

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
    thread: Option<JoinHandle<Log<D>>>,
}

impl<D: Disk> Flow<D> {
    pub(super) fn start(log: Log<D>, shared: Arc<Shared<D>>) -> Self {
        let (jobs, waiting) = sync_channel(0);
        let run = move || Writing { log, shared, sections: Sections::default() }.run(&waiting);
        let thread = std::thread::Builder::new().name("log".to_owned()).spawn(run).expect("a thread for the log");
        Self { jobs: Some(jobs), thread: Some(thread) }
    }

    /// Hands a commit over, once the one before is on its way. If the thread is gone, so is the promise, and that is told.
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
        self.thread.take().and_then(|thread| thread.join().ok())
    }
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

impl<D: Disk> Writing<D> {
    fn run(mut self, jobs: &Receiver<Job>) -> Log<D> {
        let _ending = Ending(Arc::clone(&self.shared));
        for job in jobs {
            let Job { frame, write, expiring, promise } = job;
            let outcome = self.write(frame, &write, expiring).map_err(stopped);
            if let Err(error) = &outcome {
                self.shared.durable.fail(error.clone());
            }
            promise.keep(outcome);
            self.shared.under_way.over(frame);
        }
        self.log
    }

    fn write(&mut self, frame: FrameNumber, write: &Write, expiring: Option<Segment>) -> Result<(), StoreError> {
        self.shared.durable.sound()?;
        let frames = &self.shared.frames;
        let fronts = encode_for(write, &mut self.sections, frames.keeps());
        let Sections { lasting, expiring: section } = &self.sections;
        let written = self.log.append_claimed(lasting, section)?;
        assert_eq!(written, frame, "frames are written as they were numbered");
        frames.keep(frame, fronts);
        self.shared.settled(frame, expiring, (lasting.len() + section.len()) as u64);
        Ok(())
    }
}

/// The state is ahead of the log, so whatever went wrong only a restart helps.
fn stopped(error: StoreError) -> StoreError {
    if matches!(error, StoreError::Stopped(_)) { error } else { StoreError::Stopped(error.to_string()) }
}
