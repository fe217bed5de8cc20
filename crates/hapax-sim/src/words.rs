//! What goes between clients and servers, in plain words: what a client asks, and what it is told.
//!
//! Nothing here is a type of the rules or of a store, so that the auditor can know it all and still share no code with
//! them. Streams and handlers are named by their place in the [`crate::plan::Plan`].

use std::sync::Arc;

/// One document as a producer sends it, with what the producer knows about it.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) bytes: Arc<[u8]>,
    /// What makes two events the same for the producer, within the stream; none if the ledger will assign an id.
    pub(crate) identity: Option<String>,
    /// The id as it must be told; none if the ledger makes it.
    pub(crate) id: Option<String>,
    /// The lane as it must be told.
    pub(crate) lane: String,
    /// The payload in one spelling: equal texts mean the same payload, however it is written.
    pub(crate) payload: String,
    pub(crate) nonce: Option<String>,
    pub(crate) expected: Option<u64>,
}

/// What a client asks.
#[derive(Clone, Debug)]
pub(crate) enum What {
    Events { stream: usize, sent: Vec<Sent>, atomic: bool, dry: bool, single: bool },
    Claim { handler: usize, event: String, lane: Option<String>, seq: Option<u64> },
    Say { handler: usize, event: String, lane: Option<String>, word: Word },
    Put { stream: usize, contract: String },
    Declare { handler: usize },
    Correct { stream: usize, id: String, key: String, period: String, amount: String },
    Close { stream: usize, key: Option<String>, period: String },
    Acknowledge { stream: usize, lane: String, from: u64, to: u64 },
    MakeKey { tenant: usize, id: String },
    EndKey { tenant: usize, id: String },
}

/// What a worker or a person says about a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Heartbeat(u64),
    Done(u64, String),
    Failed(u64),
    Retry,
    Skip,
}

/// A request of a client.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// Each sending has its own, also of the same request.
    pub(crate) number: u64,
    /// Which client.
    pub(crate) client: Client,
    /// The `Idempotency-Key`.
    pub(crate) key: Option<String>,
    pub(crate) what: What,
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    Producer(usize),
    Worker(usize),
    Person,
}

/// What a client is told: what HTTP would carry, and whether it says that it was told before.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) status: u16,
    pub(crate) body: Arc<[u8]>,
    pub(crate) replayed: bool,
}

impl What {
    /// Method and path: the scope of a request's key.
    pub(crate) fn target(&self, plan: &crate::plan::Plan) -> String {
        let stream = |stream: &usize| plan.streams[*stream].name.clone();
        let handler = |handler: &usize| plan.handlers[*handler].name.clone();
        match self {
            Self::Events { stream: it, .. } => format!("POST /v1/streams/{}/events", stream(it)),
            Self::Claim { handler: it, .. } => format!("POST /v1/handlers/{}/claims", handler(it)),
            Self::Say { handler: it, event, word, .. } => {
                format!("POST /v1/handlers/{}/claims/{event}/{}", handler(it), word.name())
            }
            Self::Put { stream: it, .. } => format!("PUT /v1/streams/{}", stream(it)),
            Self::Declare { handler: it } => format!("PUT /v1/handlers/{}", handler(it)),
            Self::Correct { stream: it, .. } => format!("POST /v1/streams/{}/counters/usage/adjustments", stream(it)),
            Self::Close { stream: it, .. } => format!("POST /v1/streams/{}/counters/usage/close", stream(it)),
            Self::Acknowledge { stream: it, lane, .. } => {
                format!("POST /v1/streams/{}/lanes/{lane}/gaps/acknowledge", stream(it))
            }
            Self::MakeKey { .. } => "POST /v1/keys".to_owned(),
            Self::EndKey { id, .. } => format!("DELETE /v1/keys/{id}"),
        }
    }

    /// Whose.
    pub(crate) fn tenant(&self, plan: &crate::plan::Plan) -> usize {
        match self {
            Self::Events { stream, .. }
            | Self::Put { stream, .. }
            | Self::Correct { stream, .. }
            | Self::Close { stream, .. }
            | Self::Acknowledge { stream, .. } => plan.streams[*stream].tenant,
            Self::Claim { handler, .. } | Self::Say { handler, .. } | Self::Declare { handler } => {
                plan.handlers[*handler].tenant
            }
            Self::MakeKey { tenant, .. } | Self::EndKey { tenant, .. } => *tenant,
        }
    }

    /// All that makes the request what it is.
    pub(crate) fn fingerprint(&self) -> [u8; 32] {
        use sha2::Digest as _;
        sha2::Sha256::digest(format!("{self:?}").as_bytes()).into()
    }
}

impl Word {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Heartbeat(_) => "heartbeat",
            Self::Done(..) => "done",
            Self::Failed(_) => "failed",
            Self::Retry => "retry",
            Self::Skip => "skip",
        }
    }

    pub(crate) fn fence(&self) -> Option<u64> {
        match self {
            Self::Heartbeat(fence) | Self::Done(fence, _) | Self::Failed(fence) => Some(*fence),
            Self::Retry | Self::Skip => None,
        }
    }
}
