//! Many events in one request: in which order they are judged, when a lane stops, and all or nothing.
//!
//! Alone or in a batch, an event meets the same judge and the same facts; a batch only adds what its contract or its
//! sender asks for.

use std::collections::HashMap;
use std::sync::Arc;

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use crate::access::Patterns;
use crate::contract::BatchOrder;
use crate::entry::{Basis, Caller};
use crate::event::Event;
use crate::facts::Facts;
use crate::judge::{Silent, judge};
use crate::planted;
use crate::receipt::Receipt;
use crate::refusal::{Refusal, Why};
use crate::time::Time;
use crate::words::{Code, Verdict};

/// How a request wants its events treated.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// All or nothing.
    pub atomic: bool,
    /// Judge, and write nothing.
    pub dry_run: bool,
    /// Who asks, and whether an admin lifts what may be lifted; the right to that was checked at the door.
    pub caller: Caller,
    /// The lanes that the caller may know of.
    pub lanes: Patterns,
}

/// The answer about a request's events.
#[derive(Debug)]
pub struct Answer {
    /// One receipt per event, in the order sent.
    pub receipts: Vec<Receipt>,
    /// The events that were not evaluated, in the order in which the batch was judged.
    pub retry_order: Vec<usize>,
    /// An atomic batch of which nothing was accepted.
    pub refused: bool,
    /// Nothing was written.
    pub dry_run: bool,
    /// Where the ledger ends: an original of a dry run beyond it is itself a trial.
    pub durable: u64,
}

/// Judges the events of one request and writes down what became of them.
pub fn submit(facts: &mut Facts, events: &[Event], now: Time, terms: &Terms) -> Answer {
    facts.reserve(events.len());
    let order = judging_order(facts.version.contract.batch.order, events);
    if terms.atomic || terms.dry_run {
        facts.begin();
    }
    let (mut receipts, mut refused_at) = run(facts, events, &order, now, terms);
    if terms.atomic
        && let Some(index) = refused_at
    {
        receipts = refuse_all(facts, events, &order, &receipts, index, now, terms);
    } else {
        refused_at = None;
    }
    if terms.dry_run && !planted!(DryRunWrites) {
        facts.take_back();
    } else {
        facts.keep();
    }
    if !terms.lanes.is_all() {
        receipts.iter_mut().for_each(|receipt| receipt.hide(&terms.lanes));
    }
    let is_waiting = |index: &usize| receipts[*index].verdict() == Verdict::NotEvaluated;
    let retry_order = order.into_iter().filter(is_waiting).collect();
    Answer { receipts, retry_order, refused: refused_at.is_some(), dry_run: terms.dry_run, durable: facts.head.offset }
}

/// Judges in order. Answers also with the first event that an atomic batch must not hold.
fn run(
    facts: &mut Facts,
    events: &[Event],
    order: &[usize],
    now: Time,
    terms: &Terms,
) -> (Vec<Receipt>, Option<usize>) {
    let stops = facts.version.contract.batch.stop_on_ordering;
    let mut stopped: HashMap<Arc<str>, usize> = HashMap::new();
    let mut receipts: Vec<Option<Receipt>> = events.iter().map(|_| None).collect();
    let mut refused_at = None;
    for &index in order {
        let event = &events[index];
        let receipt = match event.lane.as_ref().and_then(|lane| stopped.get(lane)) {
            Some(because) => not_evaluated(facts, event, Code::BatchStopped, *because, now, terms),
            None => {
                let judgement = judge(facts, event, now, terms.caller.forced, &mut Silent);
                facts.record(event, judgement, now, &terms.caller)
            }
        };
        if !matches!(receipt.verdict(), Verdict::Accepted | Verdict::Duplicate) {
            refused_at = refused_at.or(Some(index));
        }
        if stops
            && receipt.verdict() == Verdict::Rejected
            && receipt.code().is_some_and(Code::is_ordering)
            && let Some(lane) = &event.lane
        {
            stopped.insert(Arc::clone(lane), index);
        }
        receipts[index] = Some(receipt);
    }
    (receipts.into_iter().flatten().collect(), refused_at)
}

