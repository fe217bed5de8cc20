//! Receipts as JSON. Their members and the order of these are part of the wire.
//!
//! Every event is answered with one, so nothing is allocated here for what is accepted or was known, and what the
//! receipts of a batch have in common is written once.

use crate::audit::Attempt;
use crate::entry::{Entry, GapDetail};
use crate::event::IdSource;
use crate::out::{Out, Repeat};
use crate::patch::Op;
use crate::time::Time;
use crate::words::{Mark, Marks, States, Verdict};

use super::{Receipt, around_id};

/// What writes receipts, and remembers how it wrote what many have in common.
pub(crate) struct Pen<'o> {
    out: &'o mut Out,
    /// In a dry run, where the ledger ends.
    dry: Option<u64>,
    accepted: Repeat<(Time, u32, Marks, States)>,
    /// Of what was accepted at other times: what is accepted now comes again after it.
    original: Repeat<(Time, u32, Marks, States)>,
    other: Repeat<(Time, u32, States)>,
}

impl<'o> Pen<'o> {
    /// For receipts, or for those of a dry run on a ledger that ends here.
    pub(crate) fn new(out: &'o mut Out, dry: Option<u64>) -> Self {
        Self { out, dry, accepted: Repeat::NONE, original: Repeat::NONE, other: Repeat::NONE }
    }

