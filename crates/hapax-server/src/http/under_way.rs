//! How many requests are being read, for those who would use a second thread.

use std::sync::atomic::{AtomicUsize, Ordering};

/// How many there are.
#[derive(Debug, Default)]
pub struct Readers(AtomicUsize);

/// One of them, until it is dropped.
#[derive(Debug)]
pub(super) struct Reading<'r>(&'r AtomicUsize);

impl Readers {
    /// One more.
    pub(super) fn begin(&self) -> Reading<'_> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Reading(&self.0)
    }
}

impl Reading<'_> {
    /// Is it the only one?
    pub(super) fn is_alone(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 1
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
