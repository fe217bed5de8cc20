//! How far the log is durable, for those who have seen more than that.
//!
//! A commit is in the state as soon as it is decided, so that the next turn can be judged while it is synced. Whoever reads
//! the state beside the turns waits here, with the answer in hand, until all that it rests on is durable.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use super::log::FrameNumber;
use crate::seam::StoreError;

pub(super) struct Durable {
    /// What most need to know, without the lock.
    reached: AtomicU64,
    failed: Mutex<Option<StoreError>>,
    moved: Condvar,
    /// Those who wait. To wake nobody costs as much as to wake somebody.
    waiting: AtomicU64,
}

impl Durable {
    pub(super) fn new(reached: FrameNumber) -> Self {
        let (reached, waiting) = (AtomicU64::new(reached.0), AtomicU64::new(0));
        Self { reached, failed: Mutex::new(None), moved: Condvar::new(), waiting }
    }

    pub(super) fn reached(&self) -> FrameNumber {
        FrameNumber(self.reached.load(Ordering::Acquire))
    }

    /// Everything up to this frame is durable.
    pub(super) fn advance(&self, frame: FrameNumber) {
        // Under the lock, so that nobody looks before it and waits after it.
        let _failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        self.reached.store(frame.0, Ordering::Release);
        // Changed under the lock alone.
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.moved.notify_all();
        }
    }

    /// Nothing more becomes durable.
    pub(super) fn fail(&self, error: StoreError) {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.moved.notify_all();
    }

    /// Has nothing failed so far?
    pub(super) fn sound(&self) -> Result<(), StoreError> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone().map_or(Ok(()), Err)
    }

    /// Waits until this frame is durable.
    pub(super) fn wait(&self, frame: FrameNumber) -> Result<(), StoreError> {
        if self.reached() >= frame {
            return Ok(());
        }
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if self.reached() >= frame {
                return Ok(());
            }
            if let Some(error) = &*failed {
                return Err(error.clone());
            }
            self.waiting.fetch_add(1, Ordering::Relaxed);
            failed = self.moved.wait(failed).unwrap_or_else(PoisonError::into_inner);
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
