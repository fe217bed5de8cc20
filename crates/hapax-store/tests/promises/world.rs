//! A small world in which every kind of thing that a store keeps is there once: two streams, a handler that holds a
//! claim, an answered request, a lane with a gap, a nonce, a counter with an adjustment, a closed period.

use std::sync::Arc;

use hapax_core::batch::Terms;
use hapax_core::claim::{Handler, Jitter};
use hapax_core::contract::Contract;
use hapax_core::counter::CounterKey;
use hapax_core::entry::Caller;
use hapax_core::event::{Identity, NonceKey};
use hapax_core::facts::{LaneNeeds, Needs};
use hapax_core::period::Period;
use hapax_core::time::Time;
use hapax_store::seam::{HandlerKey, Loaded, Read, RequestKey, Store, StreamKey, StreamNeeds, TurnNeeds};
use hapax_store::turn::{Answer, Ask, Call, CallAsk, ClaimAsk, CorrectionAsk, Request, RequestId, Submission, turn};
use serde_json::{Value, json};

pub(crate) const CONTRACT: &str = r#"
[sequence]
source = "producer"
first = 1

[counters.usage]
key = ["/customer"]
amount = "/amount"
period = "month"
lateness = "1h"
"#;

/// The last second of January 2026.
pub(crate) const NOW_NS: i64 = 1_769_903_999_000_000_000;

pub(crate) fn stream(tenant: &str, stream: &str) -> StreamKey {
    StreamKey { tenant: Arc::from(tenant), stream: Arc::from(stream) }
}

pub(crate) fn handler(tenant: &str) -> HandlerKey {
    HandlerKey { tenant: Arc::from(tenant), handler: Arc::from("h") }
}

pub(crate) fn request_key(tenant: &str) -> RequestKey {
    RequestKey { tenant: Arc::from(tenant), target: Arc::from("POST /v1/streams/one/events"), key: Arc::from("k") }
}

pub(crate) fn usage() -> CounterKey {
    let period = Period::Month.of(Time::from_nanos(NOW_NS));
    CounterKey { name: Arc::from("usage"), key: Arc::from("[\"c\"]"), period }
}

pub(crate) fn event(number: u64) -> Value {
    let time = Time::from_nanos(NOW_NS).to_string();
    json!({ "id": format!("e{number}"), "lane": "a", "seq": number, "nonce": format!("n{number}"), "time": time,
        "customer": "c", "amount": 2 })
}

/// A request of nobody in particular.
pub(crate) fn request(ask: Ask) -> Request {
    let (now, caller) = (Time::from_nanos(NOW_NS), Caller::default());
    Request { now, spare: 1, jitter: Jitter::NONE, caller, id: None, ask }
}

pub(crate) fn submit(stream: &StreamKey, docs: &[Value]) -> Request {
    let documents = docs.iter().map(super::play::stage::bytes).collect();
    let (terms, event_bytes_max) = (Terms::default(), 1 << 20);
    let stream = stream.clone();
    request(Ask::Submit(Submission {
        stream,
        documents,
        events: Arc::default(),
        terms,
        single: false,
        event_bytes_max,
    }))
}

/// The same with an `Idempotency-Key`.
pub(crate) fn keyed(tenant: &str, request: Request) -> Request {
    Request { id: Some(RequestId { key: request_key(tenant), fingerprint: [1; 32] }), ..request }
}

pub(crate) fn put(stream: &StreamKey) -> Request {
    let contract = Contract::from_toml(CONTRACT).unwrap_or_else(|problems| panic!("{problems:?}"));
    request(Ask::PutContract { stream: stream.clone(), contract: Box::new(contract) })
}

pub(crate) fn claim(tenant: &str, event_id: &str) -> Request {
    let (handler, event_id) = (handler(tenant), event_id.to_string());
    request(Ask::Claim(ClaimAsk { handler, event_id, stream: None, lane: None, epoch: 0, seq: None, owner: None }))
}

pub(crate) fn done(tenant: &str, event_id: &str, fence: u64) -> Request {
    let (handler, event_id) = (handler(tenant), event_id.to_string());
    let call = Call::Done { fence, result: Some("{\"ok\":true}".to_string()) };
    request(Ask::Call(CallAsk { handler, event_id, stream: None, lane: None, call }))
}

pub(crate) fn take<S: Store>(store: &mut S, mut requests: Vec<Request>) -> Vec<Answer> {
    let answers = turn(store, &mut requests).expect("a turn");
    for answer in &answers {
        assert!(!answer.problem, "{}", String::from_utf8_lossy(&answer.body));
    }
    answers
}

/// A tenant with two streams, empty but for their contracts, and a handler.
pub(crate) fn found<S: Store>(store: &mut S, tenant: &str) {
    store.tenant(&Arc::from(tenant), [7; 32]).expect("a tenant");
    for name in ["one", "two"] {
        take(store, vec![put(&stream(tenant, name))]);
    }
    let declared = Handler { stream: Some("one".to_string()), ..Handler::new("h") };
    take(store, vec![request(Ask::PutHandler { key: handler(tenant), handler: Box::new(declared) })]);
}

