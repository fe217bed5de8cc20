//! Receipts and answers as a serializer writes them, member by member: slow, plain, and what the wire was first made with.

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use super::*;
use crate::batch::Answer;

/// The answer about a batch.
pub(super) struct Batch<'a>(pub(super) &'a Answer);

impl Serialize for Batch<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("results", &Results(self.0))?;
        map.serialize_entry("summary", &Summary(&self.0.receipts))?;
        map.serialize_entry("retry_order", &self.0.retry_order)?;
        map.end()
    }
}

struct Results<'a>(&'a Answer);

impl Serialize for Results<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.receipts.len()))?;
        for receipt in &self.0.receipts {
            list.serialize_element(&Plain::of(receipt, self.0.dry_run.then_some(self.0.durable)))?;
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

/// A receipt.
pub(super) struct Plain<'r> {
    receipt: &'r Receipt,
    dry_run: bool,
    durable: u64,
}

impl<'r> Plain<'r> {
    /// Of a dry run, if it says where the ledger ends.
    pub(super) fn of(receipt: &'r Receipt, dry: Option<u64>) -> Self {
        Self { receipt, dry_run: dry.is_some(), durable: dry.unwrap_or(u64::MAX) }
    }
}

impl Serialize for Plain<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if self.dry_run {
            map.serialize_entry("dry_run", &true)?;
        }
        match self.receipt {
            Receipt::Accepted(entry) => accepted(&mut map, entry, self.dry_run)?,
            Receipt::Other { attempt, original, diff } => {
                other(&mut map, attempt, self.dry_run)?;
                if let Some(original) = original {
                    let receipt = &Receipt::Accepted(original.clone());
                    let dry_run = original.offset > self.durable;
                    map.serialize_entry("original", &Plain { receipt, dry_run, durable: self.durable })?;
                }
                if !diff.is_empty() || attempt.verdict == Verdict::Conflict && original.is_some() {
                    map.serialize_entry("diff", diff)?;
                }
            }
        }
        map.end()
    }
}

fn accepted<M: SerializeMap>(map: &mut M, entry: &Entry, dry_run: bool) -> Result<(), M::Error> {
    map.serialize_entry("verdict", &Verdict::Accepted)?;
    map.serialize_entry("id", &entry.id)?;
    match entry.id_source {
        IdSource::Given => {}
        IdSource::Derived => map.serialize_entry("identity", "derived")?,
        IdSource::Assigned => map.serialize_entry("identity", "assigned")?,
    }
    map.serialize_entry("lane", &entry.lane)?;
    if let Some(seq) = entry.seq {
        map.serialize_entry("seq", &seq)?;
        map.serialize_entry("epoch", &entry.epoch)?;
    }
    if !dry_run {
        map.serialize_entry("offset", &entry.offset)?;
        map.serialize_entry("hash", &hex(&entry.hash))?;
    }
    map.serialize_entry("ingested_at", &entry.at)?;
    map.serialize_entry("contract", &entry.contract)?;
    map.serialize_entry("marks", &entry.marks)?;
    map.serialize_entry("states", &entry.states)?;
    if let Some(refusal) = entry.refusal.as_ref().filter(|_| entry.marks.has(Mark::WouldReject)) {
        map.serialize_entry("code", &refusal.code)?;
        map.serialize_entry("message", &refusal.message())?;
    }
    if has_detail(entry) { map.serialize_entry("detail", &Detail(entry)) } else { Ok(()) }
}

fn other<M: SerializeMap>(map: &mut M, attempt: &Attempt, dry_run: bool) -> Result<(), M::Error> {
    map.serialize_entry("verdict", &attempt.verdict)?;
    map.serialize_entry("code", &attempt.code)?;
    map.serialize_entry("message", &message(attempt))?;
    if let Some(id) = &attempt.id {
        map.serialize_entry("id", id)?;
    }
    if let Some(lane) = &attempt.lane {
        map.serialize_entry("lane", lane)?;
    }
    if let Some(seq) = attempt.seq {
        map.serialize_entry("seq", &seq)?;
        map.serialize_entry("epoch", &attempt.epoch)?;
    }
    map.serialize_entry("ingested_at", &attempt.at)?;
    map.serialize_entry("contract", &attempt.contract)?;
    map.serialize_entry("states", &attempt.states)?;
    if let Some(refusal) = &attempt.refusal {
        map.serialize_entry("detail", &Compared(refusal))?;
    }
    if !dry_run {
        map.serialize_entry("attempt", &attempt.number)?;
    }
    let hint = match (&attempt.refusal, attempt.verdict) {
        (Some(refusal), _) => refusal.hint(),
        (None, Verdict::Conflict) => Some("Send it under an id of its own, or drop it: the original stands."),
        (None, _) => None,
    };
    hint.map_or(Ok(()), |hint| map.serialize_entry("hint", hint))
}

