//! Everything that is not an answer about an event: a code, a status, whether anything was written, and a sentence.

use serde::Serialize;
use serde::Serializer;
use serde::ser::SerializeMap;

use crate::claim::{ClaimFault, Problem as HandlerProblem};
use crate::source;
use crate::words::vocabulary;

vocabulary! {
    /// What went wrong.
    ProblemCode {
        /// The contract is unsafe or cannot be read.
        ContractInvalid = "CONTRACT_INVALID",
        /// There is no such stream.
        StreamNotFound = "STREAM_NOT_FOUND",
        /// There is no such event.
        EventNotFound = "EVENT_NOT_FOUND",
        /// There is no such lane.
        LaneNotFound = "LANE_NOT_FOUND",
        /// There is no such counter.
        CounterNotFound = "COUNTER_NOT_FOUND",
        /// There is no such handler.
        HandlerNotFound = "HANDLER_NOT_FOUND",
        /// Several lanes hold this id.
        IdAmbiguous = "ID_AMBIGUOUS",
        /// None of the numbers is missing.
        GapNotFound = "GAP_NOT_FOUND",
        /// The id of an adjustment was used for another.
        PayloadConflict = "PAYLOAD_CONFLICT",
        /// An amount is not a number, or out of range.
        AmountInvalid = "AMOUNT_INVALID",
        /// The contract or the key does not allow an override.
        OverrideNotAllowed = "OVERRIDE_NOT_ALLOWED",
        /// The request's key was used for another request.
        IdempotencyKeyReused = "IDEMPOTENCY_KEY_REUSED",
        /// The request does not say what it should.
        RequestInvalid = "REQUEST_INVALID",
        /// The handler's settings contradict themselves.
        HandlerInvalid = "HANDLER_INVALID",
    }
}

impl ProblemCode {
    /// The HTTP status.
    pub const fn status(self) -> u16 {
        match self {
            Self::StreamNotFound
            | Self::EventNotFound
            | Self::LaneNotFound
            | Self::CounterNotFound
            | Self::HandlerNotFound => 404,
            Self::IdAmbiguous | Self::PayloadConflict => 409,
            Self::OverrideNotAllowed => 403,
            Self::ContractInvalid
            | Self::GapNotFound
            | Self::AmountInvalid
            | Self::IdempotencyKeyReused
            | Self::RequestInvalid
            | Self::HandlerInvalid => 422,
        }
    }
}

/// An answer that is not about an event. Every problem that the rules give leaves nothing written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The code on the wire.
    pub code: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// The sentence for people.
    pub detail: String,
    /// What is wrong with a contract or a handler, key by key.
    pub problems: Vec<source::Problem>,
}

impl Problem {
    /// A problem with its sentence.
    pub fn new(code: ProblemCode, detail: impl Into<String>) -> Self {
        Self { code: code.name(), status: code.status(), detail: detail.into(), problems: Vec::new() }
    }

    /// A contract that cannot be put.
    pub fn contract(problems: Vec<source::Problem>) -> Self {
        let detail = match problems.as_slice() {
            [only] => only.to_string(),
            _ => format!("the contract has {} problems", problems.len()),
        };
        Self { problems, ..Self::new(ProblemCode::ContractInvalid, detail) }
    }

    /// A handler that cannot be put.
    pub fn handler(problems: &[HandlerProblem]) -> Self {
        let detail = problems.iter().map(|problem| format!("{}: {}", problem.key, problem.why));
        let detail = detail.collect::<Vec<_>>().join("; ");
        let at = source::Place::default();
        let problems = problems.iter().map(|it| source::Problem { key: it.key.to_owned(), why: it.why.to_owned(), at });
        Self { problems: problems.collect(), ..Self::new(ProblemCode::HandlerInvalid, detail) }
    }
}

/// The registry's faults have a table of their own.
impl From<ClaimFault> for Problem {
    fn from(fault: ClaimFault) -> Self {
        Self { code: fault.code(), status: fault.status(), detail: fault.to_string(), problems: Vec::new() }
    }
}

impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("code", &self.code)?;
        map.serialize_entry("status", &self.status)?;
        map.serialize_entry("effect", "none")?;
        map.serialize_entry("detail", &self.detail)?;
        if !self.problems.is_empty() {
            map.serialize_entry("problems", &self.problems)?;
        }
        map.end()
    }
}
