//! The real ledger, driven as a server drives it: requests go through the turn, answers are read as JSON.
//!
//! Every event that is sent has its own random bits, counted up from 1, so that the ids which the ledger assigns do not
//! depend on how events are cut into requests.

use std::sync::Arc;

use hapax_core::access::Patterns;
use hapax_core::batch::Terms;
use hapax_core::claim::Jitter;
use hapax_core::contract::Contract;
use hapax_core::entry::{Caller, SharedEntry};
use hapax_core::time::Time;
use hapax_core::view::AttemptView;
use hapax_store::memory::Memory;
use hapax_store::seam::{AttemptFilter, Read, Store, StreamKey};
use hapax_store::turn::{Answer, Ask, Request, Submission, turn};
use serde_json::Value;

use super::model::Opts;

/// The longest document, as a server takes it by default.
const EVENT_BYTES_MAX: usize = 1 << 20;

/// The salt of every tenant here.
pub(crate) const SALT: [u8; 32] = [7; 32];

/// One stream in one store.
pub(crate) struct Stage<S> {
    pub(crate) store: S,
    pub(crate) stream: StreamKey,
    sent: u128,
}

impl Stage<Memory> {
    /// A stream under this contract, in memory.
    pub(crate) fn new(contract: &str) -> Self {
        Self::on(Memory::new(), contract)
    }
}

impl<S: Store> Stage<S> {
    /// A stream under this contract.
    pub(crate) fn on(mut store: S, contract: &str) -> Self {
        let tenant: Arc<str> = Arc::from("tenant");
        store.tenant(&tenant, SALT).expect("a tenant");
        let mut stage = Self { store, stream: StreamKey { tenant, stream: Arc::from("stream") }, sent: 0 };
        stage.put(contract);
        stage
    }

    /// Puts a contract.
    pub(crate) fn put(&mut self, contract: &str) {
        let checked = Contract::from_toml(contract).unwrap_or_else(|problems| panic!("{problems:#?}\n{contract}"));
        let answer = self.ask(0, Ask::PutContract { stream: self.stream.clone(), contract: Box::new(checked) });
        assert!(answer.status < 300, "{}", String::from_utf8_lossy(&answer.body));
    }

    /// One request that is no submission.
    pub(crate) fn ask(&mut self, now_ns: i64, ask: Ask) -> Answer {
        let request = self.plain(now_ns, ask);
        self.take(vec![request]).remove(0)
    }

    /// A request.
    pub(crate) fn plain(&self, now_ns: i64, ask: Ask) -> Request {
        let (now, caller) = (Time::from_nanos(now_ns), Caller::default());
        Request { now, spare: self.sent, jitter: Jitter::NONE, caller, id: None, ask }
    }

    /// A turn.
    pub(crate) fn take(&mut self, mut requests: Vec<Request>) -> Vec<Answer> {
        turn(&mut self.store, &mut requests).expect("a turn")
    }

    /// A request with events; one that comes alone is answered with its receipt.
    pub(crate) fn submission(&mut self, now_ns: i64, documents: Vec<Arc<[u8]>>, opts: Opts) -> Request {
        let Opts { atomic, dry_run, override_: force } = opts;
        let caller = Caller { forced: force, ..Caller::default() };
        let single = documents.len() == 1 && !atomic;
        let count = documents.len() as u128;
        let submission = Submission {
            stream: self.stream.clone(),
            documents,
            events: Arc::default(),
            terms: Terms { atomic, dry_run, brief: false, caller: caller.clone(), lanes: Patterns::all() },
            single,
            event_bytes_max: EVENT_BYTES_MAX,
        };
        let request = Request { caller, ..self.plain(now_ns, Ask::Submit(submission)) };
        self.sent += count;
        request
    }

    /// Sends events in one request, and a turn of their own.
    pub(crate) fn submit(&mut self, now_ns: i64, docs: &[Value], opts: Opts) -> Answered {
        let request = self.submission(now_ns, docs.iter().map(bytes).collect(), opts);
        Answered::read(&self.take(vec![request])[0])
    }

    /// So many events were sent elsewhere.
    pub(crate) fn skip(&mut self, events: usize) {
        self.sent += events as u128;
    }

    /// So many events will be sent again.
    pub(crate) fn back(&mut self, events: usize) {
        self.sent -= events as u128;
    }

    /// The whole ledger.
    pub(crate) fn entries(&self) -> Vec<SharedEntry> {
        self.store.reader().entries(&self.stream, 0, usize::MAX).expect("entries")
    }

    /// Everything that was ever sent, and judged.
    pub(crate) fn attempts(&self) -> Vec<AttemptView> {
        self.store.reader().attempts(&self.stream, &AttemptFilter::default(), 0, usize::MAX).expect("attempts").items
    }
}

/// A document as it is sent.
pub(crate) fn bytes(doc: &Value) -> Arc<[u8]> {
    serde_json::to_vec(doc).expect("a value can be written").into()
}

/// The answer about some events.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    /// In the order sent.
    pub(crate) receipts: Vec<Value>,
    /// Only batches have one.
    pub(crate) retry_order: Option<Vec<usize>>,
    pub(crate) summary: Option<Value>,
}

impl Answered {
    pub(crate) fn read(answer: &Answer) -> Self {
        let body: Value = serde_json::from_slice(&answer.body).expect("an answer is JSON");
        let status = answer.status;
        match body.get("results").and_then(Value::as_array) {
            None => Self { status, receipts: vec![body], retry_order: None, summary: None },
            Some(receipts) => Self {
                status,
                receipts: receipts.clone(),
                retry_order: serde_json::from_value(body["retry_order"].clone()).ok(),
                summary: body.get("summary").cloned(),
            },
        }
    }
}