fn has_detail(entry: &Entry) -> bool {
    entry.gap.is_some()
        || entry.marks.has(Mark::LateArrival)
        || !entry.abandoned.is_empty()
        || entry.refusal.is_some()
        || !entry.classes.is_empty()
}

struct Detail<'e>(&'e Entry);

impl Serialize for Detail<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entry = self.0;
        let mut map = serializer.serialize_map(None)?;
        if let Some(gap) = &entry.gap {
            map.serialize_entry("gap", &Missing(gap))?;
        }
        if let Some(observed) = entry.observed_at.filter(|_| entry.marks.has(Mark::LateArrival)) {
            // Both are instants that 64 bits of nanoseconds hold, so their distance in milliseconds is far within.
            let latency = i64::try_from(entry.at.since(observed) / 1_000_000).unwrap_or(i64::MAX);
            map.serialize_entry("latency_ms", &latency)?;
        }
        if !entry.abandoned.is_empty() {
            let ranges: Vec<Range> = entry.abandoned.iter().map(|(from, to)| Range { from: *from, to: *to }).collect();
            map.serialize_entry("abandoned", &ranges)?;
        }
        if !entry.classes.is_empty() {
            map.serialize_entry("counters", &Classes(entry))?;
        }
        if let Some(refusal) = &entry.refusal {
            compared(&mut map, refusal)?;
        }
        map.end()
    }
}

#[derive(Serialize)]
struct Range {
    from: u64,
    to: u64,
}

struct Classes<'e>(&'e Entry);

impl Serialize for Classes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.classes.iter().map(|(name, class)| (name, class.short())))
    }
}

struct Missing<'e>(&'e GapDetail);

impl Serialize for Missing<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("from", &self.0.from)?;
        map.serialize_entry("to", &self.0.to)?;
        map.serialize_entry("size", &self.0.size())?;
        map.serialize_entry("large", &self.0.large)?;
        map.end()
    }
}

struct Compared<'r>(&'r Refusal);

impl Serialize for Compared<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        compared(&mut map, self.0)?;
        map.end()
    }
}

fn compared<M: SerializeMap>(map: &mut M, refusal: &Refusal) -> Result<(), M::Error> {
    match &refusal.why {
        Why::Schema { pointer, expected, found } => {
            map.serialize_entry("pointer", pointer)?;
            map.serialize_entry("expected", expected)?;
            map.serialize_entry("found", found)
        }
        Why::Format { reason } => map.serialize_entry("reason", reason),
        Why::Bounds { observed, ingested, bound } => {
            map.serialize_entry("observed_at", observed)?;
            map.serialize_entry("ingested_at", ingested)?;
            map.serialize_entry("bound", bound)
        }
        Why::Regression { last, submitted } => {
            map.serialize_entry("last_accepted", last)?;
            map.serialize_entry("submitted", submitted)
        }
        Why::Nonce { used_at } => map.serialize_entry("used_at", used_at),
        Why::Number { expected, got, last_seen } => Numbers { expected, got, last_seen }.into_map(map),
        Why::Epoch { current, got } => {
            Numbers { expected: &Some(*current), got, last_seen: &Some(*current) }.into_map(map)
        }
        Why::Current { current, expected } => {
            map.serialize_entry("current_seq", current)?;
            expected.map_or(Ok(()), |expected| map.serialize_entry("expected_seq", &expected))
        }
        Why::Amount { counter, reason } => {
            map.serialize_entry("counter", counter)?;
            map.serialize_entry("reason", reason)
        }
        Why::Lane => Ok(()),
        Why::Batch { index } => map.serialize_entry("because_of", index),
    }
}

struct Numbers<'a> {
    expected: &'a Option<u64>,
    got: &'a u64,
    last_seen: &'a Option<u64>,
}

impl Numbers<'_> {
    fn into_map<M: SerializeMap>(self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("expected", self.expected)?;
        map.serialize_entry("got", self.got)?;
        map.serialize_entry("last_seen", self.last_seen)
    }
}