    /// A list of receipts.
    pub(crate) fn list<'r>(&mut self, receipts: impl Iterator<Item = &'r Receipt>) {
        self.out.raw("[");
        for (index, receipt) in receipts.enumerate() {
            if index > 0 {
                self.out.raw(",");
            }
            self.receipt(receipt);
        }
        self.out.raw("]");
    }

    /// One receipt.
    pub(crate) fn receipt(&mut self, receipt: &Receipt) {
        match receipt {
            Receipt::Accepted(entry) => accepted(self.out, &mut self.accepted, entry, self.dry.is_some()),
            Receipt::Other { attempt, original, diff } => {
                self.other(attempt);
                if let Some(original) = original {
                    self.out.raw(r#","original":"#);
                    let is_dry = self.dry.is_some_and(|durable| original.offset > durable);
                    accepted(self.out, &mut self.original, original, is_dry);
                }
                self.diff(diff, attempt.verdict == Verdict::Conflict && original.is_some());
                self.out.raw("}");
            }
        }
    }

    /// Without its closing brace: what was accepted before comes last.
    fn other(&mut self, attempt: &Attempt) {
        let out = &mut *self.out;
        out.raw(if self.dry.is_some() { r#"{"dry_run":true,"verdict":"# } else { r#"{"verdict":"# });
        out.word(attempt.verdict.name());
        out.raw(r#","code":"#);
        out.word(attempt.code.name());
        out.raw(r#","message":"#);
        match &attempt.refusal {
            Some(refusal) => out.string(&refusal.message()),
            None => {
                let (before, after) = around_id(attempt);
                out.raw("\"");
                out.raw(before);
                out.part(attempt.id.as_deref().unwrap_or_default());
                out.raw(after);
                out.raw("\"");
            }
        }
        if let Some(id) = &attempt.id {
            out.raw(r#","id":"#);
            out.string(id);
        }
        if let Some(lane) = &attempt.lane {
            out.raw(r#","lane":"#);
            out.string(lane);
        }
        numbered(out, attempt.seq, attempt.epoch);
        let common = (attempt.at, attempt.contract, attempt.states);
        out.repeat(&mut self.other, common, |out, (at, contract, states)| {
            received(out, *at, *contract);
            met(out, *states);
        });
        if let Some(refusal) = &attempt.refusal {
            out.raw(r#","detail":"#);
            out.object(|out| refusal.write_into(out));
        }
        if self.dry.is_none() {
            out.raw(r#","attempt":"#);
            out.number(attempt.number);
        }
        let hint = match (&attempt.refusal, attempt.verdict) {
            (Some(refusal), _) => refusal.hint(),
            (None, Verdict::Conflict) => Some("Send it under an id of its own, or drop it: the original stands."),
            (None, _) => None,
        };
        if let Some(hint) = hint {
            out.member("hint").string(hint);
        }
    }

    fn diff(&mut self, diff: &[Op], is_shown: bool) {
        if is_shown || !diff.is_empty() {
            self.out.member("diff").value(&diff);
        }
    }
}

/// What an entry shows of itself.
fn accepted(out: &mut Out, known: &mut Repeat<(Time, u32, Marks, States)>, entry: &Entry, is_dry: bool) {
    out.raw(if is_dry { r#"{"dry_run":true,"# } else { "{" });
    out.raw(r#""verdict":"accepted","id":"#);
    out.string(&entry.id);
    match entry.id_source {
        IdSource::Given => {}
        IdSource::Derived => out.raw(r#","identity":"derived""#),
        IdSource::Assigned => out.raw(r#","identity":"assigned""#),
    }
    out.raw(r#","lane":"#);
    out.string(&entry.lane);
    numbered(out, entry.seq, entry.epoch);
    if !is_dry {
        out.raw(r#","offset":"#);
        out.number(entry.offset);
        out.raw(r#","hash":"#);
        out.hash(&entry.hash);
    }
    let common = (entry.at, entry.contract, entry.marks, entry.states);
    out.repeat(known, common, |out, (at, contract, marks, states)| {
        received(out, *at, *contract);
        out.raw(r#","marks":"#);
        out.list(marks.iter(), |out, mark| out.word(mark.name()));
        met(out, *states);
    });
    if let Some(refusal) = entry.refusal.as_ref().filter(|_| entry.marks.has(Mark::WouldReject)) {
        out.member("code").word(refusal.code.name());
        out.member("message").string(&refusal.message());
    }
    if has_detail(entry) {
        out.raw(r#","detail":"#);
        detail(out, entry);
    }
    out.raw("}");
}

fn numbered(out: &mut Out, seq: Option<u64>, epoch: u64) {
    if let Some(seq) = seq {
        out.raw(r#","seq":"#);
        out.number(seq);
        out.raw(r#","epoch":"#);
        out.number(epoch);
    }
}

fn received(out: &mut Out, at: Time, contract: u32) {
    out.raw(r#","ingested_at":"#);
    out.time(at);
    out.raw(r#","contract":"#);
    out.number(contract.into());
}

fn met(out: &mut Out, states: States) {
    out.raw(r#","states":"#);
    out.list(states.iter(), |out, state| out.word(state.name()));
}

fn has_detail(entry: &Entry) -> bool {
    entry.gap.is_some()
        || entry.marks.has(Mark::LateArrival)
        || !entry.abandoned.is_empty()
        || entry.refusal.is_some()
        || !entry.classes.is_empty()
}

/// The `detail` of an accepted event.
pub(super) fn detail(out: &mut Out, entry: &Entry) {
    out.object(|out| {
        if let Some(gap) = &entry.gap {
            out.member("gap").object(|out| missing(out, gap));
        }
        if let Some(observed) = entry.observed_at.filter(|_| entry.marks.has(Mark::LateArrival)) {
            // Both are instants that 64 bits of nanoseconds hold, so their distance in milliseconds is far within.
            let latency = i64::try_from(entry.at.since(observed) / 1_000_000).unwrap_or(i64::MAX);
            out.member("latency_ms").signed(latency);
        }
        if !entry.abandoned.is_empty() {
            out.member("abandoned").list(&entry.abandoned, |out, (from, to)| {
                out.object(|out| {
                    out.member("from").number(*from);
                    out.member("to").number(*to);
                });
            });
        }
        if !entry.classes.is_empty() {
            out.member("counters").object(|out| {
                for (counter, class) in &entry.classes {
                    out.member_of(counter).word(class.short());
                }
            });
        }
        if let Some(refusal) = &entry.refusal {
            refusal.write_into(out);
        }
    });
}

fn missing(out: &mut Out, gap: &GapDetail) {
    out.member("from").number(gap.from);
    out.member("to").number(gap.to);
    out.member("size").number(gap.size());
    out.member("large").flag(gap.large);
}

/// About as many bytes as receipts take, so that a buffer for them is seldom moved. Those of a kind are about as long as the first of it;
/// to look at each would bring it near twice.
pub(crate) fn room<'r>(receipts: impl Iterator<Item = &'r Receipt>) -> usize {
    let (mut accepted, mut other) = ((0, 0), (0, 0));
    for receipt in receipts {
        let (count, each) = if let Receipt::Accepted(_) = receipt { &mut accepted } else { &mut other };
        if *count == 0 {
            *each = length(receipt);
        }
        *count += 1;
    }
    accepted.0 * accepted.1 + other.0 * other.1
}

/// About how long a receipt is. What is rare is not counted.
fn length(receipt: &Receipt) -> usize {
    let accepted = |entry: &Entry| {
        let detail = if has_detail(entry) { 100 } else { 0 };
        300 + entry.id.len() + entry.lane.len() + detail
    };
    match receipt {
        Receipt::Accepted(entry) => accepted(entry),
        Receipt::Other { attempt, original, .. } => {
            let id = attempt.id.as_ref().map_or(0, |id| id.len());
            let lane = attempt.lane.as_ref().map_or(0, |lane| lane.len());
            let refusal = if attempt.refusal.is_some() { 300 } else { 0 };
            300 + 2 * id + lane + refusal + original.as_deref().map_or(0, accepted)
        }
    }
}
