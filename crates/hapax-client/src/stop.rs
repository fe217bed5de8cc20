//! A wish to stop that can be waited for: whoever waits a while waits here, and is woken when there is no point any more.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::clock;

/// A wish to stop, shared by its clones.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<(Mutex<bool>, Condvar)>);

impl Stop {
    /// A wish that nobody has yet.
    pub fn new() -> Stop {
        Stop::default()
    }

    /// Wishes it. It cannot be taken back.
    pub fn set(&self) {
        let (wished, changed) = &*self.0;
        *wished.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_all();
    }

    /// Whether somebody wished it.
    pub fn is_set(&self) -> bool {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for so long, or until somebody wishes to stop; says whether somebody did.
    pub fn wait(&self, duration: Duration) -> bool {
        let (wished, changed) = &*self.0;
        let deadline = clock::now() + duration;
        let mut guard = wished.lock().unwrap_or_else(PoisonError::into_inner);
        while !*guard {
            let left = deadline.saturating_duration_since(clock::now());
            if left.is_zero() {
                return false;
            }
            guard = changed.wait_timeout(guard, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}
