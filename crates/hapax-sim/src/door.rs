//! The door: a client's plain words become a request of the turn, and what the turn says becomes plain again.
//!
//! As in a server: time, randomness and the caller enter here, and of a store's error the client gets the problem.

use std::sync::Arc;

use hapax_core::access::{Access, Patterns, Rates, Role};
use hapax_core::batch::Terms;
use hapax_core::claim::{self, Handler, Jitter};
use hapax_core::contract::Contract;
use hapax_core::duration::Span;
use hapax_core::entry::Caller;
use hapax_core::problem::{Problem, ProblemCode};
use hapax_core::time::Time;
use hapax_store::seam::{HandlerKey, Key, RequestKey, StoreError, StreamKey};
use hapax_store::turn::{Answer, Ask, Call, CallAsk, ClaimAsk, CorrectionAsk, Request, RequestId, Submission};
use sha2::{Digest as _, Sha256};

use crate::plan::{Order, Plan, TENANTS};
use crate::words::{Asked, Told, What, Word};

pub(crate) fn stream_key(plan: &Plan, stream: usize) -> StreamKey {
    let it = &plan.streams[stream];
    StreamKey { tenant: Arc::from(TENANTS[it.tenant]), stream: Arc::from(it.name.as_str()) }
}

pub(crate) fn handler_key(plan: &Plan, handler: usize) -> HandlerKey {
    let it = &plan.handlers[handler];
    HandlerKey { tenant: Arc::from(TENANTS[it.tenant]), handler: Arc::from(it.name.as_str()) }
}

/// A request as a server hands it to the turn.
pub(crate) fn request(plan: &Plan, asked: &Asked, now: i64) -> Request {
    let now = Time::from_nanos(now);
    let id = asked.key.as_ref().map(|key| RequestId {
        key: RequestKey {
            tenant: Arc::from(TENANTS[asked.what.tenant(plan)]),
            target: Arc::from(asked.what.target(plan)),
            key: Arc::from(key.as_str()),
        },
        fingerprint: asked.what.fingerprint(),
    });
    let caller = Caller { request: Some(Arc::from(format!("r{}", asked.number))), ..Caller::default() };
    let spare = u128::from(asked.number) << 32;
    Request { now, spare, jitter: Jitter::NONE, caller: caller.clone(), id, ask: ask(plan, &asked.what, caller, now) }
}

fn ask(plan: &Plan, what: &What, caller: Caller, now: Time) -> Ask {
    match what {
        What::Events { stream, sent, atomic, dry, single } => Ask::Submit(Submission {
            stream: stream_key(plan, *stream),
            documents: sent.iter().map(|sent| Arc::clone(&sent.bytes)).collect(),
            events: Arc::default(),
            terms: Terms { atomic: *atomic, dry_run: *dry, brief: false, caller, lanes: Patterns::all() },
            single: *single,
            event_bytes_max: 1 << 20,
        }),
        What::Claim { handler, event, lane, seq } => Ask::Claim(ClaimAsk {
            handler: handler_key(plan, *handler),
            event_id: event.clone(),
            stream: None,
            lane: lane.clone(),
            epoch: 0,
            seq: *seq,
            owner: None,
        }),
        What::Say { handler, event, lane, word } => {
            let call = match word {
                Word::Heartbeat(fence) => Call::Heartbeat { fence: *fence },
                Word::Done(fence, result) => Call::Done { fence: *fence, result: Some(result.clone()) },
                Word::Failed(fence) => Call::Failed { fence: *fence, error: "it broke".to_owned() },
                Word::Retry => Call::Retry,
                Word::Skip => Call::Skip { reason: "let it go".to_owned() },
            };
            let (handler, event_id, lane) = (handler_key(plan, *handler), event.clone(), lane.clone());
            Ask::Call(CallAsk { handler, event_id, stream: None, lane, call })
        }
        What::Put { stream, contract } => {
            let checked = Contract::from_toml(contract).unwrap_or_else(|problems| panic!("{problems:?}\n{contract}"));
            Ask::PutContract { stream: stream_key(plan, *stream), contract: Box::new(checked) }
        }
        What::Declare { handler } => {
            let it = &plan.handlers[*handler];
            let declared = Handler {
                stream: it.stream.map(|stream| plan.streams[stream].name.clone()),
                order: match it.order {
                    Order::None => claim::Order::None,
                    Order::LatestOnly => claim::Order::LatestOnly,
                    Order::Sequential => claim::Order::InOrder,
                },
                lease: Span::from_millis(it.lease.unsigned_abs() / 1_000_000),
                heartbeat: Span::from_secs(1),
                attempts_max: it.attempts_max,
                ..Handler::new(&it.name)
            };
            Ask::PutHandler { key: handler_key(plan, *handler), handler: Box::new(declared) }
        }
        What::Correct { stream, id, key, period, amount } => Ask::Correct(CorrectionAsk {
            stream: stream_key(plan, *stream),
            counter: "usage".to_owned(),
            id: id.clone(),
            key: key.clone(),
            period: period.clone(),
            amount: amount.clone(),
            reason: "by hand".to_owned(),
        }),
        What::Close { stream, key, period } => Ask::Close {
            stream: stream_key(plan, *stream),
            counter: "usage".to_owned(),
            key: key.clone(),
            period: period.clone(),
        },
        What::Acknowledge { stream, lane, from, to } => Ask::Acknowledge {
            stream: stream_key(plan, *stream),
            lane: Arc::from(lane.as_str()),
            from: *from,
            to: *to,
            reason: Arc::from("known to be lost"),
        },
        What::MakeKey { tenant, id } => Ask::PutKey(Box::new(Key {
            id: Arc::from(id.as_str()),
            tenant: Arc::from(TENANTS[*tenant]),
            hash: Sha256::digest(format!("{tenant}/{id}").as_bytes()).into(),
            access: Access { role: Role::Admin, streams: Patterns::all(), lanes: Patterns::all() },
            rates: Rates { requests: None, events: None },
            note: None,
            created_at: now,
            revoked_at: None,
        })),
        What::EndKey { tenant, id } => {
            Ask::RevokeKey { tenant: Arc::from(TENANTS[*tenant]), id: Arc::from(id.as_str()) }
        }
    }
}

/// What a client is told of an answer.
pub(crate) fn told(answer: &Answer) -> Told {
    Told { status: answer.status, body: Arc::from(&answer.body[..]), replayed: answer.replayed }
}

/// What a client is told of a store's error.
pub(crate) fn problem(error: &StoreError) -> Told {
    let code = match error {
        StoreError::Conflict => ProblemCode::Busy,
        StoreError::Full => ProblemCode::DiskLow,
        StoreError::Unreachable(_) => ProblemCode::StoreUnreachable,
        StoreError::Corrupt(_) => ProblemCode::StoreCorrupt,
        StoreError::Stopped(_) => ProblemCode::StoreStopped,
        StoreError::Unknown(_) => ProblemCode::CommitUnknown,
    };
    told(&Answer::problem(&Problem::new(code, "the store cannot do this")))
}
