//! What readers are shown: lanes, counters, attempts, entries, handlers, in their shapes on the wire.
//!
//! A view is made of values that a store loaded. It decides nothing and hides nothing.

use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::amount::Amount;
use crate::audit::{Attempt, Submitted};
use crate::claim::{Handler, HandlerState};
use crate::contract::{Contract, Source};
use crate::counter::{Adjustment, Counter, CounterKey, Tally};
use crate::duration::Bound;
use crate::entry::{Entry, SharedEntry};
use crate::facts::Head;
use crate::lane::{Gap, GapKind, Lane};
use crate::receipt::{Detail, Receipt, hex, message};
use crate::time::Time;
use crate::words::Verdict;

/// Some bytes that are JSON, as they are.
fn raw(bytes: &[u8]) -> Option<Box<RawValue>> {
    let text = std::str::from_utf8(bytes).ok()?;
    RawValue::from_string(text.to_owned()).ok()
}

/// Where a ledger ends.
#[derive(Debug)]
pub struct HeadView(pub Head);

impl Serialize for HeadView {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("offset", &self.0.offset)?;
        map.serialize_entry("hash", &hex(&self.0.hash))?;
        map.serialize_entry("at", &self.0.at)?;
        map.end()
    }
}

/// An entry as readers of the ledger get it.
#[derive(Debug)]
pub struct EntryView<'v>(pub &'v Entry);

impl EntryView<'_> {
    fn members<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let entry = self.0;
        map.serialize_entry("offset", &entry.offset)?;
        map.serialize_entry("kind", &entry.kind)?;
        map.serialize_entry("id", &entry.id)?;
        map.serialize_entry("lane", &entry.lane)?;
        map.serialize_entry("epoch", &entry.epoch)?;
        map.serialize_entry("seq", &entry.seq)?;
        map.serialize_entry("observed_at", &entry.observed_at)?;
        map.serialize_entry("ingested_at", &entry.at)?;
        map.serialize_entry("marks", &entry.marks)?;
        map.serialize_entry("contract", &entry.contract)?;
        map.serialize_entry("hash", &hex(&entry.hash))?;
        map.serialize_entry("document", &raw(&entry.document))
    }
}

impl Serialize for EntryView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.members(&mut map)?;
        map.end()
    }
}

/// An accepted event with its receipt.
#[derive(Debug)]
pub struct EventView(pub SharedEntry);

impl Serialize for EventView {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        EntryView(&self.0).members(&mut map)?;
        map.serialize_entry("receipt", &Receipt::Accepted(self.0.clone()))?;
        map.end()
    }
}

/// A lane.
#[derive(Debug)]
pub struct LaneView<'v> {
    /// Its name.
    pub name: &'v str,
    /// Its record.
    pub lane: &'v Lane,
    /// Its gaps, oldest first.
    pub gaps: Vec<Gap>,
    /// The filled ones, where they are asked for.
    pub filled: Vec<(Gap, Time)>,
    /// The contract in force.
    pub contract: &'v Contract,
    /// Now.
    pub now: Time,
}

impl Serialize for LaneView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let lane = self.lane;
        let expected = match self.contract.sequence.source {
            Source::None => None,
            Source::Producer => lane.expected(self.contract.sequence.first),
            Source::Server => lane.highest.unwrap_or(0).checked_add(1),
        };
        let silent = |last: Time| self.now.since(last);
        let stale = self.contract.silence != Bound::None
            && lane.last_arrival.is_some_and(|last| !self.contract.silence.holds(silent(last)));
        let mut gaps: Vec<GapView> =
            self.gaps.iter().filter(|gap| gap.kind != GapKind::Unlisted).map(GapView::of).collect();
        gaps.extend(self.filled.iter().map(|(gap, at)| GapView {
            state: "filled",
            filled_at: Some(*at),
            ..GapView::of(gap)
        }));
        gaps.sort_by_key(|gap| (gap.from, gap.to));
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("lane", self.name)?;
        map.serialize_entry("last_seq", &lane.highest)?;
        map.serialize_entry("expected_seq", &expected)?;
        map.serialize_entry("epoch", &lane.epoch)?;
        map.serialize_entry("last_time", &lane.last_time)?;
        map.serialize_entry("last_arrival", &lane.last_arrival)?;
        map.serialize_entry("events", &lane.events)?;
        map.serialize_entry("out_of_order", &lane.out_of_order)?;
        map.serialize_entry("stale", &stale)?;
        map.serialize_entry("gaps", &gaps)?;
        map.end()
    }
}

