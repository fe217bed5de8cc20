//! What a turn is asked, and what it answers.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use hapax_core::batch::{self, Terms};
use hapax_core::claim::{Handler, Jitter};
use hapax_core::contract::Checked;
use hapax_core::entry::Caller;
use hapax_core::event::{Digest, Event};
use hapax_core::problem::Problem;
use hapax_core::receipt::Receipt;
use hapax_core::time::Time;
use serde::Serialize;

use crate::seam::{HandlerKey, Key, RequestKey, StreamKey};

/// One request, with all that it brings from outside.
#[derive(Debug)]
pub struct Request {
    /// When it came. Read once.
    pub now: Time,
    /// Random bits for ids that must be assigned.
    pub spare: u128,
    /// How much a backoff is lengthened.
    pub jitter: Jitter,
    /// Who asks.
    pub caller: Caller,
    /// Its `Idempotency-Key`, if it has one.
    pub id: Option<RequestId>,
    /// What is asked.
    pub ask: Ask,
}

/// A request's own key, and what it stands for.
#[derive(Clone, Debug)]
pub struct RequestId {
    /// The key in its scope.
    pub key: RequestKey,
    /// A hash of everything that makes the request what it is.
    pub fingerprint: Digest,
}

/// What is asked.
#[derive(Debug)]
pub enum Ask {
    /// Judge events.
    Submit(Submission),
    /// Put a contract.
    PutContract {
        /// Of this stream.
        stream: StreamKey,
        /// Read and checked.
        contract: Box<Checked>,
    },
    /// Correct a counter.
    Correct(CorrectionAsk),
    /// Close a period.
    Close {
        /// Of this stream.
        stream: StreamKey,
        /// The counter.
        counter: String,
        /// One key, as a JSON array, or every key.
        key: Option<String>,
        /// The period.
        period: String,
    },
    /// Record a loss.
    Acknowledge {
        /// Of this stream.
        stream: StreamKey,
        /// The lane.
        lane: Arc<str>,
        /// The first number.
        from: u64,
        /// The last number.
        to: u64,
        /// Why.
        reason: Arc<str>,
    },
    /// Declare a handler.
    PutHandler {
        /// Which.
        key: HandlerKey,
        /// As declared.
        handler: Box<Handler>,
    },
    /// Ask for an event.
    Claim(ClaimAsk),
    /// A holder's or a person's word about a claim.
    Call(CallAsk),
    /// Make a key. The caller shows it; here only its hash is known.
    PutKey(Box<Key>),
    /// End a key.
    RevokeKey {
        /// Whose.
        tenant: Arc<str>,
        /// Which.
        id: Arc<str>,
    },
}

/// Events for a stream.
#[derive(Debug)]
pub struct Submission {
    /// The stream.
    pub stream: StreamKey,
    /// The documents as sent, if nobody has read them yet.
    pub documents: Vec<Arc<[u8]>>,
    /// The documents as read; read again if the contract has moved on.
    pub events: Arc<Vec<Event>>,
    /// How they are to be treated.
    pub terms: Terms,
    /// One event is answered with its receipt, several with a batch.
    pub single: bool,
    /// The longest document.
    pub event_bytes_max: usize,
}

/// A manual correction as written.
#[derive(Clone, Debug)]
pub struct CorrectionAsk {
    /// Of this stream.
    pub stream: StreamKey,
    /// The counter.
    pub counter: String,
    /// Its id.
    pub id: String,
    /// The key, as a JSON array.
    pub key: String,
    /// The period.
    pub period: String,
    /// The amount.
    pub amount: String,
    /// Why.
    pub reason: String,
}

/// A claim.
#[derive(Clone, Debug)]
pub struct ClaimAsk {
    /// For this handler.
    pub handler: HandlerKey,
    /// The event.
    pub event_id: String,
    /// Whose event it is, for a bare registry that takes those of several.
    pub stream: Option<String>,
    /// Its lane, where the id alone does not say.
    pub lane: Option<String>,
    /// The caller's word, for a bare registry.
    pub epoch: u64,
    /// The caller's word, for a bare registry.
    pub seq: Option<u64>,
    /// A note for people.
    pub owner: Option<String>,
}

