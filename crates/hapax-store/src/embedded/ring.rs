//! What is kept in memory of the frames that were written last, by their numbers. Memory is bounded; the oldest goes first.

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::log::FrameNumber;

/// Takes memory.
pub(super) trait Weighs {
    /// About so many bytes.
    fn bytes(&self) -> usize;
}

/// Of frames in a row, something each.
pub(super) struct Ring<T> {
    /// None where it was forgotten.
    items: VecDeque<Option<Arc<T>>>,
    first: FrameNumber,
    bytes: usize,
    bytes_max: usize,
}

impl<T: Weighs> Ring<T> {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { items: VecDeque::new(), first: FrameNumber::ORIGIN, bytes: 0, bytes_max }
    }

    /// Keeps something of the next frame.
    pub(super) fn push(&mut self, number: FrameNumber, item: Option<Arc<T>>) {
        if self.first.0 + self.items.len() as u64 != number.0 {
            self.items.clear();
            (self.first, self.bytes) = (number, 0);
        }
        self.bytes += item.as_ref().map_or(0, |item| item.bytes());
        self.items.push_back(item);
        while self.bytes > self.bytes_max
            && let Some(oldest) = self.items.pop_front()
        {
            self.bytes -= oldest.map_or(0, |item| item.bytes());
            self.first = self.first.next();
        }
    }

    pub(super) fn get(&self, number: FrameNumber) -> Option<Arc<T>> {
        let place = usize::try_from(number.0.checked_sub(self.first.0)?).ok()?;
        self.items.get(place)?.clone()
    }

    /// Forgets what is kept of these.
    pub(super) fn forget(&mut self, numbers: &RangeInclusive<FrameNumber>) {
        let first = self.first;
        for (place, item) in self.items.iter_mut().enumerate() {
            if numbers.contains(&FrameNumber(first.0 + place as u64)) {
                self.bytes -= item.take().map_or(0, |item| item.bytes());
            }
        }
    }
}
