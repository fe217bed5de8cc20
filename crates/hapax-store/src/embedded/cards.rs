//! A card for each frame that was written lately: where it is, and its directory. With it one entry is read out of the log, a few
//! hundred bytes, and not the whole frame.
//!
//! What holds: a card is there only for what is durable. An entry that is read with it is checked by a checksum of its own. One
//! that does not fit is not told, and the frame is read as a whole, which says what is wrong. Memory is bounded; the oldest card
//! goes first.
//!
//! Not here: frames that were written before the start. Those are read whole, and kept.

use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hapax_core::entry::Entry;
use hapax_core::event::Identity;

use super::codec::Directory;
use super::disk::DiskFile;
use super::log::{FrameNumber, Spot};
use super::ring::{Ring, Weighs};

/// Cards, by the numbers of their frames.
pub(super) struct Cards<F>(Mutex<Held<F>>);

struct Held<F> {
    ring: Ring<Card<F>>,
    /// The segment that is being written, open for reading.
    open: Option<(FrameNumber, Arc<F>)>,
}

/// What is known of a frame.
pub(super) struct Card<F> {
    file: Arc<F>,
    /// Where what lasts begins.
    at: u64,
    directory: Arc<Directory>,
}

impl<F: DiskFile> Cards<F> {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self(Mutex::new(Held { ring: Ring::new(bytes_max), open: None }))
    }

    fn held(&self) -> MutexGuard<'_, Held<F>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the card of a frame that was just written. `open` is asked once for each segment; if that fails there is no card.
    pub(super) fn add(
        &self,
        number: FrameNumber,
        spot: &Spot,
        directory: Option<&Arc<Directory>>,
        open: impl FnOnce() -> Option<F>,
    ) {
        let mut held = self.held();
        if held.open.as_ref().is_none_or(|(segment, _)| *segment != spot.segment) {
            held.open = open().map(|file| (spot.segment, Arc::new(file)));
        }
        let file = held.open.as_ref().map(|(_, file)| Arc::clone(file));
        let card = file.zip(directory.map(Arc::clone)).map(|(file, directory)| Card { file, at: spot.at, directory });
        held.ring.push(number, card.map(Arc::new));
    }

    pub(super) fn get(&self, number: FrameNumber) -> Option<Arc<Card<F>>> {
        self.held().ring.get(number)
    }

    /// The log has other files for these by now.
    pub(super) fn forget(&self, numbers: &RangeInclusive<FrameNumber>) {
        self.held().ring.forget(numbers);
    }
}

impl<F> Weighs for Card<F> {
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
