//! How many requests with events are under way, from their first byte to their answer, for those who would use a second thread.

use std::sync::atomic::{AtomicUsize, Ordering};

/// How many there are.
#[derive(Debug, Default)]
pub struct UnderWay(AtomicUsize);

/// One of them, until it is dropped.
#[derive(Debug)]
pub(super) struct Mark<'r>(&'r AtomicUsize);

impl UnderWay {
    /// One more.
    pub(super) fn begin(&self) -> Mark<'_> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Mark(&self.0)
    }
}

impl Mark<'_> {
    /// Is it the only one?
    pub(super) fn is_alone(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 1
    }
}

impl Drop for Mark<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
