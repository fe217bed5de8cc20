//! The missing numbers of a lane, as rows: open, acknowledged, abandoned, or below the baseline.
//!
//! Every operation costs a search in an ordered map and touches a bounded number of rows, so a lane with ten thousand
//! gaps is judged like one with three. A turn works on the rows it needs ([`GapNeeds`]), not on all of them; the counts
//! of the rest stand in the lane's record.

use std::collections::{BTreeMap, BTreeSet};

use super::{Lane, Place};
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

/// Rows of one lane: all of them in a store, the needed ones in a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
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
const RETIRED_PER_EVENT: usize = 2;

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
        Self { numbers: numbers.to_vec(), oldest, all: renumbers }
    }
}

impl Gaps {
    /// The row that holds a number.
    pub fn holding(&self, generation: u32, number: u64) -> Option<&Gap> {
        let (_, gap) = self.rows.range(..=(generation, number)).next_back()?;
        (gap.generation == generation && gap.to >= number).then_some(gap)
    }

    /// The rows that share a number with a range.
    pub fn within(&self, generation: u32, from: u64, to: u64) -> Vec<Gap> {
        let first = self.holding(generation, from).map_or(from, |gap| gap.from);
        if first > to {
            return Vec::new();
        }
        self.rows.range((generation, first)..=(generation, to)).map(|(_, gap)| *gap).collect()
    }

