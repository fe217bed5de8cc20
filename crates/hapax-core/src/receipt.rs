//! The answer about one event. An accepted event's receipt is its entry, so it is the same whenever it is asked for.

use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::access::Patterns;
use crate::audit::Attempt;
use crate::entry::{Entry, GapDetail};
use crate::event::{Digest, IdSource};
use crate::patch::Op;
use crate::words::{Code, Mark, State, Verdict};

/// The answer about one event.
#[derive(Clone, Debug)]
pub enum Receipt {
    /// It is in the ledger.
    Accepted(Arc<Entry>),
    /// It is not, or was already.
    Other {
        /// The record of it.
        attempt: Arc<Attempt>,
        /// What was accepted under its id.
        original: Option<Arc<Entry>>,
        /// What differs from the original.
        diff: Vec<Op>,
    },
}

impl Receipt {
    /// What became of the event.
    pub fn verdict(&self) -> Verdict {
        match self {
            Self::Accepted(_) => Verdict::Accepted,
            Self::Other { attempt, .. } => attempt.verdict,
        }
    }

    /// Why it was not accepted.
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::Accepted(entry) => {
                entry.refusal.as_ref().filter(|_| entry.marks.has(Mark::WouldReject)).map(|it| it.code)
            }
            Self::Other { attempt, .. } => Some(attempt.code),
        }
    }

    /// The HTTP status of an answer with this one receipt.
    pub fn status(&self) -> u16 {
        match self {
            Self::Accepted(_) => 201,
            Self::Other { attempt, .. } if attempt.verdict == Verdict::Duplicate && attempt.rejected => 409,
            Self::Other { attempt, .. } => attempt.code.row().0,
        }
    }

    /// Leaves out an original that lies in a lane which the caller may not know of.
    pub(crate) fn hide(&mut self, lanes: &Patterns) {
        if let Self::Other { original, diff, .. } = self
            && original.as_ref().is_some_and(|original| !lanes.cover(&original.lane))
        {
            *original = None;
            diff.clear();
        }
    }

    /// The receipt of a dry run on a ledger that ends at `durable`: nothing was written, so there is no offset, hash or
    /// attempt, and an original beyond the end is itself a trial.
    pub fn dry(&self, durable: u64) -> impl Serialize {
        View { receipt: self, dry_run: true, durable }
    }
}

impl Serialize for Receipt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        View { receipt: self, dry_run: false, durable: u64::MAX }.serialize(serializer)
    }
}

struct View<'r> {
    receipt: &'r Receipt,
    dry_run: bool,
    durable: u64,
}

impl Serialize for View<'_> {
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
                    let receipt = &Receipt::Accepted(Arc::clone(original));
                    let dry_run = original.offset > self.durable;
                    map.serialize_entry("original", &View { receipt, dry_run, durable: self.durable })?;
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
        map.serialize_entry("detail", refusal)?;
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

/// The sentence for people about an attempt.
pub fn message(attempt: &Attempt) -> String {
    let id = attempt.id.as_deref().unwrap_or_default();
    match (&attempt.refusal, attempt.verdict) {
        (Some(refusal), _) => refusal.message(),
        (None, Verdict::Conflict) => format!("Payload conflict: {id} already exists with a different payload"),
        (None, _) if attempt.states.has(State::IdempotencyMismatch) => {
            format!("Duplicate event id: {id} was accepted before, with a different payload that stands")
        }
        (None, _) => format!("Duplicate event id: {id} was accepted before"),
    }
}

fn has_detail(entry: &Entry) -> bool {
    entry.gap.is_some()
        || entry.marks.has(Mark::LateArrival)
        || !entry.abandoned.is_empty()
        || entry.refusal.is_some()
        || !entry.classes.is_empty()
}

/// The `detail` of an accepted event.
pub struct Detail<'e>(pub &'e Entry);

impl std::fmt::Debug for Detail<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Detail({})", self.0.offset)
    }
}

impl Serialize for Detail<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entry = self.0;
        let mut map = serializer.serialize_map(None)?;
        if let Some(gap) = &entry.gap {
            map.serialize_entry("gap", gap)?;
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
            refusal.serialize_into(&mut map)?;
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

impl Serialize for GapDetail {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("from", &self.from)?;
        map.serialize_entry("to", &self.to)?;
        map.serialize_entry("size", &self.size())?;
        map.serialize_entry("large", &self.large)?;
        map.end()
    }
}

/// What was written as hex.
pub fn from_hex(text: &str) -> Option<Digest> {
    let mut bytes = [0; 32];
    let (pairs, odd) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != bytes.len() || !odd.is_empty() {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(pairs) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

/// Bytes as lower-case hex.
pub fn hex(bytes: &Digest) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    // Each receipt has one, and formatting it byte by byte cost more than hashing what it stands for.
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

#[cfg(test)]
mod tests;
