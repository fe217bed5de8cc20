//! Is the contract safe as a whole? Each problem is one that would let an event be lost or accepted twice.
//!
//! The list of problems is complete and part of the specification; anything else that looks odd is a warning.

use super::{Contract, Mode, Source};
use crate::duration::Bound;
use crate::pointer::Pointer;
use crate::source::{Node, Place, Problem, Value};

/// Where the author wrote what, beside what it means.
pub(super) struct Written<'n>(pub(super) &'n Node);

impl Written<'_> {
    /// What stands under a key, if the author wrote it.
    fn node(&self, key: &str) -> Option<&Node> {
        key.split('.').try_fold(self.0, |node, part| node.get(part))
    }

    /// Where a key stands, if the author wrote it.
    fn place(&self, key: &str) -> Option<Place> {
        self.node(key).map(|node| node.at)
    }

    /// A problem of several keys together stands where the first of them does that was written: the others may be a
    /// preset's, which has no line.
    fn problem(&self, key: &str, others: &[&str], why: impl Into<String>) -> Problem {
        let at = std::iter::once(&key).chain(others).find_map(|key| self.place(key));
        Problem { key: key.to_owned(), why: why.into(), at: at.unwrap_or_default() }
    }
}

/// What the distance between two copies of an event depends on.
const WINDOW: &[&str] = &["time.past", "time.future", "time.required", "preset"];

/// Adds every problem and every warning.
pub(super) fn check(
    contract: &Contract,
    written: &Written<'_>,
    problems: &mut Vec<Problem>,
    warnings: &mut Vec<Problem>,
) {
    problems.extend(horizon(contract, written));
    nonces(contract, written, problems, warnings);
    if let (Bound::Within(late), Bound::Within(past)) = (contract.time.late, contract.time.past)
        && late > past
    {
        let why = format!("{late} is above time.past = {past}, so nothing could ever be marked late");
        problems.push(written.problem("time.late", &["time.past"], why));
    }
    // `envelope.seq = false` says that there is no such field, which is just what the server's numbers want.
    if contract.sequence.source == Source::Server
        && written.node("envelope.seq").is_some_and(|node| !matches!(node.value, Value::Bool(false)))
    {
        let why = "the server assigns the numbers (sequence.source = \"server\"), so none is read from the document";
        problems.push(written.problem("envelope.seq", &[], why));
    }
    amounts(contract, written, problems);
    oddities(contract, warnings);
}

fn problem(key: &str, why: impl Into<String>) -> Problem {
    Problem { key: key.to_owned(), why: why.into(), at: Place::default() }
}

/// How far apart the times of two copies of one event can be when both are within the bounds.
fn window(contract: &Contract) -> Option<i128> {
    match (contract.time.past, contract.time.future) {
        (Bound::Within(past), Bound::Within(future)) => Some(i128::from(past.nanos()) + i128::from(future.nanos())),
        (Bound::None, _) | (_, Bound::None) => None,
    }
}

fn horizon(contract: &Contract, written: &Written<'_>) -> Option<Problem> {
    let Bound::Within(keep) = contract.identity.keep else { return None };
    let time = &contract.time;
    let why = if !time.required || time.past == Bound::None {
        format!(
            "an id is forgotten after {keep}, so an older event could be accepted twice: \
             set time.required = true and a finite time.past, or identity.keep = \"forever\""
        )
    } else if window(contract).is_none_or(|window| i128::from(keep.nanos()) < window) {
        let (past, future) = (time.past, time.future);
        format!(
            "{keep} is shorter than time.past + time.future = {past} + {future}, so an event could be accepted twice"
        )
    } else {
        return None;
    };
    Some(written.problem("identity.keep", WINDOW, why))
}

fn nonces(contract: &Contract, written: &Written<'_>, problems: &mut Vec<Problem>, warnings: &mut Vec<Problem>) {
    let Bound::Within(keep) = contract.nonce.keep else { return };
    if window(contract).is_some_and(|window| i128::from(keep.nanos()) >= window) {
        return;
    }
    let (past, future) = (contract.time.past, contract.time.future);
    let why =
        format!("{keep} is shorter than time.past + time.future = {past} + {future}, so a replay would pass after it");
    if contract.nonce.required {
        problems.push(written.problem("nonce.keep", &[WINDOW, &["nonce.required"]].concat(), why));
    } else if contract.envelope.nonce.is_some()
        && (written.place("nonce").is_some() || written.place("envelope.nonce").is_some())
    {
        warnings.push(written.problem("nonce.keep", &["nonce", "envelope.nonce"], why));
    }
}

fn amounts(contract: &Contract, written: &Written<'_>, problems: &mut Vec<Problem>) {
    let payload = &contract.identity.payload;
    let covers = |list: &[Pointer], field: &Pointer| list.iter().any(|part| part.is_prefix_of(field));
    for counter in &contract.counters {
        let (list, relation) = if covers(&payload.exclude, &counter.amount) {
            ("identity.payload.exclude", "is under")
        } else if !payload.include.is_empty() && !covers(&payload.include, &counter.amount) {
            ("identity.payload.include", "is not under")
        } else {
            continue;
        };
        let amount = &counter.amount;
        let why = format!("{amount} {relation} {list}, so a retry with another amount would pass for the same event");
        problems.push(written.problem(&format!("counters.{}.amount", counter.name), &[list], why));
    }
}

/// What is allowed, works as written, and is probably not what its author meant.
fn oddities(contract: &Contract, warnings: &mut Vec<Problem>) {
    let mut warn = |key: &str, why: &str| warnings.push(problem(key, why));
    let (identity, sequence, time) = (&contract.identity, &contract.sequence, &contract.time);
    if !identity.required && identity.derive.is_empty() {
        warn("identity", "an event without an id gets one of its own, so its retries cannot be recognised");
    }
    if identity.required && contract.envelope.id.is_none() && identity.derive.is_empty() {
        warn("identity.required", "there is neither envelope.id nor identity.derive, so every event is refused");
    }
    if sequence.source == Source::Producer && contract.envelope.seq.is_none() {
        warn("envelope.seq", "the producer numbers its events, but no field holds the number: every event is refused");
    }
    if contract.nonce.required && contract.envelope.nonce.is_none() {
        warn("envelope.nonce", "a nonce is required, but no field holds it: every event is refused");
    }
    if contract.nonce.required && !time.required && contract.nonce.keep != Bound::None {
        warn("nonce.required", "time.required is false, so an event without a time replays after nonce.keep");
    }
    if time.required && contract.envelope.time.is_none() {
        warn("envelope.time", "a time is required, but no field holds it: every event is refused");
    }
    if sequence.source != Source::Server && sequence.expected_required_for.is_some() {
        warn("sequence.expected_required_for", "is only read with sequence.source = \"server\"");
    }
    if contract.mode == Mode::Off {
        warn("mode", "the rules of time, nonce and order are off; lanes begin anew when they are on again");
    }
    if contract.batch.stop_on_ordering && !contract.reads_lanes() {
        warn("batch.stop_on", "no rule of this contract refuses an event for its order");
    }
    for counter in &contract.counters {
        if counter.when.as_ref().is_some_and(|when| when.values.is_empty()) {
            warn(&format!("counters.{}.when", counter.name), "has no values, so nothing is ever counted");
        }
    }
}
