//! A set of ordinals that is expected to become contiguous.
//!
//! What holds: `low_water` is the greatest number up to which every ordinal from 1 is in the set; above it lie islands
//! that neither touch it nor each other. Its size is the number of holes, not of members. Not here: removal.

use std::collections::BTreeMap;

/// Ordinals from 1, as ranges.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ranges {
    low_water: u64,
    /// First and last of each island.
    islands: BTreeMap<u64, u64>,
    /// How many ordinals the islands hold, kept so that asking for the lag costs nothing.
    above: u64,
}

impl Ranges {
    /// From what a store kept: the mark, and islands as (first, last). They may come in any order, touch or overlap.
    pub fn new(low_water: u64, islands: impl IntoIterator<Item = (u64, u64)>) -> Ranges {
        let mut ranges = Ranges { low_water, ..Ranges::default() };
        for (first, last) in islands {
            ranges.insert_range(first, last);
        }
        ranges
    }

    /// Everything from 1 up to this is in the set.
    pub fn low_water(&self) -> u64 {
        self.low_water
    }

    /// The islands above the low-water mark as (first, last), ascending.
    pub fn islands(&self) -> impl Iterator<Item = (u64, u64)> {
        self.islands.iter().map(|(first, last)| (*first, *last))
    }

    /// How many ordinals are in the set.
    pub fn count(&self) -> u64 {
        self.low_water.saturating_add(self.above)
    }

    /// Whether an ordinal is in the set. 0 is no ordinal; it counts as contained, because nothing is left to do about
    /// it.
    pub fn contains(&self, ordinal: u64) -> bool {
        ordinal <= self.low_water
            || self.islands.range(..=ordinal).next_back().is_some_and(|(_, last)| *last >= ordinal)
    }

    /// Adds an ordinal.
    pub fn insert(&mut self, ordinal: u64) {
        self.insert_range(ordinal, ordinal);
    }

    fn insert_range(&mut self, first: u64, last: u64) {
        if last < first || last <= self.low_water {
            return;
        }
        let (mut first, mut last) = (first.max(self.low_water + 1), last);
        // Islands that overlap or touch the new range become part of it, from the right to the left.
        while let Some((&from, &to)) = self.islands.range(..=last.saturating_add(1)).next_back() {
            if to.saturating_add(1) < first {
                break;
            }
            self.islands.remove(&from);
            self.above -= to - from + 1;
            (first, last) = (first.min(from), last.max(to));
        }
        if first == self.low_water + 1 {
            self.low_water = last;
        } else {
            self.islands.insert(first, last);
            self.above += last - first + 1;
        }
    }
}
