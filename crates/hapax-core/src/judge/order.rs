//! Numbers: the producer's, with epochs and gaps, and the server's, with what the sender expects.

use super::rules::Case;
use super::{Outcome, Witness};
use crate::contract::{First, OnGap, OnNumber};
use crate::entry::{Basis, GapDetail};
use crate::lane::{Edit, Place};
use crate::planted;
use crate::refusal::{Refusal, Why};
use crate::words::{Code, Mark, State};

const RULE: &str = "sequence";

impl Case<'_> {
    /// A number that the producer gave. Epoch first.
    pub(super) fn sequence(&mut self, basis: &mut Basis, witness: &mut impl Witness) -> Result<(), Box<Refusal>> {
        let Some(number) = self.event.seq else { return Ok(()) };
        let rules = &self.contract().sequence;
        let (epoch, current) = (self.event.epoch, self.before.epoch);
        if epoch < current && !planted!(EpochNotFenced) {
            let refusal = Refusal::new(Code::EpochFenced, Why::Epoch { current, got: epoch });
            witness.saw(RULE, Outcome::Refused, || refusal.message(), || "a lower epoch is fenced".to_owned());
            return Err(Box::new(refusal));
        }
        let baseline = self.facts.version.baseline;
        let returned = self.before.baseline != baseline;
        // Nearly every event is the next of its lane, and then there is nothing to look up and nothing to make room for.
        let usual =
            !returned && epoch == current && self.before.highest.is_some_and(|it| number.checked_sub(1) == Some(it));
        if usual && self.lane.counts.fit(rules.gaps_open_max) {
            self.call(Place::Continuous, number, rules.first, witness)?;
            self.lane.highest = Some(number);
            return Ok(());
        }
        let mut edit = Edit::new(self.gaps);
        if epoch > current || returned {
            self.lane = self.before.renumbered(epoch, baseline);
            edit.end_numbering(&mut self.lane, rules.gaps_open_max);
        }
        // What came while the rules were off is unknown, so any number may be the first after it.
        let first = if returned && self.before.events > 0 { First::Any } else { rules.first };
        let place = self.lane.place(self.gaps, first, number);
        basis.placed(&place);
        self.call(place, number, first, witness)?;
        edit.enter(&mut self.lane, place, number, self.now, rules.gaps_open_max);
        self.edited = edit.finish();
        Ok(())
    }

    /// What the contract makes of the place where a number fell.
    fn call(
        &mut self,
        place: Place,
        number: u64,
        first: First,
        witness: &mut impl Witness,
    ) -> Result<(), Box<Refusal>> {
        let rules = &self.contract().sequence;
        let expected = self.lane.expected(first);
        let refusal = |code, state| {
            let why = Why::Number { expected, got: number, last_seen: self.lane.highest };
            Refusal { state, ..Refusal::new(code, why) }
        };
        let compared = || match expected {
            Some(expected) => format!("{number} with the expected {expected}"),
            None => format!("{number}, the first of this numbering"),
        };
        match place {
            Place::Baseline | Place::Continuous => {
                self.states.add(State::SequenceContinuous);
                witness.saw(RULE, Outcome::Passed, compared, || "it is the expected one".to_owned());
                Ok(())
            }
            Place::Gap { from, to } => {
                self.gap = Some(GapDetail { from, to, large: number - from > rules.gap_large });
                let because = || format!("{from} to {to} are missing; sequence.gap");
                if rules.gap == OnGap::Reject {
                    let refusal = refusal(Code::SequenceGap, State::SequenceGapDetected);
                    return self.refuse(RULE, refusal, because, witness);
                }
                self.marks.add(Mark::HasGaps);
                self.states.add(State::SequenceGapDetected);
                witness.saw(RULE, Outcome::Marked, compared, because);
                Ok(())
            }
            Place::Late(_) | Place::Unproven => {
                self.lane.out_of_order = true;
                let because = || {
                    if let Place::Late(gap) = place {
                        return format!("{} to {} were missing; sequence.regression", gap.from, gap.to);
                    }
                    "too far back to tell a late number from a used one; sequence.regression".to_owned()
                };
                let code = match rules.regression {
                    OnNumber::Mark => {
                        self.marks.add(Mark::OutOfOrder);
                        if place == Place::Unproven {
                            self.marks.add(Mark::SequenceUnproven);
                        }
                        self.states.add(State::SequenceOutOfOrder);
                        witness.saw(RULE, Outcome::Marked, compared, because);
                        return Ok(());
                    }
                    OnNumber::Reject => Code::SequenceRegression,
                    OnNumber::Stale => Code::StaleSequence,
                };
                let refusal = refusal(code, State::SequenceOutOfOrder);
                self.refuse(RULE, refusal, because, witness)
            }
            Place::Repeated => {
                let because = || "the number was used before; sequence.repeat".to_owned();
                let code = match (rules.repeat, rules.regression) {
                    (OnNumber::Mark, _) => {
                        self.marks.add(Mark::SequenceRepeated);
                        self.states.add(State::SequenceRepeated);
                        witness.saw(RULE, Outcome::Marked, compared, because);
                        return Ok(());
                    }
                    (OnNumber::Stale, _) => Code::StaleSequence,
                    (OnNumber::Reject, OnNumber::Reject) => Code::SequenceRegression,
                    (OnNumber::Reject, OnNumber::Mark | OnNumber::Stale) => Code::SequenceConflict,
                };
                let refusal = refusal(code, State::SequenceRepeated);
                self.refuse(RULE, refusal, because, witness)
            }
        }
    }

    /// Optimistic concurrency: the sender says which number it builds on.
    pub(super) fn expected(&mut self, witness: &mut impl Witness) -> Result<(), Box<Refusal>> {
        let rule = "expected sequence";
        let current = self.before.highest.unwrap_or(0);
        let code = match self.event.expected {
            None if self.event.expected_required => Code::ExpectedSeqRequired,
            Some(expected) if expected != current => Code::SequenceConflict,
            // There is no number after the last.
            _ if current == u64::MAX => Code::SequenceConflict,
            expected => {
                let compared =
                    || format!("{} with the lane's {current}", expected.map_or("none".into(), |n| n.to_string()));
                witness.saw(rule, Outcome::Passed, compared, String::new);
                return Ok(());
            }
        };
        let refusal = Refusal::new(code, Why::Current { current, expected: self.event.expected });
        witness.saw(rule, Outcome::Refused, || refusal.message(), || "sequence.expected_required_for".to_owned());
        Err(Box::new(refusal))
    }
}
