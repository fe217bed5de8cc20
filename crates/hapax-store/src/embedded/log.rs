//! The log of the embedded store: bytes in, bytes out, and what was acknowledged is there for ever.
//!
//! What holds, each a test:
//! 1. When [`Log::append`] has returned `Ok`, the frame survives a power cut.
//! 2. A frame is there whole or not at all. Numbers begin at 1 and have no holes.
//! 3. A frame is written only after the sync of the one before has returned.
//! 4. The first failed write or sync poisons the log: every later call says so, and nothing is tried again.
//! 5. Damage to what was acknowledged is refused by name and never read as other bytes; a torn tail is cut, by itself.
//!
//! Positions are frame numbers, never bytes. Not here, on purpose: events, time, threads, and any reading of the two
//! sections. One process has the log open, one value of it writes; any number of [`Reader`]s read beside it, a [`Spare`]
//! makes the next segment, and a [`Compactor`] rewrites the sealed ones.
//!
//! Read in this order: `format` (every byte), `window` and `segment` (finding frames), `recovery` and `tail` (what a
//! start does), `read`, `witness`, `reserve`, `spare`, `compact`.

mod compact;
mod copy;
mod error;
mod format;
mod read;
mod recovery;
mod reserve;
mod segment;
mod spare;
mod survey;
mod tail;
#[cfg(test)]
mod tests;
mod window;
mod witness;

use std::sync::{Arc, Mutex};
use std::{fmt, io};

pub use compact::{Compacted, Compactor};
pub use copy::{Copied, CopyError, copy};
pub use error::{Because, Corrupt, Failure, LogError, What};
pub use format::LogId;
pub use read::{Frame, Frames, Reader, SegmentView};
pub use recovery::{Cut, Opened, Warning};
pub use reserve::Space;
pub use spare::Spare;
pub use survey::{Met, Surveyed, bytes, survey};

use hapax_core::planted;

use crate::embedded::disk::{Disk, DiskFile, Sectors};
use format::{Header, Link, Mark, SECTOR, Section};
use reserve::Reserve;
use segment::{DIR, FIRST};
use spare::{Ready, SPARE, Slot};
use witness::Witness;

/// The largest section. Far above any batch, and far below where a `u32` ends.
pub const SECTION_BYTES_MAX: usize = 1 << 30;

/// Which frame: 1 for the first, one more for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameNumber(pub u64);

impl FrameNumber {
    /// Before the first frame.
    pub const ORIGIN: Self = Self(0);

    /// The one after.
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for FrameNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How a log is kept. None of it is part of the format: every start may choose anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Size of a segment. A sync of 64 MiB of zeros is rare enough, and a segment small enough to compact in one go.
    pub segment_bytes: u64,
    /// Size of the reserve, given back when the disk is nearly full.
    pub reserve_bytes: u64,
    /// Free space below which nothing more is taken. Enough for a compaction, which is what makes room.
    pub low_water_bytes: u64,
    /// How much is checked at a start.
    pub check: Check,
}

impl Default for Options {
    fn default() -> Self {
        Self { segment_bytes: 64 << 20, reserve_bytes: 4 << 20, low_water_bytes: 128 << 20, check: Check::All }
    }
}

/// How much is checked at a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Every byte of every frame: a start takes as long as reading the log.
    All,
    /// The last two segments, and the header of each: the rest is checked when it is read.
    Tail,
}

/// The log, open for writing. Dropping it without [`Log::close`] is a crash, which costs the next start a moment.
#[derive(Debug)]
pub struct Log<D: Disk> {
    reader: Reader<D>,
    options: Options,
    file: D::File,
    witness: Witness<D::File>,
    reserve: Arc<Mutex<Reserve>>,
    spare: Arc<Slot<D::File>>,
    /// Held by the one compaction that is under way.
    compacting: Arc<Mutex<()>>,
    next: FrameNumber,
    link: Link,
    /// Where the next frame begins, in the file of the last segment.
    end: u64,
    /// How long that file is: a frame that does not fit begins another.
    capacity: u64,
    /// Of the last frame; kept so that a frame costs no allocation.
    buffer: Sectors,
    /// Shared with what is under way in other threads, for as long as it is: the next process must not meet it.
    lock: Arc<D::Lock>,
}

