//! Events as producers make and write them: look-alike ids and lanes, clocks that lie, the same document in other words.
//!
//! What holds: two documents with the same payload text say the same under the stream's contract, and two with different
//! ones do not.

use std::sync::Arc;

use hapax_core::time::Time;

use crate::plan::{Kind, SECOND, StreamPlan, TENANTS};
use crate::random::Random;
use crate::words::Sent;

/// Lanes and ids that careless hands would take for one another: case, spaces, the two spellings of é, separators.
pub(crate) const LANES: [&str; 10] = ["a", "A", "a ", "\u{e9}", "e\u{301}", "a:b", "a/b", "a-b", "[a", "a:b:c"];
const IDS: [&str; 12] = ["e", "E", "e ", "\u{e9}", "e\u{301}", "b:e", "b/e", "b-e", "[e", "b:c:e", "c:e", "\"e\""];

/// A member of a document.
#[derive(Clone, Debug)]
enum Value {
    Text(String),
    Number(String),
    /// What makes the payload: this number, and one more for each other payload.
    Payload(i64),
}

/// An event that a producer made. It may be sent any number of times.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    kind: Kind,
    members: Vec<(&'static str, Value)>,
    identity: Option<String>,
    id: Option<String>,
    lane: String,
    nonce: Option<String>,
    expected: Option<u64>,
}

/// What a producer says this time.
#[derive(Clone, Debug)]
pub(crate) struct Says {
    pub(crate) seq: u64,
    /// How often it was started afresh.
    pub(crate) epoch: u64,
    pub(crate) expected: Option<u64>,
    pub(crate) observed: i64,
    /// Distinguishes nonces.
    pub(crate) nonce: u64,
}

impl Made {
    pub(crate) fn draw(random: &mut Random, plan: &StreamPlan, lane: &str, number: usize, says: &Says) -> Self {
        let text = |text: &str| Value::Text(text.to_owned());
        let owner = TENANTS[plan.tenant];
        let id = if random.once_in(3) {
            random.pick(&IDS).to_string()
        } else {
            format!("{}{}", random.pick(&IDS), number / 2)
        };
        let time = Value::Text(Time::from_nanos(says.observed).to_string());
        let amount = random.between(-20, 500);
        let mut made = Self {
            kind: plan.kind,
            members: Vec::new(),
            identity: Some(as_json(&[&id])),
            id: Some(id.clone()),
            lane: lane_text(lane),
            nonce: None,
            expected: None,
        };
        made.members = match plan.kind {
            Kind::Strict => {
                let nonce = format!("n{}", says.nonce);
                made.nonce = Some(nonce.clone());
                let mut members = vec![
                    ("producer_id", text(lane)),
                    ("sequence", Value::Number(says.seq.to_string())),
                    ("timestamp", time),
                    ("nonce", Value::Text(nonce)),
                    ("value", Value::Payload(amount)),
                ];
                if random.once_in(6) {
                    (made.id, made.identity) = (None, None);
                } else {
                    members.push(("event_id", text(&id)));
                }
                members
            }
            Kind::Tolerant => vec![
                ("event_id", text(&id)),
                ("component_instance_id", text(lane)),
                ("sequence", Value::Number(says.seq.to_string())),
                ("observed_at", time),
                ("value", Value::Payload(amount)),
            ],
            Kind::Sourcing => {
                let kind =
                    if says.expected.is_some() { "update" } else { *random.pick(&["create", "create", "update"]) };
                made.expected = says.expected;
                let mut members = vec![("event_id", text(&id)), ("aggregate_id", text(lane)), ("kind", text(kind))];
                members.extend(says.expected.map(|it| ("expected_seq", Value::Number(it.to_string()))));
                if random.once_in(2) {
                    members.push(("occurred_at", time));
                }
                members.push(("value", Value::Payload(amount)));
                members
            }
            Kind::Metering => {
                let (metric, resource) = (*random.pick(&["m", "M", "m:n"]), *random.pick(&["r", "r:s", "R"]));
                made.lane = as_json(&[owner, metric, lane]);
                let mut members = vec![
                    ("tenantId", text(owner)),
                    ("metric", text(metric)),
                    ("customerRef", text(lane)),
                    ("resourceId", text(resource)),
                    ("ts", time),
                    ("quantity", Value::Payload(amount)),
                ];
                if random.once_in(2) {
                    members.push(("idempotencyKey", text(&id)));
                } else {
                    made.id = None;
                    let when = Time::from_nanos(says.observed).to_string();
                    made.identity = Some(as_json(&["derived", owner, metric, lane, resource, &when]));
                }
                members
            }
            Kind::Measurements => vec![
                ("measurement_id", text(&id)),
                ("user_id", text(lane)),
                ("timestamp", time),
                ("weight", Value::Payload(amount)),
                ("unit", text("kg")),
                ("source", text("scale")),
            ],
            Kind::CloudEvents => vec![
                ("specversion", text("1.0")),
                ("type", text("x")),
                ("id", text(&id)),
                ("source", text(lane)),
                ("time", time),
                ("data", Value::Payload(amount)),
            ],
        };
        if says.epoch > 0 && matches!(plan.kind, Kind::Strict | Kind::Tolerant) {
            made.members.push(("epoch", Value::Number(says.epoch.to_string())));
        }
        made.members.push(("owner", text(owner)));
        if plan.is_by_lane() {
            made.identity = Some(as_json(&[lane, &id]));
        }
        made
    }

