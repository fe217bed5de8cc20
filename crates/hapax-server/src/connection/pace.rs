//! A deadline that is moved on by progress: so many bytes in each span of time, or it is too late.

use std::future::Future as _;
use std::pin::Pin;
use std::task::Context;
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// How quickly bytes must move.
#[derive(Debug)]
pub(crate) struct Pace {
    span: Duration,
    bytes_min: u64,
    moved: u64,
    sleep: Option<Pin<Box<Sleep>>>,
    is_armed: bool,
}

impl Pace {
    /// So many bytes a second, measured over spans of this length; a single byte in each is needed at least.
    pub(crate) fn new(span: Duration, bytes_per_second_min: usize) -> Self {
        let bytes_min = span.as_secs().saturating_mul(bytes_per_second_min as u64).max(1);
        Self { span, bytes_min, moved: 0, sleep: None, is_armed: false }
    }

    /// Bytes have moved.
    pub(crate) fn moved(&mut self, bytes: usize) {
        self.moved = self.moved.saturating_add(bytes as u64);
    }

    /// Nothing has to move for now.
    pub(crate) fn rest(&mut self) {
        self.is_armed = false;
    }

    /// Asked while nothing moves: is it too late? The first time begins a span. If not, the task is woken to ask again.
    pub(crate) fn is_late(&mut self, context: &mut Context<'_>) -> bool {
        if !self.is_armed {
            self.begin();
        }
        while let Some(sleep) = &mut self.sleep
            && sleep.as_mut().poll(context).is_ready()
        {
            if self.moved < self.bytes_min {
                return true;
            }
            self.begin();
        }
        false
    }

    fn begin(&mut self) {
        (self.moved, self.is_armed) = (0, true);
        let end = Instant::now() + self.span;
        match &mut self.sleep {
            Some(sleep) => sleep.as_mut().reset(end),
            None => self.sleep = Some(Box::pin(tokio::time::sleep_until(end))),
        }
    }
}
