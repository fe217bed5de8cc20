//! The fronts of the frames that were written last, by their numbers. Memory is bounded; the oldest go first.

use std::collections::VecDeque;
use std::sync::Arc;

use super::codec::Fronts;
use super::log::FrameNumber;

/// Fronts of frames in a row.
pub(super) struct Ring {
    items: VecDeque<Arc<Fronts>>,
    first: FrameNumber,
    bytes: usize,
    bytes_max: usize,
}

impl Ring {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { items: VecDeque::new(), first: FrameNumber::ORIGIN, bytes: 0, bytes_max }
    }

    /// Keeps those of a frame. If it does not follow the last one, those before it are let go.
    pub(super) fn push(&mut self, number: FrameNumber, fronts: Fronts) {
        if self.first.0 + self.items.len() as u64 != number.0 {
            self.items.clear();
            (self.first, self.bytes) = (number, 0);
        }
        self.bytes += fronts.bytes();
        self.items.push_back(Arc::new(fronts));
        while self.bytes > self.bytes_max
            && let Some(oldest) = self.items.pop_front()
        {
            self.bytes -= oldest.bytes();
            self.first = self.first.next();
        }
    }

    pub(super) fn get(&self, number: FrameNumber) -> Option<Arc<Fronts>> {
        self.peek(number).map(Arc::clone)
    }

    pub(super) fn peek(&self, number: FrameNumber) -> Option<&Arc<Fronts>> {
        let place = usize::try_from(number.0.checked_sub(self.first.0)?).ok()?;
        self.items.get(place)
    }
}
