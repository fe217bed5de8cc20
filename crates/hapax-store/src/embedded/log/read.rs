//! Reading frames, beside the one that writes.
//!
//! What holds: a reader sees what was acknowledged and nothing else; every frame is checked against its checksums, and
//! in a row also against the chain. Where a frame is and which file it is in are taken together under one lock, so
//! that a compaction that puts another file in place is seen before or after, never between.
//!
//! Not here: waiting for frames to come. An iterator ends with what was acknowledged when it was made.

use std::io;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use hapax_core::planted;

use super::FrameNumber;
use super::error::{Because, Corrupt, Failure, LogError, What};
use super::format::{Link, LogId};
use super::segment::{self, FIRST, Table};
use super::window::{FAR, NEAR, Window};
use crate::embedded::disk::Disk;

/// A frame as it was written, but for what has expired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Which.
    pub number: FrameNumber,
    /// What lasts.
    pub lasting: Vec<u8>,
    /// What expires; empty after a compaction that dropped it.
    pub expiring: Vec<u8>,
}

/// A segment, from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentView {
    /// Its first frame, which is also what it is called by.
    pub first: FrameNumber,
    /// Its last frame; one less than the first if it is empty.
    pub last: FrameNumber,
    /// Is it never written to again, so that it can be compacted?
    pub sealed: bool,
}

/// Reads the log, from any thread. A clone is the same reader.
#[derive(Debug)]
pub struct Reader<D> {
    shared: Arc<Shared<D>>,
}

impl<D> Clone for Reader<D> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

#[derive(Debug)]
struct Shared<D> {
    disk: D,
    id: LogId,
    known: RwLock<Known>,
    failure: OnceLock<Failure>,
}

/// What is known of the segments, in order.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) segments: Vec<KnownSegment>,
    pub(super) last: FrameNumber,
}

/// A segment, with its table once it was walked. The last one always has it.
#[derive(Debug)]
pub(super) struct KnownSegment {
    pub(super) first: FrameNumber,
    pub(super) table: Option<Table>,
}

/// A file, a frame that begins in it, and the first frame that is not in it.
pub(super) struct Place<F> {
    window: Window<F>,
    first: FrameNumber,
    number: FrameNumber,
    at: u64,
    until: Option<FrameNumber>,
}

impl<D: Disk> Reader<D> {
    pub(super) fn new(disk: D, id: LogId, known: Known) -> Self {
        Self { shared: Arc::new(Shared { disk, id, known: RwLock::new(known), failure: OnceLock::new() }) }
    }

    pub(super) fn disk(&self) -> &D {
        &self.shared.disk
    }

    pub(super) fn id(&self) -> LogId {
        self.shared.id
    }

    /// The header of a segment is not what it was.
    pub(super) fn damaged(&self, first: FrameNumber, what: What) -> LogError {
        let segment = segment::name(first);
        LogError::Corrupt(Corrupt { segment, frame: first, what, because: Because::Acknowledged })
    }

    /// Has no write failed yet?
    pub(super) fn sound(&self) -> Result<(), LogError> {
        self.shared.failure.get().map_or(Ok(()), |it| Err(LogError::Poisoned(it.clone())))
    }

    /// Poisons the log if this failed.
    pub(super) fn fatal<T>(&self, doing: &'static str, result: io::Result<T>) -> Result<T, LogError> {
        if planted!(PoisonForgotten) {
            return result.map_err(|it| LogError::Io(Failure::new(doing, &it)));
        }
        result.map_err(|it| LogError::Poisoned(self.shared.failure.get_or_init(|| Failure::new(doing, &it)).clone()))
    }

    fn known(&self) -> RwLockReadGuard<'_, Known> {
        self.shared.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn known_mut(&self) -> RwLockWriteGuard<'_, Known> {
        self.shared.known.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// A frame of the last segment is durable: from now on it is seen.
    pub(super) fn show(&self, number: FrameNumber, at: u64) {
        let mut known = self.known_mut();
        known.last = number;
        if let Some(table) = known.segments.last_mut().and_then(|it| it.table.as_mut()) {
            table.note(number, at);
        }
    }

    /// A segment was begun. One that was still empty has the same name, and is gone: the frame was too large for it.
    pub(super) fn add_segment(&self, first: FrameNumber) {
        let mut known = self.known_mut();
        known.segments.pop_if(|it| it.first == first);
        known.segments.push(KnownSegment { first, table: Some(Table::new(first)) });
    }

    /// The number of the last frame.
    pub fn last(&self) -> FrameNumber {
        self.known().last
    }

    /// The first frame of the segment that holds this one, or would.
    pub fn segment_of(&self, number: FrameNumber) -> FrameNumber {
        let known = self.known();
        let after = known.segments.partition_point(|it| it.first <= number);
        known.segments[after.saturating_sub(1)].first
    }

    /// The file of the segment that begins with this frame, for reading.
    pub fn open_segment(&self, first: FrameNumber) -> io::Result<D::File> {
        self.disk().open(&segment::path(&segment::name(first)))
    }

    /// The segments, in order.
    pub fn segments(&self) -> Vec<SegmentView> {
        let known = self.known();
        let after = known.segments.iter().skip(1).map(|it| Some(it.first)).chain([None]);
        let view = |(it, after): (&KnownSegment, Option<FrameNumber>)| SegmentView {
            first: it.first,
            last: after.map_or(known.last, |it| FrameNumber(it.0 - 1)),
            sealed: after.is_some(),
        };
        known.segments.iter().zip(after).map(view).collect()
    }