fn not_evaluated(facts: &mut Facts, event: &Event, code: Code, index: usize, now: Time, terms: &Terms) -> Receipt {
    let refusal = Box::new(Refusal::new(code, Why::Batch { index }));
    facts.refuse(event, refusal, Basis::default(), now, &terms.caller)
}

/// Takes an atomic batch back: those that were refused keep their verdicts, all others were not evaluated.
fn refuse_all(
    facts: &mut Facts,
    events: &[Event],
    order: &[usize],
    receipts: &[Receipt],
    because: usize,
    now: Time,
    terms: &Terms,
) -> Vec<Receipt> {
    if planted!(AtomicInPart) {
        facts.keep();
    }
    facts.take_back();
    if terms.dry_run {
        facts.begin();
    }
    let mut again: Vec<Option<Receipt>> = events.iter().map(|_| None).collect();
    for &index in order {
        let receipt = match (&receipts[index], receipts[index].verdict()) {
            (Receipt::Other { attempt, original, diff }, Verdict::Rejected | Verdict::Conflict | Verdict::Stale) => {
                // Its original may be an event of this very batch, which now never was.
                let original = original.clone().filter(|entry| entry.offset <= facts.head.offset);
                let diff = if original.is_some() { diff.clone() } else { Vec::new() };
                let mut attempt = (**attempt).clone();
                // Its offset will be another event's, which the audit must not call the original.
                attempt.basis.original = original.as_ref().map(|entry| entry.offset);
                Receipt::Other { attempt: facts.audit(attempt), original, diff }
            }
            _ => not_evaluated(facts, &events[index], Code::BatchRefused, because, now, terms),
        };
        again[index] = Some(receipt);
    }
    again.into_iter().flatten().collect()
}

/// The order in which events are judged: lanes take their turns as first sent, and within a lane the sort is stable,
/// with events that have no readable value last. A document that is refused has none, however much of it was read.
fn judging_order(order: BatchOrder, events: &[Event]) -> Vec<usize> {
    let sent = (0..events.len()).collect();
    if order == BatchOrder::AsSent || events.len() < 2 {
        return sent;
    }
    let mut turns: HashMap<Option<&str>, usize> = HashMap::new();
    for event in events {
        let next = turns.len();
        turns.entry(event.lane.as_deref()).or_insert(next);
    }
    let key = |index: &usize| {
        let event = &events[*index];
        let value = match order {
            BatchOrder::AsSent => None,
            BatchOrder::Time | BatchOrder::Sequence if event.refusal.is_some() => None,
            BatchOrder::Time => event.time.time().map(|time| (0, i128::from(time.nanos()))),
            BatchOrder::Sequence => event.seq.map(|seq| (event.epoch, i128::from(seq))),
        };
        (turns.get(&event.lane.as_deref()).copied(), value.is_none(), value)
    };
    let mut order: Vec<usize> = sent;
    order.sort_by_key(key);
    order
}

impl Answer {
    /// The HTTP status of a batch.
    pub fn status(&self) -> u16 {
        if self.refused && !self.dry_run { 422 } else { 200 }
    }
}

impl Serialize for Answer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("results", &Results(self))?;
        map.serialize_entry("summary", &Summary(&self.receipts))?;
        map.serialize_entry("retry_order", &self.retry_order)?;
        map.end()
    }
}

struct Results<'a>(&'a Answer);

impl Serialize for Results<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.receipts.len()))?;
        for receipt in &self.0.receipts {
            if self.0.dry_run {
                list.serialize_element(&receipt.dry(self.0.durable))?;
            } else {
                list.serialize_element(receipt)?;
            }
        }
        list.end()
    }
}

struct Summary<'a>(&'a [Receipt]);

impl Serialize for Summary<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let count = |verdict: Verdict| self.0.iter().filter(|receipt| receipt.verdict() == verdict).count();
        serializer.collect_map(Verdict::ALL.iter().map(|verdict| (verdict.name(), count(*verdict))))
    }
}
