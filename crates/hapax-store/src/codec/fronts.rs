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

/// The fronts of all entries of a section.
#[derive(Debug)]
pub struct Fronts {
    directory: Directory,
    made: Making,
}

/// Fronts of a section that is being written.
#[derive(Debug, Default)]
pub(super) struct Making {
    /// One after the other: the hash, and what follows the identity.
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<u32>,
    /// Of their documents.
    digests: Vec<Digest>,
}

impl Making {
    /// There will be so many.
    pub(super) fn expect(&mut self, count: usize) {
        self.bytes.reserve(count * FRONT);
        self.ends.reserve(count);
        self.digests.reserve(count);
    }

    /// The next entry has this record, which ends with its document.
    pub(super) fn add(&mut self, record: &[u8], entry: &Entry) {
        let front = record.len().checked_sub(entry.document.len()).and_then(|end| record.get(..end));
        if let Some((hash, rest)) = front.and_then(|front| front.split_at_checked(HASH)) {
            self.bytes.extend_from_slice(hash);
            self.bytes.extend_from_slice(rest.get(IDENTITY..).unwrap_or_default());
        }
        self.ends.push(self.bytes.len() as u32);
        self.digests.push(entry.digest);
    }

    /// This is the section.
    pub(super) fn finish(self, section: &[u8]) -> Result<Fronts, Undecodable> {
        Ok(Fronts { directory: Directory::of(section)?, made: self })
    }
}

impl Fronts {
    /// About how much memory they take.
    pub fn bytes(&self) -> usize {
        let each = size_of::<u32>() + size_of::<Digest>();
        size_of::<Self>() + self.directory.bytes() + self.made.bytes.capacity() + self.made.ends.capacity() * each
    }

    /// Looks at what leads to the entries. This and the next two are for who will look at many, one step of all of them after the other.
    pub fn touch(&self, _: u64) -> u64 {
        (self.made.ends.len() + self.directory.bytes()) as u64
    }

    /// Looks at where an entry is, and at the directory.
    pub fn touch_place(&self, index: u64) -> u64 {
        let place = usize::try_from(index).unwrap_or(usize::MAX);
        let digest = self.made.digests.get(place).map_or(0, |digest| digest[0]);
        let end = self.made.ends.get(place).copied().unwrap_or_default();
        u64::from(digest) + u64::from(end) + self.directory.touch()
    }

    /// Looks at its first byte and its last.
    pub fn touch_bytes(&self, index: u64) -> u64 {
        let range = self.range(index);
        let at = |place: usize| self.made.bytes.get(place).copied().map_or(0, u64::from);
        at(range.start) + at(range.end.saturating_sub(1))
    }

    fn range(&self, index: u64) -> Range<usize> {
        let place = usize::try_from(index).unwrap_or(usize::MAX);
        let end_of = |place: usize| self.made.ends.get(place).map_or(0, |end| *end as usize);
        place.checked_sub(1).map_or(0, end_of)..end_of(place)
    }

    /// Is this the document of the entry at a place?
    pub fn has(&self, index: u64, digest: &Digest) -> bool {
        usize::try_from(index).ok().and_then(|index| self.made.digests.get(index)).is_some_and(|it| it == digest)
    }

    /// The entry at a place, which [has](Self::has) this document and so this identity. `room` is memory to put it together in.
    pub fn entry(
        &self,
        index: u64,
        identity: &Identity,
        brought: Brought<'_>,
        room: &mut Vec<u8>,
    ) -> Result<Entry, Undecodable> {
        let front = self.made.bytes.get(self.range(index)).unwrap_or_default();
        let (hash, rest) = front.split_at(front.len().min(HASH));
        room.clear();
        [hash, &identity.0, rest].iter().for_each(|part| room.extend_from_slice(part));
        self.directory.read(index, room, Much::Brought(brought))
    }
}

/// About how long a front is: a hash and a dozen small numbers.
const FRONT: usize = 64;

#[cfg(test)]
mod tests;
