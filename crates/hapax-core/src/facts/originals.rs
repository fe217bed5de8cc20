//! The entries that events of a turn may repeat, by their identities.
//!
//! An identity stands in its entry, so a place of the table is eight bytes: a batch of a thousand fits the innermost cache, and
//! an id that is new, as most are, is found to be new without looking at any entry.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::Spread;
use crate::entry::Entry;
use crate::event::Identity;

#[derive(Debug, Default)]
pub(super) struct Originals(HashSet<Original, Spread>);

/// An entry that is known by its identity alone.
#[derive(Debug)]
struct Original(Arc<Entry>);

impl Borrow<Identity> for Original {
    fn borrow(&self) -> &Identity {
        &self.0.identity
    }
}

impl Hash for Original {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.identity.hash(state);
    }
}

impl PartialEq for Original {
    fn eq(&self, other: &Self) -> bool {
        self.0.identity == other.0.identity
    }
}

impl Eq for Original {}

impl Originals {
    pub(super) fn reserve(&mut self, more: usize) {
        self.0.reserve(more);
    }

    pub(super) fn get(&self, identity: &Identity) -> Option<&Arc<Entry>> {
        self.0.get(identity).map(|original| &original.0)
    }

    /// Puts an entry in the place of the one with the same identity.
    pub(super) fn put(&mut self, entry: Arc<Entry>) {
        self.0.replace(Original(entry));
    }

    pub(super) fn remove(&mut self, identity: &Identity) {
        self.0.remove(identity);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.0.iter().map(|original| &original.0)
    }
}
