//! Why an event is not accepted: a code, the values that were compared, and a sentence for people.
//!
//! The sentence begins with the words that the designs behind the presets use, so that alerts written for them go on
//! working. It is made from the values when it is asked for; nothing else is stored.

use serde::Serialize;

use crate::duration::offset_in_words;
use crate::out::{self, Out};
use crate::time::Time;
use crate::words::{Code, State};

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The code.
    pub code: Code,
    /// The condition that was met.
    pub state: State,
    /// What was compared.
    pub why: Why,
}

/// What was compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The document is not what was expected at a place.
    Schema {
        /// Where.
        pointer: String,
        /// What should be there.
        expected: String,
        /// What is there.
        found: String,
    },
    /// A time that is missing or cannot be read.
    Format {
        /// What is wrong with it.
        reason: String,
    },
    /// A time outside the bounds.
    Bounds {
        /// The event's time.
        observed: Time,
        /// Ours.
        ingested: Time,
        /// The bound in words: `time.past = 5m`.
        bound: String,
    },
    /// A time before the lane's.
    Regression {
        /// The lane's.
        last: Time,
        /// The event's.
        submitted: Time,
    },
    /// A nonce that was used.
    Nonce {
        /// When.
        used_at: Time,
    },
    /// A number out of place.
    Number {
        /// The expected one; none if the lane has used up all numbers.
        expected: Option<u64>,
        /// The event's.
        got: u64,
        /// The highest so far.
        last_seen: Option<u64>,
    },
    /// A lower epoch.
    Epoch {
        /// The lane's.
        current: u64,
        /// The event's.
        got: u64,
    },
    /// Another number than the sender built on.
    Current {
        /// The lane's highest.
        current: u64,
        /// What the sender believed; none if it had to say and did not.
        expected: Option<u64>,
    },
    /// An amount that cannot be counted.
    Amount {
        /// The counter.
        counter: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A lane that the key does not cover.
    Lane,
    /// The event that stopped or refused the batch, by its index.
    Batch {
        /// The index of that event.
        index: usize,
    },
}

impl Refusal {
    /// A refusal whose state is the one that the code's row names.
    pub const fn new(code: Code, why: Why) -> Self {
        Self { code, state: code.row().1, why }
    }

    /// A document that is not what was expected.
    pub fn schema(pointer: impl Into<String>, expected: impl Into<String>, found: impl Into<String>) -> Self {
        let why = Why::Schema { pointer: pointer.into(), expected: expected.into(), found: found.into() };
        Self::new(Code::SchemaViolation, why)
    }

    /// The sentence for people.
    pub fn message(&self) -> String {
        match &self.why {
            Why::Schema { pointer, expected, found } => {
                let place = if pointer.is_empty() { "the document" } else { pointer };
                format!("Schema violation: at {place} expected {expected}, found {found}")
            }
            Why::Format { reason } if self.code == Code::TimestampMissing => format!("Timestamp missing: {reason}"),
            Why::Format { reason } if self.code == Code::TimestampTimezoneViolation => {
                format!("Timestamp not in UTC: {reason}")
            }
            Why::Format { reason } => format!("Timestamp not readable: {reason}"),
            Why::Bounds { observed, ingested, bound } => {
                let apart = offset_in_words(observed.since(*ingested));
                let clock = if observed > ingested { "of our clock" } else { "our clock" };
                format!("Timestamp out of tolerance: {observed} is {apart} {clock}, {bound}")
            }
            Why::Regression { last, submitted } => {
                format!("Timestamp regression: {submitted} is before {last}, the latest of the lane")
            }
            Why::Nonce { used_at } => format!("Duplicate nonce: it was used at {used_at}"),
            Why::Number { expected, got, .. } => {
                let expected = expected.map_or("none any more".to_owned(), |number| number.to_string());
                let named = [
                    (Code::SequenceGap, "Sequence number gap"),
                    (Code::SequenceConflict, "Sequence number already used by another event"),
                    (Code::StaleSequence, "Sequence number is old, and ignored as the contract says"),
                ];
                let words = named.iter().find(|(code, _)| *code == self.code);
                let words = words.map_or("Sequence number regression", |(_, words)| *words);
                format!("{words}: expected {expected}, got {got}")
            }
            Why::Epoch { current, got } => {
                format!("Epoch fenced: the lane is in epoch {current}, got {got} from an earlier incarnation")
            }
            Why::Current { current, expected: Some(expected) } => {
                format!("Sequence conflict: expected_seq is {expected}, but the lane is at {current}")
            }
            Why::Current { current, expected: None } => {
                format!(
                    "Expected sequence required: this event must say which number it builds on; the lane is at {current}"
                )
            }
            Why::Amount { counter, reason } => format!("Amount invalid for counter {counter}: {reason}"),
            Why::Lane => "Lane forbidden: the key does not cover the lane of this event".to_owned(),
            Why::Batch { index } if self.code == Code::BatchStopped => {
                format!("Not evaluated: event {index}, counted from 0, of the same lane was refused for its order")
            }
            Why::Batch { index } => {
                format!("Not evaluated: event {index}, counted from 0, was refused, and the batch is atomic")
            }
        }
    }

