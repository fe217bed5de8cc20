//! The answer about one event. An accepted event's receipt is its entry, so it is the same whenever it is asked for.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::access::Patterns;
use crate::audit::Attempt;
use crate::entry::{Entry, SharedEntry};
use crate::event::Digest;
use crate::out;
use crate::patch::Op;
use crate::words::{Code, Mark, State, Verdict};

mod written;

pub(crate) use written::{Pen, room};

/// The answer about one event.
#[derive(Clone, Debug)]
pub enum Receipt {
    /// It is in the ledger.
    Accepted(SharedEntry),
    /// It is not, or was already.
    Other {
        /// The record of it.
        attempt: Arc<Attempt>,
        /// What was accepted under its id.
        original: Option<SharedEntry>,
        /// What differs from the original.
        diff: Vec<Op>,
    },
}

impl Receipt {
    /// What became of the event.
    pub fn verdict(&self) -> Verdict {
        match self {
            Self::Accepted(_) => Verdict::Accepted,
            Self::Other { attempt, .. } => attempt.verdict,
        }
    }

    /// Why it was not accepted.
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::Accepted(entry) => {
                entry.refusal.as_ref().filter(|_| entry.marks.has(Mark::WouldReject)).map(|it| it.code)
            }
            Self::Other { attempt, .. } => Some(attempt.code),
        }
    }

    /// The HTTP status of an answer with this one receipt.
    pub fn status(&self) -> u16 {
        match self {
            Self::Accepted(_) => 201,
            Self::Other { attempt, .. } if attempt.verdict == Verdict::Duplicate && attempt.rejected => 409,
            Self::Other { attempt, .. } => attempt.code.row().0,
        }
    }

    /// Leaves out an original that lies in a lane which the caller may not know of.
    pub(crate) fn hide(&mut self, lanes: &Patterns) {
        if let Self::Other { original, diff, .. } = self
            && original.as_ref().is_some_and(|original| !lanes.cover(&original.lane))
        {
            *original = None;
            diff.clear();
        }
    }

    /// The receipt of a dry run on a ledger that ends at `durable`: nothing was written, so there is no offset, hash or
    /// attempt, and an original beyond the end is itself a trial.
    pub fn dry(&self, durable: u64) -> impl Serialize {
        Dry { receipt: self, durable }
    }
}

impl Serialize for Receipt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        out::serialize(serializer, |out| Pen::new(out, None).receipt(self))
    }
}

struct Dry<'r> {
    receipt: &'r Receipt,
    durable: u64,
}

impl Serialize for Dry<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        out::serialize(serializer, |out| Pen::new(out, Some(self.durable)).receipt(self.receipt))
    }
}

/// The sentence for people about an attempt.
pub fn message(attempt: &Attempt) -> String {
    match &attempt.refusal {
        Some(refusal) => refusal.message(),
        None => {
            let (before, after) = around_id(attempt);
            [before, attempt.id.as_deref().unwrap_or_default(), after].concat()
        }
    }
}

/// The sentence about a known id, before and after that id.
fn around_id(attempt: &Attempt) -> (&'static str, &'static str) {
    if attempt.verdict == Verdict::Conflict {
        ("Payload conflict: ", " already exists with a different payload")
    } else if attempt.states.has(State::IdempotencyMismatch) {
        ("Duplicate event id: ", " was accepted before, with a different payload that stands")
    } else {
        ("Duplicate event id: ", " was accepted before")
    }
}

/// The `detail` of an accepted event.
pub struct Detail<'e>(pub &'e Entry);

impl std::fmt::Debug for Detail<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Detail({})", self.0.offset)
    }
}

impl Serialize for Detail<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        out::serialize(serializer, |out| written::detail(out, self.0))
    }
}

/// What was written as hex.
pub fn from_hex(text: &str) -> Option<Digest> {
    let mut bytes = [0; 32];
    let (pairs, odd) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != bytes.len() || !odd.is_empty() {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(pairs) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

/// Bytes as lower-case hex.
pub fn hex(bytes: &Digest) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    // Each receipt has one, and formatting it byte by byte cost more than hashing what it stands for.
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

#[cfg(test)]
mod tests;
