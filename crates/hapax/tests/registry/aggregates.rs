//! Point 7: names of aggregates and events that look alike stay apart, also on their way through URLs.

use std::collections::{BTreeMap, BTreeSet};

use hapax_client::{Client, Entry, Route};
use serde_json::{Value, json};

use crate::actor::Actor;
use crate::part::Role;
use crate::target::{Accounts, Kind};
use crate::world::{ACCOUNTS, World, rounds};

/// Texts of which somebody has taken two for the same, or for an instruction.
const ALIKE: [&str; 46] = [
    "acme",
    "Acme",
    "ACME",
    "acme ",
    " acme",
    "acme\t",
    "ac me",
    "ac  me",
    "ac\u{a0}me",
    "acme\u{200b}",
    "acme\n",
    // The same letter, written in one piece and in two; and letters that only look the same.
    "caf\u{e9}",
    "cafe\u{301}",
    "CAF\u{c9}",
    "\u{430}cme",
    "stra\u{df}e",
    "strasse",
    "\u{131}",
    "i",
    "I",
    "\u{130}",
    "\u{fb01}",
    "fi",
    "\u{ff21}",
    "A",
    "\u{1f468}\u{200d}\u{1f469}",
    "\u{1f468}\u{1f469}",
    // What means something in a path or a query.
    "a/b",
    "a%2Fb",
    "a%252Fb",
    "a%2fb",
    "a\\b",
    "a?b",
    "a#b",
    "a&b",
    "a+b",
    "a%20b",
    "a;b",
    ".",
    "..",
    "a/../b",
    "/",
    // What a lane's text looks like if it is a number or composite.
    "[5]",
    "[\"5\"]",
    "5",
    "-5",
];

/// A lane is a text or an integer.
fn aggregates() -> Vec<Value> {
    ALIKE.iter().map(|text| json!(text)).chain([json!(5), json!(-5), json!(0)]).collect()
}

#[test]
fn names_that_look_alike_are_different_aggregates_and_events() {
    rounds(|_| {
        let world = World::new("aggregates");
        world.stream("s", ACCOUNTS);
        // The event's id is the aggregate's name again, so that it is in the URLs of claims.
        let documents: Vec<Value> = aggregates()
            .iter()
            .flat_map(|it| {
                let name = it.as_str().map_or_else(|| format!("number {it}"), str::to_owned);
                [
                    json!({ "event_id": name, "aggregate_id": it, "amount": 1 }),
                    json!({ "event_id": format!("{name}!"), "aggregate_id": it, "amount": 2 }),
                ]
            })
            .collect();
        let receipts = world.send("s", &documents);
        let lanes: BTreeSet<_> = receipts.iter().filter_map(|receipt| receipt.lane.clone()).collect();
        assert_eq!(lanes.len(), aggregates().len(), "as many lanes as names: {lanes:?}");
        let entries = world.entries("s");
        for entry in &entries {
            found_by_url(&world.client, entry);
        }

        // With a stream: the whole way of a worker, with every name in the path of its calls.
        world.handler("ledger", &json!({ "stream": "s", "order": "in_order" }));
        Actor::plays(&world.part(Role::Worker, "ledger", "s", Kind::Obeys)).ends().well();
        let accounts = Accounts::open(&world.folder.join("ledger"), Kind::Obeys);
        let once: BTreeMap<_, _> = entries.iter().map(|entry| (entry.id.clone(), 1)).collect();
        assert_eq!(accounts.effects(), once);
        for lane in &lanes {
            assert_eq!(accounts.account(lane).balance, 3, "{lane:?}");
        }
        // Without one: the names are the caller's word, and every lane begins with 1.
        world.handler("bare", &json!({ "order": "in_order" }));
        Actor::plays(&world.part(Role::Worker, "bare", "s", Kind::Obeys)).ends().well();
        assert_eq!(Accounts::open(&world.folder.join("bare"), Kind::Obeys).effects(), once);
        println!(
            "figure: {} names, {} lanes, {} events: no two taken for one",
            aggregates().len(),
            lanes.len(),
            entries.len()
        );
    });
}

/// The lane and the event are found under their names, and nothing else is.
fn found_by_url(client: &Client, entry: &Entry) {
    let lane: Value = client.get(Route::stream("s", &["lanes", &entry.lane])).expect("a lane").json().expect("JSON");
    assert_eq!((&lane["lane"], &lane["events"]), (&json!(entry.lane), &json!(2)), "{lane}");
    let event: Value = client.get(Route::stream("s", &["events", &entry.id])).expect("an event").json().expect("JSON");
    assert_eq!((&event["id"], &event["offset"]), (&json!(entry.id), &json!(entry.offset)), "{event}");
    let route = Route::stream("s", &["events"]).with("lane", &entry.lane);
    let of_the_lane: Vec<_> = client.pages(route, "events", u64::MAX).map(|raw| raw.expect("an entry")).collect();
    assert_eq!(of_the_lane.len(), 2, "{:?}: {of_the_lane:?}", entry.lane);
}
