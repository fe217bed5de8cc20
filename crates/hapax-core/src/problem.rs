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
        /// There is no such key.
        KeyNotFound = "KEY_NOT_FOUND",
        /// The request cannot be read.
        Malformed = "MALFORMED",
        /// A key is needed.
        KeyRequired = "KEY_REQUIRED",
        /// The key is unknown or revoked.
        KeyInvalid = "KEY_INVALID",
        /// The key does not allow this.
        Forbidden = "FORBIDDEN",
        /// Nothing is at this address.
        NotFound = "NOT_FOUND",
        /// Not with this method.
        MethodNotAllowed = "METHOD_NOT_ALLOWED",
        /// The request did not arrive in time.
        RequestTimeout = "REQUEST_TIMEOUT",
        /// The same request is still running.
        RequestRunning = "REQUEST_RUNNING",
        /// The body is too large.
        TooLarge = "TOO_LARGE",
        /// The server does not go by this name.
        HostUnknown = "HOST_UNKNOWN",
        /// The request's line and headers are too large.
        HeadersTooLarge = "HEADERS_TOO_LARGE",
        /// The body's type or coding is unknown.
        UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE",
        /// Too many requests.
        RateLimited = "RATE_LIMITED",
        /// Too much waits.
        Busy = "BUSY",
        /// The disk is nearly full.
        DiskLow = "DISK_LOW",
        /// The server is stopping.
        Stopping = "STOPPING",
        /// The store cannot be reached.
        StoreUnreachable = "STORE_UNREACHABLE",
        /// A write or a sync has failed.
        StoreStopped = "STORE_STOPPED",
        /// The store contradicts itself.
        StoreCorrupt = "STORE_CORRUPT",
        /// Nobody knows whether it was written.
        CommitUnknown = "COMMIT_UNKNOWN",
    }
}

impl ProblemCode {
    /// The HTTP status, whether anything was written, and what it means in a sentence: one row each.
    const fn row(self) -> (u16, Effect, &'static str) {
        use Effect::{None, Unknown};
        match self {
            Self::ContractInvalid => {
                (422, None, "The contract is unsafe or cannot be read; `problems` names every fault.")
            }
            Self::StreamNotFound => (404, None, "There is no such stream. Put a contract to make one."),
            Self::EventNotFound => (404, None, "The ledger holds no event with this id."),
            Self::LaneNotFound => (404, None, "The stream has no such lane."),
            Self::CounterNotFound => {
                (404, None, "The contract has no such counter, or the period is not one of its own.")
            }
            Self::HandlerNotFound => (404, None, "There is no such handler. Declare it first."),
            Self::IdAmbiguous => (409, None, "Several lanes hold this id. Say which with `lane`."),
            Self::GapNotFound => (422, None, "None of these numbers is missing."),
            Self::PayloadConflict => (409, None, "This id was used for another correction."),
            Self::AmountInvalid => (422, None, "The amount is not a number, or out of range."),
            Self::OverrideNotAllowed => {
                (403, None, "Only an admin may override, and only where the contract allows it.")
            }
            Self::IdempotencyKeyReused => (422, None, "This Idempotency-Key was used for another request."),
            Self::RequestInvalid => (422, None, "The request does not say what it should."),
            Self::HandlerInvalid => {
                (422, None, "The handler's settings contradict themselves; `problems` names every fault.")
            }
            Self::KeyNotFound => (404, None, "There is no such key."),
            Self::Malformed => {
                (400, None, "The request cannot be read: it is not JSON, or a header or parameter is wrong.")
            }
            Self::KeyRequired => (401, None, "This server needs a key: `Authorization: Bearer KEY`."),
            Self::KeyInvalid => (401, None, "The key is unknown or revoked."),
            Self::Forbidden => (403, None, "The key does not allow this."),
            Self::NotFound => (404, None, "There is nothing at this address."),
            Self::MethodNotAllowed => {
                (405, None, "This address does not take this method; `Allow` says which it takes.")
            }
            Self::RequestTimeout => (408, None, "The request did not arrive in time."),
            Self::RequestRunning => (409, None, "A request with this Idempotency-Key is still running. Send it again."),
            Self::TooLarge => (413, None, "The body, or what it unpacks to, is larger than this server takes."),
            Self::HostUnknown => (421, None, "This server needs no keys, and it does not go by the name in `Host`."),
            Self::HeadersTooLarge => (431, None, "The request's line and headers are larger than this server takes."),
            Self::UnsupportedMediaType => (415, None, "The body's type or coding is not one that this server reads."),
            Self::RateLimited => {
                (429, None, "Too many requests or events in a second. Send it again after `Retry-After`.")
            }
            Self::Busy => (503, None, "More waits than this server holds. Send it again after `Retry-After`."),
            Self::DiskLow => (503, None, "The disk is nearly full, so nothing more is taken until there is room."),
            Self::Stopping => (503, None, "The server is stopping. Send it again to the next one."),
            Self::StoreUnreachable => (503, None, "The store cannot be reached. Nothing was written."),
            Self::StoreStopped => {
                (503, Unknown, "A write or a sync failed. Send it again after a restart: identity makes that safe.")
            }
            Self::StoreCorrupt => (503, None, "The store contradicts itself, and nothing is answered from it."),
            Self::CommitUnknown => {
                (503, Unknown, "Nobody knows whether it was written. Send it again: identity makes that safe.")
            }
        }
    }

    /// The HTTP status.
    pub const fn status(self) -> u16 {
        self.row().0
    }

    /// Was anything written?
    pub const fn effect(self) -> Effect {
        self.row().1
    }

    /// What it means.
    pub const fn meaning(self) -> &'static str {
        self.row().2
    }
}

vocabulary! {
    /// Whether a problem left anything written.
    Effect {
        /// Nothing was written.
        None = "none",
        /// Nobody knows: send it again, identity makes that safe.
        Unknown = "unknown",
    }
}

/// An answer that is not about an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The code on the wire.
    pub code: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// Was anything written? Every problem that the rules give leaves nothing.
    pub effect: Effect,
    /// The sentence for people.
    pub detail: String,
    /// What is wrong with a contract or a handler, key by key.
    pub problems: Vec<source::Problem>,
}

impl Problem {
    /// A problem with its sentence.
    pub fn new(code: ProblemCode, detail: impl Into<String>) -> Self {
        let (status, effect, _) = code.row();
        Self { code: code.name(), status, effect, detail: detail.into(), problems: Vec::new() }
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
        let (code, status, effect) = (fault.code(), fault.status(), Effect::None);
        Self { code, status, effect, detail: fault.to_string(), problems: Vec::new() }
    }
}

impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        // Relative, so that it resolves to the page of the very server that answered.
        map.serialize_entry("type", &format_args!("/problems/{}", self.code))?;
        map.serialize_entry("title", &title(self.code))?;
        map.serialize_entry("code", &self.code)?;
        map.serialize_entry("status", &self.status)?;
        map.serialize_entry("effect", &self.effect)?;
        map.serialize_entry("detail", &self.detail)?;
        if !self.problems.is_empty() {
            map.serialize_entry("problems", &self.problems)?;
        }
        map.end()
    }
}

/// A code as words: `LEASE_LOST` is "Lease lost".
pub fn title(code: &str) -> String {
    let words = code.replace('_', " ").to_lowercase();
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
