//! The missing numbers of a lane, as rows: open, acknowledged, abandoned, or below the baseline.
//!
//! Every operation costs a search in an ordered map and touches a bounded number of rows, so a lane with ten thousand
//! gaps is judged like one with three. A turn works on the rows it needs ([`GapNeeds`]), not on all of them; the counts
//! of the rest stand in the lane's record.

use std::collections::{BTreeMap, BTreeSet};

use super::Lane;
use crate::time::Time;
use crate::words::vocabulary;
use serde::{Serialize, Serializer};

vocabulary! {
    /// Why numbers are missing. Filled ones are no longer rows.
    GapKind {
        /// Waited for.
        Open = "open",
        /// A person has recorded the loss.
        Acknowledged = "acknowledged",
        /// No longer waited for.
        Abandoned = "abandoned",
        /// Below the first number that was ever seen; never reported as missing.
        Unlisted = "unlisted",
    }
}

/// A run of missing numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Of which numbering of the lane.
    pub generation: u32,
    /// The first.
    pub from: u64,
    /// The last.
    pub to: u64,
    /// Why.
    pub kind: GapKind,
    /// Since when.
    pub opened_at: Time,
}

/// What a row is found by: rows of a lane are ordered by numbering, then by number, which is the order of their age.
pub type GapKey = (u32, u64);

impl Gap {
    /// What it is found by.
    pub const fn key(&self) -> GapKey {
        (self.generation, self.from)
    }
}

/// A change to the rows of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GapChange {
    /// The row stands like this now.
    Put(Gap),
    /// The row is gone.
    Remove(GapKey),
    /// These numbers came after all; kept as long as the audit.
    Filled(Gap, Time),
}

/// Rows of one lane: all of them in a store, the needed ones in a turn. Most lanes have none, and then it is one word:
/// what a turn keeps of ten thousand lanes must fit the cache.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gaps(Option<Box<Rows>>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Rows {
    rows: BTreeMap<GapKey, Gap>,
    /// The keys of each kind, so that the oldest is found without walking over the others.
    by_kind: [BTreeSet<GapKey>; GapKind::ALL.len()],
}

/// Which rows a turn needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GapNeeds {
    /// The rows that hold these numbers.
    pub numbers: Vec<u64>,
    /// So many of the oldest rows of each kind, because they may have to make room.
    pub oldest: usize,
    /// All rows: a numbering ends.
    pub all: bool,
}

/// An event makes at most one row more than there were, so at most two can be over the bound (one that a contract with
/// a lower bound left, one of its own), and what is abandoned may push as many out at the far end.
pub(super) const RETIRED_PER_EVENT: usize = 2;

impl GapNeeds {
    /// What judging these numbers in this lane can touch.
    pub fn of(lane: &Lane, numbers: &[u64], renumbers: bool, max: u64) -> Self {
        if lane.counts.total() == 0 || numbers.is_empty() {
            return Self::default();
        }
        let room = numbers.len() as u64;
        let crowded = [lane.counts.open, lane.counts.acknowledged, lane.counts.abandoned, lane.counts.unlisted]
            .iter()
            .any(|count| count + room > max);
        let oldest = if crowded { (numbers.len() + 1) * 2 * RETIRED_PER_EVENT } else { 0 };
        // What lies above the highest number is in no row.
        let held = |number: &u64| lane.highest.is_none_or(|highest| *number <= highest);
        Self { numbers: numbers.iter().copied().filter(held).collect(), oldest, all: renumbers }
    }
}

impl Gaps {
    /// The row that holds a number.
    pub fn holding(&self, generation: u32, number: u64) -> Option<&Gap> {
        let (_, gap) = self.0.as_ref()?.rows.range(..=(generation, number)).next_back()?;
        (gap.generation == generation && gap.to >= number).then_some(gap)
    }

    /// The rows that share a number with a range.
    pub fn within(&self, generation: u32, from: u64, to: u64) -> Vec<Gap> {
        let Some(all) = &self.0 else { return Vec::new() };
        let first = self.holding(generation, from).map_or(from, |gap| gap.from);
        if first > to {
            return Vec::new();
        }
        all.rows.range((generation, first)..=(generation, to)).map(|(_, gap)| *gap).collect()
    }

    /// All rows, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Gap> {
        self.0.iter().flat_map(|all| all.rows.values())
    }

    /// The rows of a kind, oldest first.
    pub(super) fn of_kind(&self, kind: GapKind) -> impl Iterator<Item = &Gap> {
        self.0.iter().flat_map(move |all| all.by_kind[kind as usize].iter().filter_map(|key| all.rows.get(key)))
    }

    /// The rows that a turn needs.
    pub fn select(&self, generation: u32, needs: &GapNeeds) -> Self {
        if needs.all {
            return self.clone();
        }
        let mut selected = Self::default();
        selected.extend(needs.numbers.iter().filter_map(|number| self.holding(generation, *number)).copied());
        for kind in GapKind::ALL {
            selected.extend(self.of_kind(*kind).take(needs.oldest).copied());
        }
        selected
    }

    /// Adds or replaces a row.
    pub fn insert(&mut self, gap: Gap) {
        self.remove(gap.key());
        let all = self.0.get_or_insert_default();
        all.by_kind[gap.kind as usize].insert(gap.key());
        all.rows.insert(gap.key(), gap);
    }

    /// Adds rows.
    pub fn extend(&mut self, gaps: impl IntoIterator<Item = Gap>) {
        gaps.into_iter().for_each(|gap| self.insert(gap));
    }

    fn remove(&mut self, key: GapKey) {
        let Some(all) = &mut self.0 else { return };
        if let Some(gap) = all.rows.remove(&key) {
            all.by_kind[gap.kind as usize].remove(&key);
        }
        if all.rows.is_empty() {
            self.0 = None;
        }
    }

    /// Carries out changes.
    pub fn apply(&mut self, changes: &[GapChange]) {
        for change in changes {
            match change {
                GapChange::Put(gap) => self.insert(*gap),
                GapChange::Remove(key) => self.remove(*key),
                GapChange::Filled(..) => {}
            }
        }
    }
}
