//! Changing the rows of a lane: a number enters, a numbering ends, a person records a loss.
//!
//! Each touches a bounded number of rows. The rows themselves stay as they are until the changes are applied.

use std::collections::BTreeMap;

use super::gaps::{Gap, GapChange, GapKey, GapKind, Gaps, RETIRED_PER_EVENT};
use super::{Lane, Place};
use crate::planted;
use crate::time::Time;

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
        let standing = self.rows.of_kind(kind).find(|gap| !self.touched.contains_key(&gap.key())).copied();
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
                let (from, to) = if planted!(GapNotSplit) { (gap.from, gap.to) } else { (number, number) };
                self.cut(lane, gap, from, to);
                self.filled = Some(GapChange::Filled(Gap { from: number, to: number, ..gap }, now));
            }
            Place::Unproven | Place::Repeated => {}
        }
        lane.highest = Some(lane.highest.map_or(number, |highest| highest.max(number)));
        if planted!(HighestIsLast) {
            lane.highest = Some(number);
        }
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
