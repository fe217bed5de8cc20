//! Frames of the log for those who want an entry or an attempt out of them, the last ones asked for kept in memory.
//!
//! An entry that was written lately is found by its front, if whoever asks has its document, and then nothing is read; else the
//! whole frame is read.
//!
//! What holds: every frame was checked by the log's reader before it came here. Memory is bounded in bytes; the frame that
//! nobody asked for longest goes first, and one that is larger than the bound is read but not kept.

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hapax_core::entry::{Entry, SharedEntry};
use hapax_core::event::Identity;
use hapax_core::facts::{Brought, Sought};

use super::codec::{Expiring, Fronts, Lasting, Undecodable};
use super::disk::Disk;
use super::index::table::Place;
use super::log::{Frame, FrameNumber, Reader};
use super::ring::Ring;
use crate::seam::StoreError;

/// Frames, by their numbers.
pub(super) struct Frames<D: Disk> {
    log: Reader<D>,
    kept: Mutex<Kept>,
    fronts: Mutex<Ring>,
    /// The last frame whose fronts are kept, unless something is repeated before.
    keep_to: AtomicU64,
    bytes_max: usize,
}

/// An entry that is wanted of a frame.
pub(super) struct Wanted<'w> {
    index: u32,
    identity: &'w Identity,
    /// The document that whoever asks has at hand.
    brought: Option<Brought<'w>>,
}

impl<'w> Wanted<'w> {
    pub(super) fn new(index: u32, sought: &Sought<'w>) -> Self {
        Self { index, identity: sought.identity, brought: sought.brought }
    }
}

#[derive(Debug, Default)]
struct Kept {
    frames: HashMap<FrameNumber, (u64, Arc<Frame>)>,
    /// By when they were last asked for.
    asked: BTreeMap<u64, FrameNumber>,
    clock: u64,
    bytes: usize,
}

/// Of so many frames the fronts are kept after a repeat. Where nothing is repeated that would be for nothing.
const KEPT_AFTER: u64 = 1024;

impl<D: Disk> Frames<D> {
    pub(super) fn new(log: Reader<D>, bytes_max: usize) -> Self {
        let fronts = Mutex::new(Ring::new(bytes_max));
        Self { log, kept: Mutex::default(), fronts, keep_to: AtomicU64::new(0), bytes_max }
    }

    pub(super) fn log(&self) -> &Reader<D> {
        &self.log
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fronts(&self) -> MutexGuard<'_, Ring> {
        self.fronts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self, number: FrameNumber) -> Result<Arc<Frame>, StoreError> {
        if let Some(frame) = self.kept().get(number) {
            return Ok(frame);
        }
        let missing = || StoreError::Corrupt(format!("the index leads to frame {number}, which the log does not have"));
        let frame = Arc::new(self.log.read(number)?.ok_or_else(missing)?);
        if size(&frame) <= self.bytes_max {
            self.kept().put(Arc::clone(&frame), self.bytes_max);
        }
        Ok(frame)
    }

    /// The log has other bytes for these by now.
    pub(super) fn forget(&self, numbers: &RangeInclusive<FrameNumber>) {
        let mut kept = self.kept();
        let gone: Vec<_> = kept.frames.keys().filter(|number| numbers.contains(number)).copied().collect();
        gone.into_iter().for_each(|number| kept.remove(number));
    }

    /// Are the fronts of the next frame worth keeping? While nothing is repeated they are not; the first repeat then reads a frame.
    pub(super) fn keeps(&self) -> bool {
        self.log.last().0 < self.keep_to.load(Ordering::Relaxed)
    }

    /// Keeps the fronts of a frame that was just written.
    pub(super) fn keep(&self, number: FrameNumber, fronts: Option<Fronts>) {
        if let Some(fronts) = fronts {
            self.fronts().push(number, fronts);
        }
    }

    /// Brings what is kept of entries at these places near, all of it at once: whoever looks for one after the other waits for memory each time.
    pub(super) fn bring_near(&self, places: impl Iterator<Item = Place> + Clone) {
        let ring = self.fronts();
        let fronts = || places.clone().filter_map(|place| Some((ring.peek(place.frame)?, place.index.into())));
        let steps = [Fronts::touch, Fronts::touch_place, Fronts::touch_bytes];
        for step in steps {
            std::hint::black_box(fronts().fold(0, |sum: u64, (fronts, index)| sum.wrapping_add(step(fronts, index))));
        }
    }