    /// What to do next, where there is something to do.
    pub const fn hint(&self) -> Option<&'static str> {
        match self.code {
            Code::SchemaViolation => Some("Correct the document and send it again; nothing was used up."),
            Code::TimestampMissing | Code::TimestampParseError => {
                Some("Send a time such as 2026-01-31T12:00:00.5Z: RFC 3339, at most nine digits of a second.")
            }
            Code::TimestampTimezoneViolation => Some("Send the time in UTC, ending in Z."),
            Code::TimestampFutureBeyondTolerance => Some("Check the clock of the sender."),
            Code::TimestampTooOld | Code::TimestampRegression => {
                Some("An old time never becomes acceptable; an admin may force it where the contract allows that.")
            }
            Code::DuplicateNonce => Some("Give each event a nonce of its own; a retry keeps the event's id."),
            Code::SequenceConflict if matches!(self.why, Why::Current { .. }) => {
                Some("Read the lane's state again, decide anew, and send with its current number.")
            }
            Code::SequenceRegression | Code::SequenceConflict => {
                Some("Give the event the next number; a restarted producer raises its epoch.")
            }
            Code::SequenceGap => Some("Send the missing numbers first."),
            Code::EpochFenced => Some("This incarnation of the producer was replaced; stop it."),
            Code::ExpectedSeqRequired => Some("Send the lane's current number as the expected one."),
            Code::AmountInvalid => Some("Send a number with at most 19 digits before and 9 after the point."),
            Code::LaneForbidden => Some("Use a key that covers this lane."),
            Code::BatchStopped | Code::BatchRefused => Some("Correct what was refused and send these in retry_order."),
            Code::PayloadConflict => Some("Send it under an id of its own, or drop it: the original stands."),
            Code::DuplicateEventId | Code::StaleSequence => None,
        }
    }

    /// Writes the compared values as members of a receipt's `detail`.
    pub(crate) fn write_into(&self, out: &mut Out) {
        match &self.why {
            Why::Schema { pointer, expected, found } => {
                out.member("pointer").string(pointer);
                out.member("expected").string(expected);
                out.member("found").string(found);
            }
            Why::Format { reason } => out.member("reason").string(reason),
            Why::Bounds { observed, ingested, bound } => {
                out.member("observed_at").time(*observed);
                out.member("ingested_at").time(*ingested);
                out.member("bound").string(bound);
            }
            Why::Regression { last, submitted } => {
                out.member("last_accepted").time(*last);
                out.member("submitted").time(*submitted);
            }
            Why::Nonce { used_at } => out.member("used_at").time(*used_at),
            Why::Number { expected, got, last_seen } => numbers(out, *expected, *got, *last_seen),
            Why::Epoch { current, got } => numbers(out, Some(*current), *got, Some(*current)),
            Why::Current { current, expected } => {
                out.member("current_seq").number(*current);
                if let Some(expected) = expected {
                    out.member("expected_seq").number(*expected);
                }
            }
            Why::Amount { counter, reason } => {
                out.member("counter").string(counter);
                out.member("reason").string(reason);
            }
            Why::Lane => {}
            Why::Batch { index } => out.member("because_of").number(*index as u64),
        }
    }
}

fn numbers(out: &mut Out, expected: Option<u64>, got: u64, last_seen: Option<u64>) {
    out.member("expected").number_or_null(expected);
    out.member("got").number(got);
    out.member("last_seen").number_or_null(last_seen);
}

impl Serialize for Refusal {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        out::serialize(serializer, |out| out.object(|out| self.write_into(out)))
    }
}

#[cfg(test)]
mod tests;
