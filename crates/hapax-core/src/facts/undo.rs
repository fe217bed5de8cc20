//! Taking back what a batch did to the facts: the old value of everything it touched, and how long the lists were.

use std::collections::HashMap;

use super::{Changes, CounterFacts, Facts, Head, LaneFacts};
use crate::counter::CounterKey;
use crate::event::{Identity, NonceKey};
use crate::time::Time;

/// The facts as they were, as far as they were touched.
#[derive(Debug)]
pub(super) struct Undo {
    head: Head,
    lanes: HashMap<usize, LaneFacts>,
    /// How many lanes there were; those beyond are new.
    known_lanes: usize,
    touched: usize,
    nonces: Vec<(NonceKey, Option<Time>)>,
    counters: HashMap<CounterKey, Option<CounterFacts>>,
    originals: Vec<(Identity, Option<usize>)>,
    lengths: Lengths,
}

#[derive(Clone, Copy, Debug)]
struct Lengths {
    entries: usize,
    attempts: usize,
    gaps: usize,
    nonces: usize,
    adjustments: usize,
}

impl Facts {
    /// From here on everything can be taken back.
    pub fn begin(&mut self) {
        let changes = &self.changes;
        self.undo = Some(Undo {
            head: self.head,
            lanes: HashMap::new(),
            known_lanes: self.lanes.len(),
            touched: self.touched.len(),
            nonces: Vec::new(),
            counters: HashMap::new(),
            originals: Vec::new(),
            lengths: Lengths {
                entries: changes.entries.len(),
                attempts: changes.attempts.len(),
                gaps: changes.gaps.len(),
                nonces: changes.nonces.len(),
                adjustments: changes.adjustments.len(),
            },
        });
    }

    /// What was done since [`Facts::begin`] stands.
    pub fn keep(&mut self) {
        self.undo = None;
    }

    /// What was done since [`Facts::begin`] never happened.
    pub fn take_back(&mut self) {
        let Some(undo) = self.undo.take() else { return };
        self.head = undo.head;
        for (slot, lane) in undo.lanes {
            self.lanes[slot] = lane;
        }
        for new in self.lanes.drain(undo.known_lanes..) {
            self.slots.remove(&new.name);
        }
        self.touched.truncate(undo.touched);
        // In reverse, so that the oldest value of one that was touched twice is the last to be put back.
        for (nonce, used_at) in undo.nonces.into_iter().rev() {
            _ = match used_at {
                Some(used_at) => self.nonces.insert(nonce, used_at),
                None => self.nonces.remove(&nonce),
            };
        }
        for (key, counter) in undo.counters {
            _ = match counter {
                Some(counter) => self.counters.insert(key, counter),
                None => self.counters.remove(&key),
            };
        }
        // An id that was forgotten may have been used again, and then the entry that it had before comes back.
        for (identity, place) in undo.originals.into_iter().rev() {
            self.originals.restore(identity, place);
        }
        self.open.clear();
        undo.lengths.restore(&mut self.changes);
    }

    pub(super) fn remember_lane(&mut self, slot: usize) {
        if let Some(undo) = &mut self.undo
            && slot < undo.known_lanes
            && !undo.lanes.contains_key(&slot)
        {
            undo.lanes.insert(slot, self.lanes[slot].clone());
        }
    }

    pub(super) fn remember_nonce(&mut self, nonce: NonceKey) {
        if let Some(undo) = &mut self.undo {
            undo.nonces.push((nonce, self.nonces.get(&nonce).copied()));
        }
    }

    pub(super) fn remember_counter(&mut self, key: &CounterKey) {
        if let Some(undo) = &mut self.undo
            && !undo.counters.contains_key(key)
        {
            undo.counters.insert(key.clone(), self.counters.get(key).cloned());
        }
    }

    pub(super) fn remember_original(&mut self, identity: Identity) {
        if let Some(undo) = &mut self.undo {
            undo.originals.push((identity, self.originals.made(&identity)));
        }
    }
}

impl Lengths {
    fn restore(self, changes: &mut Changes) {
        changes.entries.truncate(self.entries);
        changes.attempts.truncate(self.attempts);
        changes.gaps.truncate(self.gaps);
        changes.nonces.truncate(self.nonces);
        changes.adjustments.truncate(self.adjustments);
    }
}
