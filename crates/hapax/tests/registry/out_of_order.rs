//! Point 4: numbers that come in any order. `latest_only` ignores what is stale, `in_order` loses nothing.

use serde_json::{Value, json};

use crate::actor::Actor;
use crate::part::{Part, Role};
use crate::target::{Accounts, Index, Kind};
use crate::world::{World, rounds};

const EACH: u64 = 12;

/// Numbers of the producer, taken as they come.
const CONTRACT: &str = r#"
envelope = { id = "/event_id", lane = "/aggregate_id", seq = "/sequence_number" }
identity = { required = true }
sequence = { source = "producer", first = 1, gap = "mark", regression = "mark" }
"#;

#[test]
fn shuffled_numbers_are_stale_for_the_latest_and_wait_for_their_turn_in_order() {
    rounds(|round| {
        let world = World::new("out-of-order");
        world.stream("s", CONTRACT);
        let shuffled = [shuffle(2 * round + 1), shuffle(2 * round + 2)];
        let documents: Vec<Value> = (0..EACH as usize)
            .flat_map(|at| [("a", shuffled[0][at]), ("b", shuffled[1][at])])
            .map(|(lane, seq)| {
                json!({ "event_id": format!("{lane}-{seq}"), "aggregate_id": lane, "sequence_number": seq, "amount": seq })
            })
            .collect();
        world.send("s", &documents);
        world.handler("latest", &json!({ "stream": "s", "order": "latest_only", "effect": "idempotent_target" }));
        world.handler("ledger", &json!({ "stream": "s", "order": "in_order" }));
        for bare in ["bare", "bare-loop"] {
            world.handler(bare, &json!({ "order": "in_order" }));
        }
        let publisher = world.part(Role::Publisher, "nobody", "s", Kind::Obeys);
        Actor::plays(&Part { folder: world.folder.clone(), ..publisher }).ends().well();
        let mut stale = 0;
        let names = ["a", "b"].into_iter().zip(&shuffled);

        // Only what is newer than all before it: each record of the lane, and in the end the highest number.
        let said = Actor::plays(&world.part(Role::Projection, "latest", "s", Kind::Recognises)).ends().well();
        for (lane, order) in names.clone() {
            let document = Index::open(&world.folder.join("latest")).document(lane);
            let records = records(order);
            assert_eq!((document.version, document.value), (EACH, EACH));
            assert_eq!(document.changes, ids(lane, &records), "{order:?}");
            for number in order.iter().filter(|number| !records.contains(number)) {
                assert!(said.contains(&format!("stale {lane}-{number}")), "{said:?}");
                stale += 1;
            }
        }
        // Everything, in the order in which the ledger has it.
        Actor::plays(&world.part(Role::Worker, "ledger", "s", Kind::Obeys)).ends().well();
        for (lane, order) in names {
            let account = Accounts::open(&world.folder.join("ledger"), Kind::Obeys).account(lane);
            let changes: Vec<_> = account.changes.into_iter().map(|(event, _)| event).collect();
            assert_eq!(changes, ids(lane, order), "what the ledger has, in its order");
        }
        // Everything, in the order of the numbers, although it was delivered in another.
        let bare = Part { stream: String::new(), ..world.part(Role::Projection, "bare", "s", Kind::Recognises) };
        Actor::plays(&bare).ends().well();
        Actor::plays(&world.part(Role::Worker, "bare-loop", "s", Kind::Obeys)).ends().well();
        for lane in ["a", "b"] {
            let document = Index::open(&world.folder.join("bare")).document(lane);
            let account = Accounts::open(&world.folder.join("bare-loop"), Kind::Obeys).account(lane);
            let numbers = ids(lane, &(1..=EACH).collect::<Vec<_>>());
            assert_eq!(document.changes, numbers, "from 1, and none left out");
            let changes: Vec<_> = account.changes.into_iter().map(|(event, _)| event).collect();
            assert_eq!(changes, numbers, "and so for the work loop");
        }
        for handler in ["latest", "ledger"] {
            assert_eq!(world.shown(handler)["lag"], 0, "{handler}");
        }
        println!("figure: {shuffled:?}: {stale} stale of {}, 0 lost in order", EACH * 2);
    });
}

/// What is greater than all before it.
fn records(order: &[u64]) -> Vec<u64> {
    let is_record = |at: &usize| order[..*at].iter().all(|earlier| *earlier < order[*at]);
    (0..order.len()).filter(is_record).map(|at| order[at]).collect()
}

fn ids(lane: &str, numbers: &[u64]) -> Vec<String> {
    numbers.iter().map(|number| format!("{lane}-{number}")).collect()
}

/// The numbers from 1, shuffled; another order for each seed, and never the natural one.
fn shuffle(seed: u64) -> Vec<u64> {
    let mut numbers: Vec<u64> = (1..=EACH).collect();
    let mut dice = seed;
    for at in (1..numbers.len()).rev() {
        // A step of Knuth's generator; the upper bits are the good ones.
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        numbers.swap(at, (dice >> 33) as usize % (at + 1));
    }
    if numbers.is_sorted() {
        numbers.reverse();
    }
    numbers
}