    /// The entry at a place, if it is of this identity.
    pub(super) fn entry(&self, place: Place, identity: &Identity) -> Result<Option<SharedEntry>, StoreError> {
        let mut found = None;
        let wanted = Wanted { index: place.index, identity, brought: None };
        self.entries(place.frame, &[wanted], &mut Vec::new(), |_, entry| found = Some(entry))?;
        Ok(found.map(SharedEntry::from))
    }

    /// The entries at these places of a frame that are of these identities: `found` gets which of them each is. `room` is memory to
    /// put them together in.
    pub(super) fn entries(
        &self,
        number: FrameNumber,
        wanted: &[Wanted<'_>],
        room: &mut Vec<u8>,
        mut found: impl FnMut(usize, Entry),
    ) -> Result<(), StoreError> {
        if wanted.iter().any(|it| it.brought.is_some()) {
            self.keep_to.store(self.log.last().0 + KEPT_AFTER, Ordering::Relaxed);
        }
        let fronts = self.fronts().get(number);
        let mut others = Vec::new();
        for (which, it) in wanted.iter().enumerate() {
            let known = fronts.as_ref().zip(it.brought);
            let Some((fronts, brought)) = known.filter(|(fronts, brought)| fronts.has(it.index.into(), brought.digest))
            else {
                others.push((which, it));
                continue;
            };
            match fronts.entry(it.index.into(), it.identity, brought, room) {
                Ok(entry) => found(which, entry),
                // The log has the last word, and says what is wrong.
                Err(_) => others.push((which, it)),
            }
        }
        if others.is_empty() {
            return Ok(());
        }
        let frame = self.get(number)?;
        let lasting = lasting(&frame)?;
        for (which, Wanted { index, identity, .. }) in others {
            entry_of(&frame, &lasting, *index, identity)?.into_iter().for_each(|entry| found(which, entry));
        }
        Ok(())
    }
}

/// The entry at a place of a frame, if it is of this identity: half of an identity led here.
fn entry_of(
    frame: &Frame,
    lasting: &Lasting<'_>,
    index: u32,
    identity: &Identity,
) -> Result<Option<Entry>, StoreError> {
    let index = u64::from(index);
    if lasting.find(index).map_err(|fault| unreadable(frame.number, &fault))?.identity != *identity {
        return Ok(None);
    }
    lasting.entry(index).map(Some).map_err(|fault| unreadable(frame.number, &fault))
}

pub(super) fn entry_at(frame: &Frame, lasting: &Lasting<'_>, index: u64) -> Result<SharedEntry, StoreError> {
    lasting.entry(index).map(SharedEntry::from).map_err(|fault| unreadable(frame.number, &fault))
}

pub(super) fn lasting(frame: &Frame) -> Result<Lasting<'_>, StoreError> {
    Lasting::open(&frame.lasting).map_err(|fault| unreadable(frame.number, &fault))
}

pub(super) fn expiring(frame: &Frame) -> Result<Option<Expiring<'_>>, StoreError> {
    Expiring::open(&frame.expiring).map_err(|fault| unreadable(frame.number, &fault))
}

/// A frame whose checksums are right and whose content is not.
pub(super) fn unreadable(number: FrameNumber, fault: &Undecodable) -> StoreError {
    StoreError::Corrupt(format!("frame {number} cannot be read: {fault}"))
}

fn size(frame: &Frame) -> usize {
    frame.lasting.len() + frame.expiring.len()
}

impl Kept {
    fn get(&mut self, number: FrameNumber) -> Option<Arc<Frame>> {
        self.clock += 1;
        let (asked, frame) = self.frames.get_mut(&number)?;
        self.asked.remove(asked);
        self.asked.insert(self.clock, number);
        *asked = self.clock;
        Some(Arc::clone(frame))
    }

    fn put(&mut self, frame: Arc<Frame>, bytes_max: usize) {
        // Somebody else may have read it meanwhile.
        self.remove(frame.number);
        self.clock += 1;
        self.bytes += size(&frame);
        self.asked.insert(self.clock, frame.number);
        self.frames.insert(frame.number, (self.clock, frame));
        while self.bytes > bytes_max
            && let Some((_, oldest)) = self.asked.first_key_value()
        {
            self.remove(*oldest);
        }
    }

    fn remove(&mut self, number: FrameNumber) {
        if let Some((asked, frame)) = self.frames.remove(&number) {
            self.asked.remove(&asked);
            self.bytes -= size(&frame);
        }
    }
}
