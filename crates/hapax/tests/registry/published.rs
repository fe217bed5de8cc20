//! Point 1: published twice, acted on once.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use crate::actor::Actor;
use crate::part::{End, Fate, Part, Point, Role};
use crate::publisher::{bus, checkpoint};
use crate::target::{Accounts, Index, Kind};
use crate::world::{ACCOUNTS, World, deposits, rounds};

const EACH: u64 = 5;

#[test]
fn what_a_publisher_publishes_twice_is_acted_on_once() {
    rounds(|round| {
        let world = World::new("published");
        world.stream("s", ACCOUNTS);
        for (handler, order) in [("terminus", "in_order"), ("elastic", "latest_only")] {
            world.handler(handler, &json!({ "stream": "s", "order": order, "effect": "at_least_once" }));
        }
        sent_twice(&world);
        let delivered = published_twice(&world, round);
        // A target that does what it is told: if anything came through twice, it would be there twice.
        let worker = world.part(Role::Worker, "terminus", "s", Kind::Obeys);
        let projection = world.part(Role::Projection, "elastic", "s", Kind::Obeys);
        let first = acted(&worker, &projection);
        assert_eq!(written(&first), EACH * 2, "{first:?}");
        assert_eq!(skipped(&first), delivered - EACH * 2, "the rest is known to be done: {first:?}");

        // Everything once more: the publisher from the beginning, the worker from the beginning, the projection after it.
        checkpoint(&world.folder).set(0);
        Actor::plays(&publisher(&world)).ends().well();
        let again = acted(&Part { replays: true, ..worker }, &projection);
        assert_eq!((written(&again), skipped(&again)), (0, EACH * 2), "{again:?}");

        let accounts = Accounts::open(&world.folder.join("terminus"), Kind::Obeys);
        let once: BTreeMap<_, _> = world.entries("s").into_iter().map(|entry| (entry.id, 1)).collect();
        assert_eq!(accounts.effects(), once);
        let index = Index::open(&world.folder.join("elastic"));
        for name in ["a", "b"] {
            let numbers: Vec<_> = (1..=EACH).map(|number| format!("{name}-{number}")).collect();
            assert_eq!(accounts.account(name).balance, EACH * (EACH + 1) / 2);
            assert_eq!(index.document(name).changes, numbers, "each version was written once");
        }
        println!("figure: {} events, delivered {} times, acted on once each", EACH * 2, delivered + EACH * 2);
    });
}

/// The first hop: the source is sent, and sent again by somebody who has forgotten that.
fn sent_twice(world: &World) {
    let lines: String = deposits(EACH).iter().map(|document| format!("{document}\n")).collect();
    fs::write(world.folder.join("source.ndjson"), lines).expect("a source");
    let send = ["send", "--stream", "s", "source.ndjson", "--output", "json", "--anew"];
    let [first, second] = [world.ok(&send), world.ok(&send)];
    let count =
        |said: &str, verdict: &str| serde_json::from_str::<Value>(said).expect("JSON")["summary"][verdict].clone();
    assert_eq!(
        (count(&first, "accepted"), count(&second, "duplicate")),
        (json!(EACH * 2), json!(EACH * 2)),
        "{second}"
    );
    assert_eq!(world.entries("s").len() as u64, EACH * 2);
}

/// The second hop: killed between publishing and its checkpoint, started again, and its checkpoint set back. Says how many
/// deliveries that made.
fn published_twice(world: &World, round: u64) -> u64 {
    let event = format!("b-{}", 1 + round % EACH);
    let fate = Fate { event, point: Point::AfterPublish, end: End::Killed };
    Actor::plays(&Part { fate: Some(fate), ..publisher(world) }).ends().killed();
    Actor::plays(&publisher(world)).ends().well();
    let lines = || fs::read_to_string(bus(&world.folder)).expect("the bus").lines().count() as u64;
    assert_eq!(lines(), EACH * 2 + 1, "the one that was published and not noted came twice");
    let back = 1 + round % 4;
    checkpoint(&world.folder).set(back);
    Actor::plays(&publisher(world)).ends().well();
    assert_eq!(lines(), EACH * 4 + 1 - back);
    lines()
}

fn publisher(world: &World) -> Part {
    let part = world.part(Role::Publisher, "nobody", "s", Kind::Obeys);
    Part { folder: world.folder.clone(), ..part }
}

/// What the projection said, after both did all there was to do.
fn acted(worker: &Part, projection: &Part) -> Vec<String> {
    let worker = Actor::plays(worker);
    let said = Actor::plays(projection).ends().well();
    worker.ends().well();
    said
}

fn written(said: &[String]) -> u64 {
    said.iter().filter(|line| line.starts_with("wrote ")).count() as u64
}

fn skipped(said: &[String]) -> u64 {
    said.iter().filter(|line| line.starts_with("done ") || line.starts_with("stale ")).count() as u64
}
