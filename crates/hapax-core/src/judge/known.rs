//! The second check: was this id accepted before? Nothing after it is looked at if it was.

use super::{Outcome, Witness};
use crate::contract::{Contract, Different, Same};
use crate::duration::Bound;
use crate::entry::{Entry, SharedEntry};
use crate::event::{Event, IdSource, Stamp};
use crate::facts::Facts;
use crate::json;
use crate::patch::{self, Op};
use crate::payload;
use crate::planted;
use crate::refusal::{Refusal, Why};
use crate::time::Time;
use crate::words::{Code, State, States};

/// An event whose id is in the ledger.
#[derive(Debug)]
pub struct Known {
    /// What was accepted under it.
    pub original: SharedEntry,
    /// How like the two are.
    pub likeness: Likeness,
    /// Is a duplicate answered as an error?
    pub rejected: bool,
    /// What differs, where that is a conflict or a mismatch.
    pub diff: Vec<Op>,
}

/// How like two documents under one id are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likeness {
    /// The same bytes.
    Same,
    /// The same payload, written otherwise.
    Reencoded,
    /// Another payload, and the contract only warns.
    Mismatched,
    /// Another payload.
    Conflicting,
}

impl Known {
    /// The code of the answer.
    pub const fn code(&self) -> Code {
        match self.likeness {
            Likeness::Conflicting => Code::PayloadConflict,
            Likeness::Same | Likeness::Reencoded | Likeness::Mismatched => Code::DuplicateEventId,
        }
    }

    /// The states of the answer: what was met, or the code itself where nothing else has a name.
    pub fn states(&self) -> States {
        let mut states = States::NONE;
        match self.likeness {
            Likeness::Same => {}
            Likeness::Reencoded => states.add(State::Reencoded),
            Likeness::Mismatched => states.add(State::IdempotencyMismatch),
            Likeness::Conflicting => return states.with(State::PayloadConflict),
        }
        if self.rejected {
            states.add(State::EventDuplicateRejected);
        }
        if states.is_empty() { states.with(State::DuplicateEventId) } else { states }
    }
}

/// Finds the original of an event.
pub(super) fn recognise(facts: &Facts, event: &Event, now: Time, witness: &mut impl Witness) -> Option<Known> {
    let contract = &*facts.version.contract;
    let rule = "identity";
    let id = || event.id.as_deref().unwrap_or_default().to_owned();
    if event.id_source == IdSource::Assigned {
        witness.saw(rule, Outcome::Skipped, || format!("{}, which was just assigned", id()), String::new);
        return None;
    }
    let original = facts.original(&event.identity).filter(|entry| !is_forgotten(entry, contract.identity.keep, now));
    let Some(original) = original else {
        witness.saw(
            rule,
            Outcome::Passed,
            || format!("{} with every id that is kept: new", id()),
            || format!("identity.keep = {}", contract.identity.keep.as_keep()),
        );
        return None;
    };
    let (likeness, diff) = compare(contract, original, event);
    let shared = facts.shared_original(&event.identity)?;
    let known = Known { original: shared, likeness, rejected: contract.identity.same == Same::Reject, diff };
    witness.saw(
        rule,
        Outcome::Refused,
        || format!("{} was accepted at offset {}: {}", id(), original.offset, in_words(likeness)),
        || format!("identity.same, identity.different: {}", known.code()),
    );
    Some(known)
}

const fn in_words(likeness: Likeness) -> &'static str {
    match likeness {
        Likeness::Same => "the same bytes",
        Likeness::Reencoded => "the same payload, written otherwise",
        Likeness::Mismatched | Likeness::Conflicting => "another payload",
    }
}

fn compare(contract: &Contract, original: &Entry, event: &Event) -> (Likeness, Vec<Op>) {
    if original.digest == event.digest {
        return (Likeness::Same, Vec::new());
    }
    let document = event.document.as_deref().unwrap_or_default();
    if planted!(PayloadByLength) && original.document.len() == document.len() {
        return (Likeness::Reencoded, Vec::new());
    }
    let rules = &contract.identity.payload;
    let different = match contract.identity.different {
        Different::Reject => Likeness::Conflicting,
        Different::Warn => Likeness::Mismatched,
    };
    // Both were read once, so both can be read again; a document that cannot is certainly another one.
    match (json::parse(&original.document), json::parse(document)) {
        (Ok(before), Ok(after)) if payload::same(rules, &before, &after) && !planted!(PayloadByBytes) => {
            (Likeness::Reencoded, Vec::new())
        }
        (Ok(before), Ok(after)) => (different, patch::diff(rules, &before, &after)),
        (Err(_), _) | (_, Err(_)) => (different, Vec::new()),
    }
}

/// Is an id so old that it counts as never seen? The judge decides it and not the store, so that a verdict does not
/// depend on when a store tidies up. An event is refused as too old before its id is forgotten: see [`horizon`].
fn is_forgotten(entry: &Entry, keep: Bound, now: Time) -> bool {
    let Bound::Within(keep) = keep else { return false };
    let newest = entry.observed_at.map_or(entry.at, |observed| observed.max(entry.at));
    now > newest.plus(keep)
}

/// The horizon of a finite `identity.keep`. It belongs to identity and not to the time rules: without it an event could
/// be accepted twice, so it holds in every mode and despite an override, and an event that cannot show its age is refused.
pub(super) fn horizon(
    contract: &Contract,
    event: &Event,
    now: Time,
    witness: &mut impl Witness,
) -> Result<(), Box<Refusal>> {
    let Bound::Within(keep) = contract.identity.keep else { return Ok(()) };
    let refusal = match event.time {
        Stamp::Read(observed) if now.since(observed) <= i128::from(keep.nanos()) => return Ok(()),
        Stamp::Read(observed) => {
            let bound = format!("older than identity.keep = {keep}");
            Refusal::new(Code::TimestampTooOld, Why::Bounds { observed, ingested: now, bound })
        }
        Stamp::Absent | Stamp::Unreadable(_) | Stamp::NotText(_) => super::rules::unreadable(event.time),
    };
    witness.saw("horizon", Outcome::Refused, || refusal.message(), || format!("identity.keep = {keep}"));
    Err(Box::new(refusal))
}
