//! What stands before the documents of a commit's entries, by itself: all of an entry for whoever has its document.
//!
//! A repeat brings the document of its original. If its digest is the one that is kept here, the rest is a few dozen bytes, and
//! nothing has to be read from a disk.
//!
//! Not kept: the identity. It follows from the document, under rules that no stream with entries may change, and whoever asks
//! has it.

use std::ops::Range;

use hapax_core::entry::Entry;
use hapax_core::event::{Digest, Identity};
use hapax_core::facts::Brought;

use super::directory::Directory;
use super::entry::{HASH, IDENTITY, Much};
use super::fault::Undecodable;
use super::{Lasting, RECORDS_AT};
use crate::seam::Write;

/// Bytes of the digest that a front begins with.
const DIGEST: usize = size_of::<Digest>();

/// The fronts of all entries of a section.
#[derive(Debug)]
pub struct Fronts {
    directory: Directory,
    /// One after the other: the document's digest, the hash, and what follows the identity. Whoever wants one looks at all of it, and
    /// side by side that is memory that comes together.
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<u32>,
}

impl Fronts {
    /// Of a section that was just written: where the record of each entry ends in it, and what was written. They may be kept for long,
    /// so they get the room that they need and no more.
    pub(super) fn of(section: &[u8], record_ends: &[u64], write: &Write) -> Result<Self, Undecodable> {
        let directory = Directory::of(Lasting::open(section)?);
        let entries = || write.streams.iter().flat_map(|stream| &stream.changes.entries);
        let records = section.get(RECORDS_AT..).unwrap_or_default();
        let left_out: usize = entries().map(|entry| entry.document.len() + IDENTITY).sum();
        let records_length = record_ends.last().map_or(0, |end| *end as usize);
        let length = (records_length + record_ends.len() * DIGEST).saturating_sub(left_out);
        let (mut bytes, mut ends) = (Vec::with_capacity(length), Vec::with_capacity(record_ends.len()));
        let mut start = 0;
        for (end, entry) in record_ends.iter().zip(entries()) {
            let record = records.get(start..*end as usize).unwrap_or_default();
            start = *end as usize;
            // A record is a hash, an identity, what else there is, and the document.
            let front = record.len().checked_sub(entry.document.len()).and_then(|end| record.get(..end));
            if let Some((hash, rest)) = front.and_then(|front| front.split_at_checked(HASH)) {
                bytes.extend_from_slice(&entry.digest);
                bytes.extend_from_slice(hash);
                bytes.extend_from_slice(rest.get(IDENTITY..).unwrap_or_default());
            }
            ends.push(bytes.len() as u32);
        }
        Ok(Self { directory, bytes, ends })
    }

    /// About how much memory they take.
    pub fn bytes(&self) -> usize {
        let ends = self.ends.capacity() * size_of::<u32>();
        size_of::<Self>() + self.directory.bytes() + self.bytes.capacity() + ends
    }

    /// Looks at what leads to the entries. This and the next two are for who will look at many, one step of all of them after the other.
    pub fn touch(&self, _: u64) -> u64 {
        (self.ends.len() + self.directory.bytes()) as u64
    }

    /// Looks at where an entry is, and at the directory.
    pub fn touch_place(&self, index: u64) -> u64 {
        let place = usize::try_from(index).unwrap_or(usize::MAX);
        let end = self.ends.get(place).copied().unwrap_or_default();
        u64::from(end) + self.directory.touch()
    }

    /// Looks at its first byte, its last and one between: of the three lines of memory that most have.
    pub fn touch_bytes(&self, index: u64) -> u64 {
        let Range { start, end } = self.range(index);
        let at = |place: usize| self.bytes.get(place).copied().map_or(0, u64::from);
        at(start) + at(start.midpoint(end)) + at(end.saturating_sub(1))
    }

    fn range(&self, index: u64) -> Range<usize> {
        let place = usize::try_from(index).unwrap_or(usize::MAX);
        let end_of = |place: usize| self.ends.get(place).map_or(0, |end| *end as usize);
        place.checked_sub(1).map_or(0, end_of)..end_of(place)
    }

    fn front(&self, index: u64) -> &[u8] {
        self.bytes.get(self.range(index)).unwrap_or_default()
    }

    /// Is this the document of the entry at a place?
    pub fn has(&self, index: u64, digest: &Digest) -> bool {
        self.front(index).first_chunk() == Some(digest)
    }

    /// The entry at a place, which [has](Self::has) this document and so this identity. `room` is memory to put it together in.
    pub fn entry(
        &self,
        index: u64,
        identity: &Identity,
        brought: Brought<'_>,
        room: &mut Vec<u8>,
    ) -> Result<Entry, Undecodable> {
        let front = self.front(index).get(DIGEST..).unwrap_or_default();
        let (hash, rest) = front.split_at(front.len().min(HASH));
        room.clear();
        [hash, &identity.0, rest].iter().for_each(|part| room.extend_from_slice(part));
        self.directory.read(index, room, Much::Brought(brought))
    }
}

#[cfg(test)]
mod tests;