/// What is done beside the one that writes, from other threads.
pub struct Beside<D: Disk> {
    /// Is there room?
    pub room: Room<D>,
    /// Makes the next segment.
    pub spare: Spare<D>,
    /// Rewrites the sealed ones.
    pub compactor: Compactor<D>,
}

/// Says whether there is room for a frame before it is encoded, so that nothing is decided that cannot be written.
pub struct Room<D: Disk> {
    reader: Reader<D>,
    reserve: Arc<Mutex<Reserve>>,
    spare: Arc<Slot<D::File>>,
    segment_bytes: u64,
}

impl<D: Disk> Room<D> {
    /// Is there room for a frame of about this size, beside one that is on its way? `Low` leaves everything as it was.
    pub fn claim(&self, bytes: u64) -> Result<(), LogError> {
        self.reader.sound()?;
        let wanted =
            if self.spare.has_room(bytes.saturating_mul(2), self.segment_bytes) { 0 } else { self.segment_bytes };
        reserve::locked(&self.reserve).claim(self.reader.disk(), wanted)
    }
}

impl<D: Disk> Log<D> {
    /// Makes a log where there was none. It has its name only once all of it is durable, so a kill at any moment
    /// leaves a log that opens, or [`LogError::Missing`].
    pub fn create(disk: D, options: Options, id: LogId) -> Result<Self, LogError> {
        recovery::create(disk, options, id)
    }

    /// Opens the log: checks it, cuts a torn tail, refuses damage.
    pub fn open(disk: D, options: Options) -> Result<(Self, Opened), LogError> {
        recovery::open(disk, options)
    }

    /// Writes a frame, syncs once, then writes the witness. `Low` leaves everything as it was.
    ///
    /// # Panics
    /// If a section is larger than [`SECTION_BYTES_MAX`].
    pub fn append(&mut self, lasting: &[u8], expiring: &[u8]) -> Result<FrameNumber, LogError> {
        self.write(lasting, expiring, true)
    }

    /// The same for a frame whose room was [claimed](Room::claim) before.
    ///
    /// # Panics
    /// If a section is larger than [`SECTION_BYTES_MAX`].
    pub fn append_claimed(&mut self, lasting: &[u8], expiring: &[u8]) -> Result<FrameNumber, LogError> {
        self.write(lasting, expiring, false)
    }

    fn write(&mut self, lasting: &[u8], expiring: &[u8], claims: bool) -> Result<FrameNumber, LogError> {
        self.reader.sound()?;
        assert!(lasting.len().max(expiring.len()) <= SECTION_BYTES_MAX, "a section is at most a gibibyte");
        let header = Header {
            number: self.next,
            previous: self.link,
            lasting: Section::of(lasting),
            expiring: Section::of(expiring),
        };
        let fits = self.end + header.extent() <= self.capacity;
        let segment_bytes = self.options.segment_bytes.max(FIRST + header.extent()).next_multiple_of(SECTOR);
        if claims {
            // The room for a spare is taken already.
            let room = if fits || self.spare.has(segment_bytes) { 0 } else { segment_bytes };
            reserve::locked(&self.reserve).claim(self.reader.disk(), room)?;
        }
        if !fits {
            self.rotate(segment_bytes)?;
        }

        let put = self.put(&header, lasting, expiring);
        self.reader.fatal("writing a frame", put)?;
        if planted!(WitnessLeads) {
            let link = header.link(&self.reader.id());
            self.reader.fatal("writing the witness", self.witness.put(header.number, &link))?;
        }
        if planted!(SyncRetried) {
            let again = self.file.sync_data().or_else(|_| self.file.sync_data());
            self.reader.fatal("the sync of a frame", again)?;
        } else if !planted!(AnsweredBeforeSync) {
            self.reader.fatal("the sync of a frame", self.file.sync_data())?;
        }

        let (number, link) = (header.number, header.link(&self.reader.id()));
        self.reader.fatal("writing the witness", self.witness.put(number, &link))?;
        self.reader.show(number, self.end);
        self.end += header.extent();
        self.next = number.next();
        self.link = link;
        self.spare.filled(self.end, self.capacity);
        Ok(number)
    }

