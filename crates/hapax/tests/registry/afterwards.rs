//! Point 6: what follows a failure: delays as declared, an end of attempts, and a person who decides.

use std::fs;

use hapax_client::{Call, Route};
use hapax_core::duration::Span;
use hapax_core::time::{Time, parse};
use serde_json::{Value, json};

use crate::actor::Actor;
use crate::part::{Part, Role};
use crate::target::{Accounts, Kind};
use crate::world::{ACCOUNTS, World, deposits, rounds};

const BACKOFF_MS: u64 = 150;
const ATTEMPTS_MAX: u32 = 4;
const LEASE: Span = Span::from_secs(60);

fn time(value: &Value) -> Time {
    parse(value.as_str().unwrap_or_else(|| panic!("no time: {value}")), true).expect("a time")
}

fn post(world: &World, path: &[&str], body: &Value) -> Value {
    world.client.call(&Call::post(Route::handler("h", path)).json(body)).expect("an answer").json().expect("JSON")
}

/// When the server decided, which a lease betrays.
fn decided_at(claimed: &Value) -> Time {
    time(&claimed["lease_until"]).minus(LEASE)
}

#[test]
fn each_delay_is_twice_the_last_and_at_most_a_tenth_longer_and_then_it_is_dead() {
    rounds(|_| {
        let world = World::new("delays");
        world.handler("h", &json!({ "lease": "60s", "backoff": "150ms", "attempts_max": ATTEMPTS_MAX }));
        let mut delays = Vec::new();
        let mut claimed = post(&world, &["claims"], &json!({ "event_id": "e" }));
        for attempt in 1..=ATTEMPTS_MAX {
            assert_eq!((&claimed["decision"], &claimed["attempt"]), (&json!("claimed"), &json!(attempt)), "{claimed}");
            let failed = json!({ "fence": claimed["fence"], "error": "no such address" });
            let said = post(&world, &["claims", "e", "failed"], &failed);
            // Another event tells when that was, at the latest.
            let later = post(&world, &["claims"], &json!({ "event_id": format!("clock-{attempt}") }));
            if attempt == ATTEMPTS_MAX {
                assert_eq!(said, json!({ "status": "dead" }));
                break;
            }
            let next = time(&said["next_attempt_at"]);
            let delay_ms = BACKOFF_MS << (attempt - 1);
            let earliest = decided_at(&claimed).plus(Span::from_millis(delay_ms));
            let latest = decided_at(&later).plus(Span::from_millis(delay_ms + delay_ms / 10));
            assert!(
                (earliest..=latest).contains(&next),
                "attempt {attempt}: {next:?} is not in {earliest:?} to {latest:?}"
            );
            delays.push(next.since(decided_at(&later)).max(0) / 1_000_000);
            claimed = again(&world, next);
        }
        assert_eq!(post(&world, &["claims"], &json!({ "event_id": "e" })), json!({ "decision": "dead" }));
        println!("figure: {ATTEMPTS_MAX} attempts, then dead; delays of at least {delays:?} ms");
    });
}

/// Asks until it may try again; whoever asks too early is told how long to wait, and nobody may before its time.
fn again(world: &World, next: Time) -> Value {
    let mut asked = 0;
    loop {
        let said = post(world, &["claims"], &json!({ "event_id": "e" }));
        if said["decision"] == "claimed" {
            assert!(decided_at(&said) >= next, "{said} before {next:?}");
            return said;
        }
        assert_eq!(said["decision"], "waiting", "{said}");
        let wait = said["retry_after_ms"].as_u64().expect("how long");
        assert!(wait <= (BACKOFF_MS << (ATTEMPTS_MAX - 2)) * 11 / 10 + 1, "{said}");
        asked += 1;
        assert!(asked < 100, "who waits as long as it was told may then try");
        hapax_client::Stop::new().wait(std::time::Duration::from_millis(wait));
    }
}

#[test]
fn a_dead_letter_holds_its_lane_until_a_person_retries_or_skips_it() {
    rounds(|_| {
        let world = World::new("letters");
        world.stream("s", ACCOUNTS);
        world.send("s", &deposits(3));
        for handler in ["retried", "skipped"] {
            let declared = json!({ "stream": "s", "order": "in_order", "attempts_max": 2, "backoff": "20ms" });
            world.handler(handler, &declared);
            let part = world.part(Role::Worker, handler, "s", Kind::Obeys);
            let part = Part { fails_on: Some("a-2".to_owned()), ..part };
            let said = Actor::plays(&part).ends().well();
            assert_eq!(said.iter().filter(|line| line.starts_with("claimed a-2 ")).count(), 2, "{said:?}");
            assert_eq!(changes(&part, "a"), ["a-1"], "the dead one holds its lane");
            assert_eq!(changes(&part, "b"), ["b-1", "b-2", "b-3"], "and no other");
            let dead = world.ok(&["handlers", "dead", handler]);
            assert!(dead.contains("a-2") && dead.contains("the target refuses it"), "{dead}");
            assert_eq!(world.shown(handler)["dead"], 1);

            let rest = if handler == "retried" {
                fs::write(part.folder.join("cured"), "").expect("a cure");
                assert_eq!(world.ok(&["handlers", "retry", handler, "a-2"]), "a-2 will be tried again\n");
                vec!["a-1", "a-2", "a-3"]
            } else {
                let skip =
                    world.command(&["handlers", "skip", handler, "a-2", "--reason", " "]).output().expect("it runs");
                assert!(String::from_utf8_lossy(&skip.stderr).contains("REASON_REQUIRED"), "{skip:?}");
                let skip = ["handlers", "skip", handler, "a-2", "--reason", "closed by hand", "--output", "json"];
                let said: Value = serde_json::from_str(&world.ok(&skip)).expect("JSON");
                assert_eq!((&said["state"], &said["reason"]), (&json!("skipped"), &json!("closed by hand")));
                vec!["a-1", "a-3"]
            };
            Actor::plays(&part).ends().well();
            assert_eq!(changes(&part, "a"), rest, "the lane goes on in its order");
            let shown = world.shown(handler);
            assert_eq!((&shown["lag"], &shown["dead"]), (&json!(0), &json!(0)), "{shown}");
        }
        println!("figure: dead after 2 attempts; retried: 3 effects in order; skipped: 2 effects in order");
    });
}

fn changes(part: &Part, account: &str) -> Vec<String> {
    let account = Accounts::open(&part.folder, part.target).account(account);
    account.changes.into_iter().map(|(event, _)| event).collect()
}
