//! A large batch that comes alone is scanned and read by two threads at a time, so that whoever sends alone has both processors.
//!
//! The other thread has the second half: from where an element seems to begin, near the middle of the body. If that turns out to be
//! none, what it did was for nothing, and the body is read as any other.
//!
//! What holds: what two read is what one reads. An answer does not say which it was.

use std::sync::mpsc::{Receiver, channel};

use bytes::Bytes;
use hapax_core::access::Patterns;
use hapax_core::contract::Version;
use hapax_core::event::{Door, Event};
use hapax_core::json::Batch;
use hapax_core::time::Time;

use super::documents::Documents;
use super::events::read_all;
use crate::clock::spare;
use crate::threads::Beside;

/// From so many bytes on half of it is worth waking another thread: two hundred events or so.
const BYTES_MIN: usize = 48 << 10;

/// What a document is read with, beside its own bytes.
#[derive(Clone)]
pub(super) struct Reading {
    pub(super) version: Version,
    pub(super) salt: [u8; 32],
    pub(super) now: Time,
    pub(super) event_bytes_max: usize,
    /// The lanes that the caller may send to.
    pub(super) lanes: Patterns,
}

impl Reading {
    /// Reads documents; `spare` are random bits for ids. There is room for so many events more.
    fn read(&self, documents: &Documents<'_>, spare: u128, more: usize) -> Vec<Event> {
        let covers = |lane: &str| self.lanes.cover(lane);
        let Self { salt, now, event_bytes_max, .. } = self;
        let door = Door { salt, now: *now, spare, event_bytes_max: *event_bytes_max, covers: &covers };
        read_all(documents, &self.version, &door, more)
    }
}

/// A body as it came: whole, or in halves of which another thread has the second.
pub(super) enum Came<'b> {
    Whole(Documents<'b>),
    Halves(Halves<'b>),
}

impl Came<'_> {
    /// One event is answered with its receipt, several with a batch.
    pub(super) fn is_single(&self) -> bool {
        matches!(self, Self::Whole(documents) if documents.single)
    }

    /// How many documents there are.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Whole(documents) => documents.len(),
            Self::Halves(halves) => halves.first.len() + halves.count,
        }
    }

    /// Reads them all.
    pub(super) fn read(&self, reading: &Reading, spare: u128) -> Vec<Event> {
        match self {
            Self::Whole(documents) => reading.read(documents, spare, 0),
            Self::Halves(halves) => halves.read(reading, spare),
        }
    }
}

/// Two halves of a body that are one array.
pub(super) struct Halves<'b> {
    first: Documents<'b>,
    second: Second,
    /// How many documents the second one has.
    count: usize,
    events: Receiver<Vec<Event>>,
}

/// Where the second half is.
#[derive(Clone)]
struct Second {
    body: Bytes,
    middle: usize,
    /// How many documents it has at most.
    max: usize,
}

impl Second {
    fn scan(&self) -> Option<Documents<'_>> {
        Batch::second_half(&self.body, self.middle, self.max).map(|half| Documents::scanned(half, false))
    }
}

impl<'b> Halves<'b> {
    /// Begins with a body that is a JSON array, with at most so many elements. Nothing if it is no such body, if the other thread is
    /// busy, or if the halves are none: then nothing was done that shows.
    pub(super) fn begin(body: &'b Bytes, max: usize, reading: &Reading, beside: &Beside) -> Option<Self> {
        let middle = (body.len() >= BYTES_MIN).then(|| Batch::middle(body)).flatten()?;
        let second = Second { body: body.clone(), middle, max };
        let ((tells, told), (reads, events)) = (channel(), channel());
        let (its, reading) = (second.clone(), reading.clone());
        let job = move || {
            let Some(documents) = its.scan() else { return };
            // Nobody listens any more if the first half is none.
            if tells.send(documents.len()).is_ok() {
                _ = reads.send(reading.read(&documents, spare(), 0));
            }
        };
        if !beside.run(job) {
            return None;
        }
        let first = Documents::scanned(Batch::first_half(body, middle, max)?, false);
        let count = told.recv().ok()?;
        (first.len() + count <= max).then_some(Self { first, second, count, events })
    }

    /// Reads the first half, and waits for the second. If the other thread is gone, reads that as well.
    fn read(&self, reading: &Reading, spare: u128) -> Vec<Event> {
        let mut events = reading.read(&self.first, spare, self.count);
        let here = || self.second.scan().map(|rest| reading.read(&rest, spare.wrapping_add(events.len() as u128), 0));
        let rest = self.events.recv().ok().or_else(here);
        // An event that nobody reads would have no verdict.
        events.extend(rest.expect("what was scanned once can be scanned again"));
        events
    }
}

#[cfg(test)]
mod tests;