#[derive(Clone, Serialize)]
struct GapView {
    from: u64,
    to: u64,
    state: &'static str,
    opened_at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    filled_at: Option<Time>,
}

impl GapView {
    fn of(gap: &Gap) -> Self {
        let Gap { from, to, kind, opened_at, .. } = *gap;
        Self { from, to, state: kind.name(), opened_at, filled_at: None }
    }
}

/// A counter in one period.
#[derive(Debug)]
pub struct CounterView<'v> {
    /// Which.
    pub key: &'v CounterKey,
    /// Its values.
    pub counter: &'v Counter,
    /// Is the period closed, for this key or for every one?
    pub closed: bool,
    /// Its adjustments, in the order of the ledger.
    pub adjustments: &'v [Adjustment],
}

impl Serialize for CounterView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("counter", &self.key.name)?;
        map.serialize_entry("key", &raw(self.key.key.as_bytes()))?;
        map.serialize_entry("period", &self.key.period.to_string())?;
        TallyView::of(&self.counter.folded).entries(&mut map)?;
        map.serialize_entry("watermark", &self.counter.watermark)?;
        map.serialize_entry("closed", &self.closed)?;
        let adjustments: Vec<AdjustmentView<'_>> = self.adjustments.iter().map(AdjustmentView::of).collect();
        map.serialize_entry("adjustments", &adjustments)?;
        // Every commit checked that the whole fits.
        let effective = self.counter.effective().unwrap_or_default();
        map.serialize_entry("effective", &TallyView::of(&effective))?;
        map.end()
    }
}

#[derive(Serialize)]
struct TallyView {
    count: u64,
    sum: Amount,
    min: Option<Amount>,
    max: Option<Amount>,
    last: Option<Amount>,
}

impl TallyView {
    fn of(tally: &Tally) -> Self {
        let last = tally.last.as_ref().map(|last| last.amount);
        Self { count: tally.count, sum: tally.sum, min: tally.min, max: tally.max, last }
    }

    fn entries<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("count", &self.count)?;
        map.serialize_entry("sum", &self.sum)?;
        map.serialize_entry("min", &self.min)?;
        map.serialize_entry("max", &self.max)?;
        map.serialize_entry("last", &self.last)
    }
}

#[derive(Serialize)]
struct AdjustmentView<'v> {
    id: &'v str,
    amount: Amount,
    reason: &'v str,
    offset: u64,
    at: Time,
}

impl<'v> AdjustmentView<'v> {
    fn of(adjustment: &'v Adjustment) -> Self {
        let Adjustment { id, amount, reason, offset, at } = adjustment;
        Self { id, amount: *amount, reason, offset: *offset, at: *at }
    }
}

/// One attempt, accepted or not.
#[derive(Clone, Debug)]
pub enum AttemptView {
    /// An entry.
    Accepted(SharedEntry),
    /// Anything else.
    Other(Arc<Attempt>),
}

impl AttemptView {
    /// Its number among all attempts.
    pub fn number(&self) -> u64 {
        match self {
            Self::Accepted(entry) => entry.attempt,
            Self::Other(attempt) => attempt.number,
        }
    }

    /// When it came.
    pub fn at(&self) -> Time {
        match self {
            Self::Accepted(entry) => entry.at,
            Self::Other(attempt) => attempt.at,
        }
    }

    /// What became of it.
    pub fn verdict(&self) -> Verdict {
        match self {
            Self::Accepted(_) => Verdict::Accepted,
            Self::Other(attempt) => attempt.verdict,
        }
    }

