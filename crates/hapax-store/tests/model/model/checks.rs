//! Checks 1 to 10 for one event, in the order of section 3, each from the whole history.

use serde_json::Value;

use super::document::{self, Document, Observed};
use super::numbers::{Numbers, Place};
use super::outcome::{Notes, Outcome, Refusal, lift};
use super::readings::*;
use super::rules::{Gap, Late, Mode, Source, TimeRegression};
use super::{Entry, Model, Opts, counter, number};

impl Model {
    /// Checks 1 to 10 for one event; an accepted one is in the history afterwards.
    pub(super) fn judge(&mut self, now: i64, doc: &Value, opts: Opts) -> Outcome {
        let Some(document) = document::read(&self.rules, doc) else {
            return Outcome::refused("rejected", "SCHEMA_VIOLATION", None);
        };
        if let Some(outcome) = self.identity(now, doc, &document) {
            return outcome;
        }
        if let Some(keep) = self.rules.identity.keep {
            match document.time.readable() {
                Some(observed) if age(now, observed) > i128::from(keep) => {
                    return Outcome::refused("rejected", "TIMESTAMP_TOO_OLD", None);
                }
                None if HORIZON_NEEDS_A_TIME => {
                    let refusal = unreadable(document.time);
                    return Outcome::refused(refusal.verdict, refusal.code, refusal.state);
                }
                Some(_) | None => {}
            }
        }

        let mut notes = Notes::default();
        let mut code = None;
        if self.rules.mode != Mode::Off
            && let Err(refusal) = self.checks(now, doc, &document, opts, &mut notes)
        {
            if self.rules.mode == Mode::Enforce {
                return Outcome::refused(refusal.verdict, refusal.code, refusal.state);
            }
            notes.marks.insert("WOULD_REJECT".to_string());
            notes.states.insert(refusal.state.unwrap_or(refusal.code).to_string());
            code = Some(refusal.code.to_string());
        }
        let would_reject = code.is_some();

        let mut share = None;
        if let Some(usage) = &self.rules.usage {
            let ts = document.time.readable().unwrap_or(now);
            let units = number::amount(doc.get(&usage.amount));
            share = units.and_then(|units| counter::share(usage, &self.entries, doc, units, ts));
            if share.is_none() {
                return Outcome::refused("rejected", "AMOUNT_INVALID", None);
            }
        }
        if share.as_ref().is_some_and(|share| !share.folded) {
            notes.marks.insert("ADJUSTMENT".to_string());
        }
        let class = share.as_ref().map(|share| if share.folded { "folded" } else { "adjustment" }.to_string());

        let seq = match self.rules.sequence.source {
            Source::None => None,
            Source::Producer => document.seq,
            Source::Server if would_reject => None,
            Source::Server => Some(self.highest_assigned(&document.lane) + 1),
        };
        let counts_for_lane = self.rules.mode != Mode::Off && !would_reject;
        let offset = self.entries.len() as u64 + 1;
        self.entries.push(Entry {
            offset,
            document: doc.clone(),
            id: document.id.clone(),
            lane: document.lane.clone(),
            epoch: document.epoch,
            seq,
            nonce: document.nonce.clone(),
            observed_at: document.time.readable(),
            ingested_at: now,
            states: notes.states.clone(),
            share,
            counts_for_lane,
        });
        if counts_for_lane && self.numbers(&document.lane).abandoned_one {
            notes.states.insert("GAP_ABANDONED".to_string());
        }
        Outcome {
            verdict: "accepted",
            code,
            marks: notes.marks,
            states: notes.states,
            offset: Some(offset),
            seq,
            gap: notes.gap,
            latency_ms: notes.latency_ms,
            class,
            original_offset: None,
        }
    }

    /// Checks 3 to 8, and in shadow the missing nonce. The first refusal that no override lifts ends them.
    fn checks(&self, now: i64, doc: &Value, document: &Document, opts: Opts, notes: &mut Notes) -> Result<(), Refusal> {
        if document.nonce_missing {
            return Err(Refusal::of("SCHEMA_VIOLATION"));
        }
        self.time_format(document)?;
        lift(self.time_bounds(now, document, opts, notes), opts, notes)?;
        self.nonce(now, document)?;
        if self.rules.sequence.source == Source::Producer {
            lift(self.sequence(document, opts, notes), opts, notes)?;
        }
        lift(self.time_regression(document, notes), opts, notes)?;
        if self.rules.sequence.source == Source::Server {
            self.expected(doc, document)?;
        }
        Ok(())
    }

