//! The part of the one whole write that belongs to the registry of effects. It never changes either.

use std::collections::BTreeMap;

use hapax_core::claim::{
    Claim, ClaimState, Effect, Fence, Handler, HandlerLane, HeldClaim, Order, Place, Rank, ResultText, StateChange,
    Work,
};
use hapax_core::duration::Span;
use hapax_core::event::Identity;

use super::whole::time;
use crate::seam::{HandlerKey, Write};

fn claims() -> Vec<((HandlerKey, Identity), Claim)> {
    let ledger = Place::Ledger { ordinal: 9, offset: 11, previous_in_lane: 10 };
    let result = ResultText::parse("{\"sent\": 1.0}".to_owned()).expect("it is JSON");
    let states = [
        ClaimState::Held { lease_until: time(900) },
        ClaimState::Failed { error: "timeout".to_owned(), next_attempt_at: time(1_000) },
        ClaimState::Dead { error: "lease ran out".to_owned(), expired: true },
        ClaimState::Done { result: None },
        ClaimState::Done { result: Some(result) },
        ClaimState::Skipped { reason: "known".to_owned() },
    ];
    let claim = |(number, state)| Claim {
        work: Work {
            stream: None,
            event_id: format!("e-{number}"),
            lane: (number != 1).then(|| "component-1".to_owned()),
            epoch: number,
            seq: (number != 2).then_some(number),
            place: if number == 3 { Place::Registry } else { ledger },
        },
        owner: (number != 4).then(|| "worker-1".to_owned()),
        fence: Fence(100 + number),
        attempt: 2,
        state,
    };
    let keyed = |claim: Claim| ((handler_key(), Identity([claim.fence.0 as u8; 32])), claim);
    (0..).zip(states).map(claim).map(keyed).collect()
}

fn handler_key() -> HandlerKey {
    HandlerKey { tenant: "default".into(), handler: "mailer".into() }
}

fn handlers() -> Vec<(HandlerKey, Handler)> {
    let kinds = [
        (Order::None, Effect::Transactional),
        (Order::LatestOnly, Effect::IdempotentTarget),
        (Order::InOrder, Effect::Fenced),
        (Order::None, Effect::AtLeastOnce),
    ];
    let handler = |(order, effect)| Handler {
        stream: (order == Order::InOrder).then(|| "telemetry".to_owned()),
        order,
        effect,
        backoff: Span::MAX,
        ..Handler::new("mailer")
    };
    kinds.into_iter().map(|kind| (handler_key(), handler(kind))).collect()
}

/// Handlers of every kind, and what they did.
pub(super) fn write() -> Write {
    let rank = Rank { epoch: 1, seq: 2 };
    let held = BTreeMap::from([
        ((rank, Fence(3)), HeldClaim { event_id: "e-1".to_owned(), until: Some(time(5)) }),
        ((rank, Fence(4)), HeldClaim { event_id: "e-2".to_owned(), until: None }),
    ]);
    let lane = HandlerLane { last_done: Some(rank), position: 11, held };
    Write {
        handlers: handlers(),
        states: vec![
            (handler_key(), StateChange { next_fence: Fence(9), dead: 1, passed: Some(9) }),
            (handler_key(), StateChange { next_fence: Fence(10), dead: 0, passed: None }),
        ],
        handler_lanes: vec![
            ((handler_key(), "component-1".into()), lane),
            ((handler_key(), "new".into()), HandlerLane::default()),
        ],
        claims: claims(),
        ..Write::default()
    }
}
