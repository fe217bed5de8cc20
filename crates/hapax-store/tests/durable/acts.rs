//! What happens beside events: claims and what is said about them, corrections, closings, losses, keys, other contracts,
//! and requests that bring a key of their own.

use std::sync::Arc;

use hapax_core::access::{Access, Patterns, Rates, Role};
use hapax_core::claim::{Handler, Order};
use hapax_core::contract::Contract;
use hapax_core::entry::{EntryKind, SharedEntry};
use hapax_core::time::Time;
use hapax_store::seam::{HandlerKey, Key, Read, RequestKey, Store, StoreError};
use hapax_store::turn::{Ask, Call, CallAsk, ClaimAsk, CorrectionAsk, Request, RequestId, turn};
use proptest::prelude::*;
use proptest::sample::select;

use super::play::model::{Mode, Rules, to_toml};
use super::play::stage::{Stage, bytes};
use super::play::world;

/// What happens after a request.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    Nothing,
    Handler(Order),
    Claim(u64),
    Say(u64, Word),
    Correct(u8),
    Close(bool),
    Acknowledge(u64),
    Key(u8),
    Revoke(u8),
    Mode(Mode),
    /// The next request has a key of its own.
    Keyed(u8),
}

/// A word about a claim.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Word {
    Done,
    Failed,
    Retry,
    Skip,
}

pub(crate) fn acts() -> impl Strategy<Value = Vec<Act>> {
    let order = select(vec![Order::None, Order::LatestOnly, Order::InOrder]);
    let word = select(vec![Word::Done, Word::Failed, Word::Failed, Word::Retry, Word::Skip]);
    let mode = select(vec![Mode::Enforce, Mode::Shadow, Mode::Off]);
    let act = prop_oneof![
        4 => Just(Act::Nothing),
        2 => order.prop_map(Act::Handler),
        4 => (0_u64..6).prop_map(Act::Claim),
        4 => (0_u64..6, word).prop_map(|(which, word)| Act::Say(which, word)),
        2 => (0_u8..4).prop_map(Act::Correct),
        1 => any::<bool>().prop_map(Act::Close),
        2 => (0_u64..12).prop_map(Act::Acknowledge),
        1 => (0_u8..3).prop_map(Act::Key),
        1 => (0_u8..3).prop_map(Act::Revoke),
        1 => mode.prop_map(Act::Mode),
        2 => (0_u8..4).prop_map(Act::Keyed),
    ];
    prop::collection::vec(act, 60)
}

/// The key of a request.
pub(crate) fn request_key(which: u8) -> RequestKey {
    RequestKey { tenant: Arc::from("tenant"), target: Arc::from("POST /"), key: Arc::from(format!("k{which}")) }
}

/// A request of the world, after what happened before it. An error if the store stopped.
pub(crate) fn send<S: Store>(
    stage: &mut Stage<S>,
    request: &world::Request,
    before: &Act,
) -> Result<Vec<u8>, StoreError> {
    let documents = request.docs.iter().map(bytes).collect();
    let mut asked = stage.submission(request.now_ns, documents, request.opts);
    if let Act::Keyed(which) = before {
        asked.id = Some(RequestId { key: request_key(*which), fingerprint: [*which; 32] });
    }
    take(stage, asked)
}

fn take<S: Store>(stage: &mut Stage<S>, mut asked: Request) -> Result<Vec<u8>, StoreError> {
    let answers = turn(&mut stage.store, std::slice::from_mut(&mut asked))?;
    Ok(answers[0].body.to_vec())
}

/// What happens beside events. That it is refused does not matter: then nothing happened.
pub(crate) fn happen<S: Store>(
    stage: &mut Stage<S>,
    rules: &mut Rules,
    now_ns: i64,
    act: &Act,
) -> Result<Vec<u8>, StoreError> {
    let stream = stage.stream.clone();
    let handler = HandlerKey { tenant: Arc::clone(&stream.tenant), handler: Arc::from("h") };
    let (counter, period) = ("usage".to_string(), "2026-01".to_string());
    let ask = match act {
        Act::Nothing | Act::Keyed(_) => return Ok(Vec::new()),
        Act::Handler(order) => {
            let declared =
                Handler { stream: Some("stream".to_string()), order: *order, attempts_max: 2, ..Handler::new("h") };
            Ask::PutHandler { key: handler, handler: Box::new(declared) }
        }
        Act::Claim(which) => {
            let Some(entry) = event(stage, *which)? else { return Ok(Vec::new()) };
            let (event_id, lane) = (entry.id.to_string(), Some(entry.lane.to_string()));
            Ask::Claim(ClaimAsk { handler, event_id, stream: None, lane, epoch: 0, seq: None, owner: None })
        }
        Act::Say(which, word) => {
            let Some(entry) = event(stage, *which)? else { return Ok(Vec::new()) };
            let (event_id, lane) = (entry.id.to_string(), Some(entry.lane.to_string()));
            let fence = stage.store.reader().claim(&handler, &entry.identity)?.map_or(0, |it| it.fence.0);
            let call = match word {
                Word::Done => Call::Done { fence, result: None },
                Word::Failed => Call::Failed { fence, error: "a test".to_string() },
                Word::Retry => Call::Retry,
                Word::Skip => Call::Skip { reason: "a test".to_string() },
            };
            Ask::Call(CallAsk { handler, event_id, stream: None, lane, call })
        }
        Act::Correct(id) => {
            let (key, amount, reason) = ("[\"x\"]".to_string(), "1.5".to_string(), "a test".to_string());
            Ask::Correct(CorrectionAsk { stream, counter, id: format!("c{id}"), key, period, amount, reason })
        }
        Act::Close(every) => Ask::Close { stream, counter, key: (!every).then(|| "[\"x\"]".to_string()), period },
        Act::Acknowledge(from) => {
            let (lane, reason) = (Arc::from("a"), Arc::from("a test"));
            Ask::Acknowledge { stream, lane, from: *from, to: from + 1, reason }
        }
        Act::Key(which) => {
            let access = Access { role: Role::Admin, streams: Patterns::all(), lanes: Patterns::all() };
            Ask::PutKey(Box::new(Key {
                id: Arc::from(format!("key{which}")),
                tenant: stream.tenant,
                hash: [*which; 32],
                access,
                rates: Rates { requests: Some(u32::from(*which)), events: None },
                note: None,
                created_at: Time::from_nanos(now_ns),
                revoked_at: None,
            }))
        }
        Act::Revoke(which) => Ask::RevokeKey { tenant: stream.tenant, id: Arc::from(format!("key{which}")) },
        Act::Mode(mode) => {
            rules.mode = *mode;
            let contract = Contract::from_toml(&to_toml(rules)).expect("the rules are a contract");
            Ask::PutContract { stream, contract: Box::new(contract) }
        }
    };
    let asked = stage.plain(now_ns, ask);
    take(stage, asked)
}

/// One of the events of the ledger, if there is one there.
fn event<S: Store>(stage: &Stage<S>, which: u64) -> Result<Option<SharedEntry>, StoreError> {
    let offset = which % stage.store.reader().head(&stage.stream)?.offset.max(1);
    let found = stage.store.reader().entries(&stage.stream, offset, 1)?.pop();
    Ok(found.filter(|entry| entry.kind == EntryKind::Event))
}
