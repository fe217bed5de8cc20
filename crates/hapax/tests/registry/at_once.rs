//! Point 5: the same event comes to several consumers at once, and one of them may act.

use std::io::BufRead as _;

use hapax_client::{Claims, Decision, Entry};
use serde_json::json;
use serde_json::value::RawValue;

use crate::actor::Actor;
use crate::part::{Part, Role, say};
use crate::target::Kind;
use crate::world::{ACCOUNTS, World, deposits, rounds};

const EACH: u64 = 20;

#[test]
fn of_two_or_eight_consumers_of_one_event_one_may_act() {
    rounds(|_| {
        let world = World::new("at-once");
        world.stream("s", ACCOUNTS);
        world.send("s", &deposits(EACH));
        for consumers in [2, 8] {
            let handler = format!("h{consumers}");
            world.handler(&handler, &json!({ "stream": "s" }));
            race(&world, &handler, consumers);
        }
    });
}

fn race(world: &World, handler: &str, consumers: usize) {
    let part = world.part(Role::Claimant, handler, "s", Kind::Obeys);
    let mut consumers: Vec<_> = (0..consumers).map(|_| Actor::plays(&part)).collect();
    consumers.iter_mut().for_each(|consumer| _ = consumer.hear("ready"));
    let mut fences = Vec::new();
    let mut winners = vec![0; consumers.len()];
    let entries = world.entries("s");
    for entry in &entries {
        let deliver = |consumers: &mut [Actor]| -> Vec<String> {
            let line = format!("claim {}", entry.raw.get());
            // All are told before the first is heard.
            consumers.iter_mut().for_each(|consumer| consumer.tell(&line));
            consumers.iter_mut().map(|consumer| consumer.hear("decided ")).collect()
        };
        let decisions = deliver(&mut consumers);
        let claimed: Vec<_> =
            decisions.iter().enumerate().filter_map(|(at, it)| Some((at, it.strip_prefix("claimed ")?))).collect();
        let [(winner, fence)] = claimed[..] else { panic!("{} was not claimed once: {decisions:?}", entry.id) };
        let others = decisions.iter().filter(|it| *it == "in_progress").count();
        assert_eq!(others, decisions.len() - 1, "{decisions:?}");
        winners[winner] += 1;
        consumers[winner].tell(&format!("done {fence} {}", entry.raw.get()));
        consumers[winner].hear("finished");
        fences.push(fence.parse::<u64>().expect("a fence"));
        let decisions = deliver(&mut consumers);
        assert!(decisions.iter().all(|it| it == "done"), "{decisions:?}");
    }
    assert!(fences.is_sorted_by(|a, b| a < b), "{fences:?}");
    assert_eq!(world.shown(handler)["lag"], 0);
    println!("figure: {} events, {} consumers: one claim each, won by {winners:?}", entries.len(), consumers.len());
}

/// The part of a claimant: it does what it is told on its input, a line at a time.
pub fn play(part: &Part) {
    let claims = Claims::new(part.client(), &part.handler, Some(&part.stream), &part.owner);
    let read = |text: &str| Entry::read(RawValue::from_string(text.to_owned()).expect("JSON")).expect("an entry");
    say("ready");
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("a line");
        match line.split_once(' ').expect("a word and what it is about") {
            ("claim", entry) => {
                say(&format!("decided {}", in_a_word(&claims.claim(&read(entry)).expect("a decision"))))
            }
            ("done", rest) => {
                let (fence, entry) = rest.split_once(' ').expect("a fence and an entry");
                claims.done(&read(entry), fence.parse().expect("a fence"), None).expect("an end");
                say("finished");
            }
            (other, _) => panic!("{other} is no word of ours"),
        }
    }
}

fn in_a_word(decision: &Decision) -> String {
    match decision {
        Decision::Claimed(grant) => format!("claimed {}", grant.fence),
        Decision::Done {} => "done".to_owned(),
        Decision::Dead {} => "dead".to_owned(),
        Decision::Stale {} => "stale".to_owned(),
        Decision::InProgress { .. } => "in_progress".to_owned(),
        Decision::Waiting { .. } => "waiting".to_owned(),
    }
}
