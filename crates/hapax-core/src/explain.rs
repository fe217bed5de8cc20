//! Why a verdict is what it is: the decision derived again, from what was kept of it, with every comparison told.
//!
//! The few values that a decision compared stand on its entry or attempt ([`Basis`]). From them the facts are put together
//! again as far as that one decision saw them, and the very judge that decided decides again. If the answer were another
//! one, the ledger would contradict itself; [`Explanation::agrees`] says that it is not.

use std::sync::Arc;

use serde::Serialize;

use crate::amount::Amount;
use crate::audit::{Attempt, Submitted};
use crate::contract::Version;
use crate::counter::{Counter, CounterKey, Tally};
use crate::entry::{Basis, Entry, SharedEntry};
use crate::event::{Door, Event, IdSource, Identity, read};
use crate::facts::{Facts, Head};
use crate::judge::{Outcome, Rule, Ruling, Told, Witness, judge};
use crate::lane::{Gaps, Lane};
use crate::time::Time;
use crate::words::{Code, State, States, Verdict};

/// One attempt, and the rules one by one.
#[derive(Debug, Serialize)]
pub struct Explanation {
    /// Its number.
    pub attempt: u64,
    /// When it came.
    pub at: Time,
    /// What became of it.
    pub verdict: Verdict,
    /// Why it was not accepted.
    pub code: Option<Code>,
    /// The version of the contract that judged it.
    pub contract: u32,
    /// What was compared with what.
    pub rules: Vec<Rule>,
    /// Does the decision, derived again, come out as it is on record?
    pub agrees: bool,
}

/// Explains an entry. `version` is the one that judged it.
pub fn explain_entry(entry: &Entry, version: &Version, salt: &[u8; 32]) -> Explanation {
    let record = Record {
        document: &entry.document,
        id: Some(&entry.id),
        identity: entry.identity,
        lane: Some(&entry.lane),
        at: entry.at,
        forced: entry.caller.forced,
        basis: &entry.basis,
    };
    let (rules, ruling) = record.derive(version, None, salt);
    // Which gaps a lane stopped waiting for depends on all of them, so they stand on the entry and are not derived.
    let with_abandoned = |states: States| {
        if entry.abandoned.is_empty() { states } else { states.with(State::GapAbandoned) }
    };
    let agrees = match &ruling {
        Ruling::Accepted(accepted) => accepted.marks == entry.marks && with_abandoned(accepted.states) == entry.states,
        Ruling::Known(_) | Ruling::Refused(_) => false,
    };
    let code = entry.refusal.as_ref().map(|refusal| refusal.code);
    Explanation {
        attempt: entry.attempt,
        at: entry.at,
        verdict: Verdict::Accepted,
        code,
        contract: entry.contract,
        rules,
        agrees,
    }
}

/// Explains an attempt that was not accepted. `original` is the entry that its id belongs to, where that is why.
pub fn explain_attempt(
    attempt: &Attempt,
    version: &Version,
    original: Option<&SharedEntry>,
    salt: &[u8; 32],
) -> Explanation {
    let document = match (&attempt.document, original) {
        (Submitted::Document(document), _) => Arc::clone(document),
        (Submitted::SameAs(_), Some(original)) => Arc::clone(&original.document),
        (Submitted::SameAs(_), None) => Arc::default(),
    };
    let mut told = Told::default();
    // A known id without an original: that was an event of the same batch, and was taken back with it.
    let lone = attempt.code == Code::PayloadConflict && attempt.basis.original.is_none();
    let (rules, agrees) = if lone || matches!(attempt.code, Code::BatchStopped | Code::BatchRefused) {
        told.saw("batch", Outcome::Refused, || crate::receipt::message(attempt), || "the batch it came in".to_owned());
        (told.rules, true)
    } else {
        let record = Record {
            document: &document,
            id: attempt.id.as_ref(),
            identity: original.map(|entry| entry.identity).unwrap_or_default(),
            lane: attempt.lane.as_ref(),
            at: attempt.at,
            forced: attempt.caller.forced,
            basis: &attempt.basis,
        };
        let (rules, ruling) = record.derive(version, original, salt);
        let code = match &ruling {
            Ruling::Accepted(_) => None,
            Ruling::Known(known) => Some(known.code()),
            Ruling::Refused(refusal) => Some(refusal.code),
        };
        (rules, code == Some(attempt.code))
    };
    Explanation {
        attempt: attempt.number,
        at: attempt.at,
        verdict: attempt.verdict,
        code: Some(attempt.code),
        contract: attempt.contract,
        rules,
        agrees,
    }
}

/// What is on record of one decision.
struct Record<'r> {
    document: &'r Arc<[u8]>,
    id: Option<&'r Arc<str>>,
    identity: Identity,
    lane: Option<&'r Arc<str>>,
    at: Time,
    forced: bool,
    basis: &'r Basis,
}

impl Record<'_> {
    fn derive(&self, version: &Version, original: Option<&SharedEntry>, salt: &[u8; 32]) -> (Vec<Rule>, Ruling) {
        let door = Door { salt, now: self.at, spare: 0, event_bytes_max: usize::MAX, covers: &|_| true };
        let mut event = read(Arc::clone(self.document), version, &door);
        if event.id_source == IdSource::Assigned {
            event.id = self.id.cloned();
        }
        if original.is_some() {
            event.identity = self.identity;
        }
        let facts = self.facts(version, &event, original);
        let mut told = Told::default();
        let judgement = judge(&facts, &event, self.at, self.forced, &mut told);
        (told.rules, judgement.ruling)
    }

    fn facts(&self, version: &Version, event: &Event, original: Option<&SharedEntry>) -> Facts {
        let mut facts = Facts::new(Arc::from("explained"), version.clone(), Head::default());
        if let Some(original) = original {
            facts.load_original(original.clone());
        }
        if let (Some(nonce), Some(used_at)) = (event.nonce, self.basis.nonce_used_at) {
            facts.load_nonce(nonce, used_at);
        }
        if let (Some(name), Some(seen)) = (self.lane, &self.basis.lane) {
            let mut gaps = Gaps::default();
            let generation = seen.hit.as_ref().map_or(0, |gap| gap.generation);
            gaps.extend(seen.hit.as_deref().copied());
            let lane = Lane {
                baseline: if seen.returned { version.baseline.wrapping_sub(1) } else { version.baseline },
                epoch: seen.epoch,
                generation,
                highest: seen.highest,
                floor: seen.floor,
                last_time: seen.last_time,
                events: u64::from(seen.known),
                ..Lane::default()
            };
            facts.load_lane(Arc::clone(name), lane, gaps);
        }
        for (counted, seen) in event.counted.iter().zip(&self.basis.counters) {
            let rules = &version.contract.counters[counted.counter];
            let key = CounterKey {
                name: Arc::from(rules.name.as_str()),
                key: Arc::clone(&counted.key),
                period: rules.period.of(event.time.time().unwrap_or(self.at)),
            };
            let tally = |sum: Amount| Tally { sum, ..Tally::default() };
            let counter = Counter {
                folded: tally(seen.folded),
                adjusted: tally(seen.other),
                watermark: seen.watermark,
                closed: seen.closed,
                ..Counter::default()
            };
            facts.load_counter(key, counter);
        }
        facts
    }
}
