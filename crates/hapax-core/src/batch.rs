//! Many events in one request: in which order they are judged, when a lane stops, and all or nothing.
//!
//! Alone or in a batch, an event meets the same judge and the same facts; a batch only adds what its contract or its
//! sender asks for.

use std::collections::HashMap;
use std::sync::Arc;

use crate::access::Patterns;
use crate::contract::BatchOrder;
use crate::entry::{Basis, Caller};
use crate::event::{Event, Events};
use crate::facts::{Facts, Spread};
use crate::judge::{Silent, judge};
use crate::out::Out;
use crate::planted;
use crate::receipt::{self, Pen, Receipt};
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
    /// Answer about a batch with the receipts of those events only that were not accepted.
    pub brief: bool,
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
    /// Only events that were not accepted are shown with their receipts.
    pub brief: bool,
    /// Where the ledger ends: an original of a dry run beyond it is itself a trial.
    pub durable: u64,
}

/// Judges the events of one request and writes down what became of them.
pub fn submit(facts: &mut Facts, mut events: Events<'_>, now: Time, terms: &Terms) -> Answer {
    facts.reserve(events.len());
    let order = Order::of(facts.version.contract.batch.order, &events);
    if terms.atomic || terms.dry_run {
        facts.begin();
    }
    let (mut receipts, mut refused_at) = if terms.atomic {
        run(facts, &mut events.lent(), &order, now, terms)
    } else {
        run(facts, &mut events, &order, now, terms)
    };
    if terms.atomic
        && let Some(index) = refused_at
    {
        receipts = refuse_all(facts, &events, &order, &receipts, index, now, terms);
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
    let retry_order = order.iter().filter(is_waiting).collect();
    Answer {
        receipts,
        retry_order,
        refused: refused_at.is_some(),
        dry_run: terms.dry_run,
        brief: terms.brief,
        durable: facts.head.offset,
    }
}

/// Judges in order. Answers also with the first event that an atomic batch must not hold.
fn run(
    facts: &mut Facts,
    events: &mut Events<'_>,
    order: &Order,
    now: Time,
    terms: &Terms,
) -> (Vec<Receipt>, Option<usize>) {
    let stops = facts.version.contract.batch.stop_on_ordering;
    let mut stopped: HashMap<Arc<str>, usize, Spread> = HashMap::default();
    let mut receipts: Vec<Option<Receipt>> = Vec::with_capacity(events.len());
    let mut refused_at = None;
    for index in order.iter() {
        let event = &events[index];
        let because = if stopped.is_empty() { None } else { event.lane.as_ref().and_then(|lane| stopped.get(lane)) };
        let receipt = match because {
            Some(because) => Some(not_evaluated(facts, event, Code::BatchStopped, *because, now, terms)),
            None => {
                let judgement = judge(facts, event, now, terms.caller.forced, &mut Silent);
                facts.record(events.give(index), judgement, now, &terms.caller)
            }
        };
        // A receipt that is none is written anew and not copied: the rest of it was never written, and a processor that copies it waits until
        // all that is under way to memory has arrived, 50 ns for each event.
        let Some(receipt) = receipt else {
            receipts.push(None);
            continue;
        };
        if receipt.verdict() != Verdict::Duplicate {
            refused_at = refused_at.or(Some(index));
        }
        if stops
            && receipt.verdict() == Verdict::Rejected
            && receipt.code().is_some_and(Code::is_ordering)
            && let Some(lane) = &events[index].lane
        {
            stopped.insert(Arc::clone(lane), index);
        }
        receipts.push(Some(receipt));
    }
    // In the order in which they were judged, those that have no receipt yet are the entries.
    let mut entries = facts.share().iter();
    let mut accepted = || Receipt::Accepted(entries.next().expect("an entry for each that was accepted").clone());
    let receipts = receipts.into_iter().map(|receipt| receipt.unwrap_or_else(&mut accepted)).collect();
    (order.as_sent(receipts), refused_at)
}

fn not_evaluated(facts: &mut Facts, event: &Event, code: Code, index: usize, now: Time, terms: &Terms) -> Receipt {
    let refusal = Box::new(Refusal::new(code, Why::Batch { index }));
    facts.refuse(event, refusal, Basis::default(), now, &terms.caller)
}

/// Takes an atomic batch back: those that were refused keep their verdicts, all others were not evaluated.
fn refuse_all(
    facts: &mut Facts,
    events: &[Event],
    order: &Order,
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
    let mut again = Vec::with_capacity(events.len());
    for index in order.iter() {
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
        again.push(receipt);
    }
    order.as_sent(again)
}

/// The order in which events are judged.
enum Order {
    /// So many, as they were sent.
    AsSent(usize),
    /// Their places.
    Sorted(Vec<usize>),
}

impl Order {
    /// Lanes take their turns as first sent, and within a lane the sort is stable, with events that have no readable value last. A document that
    /// is refused has none, however much of it was read.
    fn of(order: BatchOrder, events: &[Event]) -> Self {
        if order == BatchOrder::AsSent || events.len() < 2 {
            return Self::AsSent(events.len());
        }
        let mut turns: HashMap<Option<&str>, usize, Spread> = HashMap::default();
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
        let mut sorted: Vec<usize> = (0..events.len()).collect();
        sorted.sort_by_key(key);
        Self::Sorted(sorted)
    }

    /// The places of the events, one after the other.
    fn iter(&self) -> impl Iterator<Item = usize> {
        let (count, sorted) = match self {
            Self::AsSent(count) => (*count, None),
            Self::Sorted(sorted) => (sorted.len(), Some(sorted)),
        };
        (0..count).map(move |place| sorted.map_or(place, |sorted| sorted[place]))
    }

    /// Receipts in the order in which their events were sent.
    fn as_sent(&self, receipts: Vec<Receipt>) -> Vec<Receipt> {
        let Self::Sorted(sorted) = self else { return receipts };
        let mut sent: Vec<(usize, Receipt)> = sorted.iter().copied().zip(receipts).collect();
        sent.sort_unstable_by_key(|(index, _)| *index);
        sent.into_iter().map(|(_, receipt)| receipt).collect()
    }
}

impl Answer {
    /// The HTTP status of a batch.
    pub fn status(&self) -> u16 {
        if self.refused && !self.dry_run { 422 } else { 200 }
    }

    /// The answer as JSON. A `single` event is answered with its receipt, several with a batch.
    pub fn written(&self, single: bool) -> Vec<u8> {
        let durable = self.dry_run.then_some(self.durable);
        let shown = self.receipts.iter().filter(|receipt| !self.brief || receipt.verdict() != Verdict::Accepted);
        let mut out = Out::with_room(receipt::room(shown) + FRAME_ROOM);
        match self.receipts.as_slice() {
            [receipt] if single => Pen::new(&mut out, durable).receipt(receipt),
            receipts if self.brief => out.object(|out| self.write_brief(out, receipts, durable)),
            receipts => out.object(|out| self.write_into(out, receipts, durable)),
        }
        out.into_bytes()
    }

    fn write_into(&self, out: &mut Out, receipts: &[Receipt], durable: Option<u64>) {
        let mut counts = [0; Verdict::ALL.len()];
        let mut pen = Pen::new(out.member("results"), durable);
        pen.list(receipts.iter().inspect(|receipt| counts[receipt.verdict() as usize] += 1));
        self.write_end(out, counts);
    }

    /// The receipts of those that were not accepted, each with its index, and where the others are: they follow each other.
    fn write_brief(&self, out: &mut Out, receipts: &[Receipt], durable: Option<u64>) {
        let mut counts = [0; Verdict::ALL.len()];
        receipts.iter().for_each(|receipt| counts[receipt.verdict() as usize] += 1);
        let entries = receipts.iter().filter_map(|receipt| match receipt {
            Receipt::Accepted(entry) => Some(entry),
            Receipt::Other { .. } => None,
        });
        let (first, last) = (entries.clone().map(|entry| entry.offset).min(), entries.max_by_key(|entry| entry.offset));
        let others = receipts.iter().enumerate().filter(|(_, receipt)| receipt.verdict() != Verdict::Accepted);
        out.member("results").list(others, |out, (index, receipt)| {
            out.object(|out| {
                out.member("index").number(index as u64);
                Pen::new(out.member("receipt"), durable).receipt(receipt);
            });
        });
        if let (Some(first), Some(last), false) = (first, last, self.dry_run) {
            out.member("accepted").object(|out| {
                out.member("first").number(first);
                out.member("last").number(last.offset);
                out.member("hash").hash(&last.hash);
            });
        }
        self.write_end(out, counts);
    }

    fn write_end(&self, out: &mut Out, counts: [u64; Verdict::ALL.len()]) {
        out.member("summary").object(|out| {
            Verdict::ALL.iter().zip(counts).for_each(|(verdict, count)| out.member(verdict.name()).number(count));
        });
        out.member("retry_order").list(&self.retry_order, |out, index| out.number(*index as u64));
    }
}

/// What an answer about a batch takes beside its receipts, as long as all were evaluated.
const FRAME_ROOM: usize = 320;
