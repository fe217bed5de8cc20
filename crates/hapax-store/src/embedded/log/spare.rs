//! The next segment, made ahead of need and beside the one that writes.
//!
//! Zeros for a whole segment take as long to write as thousands of frames. Made when the current segment is half full,
//! they hold up nobody: what is left for the append that begins the segment is a header, two syncs and a name.
//!
//! What holds: a spare has no frame and no name of a segment, so a crash leaves a file that the next start removes. It is
//! used only once its zeros are durable. The room for it is above the low-water mark. A write or sync of it that fails
//! poisons the log as any other does. An append that needs it while it is being made waits for it, which takes less
//! than making another.
//!
//! Not here: a thread. The caller has one, and asks from time to time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::Options;
use super::error::{Failure, LogError};
use super::format::SECTOR;
use super::read::Reader;
use super::segment;
use crate::embedded::disk::{Disk, DiskFile};

/// What a spare is called.
pub(super) const SPARE: &str = "log/spare.tmp";

/// Makes the next segment ahead of need, from any thread. A clone is the same.
pub struct Spare<D: Disk> {
    reader: Reader<D>,
    slot: Arc<Slot<D::File>>,
    options: Options,
    /// The log's: when that is gone nothing is made any more, and while something is made nobody else gets in.
    lock: Weak<D::Lock>,
}

impl<D: Disk> Clone for Spare<D> {
    fn clone(&self) -> Self {
        let (reader, slot) = (self.reader.clone(), Arc::clone(&self.slot));
        Self { reader, slot, options: self.options.clone(), lock: Weak::clone(&self.lock) }
    }
}

/// Where a spare waits for the log that needs it.
#[derive(Debug)]
pub(super) struct Slot<F> {
    wanted: AtomicBool,
    /// How much of the current segment is left.
    left: AtomicU64,
    ready: Mutex<Option<Ready<F>>>,
}

/// A segment without header and name, durable.
#[derive(Debug)]
pub(super) struct Ready<F> {
    pub(super) file: F,
    pub(super) bytes: u64,
}

impl<F> Slot<F> {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { wanted: AtomicBool::new(false), left: AtomicU64::new(0), ready: Mutex::new(None) })
    }

    /// Takes note of how far the current segment is filled.
    pub(super) fn filled(&self, end: u64, capacity: u64) {
        self.wanted.store(end >= capacity / 2, Ordering::Relaxed);
        self.left.store(capacity.saturating_sub(end), Ordering::Relaxed);
    }

    /// Is there room for so much in the current segment, or a spare? One that is being made does not count yet.
    pub(super) fn has_room(&self, bytes: u64, segment_bytes: u64) -> bool {
        let spare =
            || self.ready.try_lock().is_ok_and(|ready| ready.as_ref().is_some_and(|it| it.bytes >= segment_bytes));
        bytes <= self.left.load(Ordering::Relaxed) || spare()
    }

    /// Is there a spare of at least this size? One that is being made is waited for.
    pub(super) fn has(&self, bytes: u64) -> bool {
        self.ready().as_ref().is_some_and(|it| it.bytes >= bytes)
    }

    /// Hands out a spare of at least this size, if there is one, to begin a segment with. No other is made before that is
    /// done: until it has the name of a segment it has the name of a spare.
    pub(super) fn hand_out<T>(&self, bytes: u64, begin: impl FnOnce(Option<Ready<F>>) -> T) -> T {
        let mut ready = self.ready();
        let begun = begin(ready.take_if(|it| it.bytes >= bytes));
        self.wanted.store(false, Ordering::Relaxed);
        begun
    }

    fn ready(&self) -> MutexGuard<'_, Option<Ready<F>>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D: Disk> Spare<D> {
    pub(super) fn new(reader: Reader<D>, slot: Arc<Slot<D::File>>, options: Options, lock: Weak<D::Lock>) -> Self {
        Self { reader, slot, options, lock }
    }

    /// Is the current segment half full? It costs nothing to ask.
    pub fn wanted(&self) -> bool {
        self.slot.wanted.load(Ordering::Relaxed)
    }

    /// Makes the next segment if it is time to, there is none yet, and there is room. False if there was nothing to do.
    pub fn make(&self) -> Result<bool, LogError> {
        self.reader.sound()?;
        let Some(_lock) = self.lock.upgrade() else { return Ok(false) };
        let mut ready = self.slot.ready();
        if !self.wanted() || ready.is_some() {
            return Ok(false);
        }
        let disk = self.reader.disk();
        let bytes = segment::bytes(&self.options);
        let free = disk.free_space().map_err(|it| LogError::Io(Failure::new("asking for free space", &it)))?;
        let above = self.options.low_water_bytes.saturating_add(self.options.reserve_bytes);
        if free < above.saturating_add(bytes) {
            return Ok(false);
        }
        let made = segment::blank(disk, SPARE, bytes).and_then(|it| it.sync_data().map(|()| it));
        let file = self.reader.fatal("making a segment ahead", made)?;
        *ready = Some(Ready { file, bytes: bytes / SECTOR * SECTOR });
        Ok(true)
    }
}