    /// Its code on the wire.
    pub fn code(&self) -> Option<&'static str> {
        match self {
            Self::Accepted(entry) => Receipt::Accepted(entry.clone()).code().map(|code| code.name()),
            Self::Other(attempt) => Some(attempt.code.name()),
        }
    }

    /// Its id, as far as one could be read.
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::Accepted(entry) => Some(&entry.id),
            Self::Other(attempt) => attempt.id.as_deref(),
        }
    }

    /// The document as sent; none if it is that of its original.
    pub fn document(&self) -> Option<&[u8]> {
        match self {
            Self::Accepted(entry) => Some(&entry.document),
            Self::Other(attempt) => match &attempt.document {
                Submitted::Document(bytes) => Some(bytes),
                Submitted::SameAs(_) => None,
            },
        }
    }

    /// Its lane, as far as one could be read.
    pub fn lane(&self) -> Option<&str> {
        match self {
            Self::Accepted(entry) => Some(&entry.lane),
            Self::Other(attempt) => attempt.lane.as_deref(),
        }
    }
}

impl Serialize for AttemptView {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("attempt", &self.number())?;
        match self {
            Self::Accepted(entry) => {
                map.serialize_entry("at", &entry.at)?;
                map.serialize_entry("id", &entry.id)?;
                map.serialize_entry("lane", &entry.lane)?;
                map.serialize_entry("seq", &entry.seq)?;
                map.serialize_entry("verdict", &Verdict::Accepted)?;
                map.serialize_entry("code", &self.code())?;
                map.serialize_entry("states", &entry.states)?;
                map.serialize_entry("marks", &entry.marks)?;
                map.serialize_entry("detail", &Detail(entry))?;
                map.serialize_entry("contract", &entry.contract)?;
                map.serialize_entry("key", &entry.caller.key)?;
                map.serialize_entry("request", &entry.caller.request)?;
                map.serialize_entry("offset", &entry.offset)?;
                map.serialize_entry("document", &raw(&entry.document))?;
            }
            Self::Other(attempt) => {
                map.serialize_entry("at", &attempt.at)?;
                map.serialize_entry("id", &attempt.id)?;
                map.serialize_entry("lane", &attempt.lane)?;
                map.serialize_entry("seq", &attempt.seq)?;
                map.serialize_entry("verdict", &attempt.verdict)?;
                map.serialize_entry("code", &attempt.code)?;
                map.serialize_entry("message", &message(attempt))?;
                map.serialize_entry("states", &attempt.states)?;
                map.serialize_entry::<_, [&str; 0]>("marks", &[])?;
                map.serialize_entry("detail", &attempt.refusal)?;
                map.serialize_entry("contract", &attempt.contract)?;
                map.serialize_entry("key", &attempt.caller.key)?;
                map.serialize_entry("request", &attempt.caller.request)?;
                match &attempt.document {
                    Submitted::Document(bytes) => match raw(bytes) {
                        Some(document) => map.serialize_entry("document", &document)?,
                        // Not JSON, so it is shown as the text that came.
                        None => map.serialize_entry("document", &String::from_utf8_lossy(bytes))?,
                    },
                    Submitted::SameAs(offset) => map.serialize_entry("same_as", offset)?,
                }
            }
        }
        map.end()
    }
}

/// A handler.
#[derive(Debug)]
pub struct HandlerView<'v> {
    /// As declared.
    pub handler: &'v Handler,
    /// How far it is.
    pub state: &'v HandlerState,
    /// How many events its stream holds.
    pub events: u64,
}

impl Serialize for HandlerView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'v> {
            #[serde(flatten)]
            handler: &'v Handler,
            guarantee: &'static str,
            lag: u64,
            dead: u64,
            /// Everything at or below this offset is done: an offset is never below its event's ordinal.
            low_water: u64,
        }
        let (guarantee, low_water) = (self.handler.guarantee(), self.state.passed.low_water());
        let lag = self.state.lag(self.events);
        Shape { handler: self.handler, guarantee, lag, dead: self.state.dead, low_water }.serialize(serializer)
    }
}
