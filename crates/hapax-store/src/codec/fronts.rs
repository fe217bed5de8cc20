//! What stands before the documents of a commit's entries, by itself: all of an entry for whoever has its document.
//!
//! A repeat brings the document of its original. If its digest is the one that is kept here, the rest is a few dozen bytes, and
//! nothing has to be read from a disk.
//!
//! Not kept: the identity. It follows from the document, under rules that no stream with entries may change, and whoever asks
//! has it.

use std::sync::Arc;

use hapax_core::entry::Entry;
use hapax_core::event::{Digest, Identity};
use hapax_core::facts::Brought;

use super::directory::Directory;
use super::entry::{HASH, IDENTITY, Much};
use super::fault::Undecodable;

/// The fronts of all entries of a section.
#[derive(Debug)]
pub struct Fronts {
    directory: Arc<Directory>,
    /// One after the other: the hash, and what follows the identity.
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<u32>,
    /// Of their documents.
    digests: Vec<Digest>,
}

impl Fronts {
    /// Those of a section, which has just these entries, and this directory.
    pub fn of<'e>(
        section: &[u8],
        directory: Arc<Directory>,
        entries: impl Iterator<Item = &'e Arc<Entry>>,
    ) -> Result<Self, Undecodable> {
        let count = directory.count();
        let (mut ends, mut digests) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut bytes = Vec::with_capacity(count * FRONT);
        for (index, entry) in (0..).zip(entries) {
            let record = section.get(directory.range(index)?).unwrap_or_default();
            let front = record.len().checked_sub(entry.document.len()).and_then(|end| record.get(..end));
            if let Some((hash, rest)) = front.and_then(|front| front.split_at_checked(HASH)) {
                bytes.extend_from_slice(hash);
                bytes.extend_from_slice(rest.get(IDENTITY..).unwrap_or_default());
            }
            ends.push(bytes.len() as u32);
            digests.push(entry.digest);
        }
        Ok(Self { directory, bytes, ends, digests })
    }

    /// About how much memory they take, without the directory.
    pub fn bytes(&self) -> usize {
        let each = size_of::<u32>() + size_of::<Digest>();
        size_of::<Self>() + self.bytes.capacity() + self.ends.capacity() * each
    }

    /// Is this the document of the entry at a place?
    pub fn has(&self, index: u64, digest: &Digest) -> bool {
        usize::try_from(index).ok().and_then(|index| self.digests.get(index)).is_some_and(|it| it == digest)
    }

    /// The entry at a place, which [has](Self::has) this document and so this identity. `room` is memory to put it together in.
    pub fn entry(
        &self,
        index: u64,
        identity: &Identity,
        brought: &Brought,
        room: &mut Vec<u8>,
    ) -> Result<Option<Entry>, Undecodable> {
        let place = usize::try_from(index).unwrap_or(usize::MAX);
        let end_of = |place: usize| self.ends.get(place).map_or(0, |end| *end as usize);
        let start = place.checked_sub(1).map_or(0, end_of);
        let front = self.bytes.get(start..end_of(place)).unwrap_or_default();
        let (hash, rest) = front.split_at(front.len().min(HASH));
        room.clear();
        [hash, &identity.0, rest].iter().for_each(|part| room.extend_from_slice(part));
        self.directory.read(index, room, identity, Much::Brought(&brought.document, &brought.digest))
    }
}

/// About how long a front is: a hash and a dozen small numbers.
const FRONT: usize = 64;

#[cfg(test)]
mod tests;