    /// Writes a frame behind the last one, nothing of it durable: at once, in whole sectors.
    fn put(&mut self, header: &Header, lasting: &[u8], expiring: &[u8]) -> io::Result<()> {
        self.buffer.begin(header.extent() as usize);
        self.buffer.put(&header.encode(&self.reader.id()));
        self.buffer.put(lasting);
        self.buffer.put(expiring);
        self.buffer.fill_up(SECTOR as usize);
        self.file.write_past(self.end, self.buffer.bytes())
    }

    /// Begins the next segment. The one before is sealed by that: every frame in it is durable.
    fn rotate(&mut self, bytes: u64) -> Result<(), LogError> {
        let mark = Mark { id: self.reader.id(), frame: self.next, link: self.link };
        let disk = self.reader.disk();
        let made = self.spare.hand_out(bytes, |ready| match ready {
            Some(Ready { file, bytes }) => segment::begin(disk, DIR, &mark, (&file, SPARE)).map(|()| (file, bytes)),
            None => segment::make(disk, DIR, &mark, bytes).map(|it| (it, bytes)),
        });
        (self.file, self.capacity) = self.reader.fatal("making a segment", made)?;
        self.reader.add_segment(self.next);
        self.end = FIRST;
        Ok(())
    }

    /// What sets this log apart from every other one.
    pub fn id(&self) -> LogId {
        self.reader.id()
    }

    /// The number of the last frame: how many there are.
    pub fn last(&self) -> FrameNumber {
        self.reader.last()
    }

    /// Reads a frame; nothing if there is none with this number.
    pub fn read(&self, number: FrameNumber) -> Result<Option<Frame>, LogError> {
        self.reader.read(number)
    }

    /// The frames from this one to the last, one after the other.
    pub fn frames(&self, from: FrameNumber) -> Result<Frames<D>, LogError> {
        self.reader.frames(from)
    }

    /// For reading in other threads, while this value writes and compacts.
    pub fn reader(&self) -> Reader<D> {
        self.reader.clone()
    }

    /// For all that is done beside the one that writes.
    pub fn beside(&self) -> Beside<D> {
        let (reader, reserve, spare) = (self.reader(), Arc::clone(&self.reserve), Arc::clone(&self.spare));
        let room = Room { reader, reserve, spare, segment_bytes: self.options.segment_bytes };
        Beside { room, spare: self.spare(), compactor: self.compactor() }
    }

    /// For making the next segment in another thread.
    pub fn spare(&self) -> Spare<D> {
        let (slot, lock) = (Arc::clone(&self.spare), Arc::downgrade(&self.lock));
        Spare::new(self.reader(), slot, self.options.clone(), lock)
    }

    /// For compacting in another thread.
    pub fn compactor(&self) -> Compactor<D> {
        Compactor::new(self.reader(), Arc::clone(&self.compacting), Arc::downgrade(&self.lock))
    }

    /// How much room there is, and whether it is too little to take anything.
    pub fn space(&self) -> Result<Space, LogError> {
        self.reader.sound()?;
        reserve::locked(&self.reserve).ask(self.reader.disk(), 0)
    }

    /// Makes the witness exact and lets the next process in, once what is under way in other threads has ended.
    pub fn close(self) -> Result<(), LogError> {
        self.reader.sound()?;
        let last = self.reader.last();
        self.reader.fatal("writing the witness", self.witness.put(last, &self.link))?;
        self.reader.fatal("the sync of the witness", self.witness.sync())?;
        drop(self.lock);
        Ok(())
    }
}
