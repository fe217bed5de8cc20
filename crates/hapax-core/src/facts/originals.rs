//! The entries that events of a turn may repeat, by their identities: those of the store, and those that the turn has made so far.

use std::collections::HashMap;

use super::Spread;
use crate::entry::SharedEntry;
use crate::event::Identity;

/// What was accepted under each identity.
#[derive(Debug, Default)]
pub(super) struct Originals {
    /// As the store had it. Of most turns nothing is.
    loaded: HashMap<Identity, SharedEntry, Spread>,
    /// As this turn made it: its place among the turn's entries.
    made: HashMap<Identity, usize, Spread>,
}

/// Where an original is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Original<'o> {
    /// Here.
    Loaded(&'o SharedEntry),
    /// At this place among the entries of the turn.
    Made(usize),
}

impl Originals {
    pub(super) fn reserve(&mut self, more: usize) {
        self.made.reserve(more);
    }

    /// The newest with an identity: an id that was forgotten may have been used again.
    pub(super) fn get(&self, identity: &Identity) -> Option<Original<'_>> {
        let made = self.made(identity).map(Original::Made);
        if self.loaded.is_empty() {
            return made;
        }
        made.or_else(|| self.loaded.get(identity).map(Original::Loaded))
    }

    /// The place of the one that this turn made.
    pub(super) fn made(&self, identity: &Identity) -> Option<usize> {
        self.made.get(identity).copied()
    }

    pub(super) fn load(&mut self, entry: SharedEntry) {
        self.loaded.insert(entry.identity, entry);
    }

    /// Puts an entry of this turn in the place of the one with the same identity.
    pub(super) fn make(&mut self, identity: Identity, place: usize) {
        self.made.insert(identity, place);
    }

    /// Puts back what was there before.
    pub(super) fn restore(&mut self, identity: Identity, place: Option<usize>) {
        _ = match place {
            Some(place) => self.made.insert(identity, place),
            None => self.made.remove(&identity),
        };
    }

    /// Those that were loaded and that no entry of this turn has taken the place of.
    pub(super) fn loaded(&self) -> impl Iterator<Item = &SharedEntry> {
        self.loaded.values().filter(|entry| !self.made.contains_key(&entry.identity))
    }
}