    fn time_format(&self, document: &Document) -> Result<(), Refusal> {
        match document.time {
            Observed::At(_) => Ok(()),
            Observed::Absent if !self.rules.time.required => Ok(()),
            Observed::Absent | Observed::Unparsable | Observed::NotUtc(_) => Err(unreadable(document.time)),
        }
    }

    fn time_bounds(&self, now: i64, document: &Document, opts: Opts, notes: &mut Notes) -> Result<(), Refusal> {
        let rules = &self.rules.time;
        let Observed::At(observed) = document.time else {
            return Ok(());
        };
        let age = age(now, observed);
        let above = |value: i128, bound: Option<i64>| bound.is_some_and(|bound| value > i128::from(bound));
        if above(-age, rules.future) {
            return Err(Refusal::of("TIMESTAMP_FUTURE_BEYOND_TOLERANCE").liftable());
        }
        let too_old = above(age, rules.past);
        if !too_old || (opts.override_ && LIFTED_PAST_IS_LATE) {
            if age < 0 {
                notes.mark("CLOCK_SKEW", "CLOCK_SKEW_DETECTED");
            }
            if above(age, rules.late) {
                notes.mark("LATE_ARRIVAL", "EVENT_LATE_ARRIVAL");
                notes.latency_ms = Some((age / 1_000_000) as i64);
            }
        }
        if too_old { Err(Refusal::of("TIMESTAMP_TOO_OLD").liftable()) } else { Ok(()) }
    }

    fn nonce(&self, now: i64, document: &Document) -> Result<(), Refusal> {
        let Some(nonce) = &document.nonce else { return Ok(()) };
        let within = |entry: &Entry| match self.rules.nonce.keep {
            Some(keep) => age(now, entry.ingested_at) <= i128::from(keep),
            None => true,
        };
        let used = |entry: &&Entry| entry.nonce.as_ref() == Some(nonce) && within(entry);
        if self.lane_entries(&document.lane).iter().any(used) {
            return Err(Refusal::of("DUPLICATE_NONCE"));
        }
        Ok(())
    }

    fn sequence(&self, document: &Document, opts: Opts, notes: &mut Notes) -> Result<(), Refusal> {
        let rules = &self.rules.sequence;
        let numbers = self.numbers(&document.lane);
        let number = document.seq.expect("check 1 saw the number");
        let new_lane = numbers.used.is_empty();
        if !new_lane && document.epoch < numbers.epoch {
            return Err(Refusal::of("EPOCH_FENCED"));
        }
        let place = if new_lane || document.epoch > numbers.epoch {
            Numbers::place_first(rules, number)
        } else {
            numbers.place(number)
        };
        match place {
            Place::Expected => {
                notes.states.insert("SEQUENCE_CONTINUOUS".to_string());
                Ok(())
            }
            Place::Above { expected } => {
                let size = number - expected;
                let gap = Some((expected, number - 1, size, size > rules.gap_large));
                if rules.gap == Gap::Reject {
                    if opts.override_ && LIFTED_GAP_HAS_DETAIL {
                        notes.gap = gap;
                    }
                    return Err(Refusal::of("SEQUENCE_GAP").state("SEQUENCE_GAP_DETECTED").liftable());
                }
                notes.gap = gap;
                notes.mark("HAS_GAPS", "SEQUENCE_GAP_DETECTED");
                Ok(())
            }
            Place::Missing | Place::Unproven => match rules.regression {
                Late::Mark => {
                    notes.mark("OUT_OF_ORDER", "SEQUENCE_OUT_OF_ORDER");
                    if place == Place::Unproven {
                        notes.marks.insert("SEQUENCE_UNPROVEN".to_string());
                    }
                    Ok(())
                }
                Late::Reject => Err(Refusal::of("SEQUENCE_REGRESSION").state("SEQUENCE_OUT_OF_ORDER").liftable()),
                Late::Stale => Err(Refusal::stale("SEQUENCE_OUT_OF_ORDER")),
            },
            Place::Used => match rules.repeat {
                Late::Mark => {
                    notes.mark("SEQUENCE_REPEATED", "SEQUENCE_REPEATED");
                    Ok(())
                }
                Late::Reject if rules.regression == Late::Reject => {
                    Err(Refusal::of("SEQUENCE_REGRESSION").state("SEQUENCE_REPEATED").liftable())
                }
                Late::Reject => Err(Refusal::of("SEQUENCE_CONFLICT").state("SEQUENCE_REPEATED").liftable()),
                Late::Stale => Err(Refusal::stale("SEQUENCE_REPEATED")),
            },
        }
    }

