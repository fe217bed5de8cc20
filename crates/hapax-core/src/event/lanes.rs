//! The lanes of the documents that are read together: each text once, as far as memory is worth it.
//!
//! A table of fixed size in which a lane has one place. Two that meet there push each other out and are made anew: who
//! chooses the names of lanes can make them meet, and gains what reading costs without a table.

use std::sync::Arc;

use crate::json::short_hash;

/// The largest table: 16 KiB, which a batch with hundreds of lanes fills by half.
const PLACES_MAX: usize = 1_024;

/// Lanes that came before.
#[derive(Debug)]
pub(super) struct Lanes(Vec<Option<Arc<str>>>);

impl Lanes {
    /// For about so many documents.
    pub(super) fn new(count: usize) -> Self {
        Self(vec![None; count.clamp(1, PLACES_MAX).next_power_of_two()])
    }

    /// The lane of this name.
    pub(super) fn of(&mut self, name: &str) -> Arc<str> {
        // The length is a power of two, and never zero.
        let place = short_hash(name.as_bytes()) as usize & (self.0.len() - 1);
        match &self.0[place] {
            Some(known) if **known == *name => Arc::clone(known),
            Some(_) | None => {
                let lane: Arc<str> = Arc::from(name);
                self.0[place] = Some(Arc::clone(&lane));
                lane
            }
        }
    }
}
