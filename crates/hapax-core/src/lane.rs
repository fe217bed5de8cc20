//! A lane: the scope of order inside a stream, and what its checks look at.
//!
//! The record is small and of fixed size. The gaps are rows beside it ([`gaps`]), because a lane may have thousands and
//! a commit must write only those that changed.
//!
//! Not here: what a contract makes of a late or missing number. This file only says where a number falls.

mod edit;
mod gaps;

pub(crate) use edit::{Edit, Edited};
pub use gaps::{Gap, GapChange, GapKey, GapKind, GapNeeds, Gaps};

use crate::contract::First;
use crate::planted;
use crate::time::Time;

/// What is remembered of a lane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lane {
    /// The contract's baseline under which the numbering began; another one means that it begins anew.
    pub baseline: u32,
    /// The producer's incarnation.
    pub epoch: u64,
    /// Counts the numberings of the lane: a higher epoch or a new baseline begins another.
    pub generation: u32,
    /// The highest number of this numbering.
    pub highest: Option<u64>,
    /// At or below it a late number cannot be told from a repeated one.
    pub floor: Option<u64>,
    /// The greatest `min(observed_at, ingested_at)` of the lane's events.
    pub last_time: Option<Time>,
    /// When the last event came.
    pub last_arrival: Option<Time>,
    /// Where the last event stands in the ledger; 0 if there is none.
    pub last_offset: u64,
    /// How many events it holds.
    pub events: u64,
    /// Has an event ever come out of order?
    pub out_of_order: bool,
    /// How many gaps there are of each kind.
    pub counts: GapCounts,
}

/// How many rows of each kind a lane has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GapCounts {
    /// Waited for.
    pub open: u64,
    /// Known to be lost.
    pub acknowledged: u64,
    /// No longer waited for.
    pub abandoned: u64,
    /// Below the baseline.
    pub unlisted: u64,
}

impl GapCounts {
    fn of(&mut self, kind: GapKind) -> &mut u64 {
        match kind {
            GapKind::Open => &mut self.open,
            GapKind::Acknowledged => &mut self.acknowledged,
            GapKind::Abandoned => &mut self.abandoned,
            GapKind::Unlisted => &mut self.unlisted,
        }
    }

    /// Are there at most so many of each kind?
    pub(crate) fn fit(&self, max: u64) -> bool {
        [self.open, self.acknowledged, self.abandoned, self.unlisted].iter().all(|count| *count <= max)
    }

    /// How many rows there are in all.
    pub const fn total(&self) -> u64 {
        self.open + self.acknowledged + self.abandoned + self.unlisted
    }
}

/// Where a number falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The first number of a numbering that may begin anywhere.
    Baseline,
    /// The expected one.
    Continuous,
    /// Above the expected one; these are missing.
    Gap {
        /// The first missing number.
        from: u64,
        /// The last missing number.
        to: u64,
    },
    /// Inside a row of missing numbers.
    Late(Gap),
    /// At or below the floor and in no row: late or repeated, nobody can tell.
    Unproven,
    /// Used before.
    Repeated,
}

impl Lane {
    /// The number that comes next, if the lane expects a certain one.
    pub fn expected(&self, first: First) -> Option<u64> {
        match (self.highest, first) {
            (Some(highest), _) => highest.checked_add(1),
            (None, First::Number(number)) => Some(number),
            (None, First::Any) => None,
        }
    }

    /// Where a number falls in the present numbering.
    pub fn place(&self, gaps: &Gaps, first: First, number: u64) -> Place {
        let expected = match (self.highest, first) {
            (None, First::Any) => return Place::Baseline,
            (None, First::Number(number)) => Some(number),
            (Some(highest), _) => highest.checked_add(1),
        };
        match expected {
            Some(expected) if number == expected => Place::Continuous,
            Some(expected) if number > expected => Place::Gap { from: expected, to: number - 1 },
            _ => match gaps.holding(self.generation, number) {
                Some(gap) => Place::Late(*gap),
                None if self.floor.is_some_and(|floor| number <= floor) => Place::Unproven,
                None => Place::Repeated,
            },
        }
    }

    /// The lane as it begins another numbering: the numbers start afresh, everything else goes on.
    #[must_use]
    pub fn renumbered(&self, epoch: u64, baseline: u32) -> Self {
        let began = self.highest.is_some() || self.counts.total() > 0;
        Self {
            baseline,
            epoch,
            generation: self.generation + u32::from(began),
            highest: None,
            floor: None,
            ..self.clone()
        }
    }

    /// Moves the lane's time forward. A clock that runs ahead cannot lock its producer out, so ours bounds it.
    pub fn advance_time(&mut self, observed: Time, ingested: Time) {
        let reached = observed.min(ingested);
        self.last_time = Some(self.last_time.map_or(reached, |last| last.max(reached)));
        if planted!(LastTimeIsLast) {
            self.last_time = Some(reached);
        }
    }
}

#[cfg(test)]
mod tests;