    /// Reads a frame; nothing if there is none with this number.
    pub fn read(&self, number: FrameNumber) -> Result<Option<Frame>, LogError> {
        self.sound()?;
        if number == FrameNumber::ORIGIN || number > self.last() {
            return Ok(None);
        }
        let mut frames = Frames::new(self.clone(), number, number, NEAR);
        frames.next().transpose()
    }

    /// The frames from this one to the last, one after the other, with a bounded amount of them in memory.
    pub fn frames(&self, from: FrameNumber) -> Result<Frames<D>, LogError> {
        self.sound()?;
        Ok(Frames::new(self.clone(), from.max(FrameNumber(1)), self.last(), FAR))
    }

    /// Finds the beginning of a frame that is there.
    pub(super) fn find(&self, number: FrameNumber, ahead: usize) -> Result<Place<D::File>, LogError> {
        let (mut place, start) = {
            let known = self.known();
            let after = known.segments.partition_point(|it| it.first <= number);
            let segment = &known.segments[after.saturating_sub(1)];
            let file = self.open_segment(segment.first).map_err(reading)?;
            let window = Window::new(file, ahead).map_err(reading)?;
            let until = known.segments.get(after).map(|it| it.first);
            let place = Place { window, first: segment.first, number: segment.first, at: FIRST, until };
            (place, segment.table.as_ref().map(|it| it.near(number)))
        };
        (place.number, place.at) = match start {
            Some(start) => start,
            None => self.walk(&mut place, number)?,
        };
        while place.number < number {
            let header = match place.window.header(place.at, &self.id()).map_err(reading)? {
                Ok(header) if header.number == place.number => header,
                Ok(header) => return Err(place.corrupt(What::Number(header.number.0))),
                Err(what) => return Err(place.corrupt(what)),
            };
            place.at += header.extent();
            place.number = place.number.next();
        }
        Ok(place)
    }

    /// Walks a segment that was not walked at the start, and keeps its table for the next time.
    fn walk(&self, place: &mut Place<D::File>, number: FrameNumber) -> Result<(FrameNumber, u64), LogError> {
        let head = segment::head(&mut place.window).map_err(reading)?;
        let mark = head.map_err(|what| place.corrupt(what))?;
        let begin = (place.first, mark.link);
        let walk = segment::walk(&mut place.window, &self.id(), begin, FrameNumber::ORIGIN).map_err(reading)?;
        if Some(walk.next) != place.until {
            (place.number, place.at) = (walk.next, walk.end);
            return Err(place.corrupt(walk.stop));
        }
        let near = walk.table.near(number);
        // A compaction may have been quicker; its table is of another file and stays.
        if let Some(known) = self.known_mut().segments.iter_mut().find(|it| it.first == place.first) {
            known.table.get_or_insert(walk.table);
        }
        Ok(near)
    }
}

impl<F> Place<F> {
    fn corrupt(&self, what: What) -> LogError {
        let (segment, frame) = (segment::name(self.first), self.number);
        LogError::Corrupt(Corrupt { segment, frame, what, because: Because::Acknowledged })
    }
}

/// Frames in a row. After an error it is at its end.
#[derive(Debug)]
pub struct Frames<D: Disk> {
    reader: Reader<D>,
    place: Option<Place<D::File>>,
    next: FrameNumber,
    last: FrameNumber,
    link: Option<Link>,
    ahead: usize,
}

impl<F> std::fmt::Debug for Place<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "frame {} at {} of segment {}", self.number, self.at, self.first)
    }
}

impl<D: Disk> Frames<D> {
    pub(super) fn new(reader: Reader<D>, next: FrameNumber, last: FrameNumber, ahead: usize) -> Self {
        Self { reader, place: None, next, last, link: None, ahead }
    }

    fn take(&mut self) -> Result<Frame, LogError> {
        self.reader.sound()?;
        let mut place = match self.place.take() {
            Some(place) if place.until != Some(self.next) => place,
            Some(_) | None => self.reader.find(self.next, self.ahead)?,
        };
        let id = self.reader.id();
        let wrong = match place.window.frame(place.at, &id).map_err(reading)? {
            Err(what) => what,
            Ok(whole) if whole.header.number != self.next => What::Number(whole.header.number.0),
            Ok(whole) if self.link.is_some_and(|it| it != whole.header.previous) => What::Chain,
            Ok(whole) => {
                let (lasting, expiring) = (whole.lasting().to_vec(), whole.expiring().to_vec());
                let extent = whole.header.extent();
                self.link = Some(whole.header.link(&id));
                place.at += extent;
                place.number = place.number.next();
                self.place = Some(place);
                return Ok(Frame { number: self.next, lasting, expiring });
            }
        };
        Err(place.corrupt(wrong))
    }
}

impl<D: Disk> Iterator for Frames<D> {
    type Item = Result<Frame, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next > self.last {
            return None;
        }
        let frame = self.take();
        self.next = if frame.is_ok() { self.next.next() } else { self.last.next() };
        Some(frame)
    }
}

fn reading(error: io::Error) -> LogError {
    LogError::Io(Failure::new("reading a segment", &error))
}
