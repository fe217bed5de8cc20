//! Handlers and claims of every shape.

use hapax_core::claim::{
    Claim, ClaimState, Effect, Fence, Handler, HandlerLane, HeldClaim, Order, Place, Rank, ResultText, StateChange,
    Work,
};
use hapax_core::duration::Span;
use proptest::collection::btree_map;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use super::any::{name, number, short, text, time};
use crate::seam::HandlerKey;

pub(crate) fn key() -> impl Strategy<Value = HandlerKey> {
    (name(), name()).prop_map(|(tenant, handler)| HandlerKey { tenant, handler })
}

fn span() -> impl Strategy<Value = Span> {
    number().prop_map(Span::from_millis)
}

fn fence() -> impl Strategy<Value = Fence> {
    number().prop_map(Fence)
}

pub(crate) fn handler() -> impl Strategy<Value = Handler> {
    let orders = select(vec![Order::None, Order::LatestOnly, Order::InOrder]);
    let effects = select(vec![Effect::Transactional, Effect::IdempotentTarget, Effect::Fenced, Effect::AtLeastOnce]);
    (text(), of(text()), orders, effects, span(), span(), short(), span()).prop_map(
        |(name, stream, order, effect, lease, heartbeat, attempts_max, backoff)| Handler {
            name,
            stream,
            order,
            effect,
            lease,
            heartbeat,
            attempts_max,
            backoff,
        },
    )
}

pub(crate) fn state() -> impl Strategy<Value = StateChange> {
    (fence(), number(), of(number())).prop_map(|(next_fence, dead, passed)| StateChange { next_fence, dead, passed })
}

fn rank() -> impl Strategy<Value = Rank> {
    (number(), number()).prop_map(|(epoch, seq)| Rank { epoch, seq })
}

pub(crate) fn lane() -> impl Strategy<Value = HandlerLane> {
    let held = (text(), of(time())).prop_map(|(event_id, until)| HeldClaim { event_id, until });
    (of(rank()), number(), btree_map((rank(), fence()), held, 0..3))
        .prop_map(|(last_done, position, held)| HandlerLane { last_done, position, held })
}

fn work() -> impl Strategy<Value = Work> {
    let ledger = (number(), number(), number()).prop_map(|(ordinal, offset, previous_in_lane)| Place::Ledger {
        ordinal,
        offset,
        previous_in_lane,
    });
    let place = prop_oneof![Just(Place::Registry), ledger];
    let names = (text(), of(text()), of(text()));
    (names, number(), of(number()), place).prop_map(|((event_id, stream, lane), epoch, seq, place)| Work {
        stream,
        event_id,
        lane,
        epoch,
        seq,
        place,
    })
}

fn outcome() -> impl Strategy<Value = ClaimState> {
    let results = select(vec!["null", "{\"a\": 1.0}", "[1, 2]", "\"é\""]);
    let result = results.prop_map(|text| ResultText::parse(text.to_owned()).expect("it is JSON"));
    prop_oneof![
        time().prop_map(|lease_until| ClaimState::Held { lease_until }),
        (text(), time()).prop_map(|(error, next_attempt_at)| ClaimState::Failed { error, next_attempt_at }),
        (text(), any::<bool>()).prop_map(|(error, expired)| ClaimState::Dead { error, expired }),
        of(result).prop_map(|result| ClaimState::Done { result }),
        text().prop_map(|reason| ClaimState::Skipped { reason }),
    ]
}

pub(crate) fn claim() -> impl Strategy<Value = Claim> {
    (work(), of(text()), fence(), short(), outcome()).prop_map(|(work, owner, fence, attempt, state)| Claim {
        work,
        owner,
        fence,
        attempt,
        state,
    })
}