/// A word about a claim.
#[derive(Clone, Debug)]
pub struct CallAsk {
    /// For this handler.
    pub handler: HandlerKey,
    /// The event.
    pub event_id: String,
    /// Whose event it is, for a bare registry that takes those of several.
    pub stream: Option<String>,
    /// Its lane, where the id alone does not say.
    pub lane: Option<String>,
    /// The word.
    pub call: Call,
}

/// A holder's or a person's word.
#[derive(Clone, Debug)]
pub enum Call {
    /// I live.
    Heartbeat {
        /// The holder's fence.
        fence: u64,
    },
    /// It is done.
    Done {
        /// The holder's fence.
        fence: u64,
        /// What those are told who ask again, as JSON.
        result: Option<String>,
    },
    /// It failed.
    Failed {
        /// The holder's fence.
        fence: u64,
        /// The holder's words.
        error: String,
    },
    /// A person wants it tried again.
    Retry,
    /// A person lets it go.
    Skip {
        /// Why.
        reason: String,
    },
}

/// An answer, ready for the wire.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body, as JSON.
    pub body: Body,
    /// Was it given before, to the same request?
    pub replayed: bool,
    /// Is it a problem? Problems are not kept for a request that comes again.
    pub problem: bool,
}

/// The body of an answer. One about events is written when somebody first looks at it: that takes as long as judging them, and
/// nobody else need wait for it.
#[derive(Clone, Debug)]
pub struct Body(Form);

#[derive(Clone, Debug)]
enum Form {
    Text(Bytes),
    Judged(Arc<Judged>),
}

/// What was judged, how it is to be shown, and that once it was written.
#[derive(Debug)]
struct Judged {
    answer: batch::Answer,
    single: bool,
    text: OnceLock<Bytes>,
}

impl Body {
    /// About events. One is answered with its receipt, several with a batch.
    pub(super) fn judged(answer: batch::Answer, single: bool) -> Self {
        Self(Form::Judged(Arc::new(Judged { answer, single, text: OnceLock::new() })))
    }

    /// Its bytes. They are written once, for it and all its clones.
    pub fn bytes(&self) -> &Bytes {
        match &self.0 {
            Form::Text(text) => text,
            Form::Judged(judged) => judged.text.get_or_init(|| Bytes::from(judged.answer.written(judged.single))),
        }
    }
}

impl From<Bytes> for Body {
    fn from(text: Bytes) -> Self {
        Self(Form::Text(text))
    }
}

/// As a request's record has it.
impl From<Arc<[u8]>> for Body {
    fn from(text: Arc<[u8]>) -> Self {
        Self::from(Bytes::from_owner(text))
    }
}

impl std::ops::Deref for Body {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes()
    }
}

/// What goes over the wire decides.
impl PartialEq for Body {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for Body {}

/// What goes over the wire decides.
impl PartialEq for Answer {
    fn eq(&self, other: &Self) -> bool {
        let key = |it: &Self| (it.status, it.replayed, it.problem);
        key(self) == key(other) && self.body == other.body
    }
}

impl Eq for Answer {}

impl Answer {
    /// What it says about each event, for those who count and log it. Empty if it was given before.
    pub fn receipts(&self) -> &[Receipt] {
        match &self.body.0 {
            Form::Text(_) => &[],
            Form::Judged(judged) => &judged.answer.receipts,
        }
    }

    /// An answer that came from a decision.
    pub fn of(status: u16, body: &impl Serialize) -> Self {
        // Every view is made of plain values, which always serialise.
        let body = Bytes::from(serde_json::to_vec(body).unwrap_or_default());
        Self { status, body: body.into(), replayed: false, problem: false }
    }

    /// An answer that is not about what was asked.
    pub fn problem(problem: &Problem) -> Self {
        Self { problem: true, ..Self::of(problem.status, problem) }
    }
}