    /// All rows, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Gap> {
        self.rows.values()
    }

    /// The rows that a turn needs.
    pub fn select(&self, generation: u32, needs: &GapNeeds) -> Self {
        if needs.all {
            return self.clone();
        }
        let mut selected = Self::default();
        for number in &needs.numbers {
            if let Some(gap) = self.holding(generation, *number) {
                selected.insert(*gap);
            }
        }
        for key in self.by_kind.iter().flat_map(|keys| keys.iter().take(needs.oldest)) {
            if let Some(gap) = self.rows.get(key) {
                selected.insert(*gap);
            }
        }
        selected
    }

    /// Adds or replaces a row.
    pub fn insert(&mut self, gap: Gap) {
        self.remove(gap.key());
        self.by_kind[gap.kind as usize].insert(gap.key());
        self.rows.insert(gap.key(), gap);
    }

    /// Adds rows.
    pub fn extend(&mut self, gaps: impl IntoIterator<Item = Gap>) {
        gaps.into_iter().for_each(|gap| self.insert(gap));
    }

    fn remove(&mut self, key: GapKey) {
        if let Some(gap) = self.rows.remove(&key) {
            self.by_kind[gap.kind as usize].remove(&key);
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

/// Gaps being changed: the rows as they were, and what became of a few of them. The rows themselves stay as they are,
/// because whoever asks what would happen must change nothing.
pub(crate) struct Edit<'g> {
    rows: &'g Gaps,
    /// The last word on each row that was touched.
    touched: BTreeMap<GapKey, Option<Gap>>,
    filled: Option<GapChange>,
    abandoned: Vec<(u64, u64)>,
}

/// What an edit led to.
#[derive(Debug, Default)]
pub(crate) struct Edited {
    /// What is to be written.
    pub(crate) changes: Vec<GapChange>,
    /// The open gaps that are no longer waited for.
    pub(crate) abandoned: Vec<(u64, u64)>,
}

impl<'g> Edit<'g> {
    pub(crate) fn new(rows: &'g Gaps) -> Self {
        Self { rows, touched: BTreeMap::new(), filled: None, abandoned: Vec::new() }
    }

    pub(crate) fn finish(self) -> Edited {
        let change = |(key, row): (GapKey, Option<Gap>)| row.map_or(GapChange::Remove(key), GapChange::Put);
        let changes = self.touched.into_iter().map(change).chain(self.filled).collect();
        Edited { changes, abandoned: self.abandoned }
    }

    /// The oldest row of a kind, as things stand now.
    fn oldest(&self, kind: GapKind) -> Option<Gap> {
        let standing = self.rows.by_kind[kind as usize].iter().find(|key| !self.touched.contains_key(key));
        let standing = standing.and_then(|key| self.rows.rows.get(key)).copied();
        let touched = self.touched.values().flatten().find(|gap| gap.kind == kind).copied();
        standing.into_iter().chain(touched).min_by_key(Gap::key)
    }

    fn put(&mut self, lane: &mut Lane, gap: Gap) {
        *lane.counts.of(gap.kind) += 1;
        self.touched.insert(gap.key(), Some(gap));
    }

    fn remove(&mut self, lane: &mut Lane, gap: &Gap) {
        let count = lane.counts.of(gap.kind);
        *count = count.saturating_sub(1);
        self.touched.insert(gap.key(), None);
    }

    /// The number of an accepted event enters the lane.
    pub(crate) fn enter(&mut self, lane: &mut Lane, place: Place, number: u64, now: Time, max: u64) {
        let generation = lane.generation;
        let row = |from, to, kind| Gap { generation, from, to, kind, opened_at: now };
        match place {
            Place::Baseline if number > 0 => self.put(lane, row(0, number - 1, GapKind::Unlisted)),
            Place::Baseline | Place::Continuous => {}
            Place::Gap { from, to } => self.put(lane, row(from, to, GapKind::Open)),
            Place::Late(gap) => {
                self.cut(lane, gap, number, number);
                self.filled = Some(GapChange::Filled(Gap { from: number, to: number, ..gap }, now));
            }
            Place::Unproven | Place::Repeated => {}
        }
        lane.highest = Some(lane.highest.map_or(number, |highest| highest.max(number)));
        self.make_room(lane, max);
    }

    /// A numbering ends: nothing of it is waited for any more. Needs all rows.
    pub(crate) fn end_numbering(&mut self, lane: &mut Lane, max: u64) {
        let mut kept = Vec::new();
        for gap in self.rows.iter() {
            match gap.kind {
                GapKind::Open => {
                    self.abandoned.push((gap.from, gap.to));
                    kept.push(*gap);
                }
                GapKind::Acknowledged | GapKind::Abandoned => kept.push(*gap),
                GapKind::Unlisted => self.remove(lane, gap),
            }
        }
        // Rows come oldest first; the newest stay.
        let forgotten = kept.len().saturating_sub(usize::try_from(max).unwrap_or(usize::MAX));
        for gap in &kept[..forgotten] {
            self.remove(lane, gap);
        }
        for gap in &kept[forgotten..] {
            if gap.kind != GapKind::Abandoned {
                self.retire(lane, gap);
            }
        }
    }

    /// A person records numbers as lost. Answers whether any of them was missing at all.
    pub(crate) fn acknowledge(&mut self, lane: &mut Lane, from: u64, to: u64, max: u64) -> bool {
        let mut missing = false;
        for gap in self.rows.within(lane.generation, from, to) {
            match gap.kind {
                GapKind::Acknowledged => missing = true,
                GapKind::Open | GapKind::Abandoned => {
                    missing = true;
                    let (from, to) = (gap.from.max(from), gap.to.min(to));
                    self.cut(lane, gap, from, to);
                    self.put(lane, Gap { from, to, kind: GapKind::Acknowledged, ..gap });
                }
                GapKind::Unlisted => {}
            }
        }
        self.make_room(lane, max);
        missing
    }

    /// Takes a range out of a row, leaving what lies before and after it.
    fn cut(&mut self, lane: &mut Lane, gap: Gap, from: u64, to: u64) {
        self.remove(lane, &gap);
        if gap.from < from {
            self.put(lane, Gap { to: from - 1, ..gap });
        }
        if gap.to > to {
            self.put(lane, Gap { from: to + 1, ..gap });
        }
    }

    fn retire(&mut self, lane: &mut Lane, gap: &Gap) {
        self.remove(lane, gap);
        self.put(lane, Gap { kind: GapKind::Abandoned, ..*gap });
    }

    /// Keeps the rows of each kind within the bound; the oldest go first.
    fn make_room(&mut self, lane: &mut Lane, max: u64) {
        for _ in 0..RETIRED_PER_EVENT {
            if lane.counts.open > max
                && let Some(gap) = self.oldest(GapKind::Open)
            {
                self.abandoned.push((gap.from, gap.to));
                self.retire(lane, &gap);
            }
            if lane.counts.acknowledged > max
                && let Some(gap) = self.oldest(GapKind::Acknowledged)
            {
                self.retire(lane, &gap);
            }
        }
        for _ in 0..2 * RETIRED_PER_EVENT {
            for kind in [GapKind::Abandoned, GapKind::Unlisted] {
                if *lane.counts.of(kind) > max
                    && let Some(gap) = self.oldest(kind)
                {
                    self.remove(lane, &gap);
                    if gap.generation == lane.generation {
                        lane.floor = Some(lane.floor.map_or(gap.to, |floor| floor.max(gap.to)));
                    }
                }
            }
        }
    }
}
