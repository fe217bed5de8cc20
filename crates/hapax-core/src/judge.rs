//! The one decision: (contract, facts, event, now) → verdict and changes.
//!
//! The order of the checks is the order of the calls in [`judge`], and the first that decides, decides. Nothing here
//! changes anything: an [`Acceptance`] says what would be different, and [`Facts::record`](crate::facts::Facts::record)
//! makes it so.
//!
//! What is *not* here: no IO, no clock, no look at the store. What a check needs and the facts do not have becomes a
//! field of the facts.

mod known;
mod order;
mod rules;
mod trace;

pub use known::{Known, Likeness};
pub use trace::{Outcome, Rule, Silent, Told, Witness};

use std::sync::Arc;

use crate::contract::Mode;
use crate::counter::{Class, Counter, CounterKey, Last};
use crate::entry::{Basis, CounterBasis, GapDetail};
use crate::event::{Counted, Event};
use crate::facts::Facts;
use crate::lane::{GapChange, Lane};
use crate::planted;
use crate::refusal::{Refusal, Why};
use crate::time::Time;
use crate::words::{Code, Mark, Marks, States, Verdict};
use rules::Case;

/// What became of an event.
#[derive(Debug)]
pub struct Judgement {
    /// The decision.
    pub ruling: Ruling,
    /// The values that the checks compared, so that the decision can be derived again.
    pub basis: Basis,
}

/// The decision. Accepted is the common case, and moved once: a box would cost an allocation for each event.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
pub enum Ruling {
    /// It goes into the ledger.
    Accepted(Acceptance),
    /// Its id is in the ledger.
    Known(Known),
    /// It does not go into the ledger: `rejected`, `stale`, or `not_evaluated`.
    Refused(Box<Refusal>),
}

impl Refusal {
    /// The verdict that goes with the code.
    pub const fn verdict(&self) -> Verdict {
        match self.code {
            Code::StaleSequence => Verdict::Stale,
            Code::BatchStopped | Code::BatchRefused => Verdict::NotEvaluated,
            Code::DuplicateEventId => Verdict::Duplicate,
            Code::PayloadConflict => Verdict::Conflict,
            Code::SchemaViolation
            | Code::TimestampMissing
            | Code::TimestampParseError
            | Code::TimestampTimezoneViolation
            | Code::TimestampFutureBeyondTolerance
            | Code::TimestampTooOld
            | Code::TimestampRegression
            | Code::DuplicateNonce
            | Code::SequenceRegression
            | Code::SequenceGap
            | Code::EpochFenced
            | Code::SequenceConflict
            | Code::ExpectedSeqRequired
            | Code::AmountInvalid
            | Code::LaneForbidden => Verdict::Rejected,
        }
    }
}

/// What is different once the event is in the ledger.
#[derive(Debug)]
pub struct Acceptance {
    /// Where its lane stands in the facts; none if it is new.
    pub(crate) slot: Option<usize>,
    /// Its number, if it has one.
    pub seq: Option<u64>,
    /// What was remarked.
    pub marks: Marks,
    /// What was met.
    pub states: States,
    /// The gap before it.
    pub gap: Option<GapDetail>,
    /// The gaps that the lane stopped waiting for.
    pub abandoned: Vec<(u64, u64)>,
    /// The refusal that an admin lifted, or that `enforce` would have given.
    pub refusal: Option<Box<Refusal>>,
    /// The lane afterwards; the place of the event in the ledger is filled in with the offset.
    pub lane: Lane,
    /// What became of its gaps.
    pub gaps: Vec<GapChange>,
    /// Is the nonce used up?
    pub uses_nonce: bool,
    /// The counters afterwards.
    pub counters: Vec<Folding>,
}

/// One counter and what an event did to it.
#[derive(Debug)]
pub struct Folding {
    /// Which.
    pub key: CounterKey,
    /// How it was taken.
    pub class: Class,
    /// What was counted.
    pub one: Last,
    /// The counter afterwards.
    pub counter: Counter,
}

/// Judges one event.
///
/// `force` is an admin's override, whose right was checked at the door. The witness is told every comparison; the
/// [`Silent`] one costs nothing.
///
/// Never a part of what calls it: `scripts/instructions` counts what it costs by its name.
#[inline(never)]
pub fn judge(facts: &Facts, event: &Event, now: Time, force: bool, witness: &mut impl Witness) -> Judgement {
    let mut basis = Basis::default();
    let ruling = decide(facts, event, now, force, &mut basis, witness).unwrap_or_else(Ruling::Refused);
    Judgement { ruling, basis }
}

