//! Why an event is not accepted: a code, the values that were compared, and a sentence for people.
//!
//! The sentence begins with the words that the designs behind the presets use, so that alerts written for them go on
//! working. It is made from the values when it is asked for; nothing else is stored.

use serde::Serialize;
use serde::ser::SerializeMap;

use crate::duration::offset_in_words;
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

    /// Writes the compared values into a receipt's `detail`.
    pub(crate) fn serialize_into<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        match &self.why {
            Why::Schema { pointer, expected, found } => {
                map.serialize_entry("pointer", pointer)?;
                map.serialize_entry("expected", expected)?;
                map.serialize_entry("found", found)
            }
            Why::Format { reason } => map.serialize_entry("reason", reason),
            Why::Bounds { observed, ingested, bound } => {
                map.serialize_entry("observed_at", observed)?;
                map.serialize_entry("ingested_at", ingested)?;
                map.serialize_entry("bound", bound)
            }
            Why::Regression { last, submitted } => {
                map.serialize_entry("last_accepted", last)?;
                map.serialize_entry("submitted", submitted)
            }
            Why::Nonce { used_at } => map.serialize_entry("used_at", used_at),
            Why::Number { expected, got, last_seen } => Numbers { expected, got, last_seen }.into_map(map),
            Why::Epoch { current, got } => {
                Numbers { expected: &Some(*current), got, last_seen: &Some(*current) }.into_map(map)
            }
            Why::Current { current, expected } => {
                map.serialize_entry("current_seq", current)?;
                expected.map_or(Ok(()), |expected| map.serialize_entry("expected_seq", &expected))
            }
            Why::Amount { counter, reason } => {
                map.serialize_entry("counter", counter)?;
                map.serialize_entry("reason", reason)
            }
            Why::Lane => Ok(()),
            Why::Batch { index } => map.serialize_entry("because_of", index),
        }
    }
}

struct Numbers<'a> {
    expected: &'a Option<u64>,
    got: &'a u64,
    last_seen: &'a Option<u64>,
}

impl Numbers<'_> {
    fn into_map<M: SerializeMap>(self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("expected", self.expected)?;
        map.serialize_entry("got", self.got)?;
        map.serialize_entry("last_seen", self.last_seen)
    }
}

impl Serialize for Refusal {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.serialize_into(&mut map)?;
        map.end()
    }
}

#[cfg(test)]
mod tests;
