//! Counters: exact sums per key and period, with a watermark.
//!
//! An event is classified once, in its commit, against the watermark before it, and the class stands on its entry. So a
//! counter is a fold of the ledger that needs no decision: the same entries give the same counter, in any order of
//! arrival and after any rebuild.
//!
//! Not here: where an amount stands in a document ([`crate::event`]).

mod recount;

pub use recount::{Difference, Recount, counted_in};

use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::amount::Amount;
use crate::duration::Bound;
use crate::period::PeriodStart;
use crate::planted;
use crate::time::Time;
use crate::words::vocabulary;

/// Which counter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CounterKey {
    /// Its name in the contract.
    pub name: Arc<str>,
    /// The values of its key fields, as a JSON array.
    pub key: Arc<str>,
    /// The period.
    pub period: PeriodStart,
}

vocabulary! {
    /// What became of an event in a counter. Its number stands in the entry's hash.
    Class {
        /// It is in the counter.
        Folded = "folded",
        /// It came too far behind the watermark, and is an adjustment.
        Late = "late_beyond_window",
        /// Its period was closed, and it is an adjustment.
        Closed = "period_closed",
    }
}

impl Class {
    /// What the receipt calls it.
    pub const fn short(self) -> &'static str {
        match self {
            Self::Folded => "folded",
            Self::Late | Self::Closed => "adjustment",
        }
    }
}

/// Amounts, added up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many.
    pub count: u64,
    /// All together.
    pub sum: Amount,
    /// The smallest.
    pub min: Option<Amount>,
    /// The greatest.
    pub max: Option<Amount>,
    /// The one with the greatest time and id.
    pub last: Option<Last>,
}

/// An amount that may be the last.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Last {
    /// Its time: decides first.
    pub ts: Time,
    /// Its id: decides between equal times, so that the order of arrival never does.
    pub id: Arc<str>,
    /// The amount.
    pub amount: Amount,
}

impl Tally {
    /// This and one amount more; none if the sum would not fit.
    fn with(&self, one: &Last) -> Option<Self> {
        Some(Self {
            count: self.count + 1,
            sum: self.sum.checked_add(one.amount)?,
            min: Some(self.min.map_or(one.amount, |min| min.min(one.amount))),
            max: Some(self.max.map_or(one.amount, |max| max.max(one.amount))),
            last: self.last.clone().max(Some(one.clone())),
        })
    }

    /// Both together.
    fn and(&self, other: &Self) -> Option<Self> {
        Some(Self {
            count: self.count + other.count,
            sum: self.sum.checked_add(other.sum)?,
            min: [self.min, other.min].into_iter().flatten().min(),
            max: self.max.max(other.max),
            last: self.last.clone().max(other.last.clone()),
        })
    }
}

/// One counter in one period.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counter {
    /// What was folded.
    pub folded: Tally,
    /// What came too late.
    pub adjusted: Tally,
    /// What people corrected by hand.
    pub corrected: Amount,
    /// The greatest `min(ts, ingested_at)` that was folded.
    pub watermark: Option<Time>,
    /// Was this key's period closed?
    pub closed: bool,
}

impl Counter {
    /// What an event at this time would be. `closed` says whether the period is closed for every key.
    pub fn classify(&self, closed: bool, lateness: Bound, ts: Time) -> Class {
        if self.closed || closed {
            return Class::Closed;
        }
        match (self.watermark, lateness) {
            (Some(watermark), Bound::Within(lateness)) if ts < watermark.minus(lateness) => Class::Late,
            (None, _) | (Some(_), Bound::None | Bound::Within(_)) => Class::Folded,
        }
    }

    /// The counter with an event of this class; none if a sum would not fit.
    #[must_use]
    pub fn with(&self, class: Class, one: &Last, ingested: Time) -> Option<Self> {
        let mut counter = self.clone();
        match class {
            Class::Folded => {
                counter.folded = self.folded.with(one)?;
                counter.watermark = self.watermark.max(Some(one.ts.min(ingested)));
                if planted!(WatermarkFromSource) {
                    counter.watermark = self.watermark.max(Some(one.ts));
                }
            }
            Class::Late | Class::Closed => counter.adjusted = self.adjusted.with(one)?,
        }
        if planted!(AdjustmentFolded) && class != Class::Folded {
            counter.folded = self.folded.with(one)?;
        }
        counter.effective().map(|_| counter)
    }

    /// The counter with a manual correction; none if the sum would not fit.
    #[must_use]
    pub fn corrected_by(&self, amount: Amount) -> Option<Self> {
        let corrected = self.corrected.checked_add(amount)?;
        let counter = Self { corrected, ..self.clone() };
        counter.effective().map(|_| counter)
    }

    /// Everything together. A correction changes the sum alone.
    pub fn effective(&self) -> Option<Tally> {
        let all = self.folded.and(&self.adjusted)?;
        Some(Tally { sum: all.sum.checked_add(self.corrected)?, ..all })
    }
}

/// Something that changed a period's effective value without being folded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adjustment {
    /// The late event's id, or the correction's.
    pub id: Arc<str>,
    /// How much.
    pub amount: Amount,
    /// Why.
    pub reason: Arc<str>,
    /// The entry it is tied to.
    pub offset: u64,
    /// When.
    pub at: Time,
}

#[cfg(test)]
mod tests;
