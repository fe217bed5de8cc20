//! Entries side by side: those of one request, or the originals that one turn has read, are made together, kept together and let go together.
//!
//! A request of a thousand events is one block of memory with one count of its users, instead of a thousand of each that one
//! thread makes and another one frees.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::Entry;

/// An entry, and what keeps it: all that were made with it.
#[derive(Clone)]
pub struct SharedEntry {
    together: Arc<Vec<Entry>>,
    place: u32,
}

impl SharedEntry {
    /// Each of these, in their order.
    pub fn each(mut entries: Vec<Entry>) -> impl Iterator<Item = SharedEntry> {
        // There is room for every event of the request, and of most of them there may be no entry.
        if entries.len() < entries.capacity() / 2 {
            entries.shrink_to_fit();
        }
        let together = Arc::new(entries);
        // A request has a few thousand events at most.
        (0..together.len() as u32).map(move |place| Self { together: Arc::clone(&together), place })
    }
}

impl Deref for SharedEntry {
    type Target = Entry;

    #[inline]
    fn deref(&self) -> &Entry {
        &self.together[self.place as usize]
    }
}

/// One that was made alone.
impl From<Entry> for SharedEntry {
    fn from(entry: Entry) -> Self {
        Self { together: Arc::new(vec![entry]), place: 0 }
    }
}

impl fmt::Debug for SharedEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl PartialEq for SharedEntry {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}
