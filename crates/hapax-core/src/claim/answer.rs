//! What callers are told, in the shapes of SPEC 17.
//!
//! What holds: a [`ResultText`] is valid JSON of at most 64 KiB, whatever made it. Not here: faults, HTTP statuses.

use serde::Serialize;
use serde_json::value::RawValue;

use super::{ClaimFault, Fence};
use crate::time::Time;

/// A result is for those who ask again, not a place to keep documents.
pub const RESULT_BYTES_MAX: usize = 64 * 1024;

/// The answer to a claim.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// Nothing is left to do: it was done, or a person skipped it.
    Done {
        /// What was stored with it.
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<ResultText>,
    },
    /// Given up; needs a person.
    Dead,
    /// A higher rank of the lane is done; nothing is to be done about this one.
    Stale,
    /// Another holds this event, or one that must end first.
    InProgress {
        /// After so long it may be free without anyone's doing.
        retry_after_ms: u64,
    },
    /// An earlier event of the lane is not done, or the backoff is not over.
    Waiting {
        /// Absent where nobody knows: the earlier event was not claimed yet, or needs a person.
        #[serde(skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
    },
    /// Do it.
    Claimed {
        /// To be shown with every call, and to the target.
        fence: Fence,
        /// From 1.
        attempt: u32,
        /// The last instant of the lease.
        lease_until: Time,
    },
}

/// The answer to a holder's call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Status {
    /// The lease goes on.
    Claimed {
        /// Its last instant.
        lease_until: Time,
    },
    /// Final.
    Done,
    /// It may be tried again.
    Failed {
        /// From then on.
        next_attempt_at: Time,
    },
    /// That was the last attempt.
    Dead,
}

/// A result: JSON as the worker wrote it.
#[derive(Clone, Debug)]
pub struct ResultText(Box<RawValue>);

impl ResultText {
    /// Refuses what is longer than [`RESULT_BYTES_MAX`].
    pub fn new(raw: Box<RawValue>) -> Result<ResultText, ClaimFault> {
        if raw.get().len() > RESULT_BYTES_MAX { Err(ClaimFault::ResultTooLarge) } else { Ok(ResultText(raw)) }
    }

    /// Reads it back from a store; refuses also what is not JSON.
    pub fn parse(text: String) -> Result<ResultText, ClaimFault> {
        RawValue::from_string(text).map_err(|_| ClaimFault::ResultNotJson).and_then(ResultText::new)
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    pub(super) fn raw(&self) -> &RawValue {
        &self.0
    }
}

/// Byte for byte: the registry compares results only to know whether something must be written.
impl PartialEq for ResultText {
    fn eq(&self, other: &ResultText) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for ResultText {}