/// The whole world.
pub(crate) fn fill<S: Store>(store: &mut S, tenant: &str) {
    found(store, tenant);
    let one = stream(tenant, "one");
    let again = json!({ "id": "e1", "lane": "a", "seq": 9 });
    take(store, vec![keyed(tenant, submit(&one, &[event(1), event(4), again]))]);
    let mut late = event(5);
    late["time"] = json!("2026-01-31T22:00:00Z");
    take(store, vec![submit(&one, &[late])]);
    let counter = || "usage".to_string();
    let text = |text: &str| text.to_string();
    let correction = CorrectionAsk {
        stream: one.clone(),
        counter: counter(),
        id: text("c1"),
        key: text("[\"c\"]"),
        period: text("2026-01"),
        amount: text("-1"),
        reason: text("a test"),
    };
    take(store, vec![request(Ask::Correct(correction))]);
    let close = |key: Option<String>, period: &str| {
        request(Ask::Close { stream: one.clone(), counter: counter(), key, period: period.to_string() })
    };
    take(store, vec![close(None, "2025-12"), close(Some(text("[\"d\"]")), "2026-01")]);
    let (lane, reason) = (Arc::from("a"), Arc::from("a test"));
    take(store, vec![request(Ask::Acknowledge { stream: one.clone(), lane, from: 2, to: 2, reason })]);
    take(store, vec![claim(tenant, "e1"), claim(tenant, "e4")]);
    take(store, vec![done(tenant, "e1", 1)]);
}

/// Everything that the world holds, asked for in one load.
pub(crate) fn load<S: Store>(store: &mut S, tenant: &str) -> Loaded {
    let identity = |id: &str| Identity::of(None, id);
    let usage = usage();
    let closed = Period::Month.parse("2025-12").expect("a period");
    let needs = Needs {
        events: Vec::new(),
        identities: ["e1", "e4", "e5", "nobody"].map(identity).to_vec(),
        lanes: [(Arc::from("a"), LaneNeeds { numbers: vec![3], epoch: 0 })].into_iter().collect(),
        nonces: vec![NonceKey::of("a", "n1"), NonceKey::of("a", "never")],
        periods: [(Arc::clone(&usage.name), closed), (Arc::clone(&usage.name), usage.period)].into_iter().collect(),
        counters: [usage].into_iter().collect(),
    };
    let whole = StreamNeeds { needs, whole_lanes: vec![Arc::from("a")], writes: true };
    let needs = TurnNeeds {
        streams: [(stream(tenant, "one"), whole), (stream(tenant, "two"), StreamNeeds::default())]
            .into_iter()
            .collect(),
        handlers: vec![handler(tenant)],
        handler_lanes: vec![(handler(tenant), Arc::from("a"))],
        claims: vec![(handler(tenant), identity("e1")), (handler(tenant), identity("e4"))],
        requests: vec![request_key(tenant)],
        keys: vec![Arc::from(tenant)],
    };
    store.load(&needs).expect("a load")
}

/// Everything that can be read of a tenant, in words that can be compared.
pub(crate) fn snapshot<S: Store>(store: &mut S, tenant: &str) -> Vec<String> {
    let mut all = Vec::new();
    for name in ["one", "two", "three"] {
        let key = stream(tenant, name);
        all.push(format!("{name} versions {:?}", store.reader().versions(&key)));
        all.push(format!("{name} head {:?}", store.reader().head(&key)));
        all.push(format!("{name} entries {:?}", store.reader().entries(&key, 0, 100)));
        all.push(format!("{name} lane {:?}", store.reader().lane(&key, "a")));
        all.push(format!("{name} counters {:?}", store.reader().counters(&key, &Default::default(), None, usize::MAX)));
        all.push(format!("{name} attempts {:?}", store.reader().attempts(&key, &Default::default(), 0, usize::MAX)));
    }
    all.push(format!("handler {:?}", store.reader().handler(&handler(tenant))));
    let figures = store.reader().figures().expect("figures");
    // They are about everybody, and this is about one tenant.
    let streams: Vec<_> = figures.streams.iter().filter(|it| &*it.key.tenant == tenant).collect();
    let handlers: Vec<_> = figures.handlers.iter().filter(|(key, _)| &*key.tenant == tenant).collect();
    all.push(format!("figures {streams:?} {handlers:?}"));
    let loaded = load(store, tenant);
    let identity = |id: &str| (handler(tenant), Identity::of(None, id));
    all.push(format!("claims {:?} {:?}", loaded.claims.get(&identity("e1")), loaded.claims.get(&identity("e4"))));
    all.push(format!("requests {:?}", loaded.requests.get(&request_key(tenant))));
    all.push(format!("handler lane {:?}", loaded.handler_lanes.values().collect::<Vec<_>>()));
    if let Some(stream) = loaded.streams.get(&stream(tenant, "one")) {
        all.push(format!("nonce {:?}", stream.facts.nonce(&NonceKey::of("a", "n1"))));
    }
    all
}