    fn time_regression(&self, document: &Document, notes: &mut Notes) -> Result<(), Refusal> {
        let rules = &self.rules.time;
        let (Observed::At(observed), Some(last)) = (document.time, self.last_time(&document.lane)) else {
            return Ok(());
        };
        if i128::from(observed) >= i128::from(last) - i128::from(rules.grace) {
            return Ok(());
        }
        match rules.regression {
            TimeRegression::Ignore => Ok(()),
            TimeRegression::Mark => {
                notes.mark("TIMESTAMP_REGRESSION", "TIMESTAMP_REGRESSION");
                Ok(())
            }
            TimeRegression::Reject => Err(Refusal::of("TIMESTAMP_REGRESSION").liftable()),
        }
    }

    fn expected(&self, doc: &Value, document: &Document) -> Result<(), Refusal> {
        if let Some(expected) = document.expected {
            let fits = expected == self.highest_assigned(&document.lane);
            return if fits { Ok(()) } else { Err(Refusal::of("SEQUENCE_CONFLICT")) };
        }
        let Some((field, values)) = &self.rules.sequence.expected_required_for else {
            return Ok(());
        };
        let value = doc.get(field).and_then(Value::as_str);
        let required = value.is_some_and(|value| values.iter().any(|other| other == value));
        if required { Err(Refusal::of("EXPECTED_SEQ_REQUIRED")) } else { Ok(()) }
    }

    /// The entries of a lane that checks 5 to 8 see, oldest first.
    fn lane_entries(&self, lane: &str) -> Vec<&Entry> {
        self.entries.iter().filter(|entry| entry.lane == lane && entry.counts_for_lane).collect()
    }

    pub(super) fn numbers(&self, lane: &str) -> Numbers {
        if self.rules.sequence.source != Source::Producer {
            return Numbers::default();
        }
        let seen = self.lane_entries(lane);
        let pairs: Vec<(u64, u64)> = seen.iter().filter_map(|entry| Some((entry.epoch, entry.seq?))).collect();
        Numbers::fold(&self.rules.sequence, &pairs)
    }

    /// The server's highest number in a lane, 0 for a new one; assigned in mode off too.
    pub(super) fn highest_assigned(&self, lane: &str) -> u64 {
        let of_lane = self.entries.iter().filter(|entry| entry.lane == lane);
        of_lane.filter_map(|entry| entry.seq).max().unwrap_or(0)
    }

    pub(super) fn last_time(&self, lane: &str) -> Option<i64> {
        let seen = self.lane_entries(lane);
        seen.iter().filter_map(|entry| Some(entry.observed_at?.min(entry.ingested_at))).max()
    }
}

pub(super) fn age(now: i64, then: i64) -> i128 {
    i128::from(now) - i128::from(then)
}

/// The refusal of a time that is not there or cannot be read.
fn unreadable(time: Observed) -> Refusal {
    match time {
        Observed::Absent | Observed::At(_) => Refusal::of("TIMESTAMP_MISSING"),
        Observed::Unparsable => Refusal::of("TIMESTAMP_PARSE_ERROR").state("TIMESTAMP_INVALID_FORMAT"),
        Observed::NotUtc(_) => Refusal::of("TIMESTAMP_TIMEZONE_VIOLATION").state("TIMESTAMP_NON_UTC"),
    }
}