/// In the judge's own frame, as all that leads to an acceptance: it has four hundred bytes, and each hand that it goes through
/// costs a copy of them.
#[inline(always)]
fn decide(
    facts: &Facts,
    event: &Event,
    now: Time,
    force: bool,
    basis: &mut Basis,
    witness: &mut impl Witness,
) -> Result<Ruling, Box<Refusal>> {
    if let Some(refusal) = &event.refusal {
        witness.saw("document", Outcome::Refused, || refusal.message(), || "the contract's envelope".to_owned());
        return Err(refusal.clone());
    }
    witness.saw("document", Outcome::Passed, || "a JSON object with what the contract needs".to_owned(), String::new);

    if planted!(TimeBeforeIdentity) {
        Case::open(facts, event, now, force).time_bounds(&mut Silent)?;
    }
    if let Some(known) = known::recognise(facts, event, now, witness) {
        basis.original = Some(known.original.offset);
        return Ok(Ruling::Known(known));
    }
    known::horizon(&facts.version.contract, event, now, witness)?;

    let mut case = Case::open(facts, event, now, force);
    let mode = facts.version.contract.mode;
    if mode == Mode::Off {
        witness.saw("mode", Outcome::Skipped, || "checks of time, nonce and order".into(), || "mode = \"off\"".into());
    } else if let Err(refusal) = case.run(basis, witness) {
        if mode == Mode::Enforce {
            return Err(refusal);
        }
        case.would_refuse(refusal, witness);
    }
    accept(facts, event, now, case, basis, witness).map(Ruling::Accepted)
}

/// The amounts, and then the event is in.
#[inline(always)]
fn accept(
    facts: &Facts,
    event: &Event,
    now: Time,
    case: Case<'_>,
    basis: &mut Basis,
    witness: &mut impl Witness,
) -> Result<Acceptance, Box<Refusal>> {
    let mut acceptance = case.close(facts.version.contract.mode);
    for counted in &event.counted {
        let folding = fold(facts, event, now, counted, basis, witness)?;
        if folding.class != Class::Folded {
            acceptance.marks.add(Mark::Adjustment);
        }
        acceptance.counters.push(folding);
    }
    Ok(acceptance)
}

fn fold(
    facts: &Facts,
    event: &Event,
    now: Time,
    counted: &Counted,
    basis: &mut Basis,
    witness: &mut impl Witness,
) -> Result<Folding, Box<Refusal>> {
    let rules = &facts.version.contract.counters[counted.counter];
    match try_fold(facts, event, now, counted, basis) {
        Ok(folding) => {
            let outcome = if folding.class == Class::Folded { Outcome::Passed } else { Outcome::Marked };
            let watermark = basis.counters.last().and_then(|seen| seen.watermark);
            let watermark = || watermark.map_or("no watermark yet".to_owned(), |time| format!("watermark {time}"));
            witness.saw(
                "amount",
                outcome,
                || format!("{} at {} with {}", folding.one.amount, folding.one.ts, watermark()),
                || format!("counters.{}, lateness {}: {}", rules.name, rules.lateness, folding.class),
            );
            Ok(folding)
        }
        Err(reason) => {
            witness.saw("amount", Outcome::Refused, || reason.clone(), || format!("counters.{}", rules.name));
            let why = Why::Amount { counter: rules.name.clone(), reason };
            Err(Box::new(Refusal::new(Code::AmountInvalid, why)))
        }
    }
}

/// Counts one amount, or says why it cannot be counted.
fn try_fold(facts: &Facts, event: &Event, now: Time, counted: &Counted, basis: &mut Basis) -> Result<Folding, String> {
    let rules = &facts.version.contract.counters[counted.counter];
    let amount = counted.amount.clone()?;
    let ts = event.time.time().unwrap_or(now);
    let key = CounterKey {
        name: facts.counter_name(counted.counter),
        key: Arc::clone(&counted.key),
        period: rules.period.of(ts),
    };
    let before = facts.counter(&key);
    let closed = facts.is_closed(&key);
    basis.counters.push(CounterBasis::of(&before, closed));
    let class = before.classify(closed, rules.lateness, ts);
    let one = Last { ts, id: event.id.clone().unwrap_or_default(), amount };
    let counter = before.with(class, &one, now);
    let counter = counter.ok_or_else(|| format!("a sum with {amount} would have more than 38 digits"))?;
    Ok(Folding { key, class, one, counter })
}
