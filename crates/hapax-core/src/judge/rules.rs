//! Checks 3 to 8 of one event, in their order: time, nonce, number, time within the lane, expected number.
//!
//! A check that refuses says so with `?`; one that an admin may lift goes through [`Case::refuse`]. Nothing is written
//! down before all have passed, so a refused event uses up nothing.

use super::{Acceptance, Outcome, Witness};
use crate::contract::{Contract, Mode, OnTime, Source};
use crate::duration::{Bound, offset_in_words};
use crate::entry::{Basis, GapDetail};
use crate::event::{Event, Stamp, missing_nonce};
use crate::facts::Facts;
use crate::lane::{Edited, Gaps, Lane};
use crate::refusal::{Refusal, Why};
use crate::time::{Time, TimeFault};
use crate::words::{Code, Mark, Marks, State, States};

/// An event under judgement, and what was found so far.
pub(super) struct Case<'f> {
    pub(super) facts: &'f Facts,
    pub(super) event: &'f Event,
    pub(super) now: Time,
    pub(super) force: bool,
    /// The lane as it was.
    pub(super) before: &'f Lane,
    /// Where it stands in the facts.
    slot: Option<usize>,
    pub(super) gaps: &'f Gaps,
    /// The lane as it will be.
    pub(super) lane: Lane,
    pub(super) edited: Edited,
    pub(super) marks: Marks,
    pub(super) states: States,
    pub(super) gap: Option<GapDetail>,
    pub(super) refusal: Option<Box<Refusal>>,
    /// `enforce` would have refused: no fact that a check looks at may move.
    would: bool,
}

impl<'f> Case<'f> {
    #[inline(always)]
    pub(super) fn open(facts: &'f Facts, event: &'f Event, now: Time, force: bool) -> Self {
        let slot = facts.slot(event.lane.as_deref().unwrap_or_default());
        let (before, gaps) = facts.lane_at(slot);
        Self {
            facts,
            event,
            now,
            force,
            lane: before.clone(),
            before,
            slot,
            gaps,
            edited: Edited::default(),
            marks: Marks::NONE,
            states: States::NONE,
            gap: None,
            refusal: None,
            would: false,
        }
    }

