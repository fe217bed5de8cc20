//! Whether a request of this connection is being answered. While it is, the next one waits at the door.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Waker};

/// Shared by the door and by the answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answering(Arc<State>);

#[derive(Debug, Default)]
struct State {
    running: AtomicBool,
    waiting: Mutex<Option<Waker>>,
}

/// Ends the answering when it is dropped: with the last byte of the answer, or because it broke off.
#[derive(Debug)]
pub struct Answered(Answering);

impl Answering {
    /// A request was handed on.
    pub(super) fn begin(&self) {
        self.0.running.store(true, Ordering::Release);
    }

    /// For whoever answers it.
    pub(super) fn until_dropped(&self) -> Answered {
        Answered(self.clone())
    }

    /// Is it still being answered? If so, the task is woken when that ends.
    pub(super) fn is_running(&self, context: &Context<'_>) -> bool {
        if !self.0.running.load(Ordering::Acquire) {
            return false;
        }
        *self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner) = Some(context.waker().clone());
        // It may have ended before the waker was there.
        self.0.running.load(Ordering::Acquire)
    }
}

impl Drop for Answered {
    fn drop(&mut self) {
        let state = &self.0.0;
        state.running.store(false, Ordering::Release);
        let waiting = state.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = waiting {
            waker.wake();
        }
    }
}
