//! Verdicts do not depend on how events are cut into requests, nor requests into turns.

use std::sync::Arc;

use hapax_store::turn::{Answer, Request};
use proptest::prelude::*;
use serde_json::value::RawValue;

use super::cases;
use super::play::model::{Opts, Order, StopOn, to_toml};
use super::play::stage::{Stage, bytes};
use super::play::world::{Clock, World, worlds};

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn receipts_are_the_same_bytes_however_events_are_cut_into_requests_and_turns(
        world in worlds(Clock::MayStepBack),
        request_ends in prop::collection::vec(any::<bool>(), 64),
        turn_ends in prop::collection::vec(any::<bool>(), 32),
    ) {
        let world = plain(world);
        let alone = played(&world, |_| true, |_| true);
        let whole = played(&world, |_| false, |_| true);
        prop_assert_eq!(&alone, &whole);
        let cut = |place: usize| request_ends[place % request_ends.len()];
        let turns = |place: usize| turn_ends[place % turn_ends.len()];
        prop_assert_eq!(&alone, &played(&world, cut, turns));
        prop_assert_eq!(&alone, &played(&world, cut, |_| false));
    }

    #[test]
    fn answers_are_the_same_bytes_however_requests_fall_into_turns(
        mut world in worlds(Clock::MayStepBack),
        turn_ends in prop::collection::vec(any::<bool>(), 32),
    ) {
        // Also behind a batch that was taken back, whether it was refused or only tried.
        for (place, request) in world.requests.iter_mut().enumerate() {
            request.opts.atomic |= place % 3 == 0;
            request.opts.dry_run |= place % 5 == 0;
        }
        let alone = played(&world, |_| false, |_| true);
        prop_assert_eq!(&alone, &played(&world, |_| false, |place| turn_ends[place % turn_ends.len()]));
        prop_assert_eq!(&alone, &played(&world, |_| false, |_| false));
    }
}

/// Without what the contract or the sender asks of a batch as a batch.
fn plain(mut world: World) -> World {
    world.rules.batch.order = Order::AsSent;
    world.rules.batch.stop_on = StopOn::Never;
    for request in &mut world.requests {
        request.opts = Opts { override_: request.opts.override_, ..Opts::default() };
    }
    world
}

/// Every receipt as it was written, and the head.
fn played(world: &World, request_ends: impl Fn(usize) -> bool, turn_ends: impl Fn(usize) -> bool) -> Vec<String> {
    let mut stage = Stage::new(&to_toml(&world.rules));
    let mut turns: Vec<Vec<Request>> = vec![Vec::new()];
    let (mut events, mut requests) = (0, 0);
    for request in &world.requests {
        let mut documents: Vec<Arc<[u8]>> = Vec::new();
        for (place, doc) in request.docs.iter().enumerate() {
            documents.push(bytes(doc));
            events += 1;
            if place + 1 < request.docs.len() && !request_ends(events) {
                continue;
            }
            let cut = stage.submission(request.now_ns, std::mem::take(&mut documents), request.opts);
            turns.last_mut().expect("a turn").push(cut);
            requests += 1;
            if turn_ends(requests) {
                turns.push(Vec::new());
            }
        }
    }
    let mut written = Vec::new();
    for turn in turns {
        written.extend(stage.take(turn).iter().flat_map(receipts));
    }
    let head = stage.entries().last().map(|entry| format!("{:?}", (entry.offset, entry.hash, &entry.basis)));
    written.extend(head);
    written
}

fn receipts(answer: &Answer) -> Vec<String> {
    #[derive(serde::Deserialize)]
    struct Batch {
        results: Vec<Box<RawValue>>,
    }
    match serde_json::from_slice::<Batch>(&answer.body) {
        Ok(batch) => batch.results.into_iter().map(|receipt| receipt.get().to_string()).collect(),
        Err(_) => vec![String::from_utf8_lossy(&answer.body).into_owned()],
    }
}
