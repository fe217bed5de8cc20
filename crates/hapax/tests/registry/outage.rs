//! Point 8: the registry is away for a while. A worker that is to fail fails at once and says so; one that is to pause
//! says so, and goes on by itself. Nothing is lost either way.

use std::fs;

use rustix::process::Signal;
use serde_json::json;

use crate::actor::Actor;
use crate::world::{ACCOUNTS, World, deposits, rounds, until};

const EACH: u64 = 3;

/// The third event, which waits, with its effect made, until the test lets it go on.
const IN_HAND: &str = "a-2";

/// For each event a line in `effects`.
const COMMAND: &str = "echo $HAPAX_EVENT_ID >> effects
if [ $HAPAX_OFFSET = 3 ]; then while [ ! -e go ]; do sleep 0.01; done; fi";

fn worker(world: &World, policy: &str, once: &[&str]) -> Actor {
    let work = ["work", "--handler", "h", "--stream", "s", "--when-unavailable", policy];
    Actor::runs(world.command(&[&work[..], once, &["--", "sh", "-c", COMMAND]].concat()))
}

fn effects(world: &World) -> Vec<String> {
    let text = fs::read_to_string(world.folder.join("effects")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// A world in which a worker has an event in hand, and the server is killed under it.
fn cut_off(test: &str, policy: &str, lease: &str) -> (World, Actor) {
    let mut world = World::new(test);
    world.stream("s", ACCOUNTS);
    world.send("s", &deposits(EACH));
    world.handler("h", &json!({ "stream": "s", "order": "in_order", "lease": lease }));
    let worker = worker(&world, policy, &[]);
    until("the effect in hand is made", || effects(&world).iter().any(|event| event == IN_HAND));
    world.kill();
    fs::write(world.folder.join("go"), "").expect("a sign");
    (world, worker)
}

/// The effects of a lane, in the order in which they were made.
fn of_lane(world: &World, lane: &str) -> Vec<String> {
    effects(world).into_iter().filter(|event| event.starts_with(lane)).collect()
}

fn ids(lane: &str) -> Vec<String> {
    (1..=EACH).map(|number| format!("{lane}-{number}")).collect()
}

fn handled(world: &World) {
    let shown = world.shown("h");
    assert_eq!((&shown["lag"], &shown["dead"]), (&json!(0), &json!(0)), "{shown}");
}

#[test]
fn a_worker_that_is_to_fail_ends_at_once_and_the_next_one_loses_nothing() {
    rounds(|_| {
        let (mut world, first) = cut_off("outage-fail", "fail", "400ms");
        let first = first.ends();
        assert_eq!(first.status.code(), Some(2), "{first:?}");
        let last = first.said.last().expect("its last words");
        assert!(last.contains("cannot reach http://127.0.0.1:") && last.contains("connection refused"), "{first:?}");
        assert_eq!(
            effects(&world).last().map(String::as_str),
            Some(IN_HAND),
            "without a registry nothing more was done"
        );
        // Each call is tried three times within a second.
        let delays: Vec<_> = first.said.iter().filter_map(|line| line.split("; trying again in ").nth(1)).collect();
        assert!(delays.iter().all(|delay| delay.starts_with("0.")), "fast: {first:?}");

        world.start_again();
        let second = worker(&world, "fail", &["--once"]).ends();
        assert!(second.status.success(), "{second:?}");
        handled(&world);
        // The one in hand was done and could not be marked: a target that does not recognise it has it twice.
        assert_eq!(of_lane(&world, "a"), ["a-1", IN_HAND, IN_HAND, "a-3"]);
        assert_eq!(of_lane(&world, "b"), ids("b"), "nothing is lost, and nothing else came twice");
        println!("figure: fail: ended after waiting {delays:?}; after the restart 0 lost, 1 repeated");
    });
}

#[test]
fn a_worker_that_is_to_pause_says_so_and_goes_on_by_itself() {
    rounds(|_| {
        let (mut world, mut worker) = cut_off("outage-pause", "pause", "60s");
        let said = worker.hear("cannot reach ");
        assert!(said.contains("; trying again in "), "{said}");
        world.start_again();
        until("everything is handled", || world.shown("h")["lag"] == 0);
        worker.signal(Signal::TERM);
        let ended = worker.ends();
        assert!(ended.status.success(), "{ended:?}");
        handled(&world);
        // The lease is longer than the outage, so also the one in hand was marked by the worker that made it.
        for lane in ["a", "b"] {
            assert_eq!(of_lane(&world, lane), ids(lane), "each once, in order: {ended:?}");
        }
        println!("figure: pause: went on by itself; 0 lost, 0 repeated");
    });
}
