//! Point 2: a worker is killed in four places (and in a fifth), or hangs past its lease; another finishes.
//!
//! How often the effect of the event in hand is there afterwards depends on the target, and that is what the handler's
//! `guarantee` says: these tests hold it to its word, in both directions.

use std::collections::BTreeMap;

use serde_json::json;

use crate::actor::Actor;
use crate::part::{End, Fate, Part, Point, Role};
use crate::target::{Accounts, Kind};
use crate::world::{ACCOUNTS, World, deposits, rounds};

const EACH: u64 = 3;
/// Long enough for a call, short enough for a test. Nobody else works while one holds it, so nobody loses it for slowness.
const LEASE: &str = "400ms";
/// The event in hand: one with others before and after it in its lane.
const IN_HAND: &str = "a-2";

#[test]
fn a_target_that_recognises_the_event_has_each_effect_once() {
    holds(
        "idempotent_target",
        Kind::Recognises,
        "Exactly-once effects as far as the target recognises",
        [1, 1, 1, 1, 1, 1],
    );
}

#[test]
fn a_target_that_fences_shuts_out_who_hangs_and_not_who_crashed_after_the_effect() {
    let guarantee = "Not exactly once: a holder that was replaced can no longer write";
    holds("fenced", Kind::Fences, guarantee, [1, 1, 2, 2, 1, 1]);
}

#[test]
fn a_target_that_does_as_told_repeats_the_one_effect_in_hand() {
    holds("at_least_once", Kind::Obeys, "Not exactly once: two holders never have an unexpired", [1, 1, 2, 2, 1, 2]);
}

/// What befalls the first worker: killed in the four places of the list and after them, or hung before the effect.
const FATES: [(Point, End); 6] = [
    (Point::AfterClaim, End::Killed),
    (Point::BeforeApply, End::Killed),
    (Point::AfterApply, End::Killed),
    (Point::BeforeDone, End::Killed),
    (Point::AfterDone, End::Killed),
    (Point::BeforeApply, End::Stopped),
];

/// Every fate, with how often the effect in hand is there in the end.
fn holds(effect: &str, kind: Kind, guarantee: &str, times: [u64; 6]) {
    rounds(|_| {
        let world = World::new(effect);
        world.stream("s", ACCOUNTS);
        world.send("s", &deposits(EACH));
        std::thread::scope(|cases| {
            for ((point, end), times) in FATES.into_iter().zip(times) {
                let world = &world;
                cases.spawn(move || {
                    let handler = format!("{point:?}-{end:?}");
                    let declared = json!({ "stream": "s", "order": "in_order", "effect": effect, "lease": LEASE });
                    let said = world.handler(&handler, &declared)["guarantee"].as_str().unwrap_or_default().to_owned();
                    assert!(said.starts_with(guarantee), "{said}");
                    let fate = Fate { event: IN_HAND.to_owned(), point, end };
                    befalls(world, &world.part(Role::Worker, &handler, "s", kind), fate, times);
                });
            }
        });
        println!("figure: {effect}: {times:?} effects of the event in hand, 1 of every other");
    });
}

fn befalls(world: &World, part: &Part, fate: Fate, times: u64) {
    let mut first = Actor::plays(&Part { fate: Some(fate.clone()), owner: "first".to_owned(), ..part.clone() });
    let mut said = match fate.end {
        End::Killed => first.ends().killed(),
        End::Stopped => {
            first.is_stopped();
            let second = Actor::plays(&Part { owner: "second".to_owned(), ..part.clone() }).ends().well();
            first.wake();
            let mut said = first.ends().well();
            assert!(said.contains(&format!("{IN_HAND} Lost")), "the one that hung is told so: {said:?}");
            said.extend(second);
            said
        }
    };
    if fate.end == End::Killed {
        said.extend(Actor::plays(&Part { owner: "second".to_owned(), ..part.clone() }).ends().well());
    }
    let attempts = format!("claimed {IN_HAND} ");
    let attempts: Vec<_> = said.iter().filter_map(|line| line.strip_prefix(&attempts)).collect();
    if fate.point == Point::AfterDone {
        assert_eq!(attempts.len(), 1, "nothing was left to do: {said:?}");
    } else {
        assert_eq!(attempts.len(), 2, "the lease was an attempt, and the second one finished: {said:?}");
        assert!(attempts[1].ends_with(" 2"), "{attempts:?}");
    }

    let accounts = Accounts::open(&part.folder, part.target);
    let mut expected: BTreeMap<_, _> = world.entries("s").into_iter().map(|entry| (entry.id, 1)).collect();
    expected.insert(IN_HAND.to_owned(), times);
    assert_eq!(accounts.effects(), expected, "{fate:?} of {:?}", part.target);
    let sum = EACH * (EACH + 1) / 2;
    let [a, b] = ["a", "b"].map(|account| accounts.account(account));
    // The amount of the event in hand is 2.
    assert_eq!((a.balance, b.balance), (sum + 2 * (times - 1), sum));
    let mut order: Vec<_> = a.changes.iter().map(|(event, _)| event.as_str()).collect();
    order.dedup();
    let zombie = fate.end == End::Stopped && times > 1;
    let kept = if zombie { vec!["a-1", "a-2", "a-3", "a-2"] } else { vec!["a-1", "a-2", "a-3"] };
    assert_eq!(order, kept, "a lane's effects come in its order; only one that hung comes late");
    let notes = std::fs::read_dir(part.folder.join("notes")).expect("the next steps").count() as u64;
    assert_eq!(notes, EACH * 2, "the next step was taken for each event");
    let shown = world.shown(&part.handler);
    assert_eq!((&shown["lag"], &shown["dead"]), (&json!(0), &json!(0)), "{shown}");
}
