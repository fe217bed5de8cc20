//! What the producers of the tour do. Nothing here knows what becomes of it.

use hapax_core::duration::Span;
use hapax_core::time::Time;
use serde_json::{Value, json};

/// A stream, and what happens in it.
pub(super) struct Scene {
    /// The stream, named like its preset.
    pub(super) stream: &'static str,
    /// What kind of stream that is.
    pub(super) about: &'static str,
    /// What happens.
    pub(super) steps: Vec<Step>,
}

/// One thing that happens.
pub(super) enum Step {
    /// An event is sent.
    Event {
        /// In a few words.
        what: &'static str,
        /// The event.
        document: Value,
    },
    /// Events are sent together.
    Batch {
        /// In a few words.
        what: &'static str,
        /// The events.
        documents: Vec<Value>,
    },
    /// A person closes a counter's period.
    Close {
        /// In a few words.
        what: &'static str,
        /// The counter.
        counter: &'static str,
        /// The period.
        period: String,
    },
}

fn event(what: &'static str, document: Value) -> Step {
    Step::Event { what, document }
}

/// The tour, at this time.
pub(super) fn scenes(now: Time) -> Vec<Scene> {
    // The tour takes a minute, and its events were seen in the minutes before it.
    let ago = |seconds: u64| now.minus(Span::from_secs(seconds)).to_string();
    let ahead = |seconds: u64| now.plus(Span::from_secs(seconds)).to_string();
    vec![
        Scene {
            stream: "telemetry-strict",
            about: "sensors that are trusted with nothing",
            steps: strict(&ago, &ahead),
        },
        Scene {
            stream: "telemetry-tolerant",
            about: "everything valid is kept and marked",
            steps: tolerant(&ago, &ahead),
        },
        Scene { stream: "event-sourcing", about: "commands that say what they build on", steps: commands(&ago) },
        Scene { stream: "metering", about: "usage that is billed once", steps: metering(&ago) },
        Scene { stream: "measurements", about: "one fact, however it is spelled", steps: measurements(&ago) },
        Scene { stream: "cloudevents", about: "an event is its source and its id", steps: cloudevents(&ago) },
    ]
}

type At<'t> = &'t dyn Fn(u64) -> String;

fn strict(ago: At<'_>, ahead: At<'_>) -> Vec<Step> {
    let reading = |id: &str, sequence: u64, nonce: &str, timestamp: String| json!({ "event_id": id, "producer_id": "sensor-1", "sequence": sequence, "nonce": nonce, "timestamp": timestamp, "value": 21.5 });
    vec![
        event("a first event", reading("e-1", 1, "n-1", ago(90))),
        event("the next one", reading("e-2", 2, "n-2", ago(89))),
        event("the same again: its answer was lost", reading("e-2", 2, "n-2", ago(89))),
        event("number 5, although 3 was expected", reading("e-3", 5, "n-3", ago(86))),
        event("number 3 after all", reading("e-4", 3, "n-4", ago(85))),
        event("an old nonce: somebody replays", reading("e-5", 6, "n-1", ago(84))),
        event("a clock that is ten minutes ahead", reading("e-6", 6, "n-6", ahead(600))),
        event("the same with its clock set right", reading("e-6", 6, "n-6", ago(83))),
    ]
}

fn tolerant(ago: At<'_>, ahead: At<'_>) -> Vec<Step> {
    let beat = |id: &str, sequence: u64, observed_at: String| json!({ "event_id": id, "component_instance_id": "component-7", "sequence": sequence, "observed_at": observed_at });
    vec![
        event("a component joins at number 41", beat("t-41", 41, ago(120))),
        event("two are missing", beat("t-44", 44, ago(117))),
        event("one of them, out of order", beat("t-42", 42, ago(119))),
        event("seen three hours ago, sent now", beat("t-45", 45, ago(10_800))),
        event("another event with a used number", beat("t-44b", 44, ago(116))),
        event("a clock that is two minutes ahead", beat("t-46", 46, ahead(120))),
    ]
}

fn commands(ago: At<'_>) -> Vec<Step> {
    let command = |id: &str, kind: &str, expected: Option<u64>, items: u64| json!({ "event_id": id, "aggregate_id": "cart-1", "kind": kind, "expected_seq": expected, "items": items, "occurred_at": ago(60) });
    vec![
        event("a cart is made", command("cmd-1", "create", None, 0)),
        event("an update that builds on number 1", command("cmd-2", "update", Some(1), 1)),
        event("another writer builds on number 1 too", command("cmd-3", "update", Some(1), 5)),
        event("an update that does not say", command("cmd-4", "update", None, 2)),
        event("the first update again, after a timeout", command("cmd-2", "update", Some(1), 1)),
        event("its id with other content", command("cmd-2", "update", Some(1), 9)),
    ]
}

fn metering(ago: At<'_>) -> Vec<Step> {
    let used = |resource: &str, quantity: Value| json!({ "tenantId": "acme", "metric": "requests", "customerRef": "c-1", "resourceId": resource, "ts": ago(30), "quantity": quantity });
    let period = ago(30).chars().take(7).collect();
    vec![
        event("ten requests, without an id", used("node-a", json!(10))),
        event("the same ten again", used("node-a", json!(10))),
        event("the same moment, but twelve", used("node-a", json!(12))),
        event("as many from another node, as text", used("node-b", json!("10.50"))),
        event("an amount that is none", used("node-c", json!("many"))),
        Step::Close { what: "the month is closed", counter: "usage", period },
        event("usage that comes after that", used("node-d", json!(3))),
    ]
}

fn measurements(ago: At<'_>) -> Vec<Step> {
    let weight = |id: &str, weight: f64, unit: &str, timestamp: String| json!({ "measurement_id": id, "user_id": "u-1", "weight": weight, "unit": unit, "source": "Scale", "timestamp": timestamp });
    vec![
        event("a weight of 70 kg", weight("m-1", 70.0, "kg", ago(1_200))),
        event("the same weight in pounds", weight("m-1", 154.3236, "lb", ago(1_200))),
        event("the same id with another weight", weight("m-1", 71.0, "kg", ago(1_200))),
        event("a measurement from before the last one", weight("m-0", 70.2, "kg", ago(3_600))),
        Step::Batch {
            what: "three at once, in the wrong order",
            documents: vec![
                weight("m-4", 70.4, "kg", ago(60)),
                weight("m-2", 70.2, "kg", ago(900)),
                weight("m-3", 70.3, "kg", ago(480)),
            ],
        },
    ]
}

fn cloudevents(ago: At<'_>) -> Vec<Step> {
    let order = |source: &str, total: u64| {
        json!({
            "specversion": "1.0", "id": "order-1", "source": source, "type": "com.example.order",
            "time": ago(20), "data": { "total": total },
        })
    };
    vec![
        event("an order of one shop", order("/shops/1", 20)),
        event("the same id from another shop", order("/shops/2", 30)),
        event("the first one again", order("/shops/1", 20)),
    ]
}
