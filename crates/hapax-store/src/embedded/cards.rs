//! A card for each frame that was written lately: where it is, and its directory. With it one entry is read out of the log, a few
//! hundred bytes, and not the whole frame.
//!
//! What holds: a card is there only for what is durable. An entry that is read with it is checked by a checksum of its own. One
//! that does not fit is not told, and the frame is read as a whole, which says what is wrong. Memory is bounded; the oldest card
//! goes first.
//!
//! Not here: frames that were written before the start. Those are read whole, and kept.

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hapax_core::entry::Entry;
use hapax_core::event::Identity;

use super::codec::Directory;
use super::disk::DiskFile;
use super::log::{FrameNumber, Spot};

/// Cards, by the numbers of their frames.
pub(super) struct Cards<F> {
    ring: Mutex<Ring<F>>,
    bytes_max: usize,
}

struct Ring<F> {
    /// Of frames in a row; none where it was forgotten.
    cards: VecDeque<Option<Arc<Card<F>>>>,
    first: FrameNumber,
    bytes: usize,
    /// The segment that is being written, open for reading.
    open: Option<(FrameNumber, Arc<F>)>,
}

/// What is known of a frame.
pub(super) struct Card<F> {
    file: Arc<F>,
    /// Where what lasts begins.
    at: u64,
    directory: Directory,
}

impl<F: DiskFile> Cards<F> {
    pub(super) fn new(bytes_max: usize) -> Self {
        let ring = Ring { cards: VecDeque::new(), first: FrameNumber::ORIGIN, bytes: 0, open: None };
        Self { ring: Mutex::new(ring), bytes_max }
    }

    fn ring(&self) -> MutexGuard<'_, Ring<F>> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the card of a frame that was just written. `open` is asked once for each segment; if that fails, or the section is not
    /// what it should be, there is no card, and whoever reads the frame is told.
    pub(super) fn add(&self, number: FrameNumber, spot: &Spot, lasting: &[u8], open: impl FnOnce() -> Option<F>) {
        let mut ring = self.ring();
        if ring.open.as_ref().is_none_or(|(segment, _)| *segment != spot.segment) {
            ring.open = open().map(|file| (spot.segment, Arc::new(file)));
        }
        let file = ring.open.as_ref().map(|(_, file)| Arc::clone(file));
        let card = file.zip(Directory::of(lasting).ok()).map(|(file, directory)| Card { file, at: spot.at, directory });
        ring.push(number, card.map(Arc::new), self.bytes_max);
    }

    pub(super) fn get(&self, number: FrameNumber) -> Option<Arc<Card<F>>> {
        let ring = self.ring();
        let place = usize::try_from(number.0.checked_sub(ring.first.0)?).ok()?;
        ring.cards.get(place)?.clone()
    }

    /// The log has other files for these by now.
    pub(super) fn forget(&self, numbers: &RangeInclusive<FrameNumber>) {
        let mut ring = self.ring();
        let (first, mut gone) = (ring.first, 0);
        for (place, card) in ring.cards.iter_mut().enumerate() {
            if numbers.contains(&FrameNumber(first.0 + place as u64)) {
                gone += card.take().map_or(0, |card| card.bytes());
            }
        }
        ring.bytes -= gone;
    }
}

impl<F> Ring<F> {
    fn push(&mut self, number: FrameNumber, card: Option<Arc<Card<F>>>, bytes_max: usize) {
        if self.first.0 + self.cards.len() as u64 != number.0 {
            self.cards.clear();
            (self.first, self.bytes) = (number, 0);
        }
        self.bytes += card.as_ref().map_or(0, |card| card.bytes());
        self.cards.push_back(card);
        while self.bytes > bytes_max
            && let Some(oldest) = self.cards.pop_front()
        {
            self.bytes -= oldest.map_or(0, |card| card.bytes());
            self.first = self.first.next();
        }
    }
}

impl<F> Card<F> {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.directory.bytes()
    }
}

/// What a card led to.
pub(super) enum Led {
    /// The entry, checked.
    To(Arc<Entry>),
    /// One of another identity.
    Elsewhere,
    /// To something that does not fit.
    Astray,
}

impl<F: DiskFile> Card<F> {
    /// The entry at a place, if it is of this identity. `room` is memory to read in.
    pub(super) fn entry(&self, index: u32, identity: &Identity, room: &mut Vec<u8>) -> Led {
        let index = u64::from(index);
        let Ok(range) = self.directory.range(index) else { return Led::Astray };
        room.resize(range.len(), 0);
        let read = self.file.read_at(self.at + range.start as u64, room);
        if read.is_err() || !self.directory.is_sound(index, room) {
            return Led::Astray;
        }
        match self.directory.entry(index, room, identity) {
            Ok(Some(entry)) => Led::To(Arc::new(entry)),
            Ok(None) => Led::Elsewhere,
            Err(_) => Led::Astray,
        }
    }
}

#[cfg(test)]
mod tests;