    pub(super) fn contract(&self) -> &'f Contract {
        &self.facts.version.contract
    }

    /// The checks, in the order that the specification gives them.
    pub(super) fn run(&mut self, basis: &mut Basis, witness: &mut impl Witness) -> Result<(), Box<Refusal>> {
        basis.lane(self.before, self.facts.version.baseline);
        self.nonce_is_there(witness)?;
        self.time_format(witness)?;
        self.time_bounds(witness)?;
        self.nonce(basis, witness)?;
        if self.contract().sequence.source == Source::Producer {
            self.sequence(basis, witness)?;
        }
        self.time_regression(witness)?;
        if self.contract().sequence.source == Source::Server {
            self.expected(witness)?;
        }
        if let Some(observed) = self.event.time.time() {
            self.lane.advance_time(observed, self.now);
        }
        Ok(())
    }

    /// A refusal that an admin may lift. Lifted, the event goes on, with the mark and the state.
    pub(super) fn refuse(
        &mut self,
        rule: &'static str,
        refusal: Refusal,
        because: impl FnOnce() -> String,
        witness: &mut impl Witness,
    ) -> Result<(), Box<Refusal>> {
        let outcome = if self.force { Outcome::Lifted } else { Outcome::Refused };
        witness.saw(rule, outcome, || refusal.message(), because);
        if !self.force {
            return Err(Box::new(refusal));
        }
        self.marks.add(Mark::Override);
        self.states.add(refusal.state);
        self.refusal.get_or_insert_with(|| Box::new(refusal));
        Ok(())
    }

    /// The event stays, under a contract that only watches.
    pub(super) fn would_refuse(&mut self, refusal: Box<Refusal>, witness: &mut impl Witness) {
        witness.saw("mode", Outcome::WouldRefuse, || refusal.message(), || "mode = \"shadow\"".to_owned());
        self.marks.add(Mark::WouldReject);
        self.states.add(refusal.state);
        self.refusal = Some(refusal);
        self.would = true;
    }

    /// What is different once the event is in.
    #[inline(always)]
    pub(super) fn close(self, mode: Mode) -> Acceptance {
        let server = self.contract().sequence.source == Source::Server;
        // A fact that a check looks at moves only with an event that the checks let through.
        let passed = mode != Mode::Off && !self.would;
        let mut lane = if passed { self.lane } else { self.before.clone() };
        let seq = match self.event.seq {
            None if server && !self.would => {
                // 2^64 numbers cannot be used up; `expected` refuses the one beyond them.
                lane.highest = Some(lane.highest.unwrap_or(0).saturating_add(1));
                lane.highest
            }
            seq => seq,
        };
        lane.events += 1;
        lane.last_arrival = lane.last_arrival.max(Some(self.now));
        let abandoned = if passed { self.edited.abandoned } else { Vec::new() };
        // Only an event that moved the lane can have made it stop waiting.
        let states = if abandoned.is_empty() { self.states } else { self.states.with(State::GapAbandoned) };
        Acceptance {
            slot: self.slot,
            seq,
            marks: self.marks,
            states,
            // The mark says that there is a gap, so the detail says which; also where a later check would have refused.
            gap: self.gap.filter(|_| passed || self.marks.has(Mark::HasGaps)),
            abandoned,
            refusal: self.refusal,
            lane,
            gaps: if passed { self.edited.changes } else { Vec::new() },
            uses_nonce: passed && self.event.nonce.is_some(),
            counters: Vec::new(),
        }
    }

    /// Without its nonce a document is refused where it is read, except in shadow, where it comes as far as here.
    fn nonce_is_there(&mut self, witness: &mut impl Witness) -> Result<(), Box<Refusal>> {
        if !self.contract().nonce.required || self.event.nonce.is_some() {
            return Ok(());
        }
        let refusal = missing_nonce(self.contract());
        witness.saw("document", Outcome::Refused, || refusal.message(), || "nonce.required = true".to_owned());
        Err(Box::new(refusal))
    }

    fn time_format(&mut self, witness: &mut impl Witness) -> Result<(), Box<Refusal>> {
        let required = self.contract().time.required;
        let rule = "time format";
        match self.event.time {
            Stamp::Read(time) => {
                witness.saw(rule, Outcome::Passed, || format!("read as {time}"), String::new);
                Ok(())
            }
            Stamp::Absent if !required => {
                witness.saw(rule, Outcome::Skipped, || "there is no time".into(), || "time.required = false".into());
                Ok(())
            }
            Stamp::Absent | Stamp::Unreadable(_) | Stamp::NotText(_) => {
                let refusal = unreadable(self.event.time);
                witness.saw(rule, Outcome::Refused, || refusal.message(), || format!("time.required = {required}"));
                Err(Box::new(refusal))
            }
        }
    }

    pub(super) fn time_bounds(&mut self, witness: &mut impl Witness) -> Result<(), Box<Refusal>> {
        let Some(observed) = self.event.time.time() else { return Ok(()) };
        let rules = &self.contract().time;
        let skew = observed.since(self.now);
        let rule = "time bounds";
        let beyond = |code, key: &str, bound: Bound| {
            let bound = format!("{key} = {bound}");
            Refusal::new(code, Why::Bounds { observed, ingested: self.now, bound })
        };
        if !rules.future.holds(skew) {
            let refusal = beyond(Code::TimestampFutureBeyondTolerance, "beyond time.future", rules.future);
            return self.refuse(rule, refusal, || format!("time.future = {}", rules.future), witness);
        }
        if !rules.past.holds(-skew) {
            let refusal = beyond(Code::TimestampTooOld, "older than time.past", rules.past);
            return self.refuse(rule, refusal, || format!("time.past = {}", rules.past), witness);
        }
        let mut outcome = Outcome::Passed;
        if skew > 0 {
            self.marks.add(Mark::ClockSkew);
            self.states.add(State::ClockSkewDetected);
            outcome = Outcome::Marked;
        }
        if rules.late != Bound::None && !rules.late.holds(-skew) {
            self.marks.add(Mark::LateArrival);
            self.states.add(State::EventLateArrival);
            outcome = Outcome::Marked;
        }
        witness.saw(
            rule,
            outcome,
            || format!("{observed} with our {}: {}", self.now, offset_in_words(skew)),
            || format!("time.future = {}, time.past = {}, time.late = {}", rules.future, rules.past, rules.late),
        );
        Ok(())
    }

    fn nonce(&mut self, basis: &mut Basis, witness: &mut impl Witness) -> Result<(), Box<Refusal>> {
        let Some(nonce) = &self.event.nonce else { return Ok(()) };
        let keep = self.contract().nonce.keep;
        let used = self.facts.nonce(nonce).filter(|used_at| keep.holds(self.now.since(*used_at)));
        basis.nonce_used_at = used;
        let because = || format!("nonce.keep = {}", keep.as_keep());
        let Some(used_at) = used else {
            witness.saw("nonce", Outcome::Passed, || "not used in this lane".to_owned(), because);
            return Ok(());
        };
        let refusal = Refusal::new(Code::DuplicateNonce, Why::Nonce { used_at });
        witness.saw("nonce", Outcome::Refused, || refusal.message(), because);
        Err(Box::new(refusal))
    }

    fn time_regression(&mut self, witness: &mut impl Witness) -> Result<(), Box<Refusal>> {
        let rules = &self.contract().time;
        let (Some(submitted), Some(last)) = (self.event.time.time(), self.before.last_time) else { return Ok(()) };
        let rule = "time regression";
        let because = || format!("grace = {}", rules.grace);
        if rules.regression == OnTime::Ignore {
            return Ok(());
        }
        if submitted >= last.minus(rules.grace) {
            witness.saw(rule, Outcome::Passed, || format!("{submitted} with the lane's latest {last}"), because);
            return Ok(());
        }
        if rules.regression == OnTime::Mark {
            self.marks.add(Mark::TimestampRegression);
            self.states.add(State::TimestampRegression);
            witness.saw(rule, Outcome::Marked, || format!("{submitted} is before the lane's latest {last}"), because);
            return Ok(());
        }
        let refusal = Refusal::new(Code::TimestampRegression, Why::Regression { last, submitted });
        self.refuse(rule, refusal, because, witness)
    }
}

/// The refusal of a time that is missing or cannot be read.
pub(super) fn unreadable(stamp: Stamp) -> Refusal {
    let (code, reason) = match stamp {
        Stamp::Absent | Stamp::Read(_) => (Code::TimestampMissing, "the document has none".to_owned()),
        Stamp::NotText(kind) => (Code::TimestampParseError, format!("expected a string, found {kind}")),
        Stamp::Unreadable(TimeFault::Malformed(why)) => (Code::TimestampParseError, why.to_owned()),
        Stamp::Unreadable(TimeFault::NotUtc(why)) => (Code::TimestampTimezoneViolation, why.to_owned()),
    };
    Refusal::new(code, Why::Format { reason })
}