    /// What the stream's contract compares, in one spelling.
    fn payload(&self, payload: u32) -> String {
        let compared = |name: &str| match self.kind {
            Kind::Strict => name != "nonce",
            Kind::Measurements => matches!(name, "weight" | "timestamp" | "unit" | "source"),
            Kind::Tolerant | Kind::Sourcing | Kind::Metering | Kind::CloudEvents => true,
        };
        let mut members: Vec<String> = Vec::new();
        for (name, value) in self.members.iter().filter(|(name, _)| compared(name)) {
            members.push(match value {
                Value::Text(text) => format!("{name} {text:?}"),
                Value::Number(number) => format!("{name} {number}"),
                Value::Payload(amount) => format!("{name} {}", amount.abs() + i64::from(payload)),
            });
        }
        members.sort();
        members.join(" ")
    }

    /// As it goes over the wire. Form 0 is the plain one; the others say the same in other words.
    pub(crate) fn written(&self, payload: u32, form: usize) -> Sent {
        let mut members: Vec<String> = Vec::with_capacity(self.members.len());
        let space = if form == 0 { "" } else { " " };
        for (name, value) in &self.members {
            let value = match value {
                Value::Text(text) => serde_json::to_string(text).unwrap_or_default(),
                Value::Number(number) => number.clone(),
                // A quarter more makes it a decimal; the same number has other spellings.
                Value::Payload(amount) => match form {
                    0 => format!("{}.25", amount.abs() + i64::from(payload)),
                    1 => format!("{}25e-2", amount.abs() + i64::from(payload)),
                    _ => format!("{}.250", amount.abs() + i64::from(payload)),
                },
            };
            members.push(format!("\"{name}\":{space}{value}"));
        }
        if form > 0 {
            members.reverse();
        }
        Sent {
            bytes: Arc::from(format!("{{{}}}", members.join(",")).into_bytes()),
            identity: self.identity.clone(),
            id: self.id.clone(),
            lane: self.lane.clone(),
            payload: self.payload(payload),
            nonce: self.nonce.clone(),
            expected: self.expected,
        }
    }
}

/// The text of a lane: the string itself, or its JSON array if it could be taken for one.
fn lane_text(lane: &str) -> String {
    if lane.starts_with('[') { as_json(&[lane]) } else { lane.to_owned() }
}

fn as_json(parts: &[&str]) -> String {
    serde_json::to_string(parts).unwrap_or_default()
}

/// When a producer says that it saw something: mostly just now, sometimes wherever its clock is.
pub(crate) fn observed(random: &mut Random, now: i64, lie: i64) -> i64 {
    let jitter = random.between(0, 3 * SECOND / 1_000_000) * 1_000_000;
    match random.weighted(&[12, 3, 1, 1, 1]) {
        0 => now - jitter,
        1 => now + lie,
        2 => now - 600 * SECOND - jitter,
        3 => now - 50 * 3_600 * SECOND,
        _ => now + 4 * SECOND,
    }
}
