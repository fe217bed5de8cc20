//! How the plan of an event becomes a document, with the model to know what is next and where the bounds are.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::super::super::model::{LaneView, Model, Rules, lane_text};
use super::{Change, Epoch, EventPlan, Expected, Fresh, HOUR, Name, Near, S, Seq, Shape, When};

impl EventPlan {
    pub(crate) fn write(&self, rules: &Rules, model: &Model, now_ns: i64, written: &[Value]) -> Value {
        match self {
            EventPlan::NotAnObject(value) => value.clone(),
            EventPlan::Fresh(fresh) => fresh.write(rules, model, now_ns, written.len()),
            EventPlan::Copy { back, change } => match written.len() {
                0 => json!({ "id": "e0", "lane": "a", "seq": 1 }),
                count => change.apply(&written[count - 1 - back % count], count),
            },
        }
    }
}

impl Change {
    fn apply(self, original: &Value, count: usize) -> Value {
        let Some(members) = original.as_object() else {
            return original.clone();
        };
        let mut changed = members.clone();
        let mut set = |name: &str, value: Value| changed.insert(name.to_string(), value);
        match self {
            Change::Nothing => {}
            Change::SentAt => drop(set("sent_at", json!(count))),
            Change::Note => drop(set("note", json!({ "changed": count }))),
            Change::Lane => drop(set("lane", json!("b"))),
            Change::Nonce => drop(set("nonce", json!(format!("n-{count}")))),
            Change::NewId => drop(set("id", json!(format!("e-{count}")))),
            Change::Seq => drop(set("seq", json!(count % 13))),
            Change::Floats => {
                for name in ["amount", "note"] {
                    if let Some(value) = changed.get_mut(name) {
                        *value = as_float(value);
                    }
                }
            }
        }
        Value::Object(changed)
    }
}

/// Small whole numbers as floats; larger ones would not be the same number any more.
fn as_float(value: &Value) -> Value {
    if let Some(number) = value.as_i64().filter(|number| number.abs() < 1000) {
        return json!(number as f64);
    }
    match value.as_object() {
        Some(members) => Value::Object(members.iter().map(|(name, value)| (name.clone(), as_float(value))).collect()),
        None => value.clone(),
    }
}

impl Fresh {
    fn write(&self, rules: &Rules, model: &Model, now_ns: i64, count: usize) -> Value {
        let lane = self.lane.as_ref().and_then(lane_text).unwrap_or("default".to_string());
        let lane = model.lane(&lane);
        let near = |number: u64, off: i64| json!(number.saturating_add_signed(off));
        let name = |name: &Name, prefix: &str| match name {
            Name::Absent => None,
            Name::New => Some(json!(format!("{prefix}-{count}"))),
            Name::Is(value) => Some(value.clone()),
        };
        let seq = match &self.seq {
            Seq::Absent => None,
            Seq::Next(off) => Some(near(lane.expected_seq.or(lane.last_seq).unwrap_or(5), *off)),
            Seq::Is(value) => Some(value.clone()),
        };
        let epoch = match &self.epoch {
            Epoch::Absent => None,
            Epoch::Current(0) if lane.epoch == 0 => None,
            Epoch::Current(above) => Some(json!(lane.epoch + above)),
            Epoch::Is(value) => Some(value.clone()),
        };
        let expected = match &self.expected {
            Expected::Absent => None,
            Expected::Current(off) => Some(near(lane.last_seq.unwrap_or(0), *off)),
            Expected::Is(value) => Some(value.clone()),
        };
        let mut members = Map::new();
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                members.insert(name.to_string(), value);
            }
        };
        put("id", name(&self.id, "e"));
        put("lane", self.lane.clone());
        put("seq", seq);
        put("epoch", epoch);
        put("expected_seq", expected);
        put("nonce", name(&self.nonce, "n"));
        put("time", self.time.as_ref().map(|when| when.write(rules, model, &lane, now_ns)));
        put("kind", Some(json!(self.kind)));
        put("customer", Some(json!(self.customer)));
        put("metric", Some(json!("requests")));
        put("amount", self.amount.clone());
        put("note", Some(json!({ "n": self.note, "of": [1, 2] })));
        Value::Object(members)
    }
}

impl When {
    fn write(&self, rules: &Rules, model: &Model, lane: &LaneView, now_ns: i64) -> Value {
        let before_now = |bound: Option<i64>| now_ns - bound.unwrap_or(0);
        let last_time = lane.last_time.unwrap_or(now_ns);
        let at = match &self.near {
            Near::Is(value) => return value.clone(),
            Near::Now => now_ns,
            Near::Future => now_ns + rules.time.future.unwrap_or(0),
            Near::Past => before_now(rules.time.past),
            Near::LateBound => before_now(rules.time.late),
            Near::Horizon => before_now(rules.identity.keep),
            Near::Regression => last_time - rules.time.grace,
            Near::LastTime => last_time,
            Near::Watermark => {
                let lateness = rules.usage.as_ref().map_or(0, |usage| usage.lateness);
                let counters = model.counters();
                let last = counters.last().and_then(|(key, period)| model.counter(key, period).watermark);
                last.unwrap_or(now_ns) - lateness
            }
        };
        json!(self.shape.text(at + self.off_ns))
    }
}

impl Shape {
    fn text(self, ns: i64) -> String {
        let utc = |ns: i64| Timestamp::from_nanosecond(i128::from(ns)).expect("a time near now").to_string();
        let without_zone = |ns: i64| utc(ns).trim_end_matches('Z').to_string();
        match self {
            Shape::Z => utc(ns),
            Shape::LowerCase => utc(ns).to_lowercase(),
            Shape::NineDigits => {
                let whole = without_zone(ns);
                format!("{}.{:09}Z", &whole[..19], ns.rem_euclid(S))
            }
            Shape::PlusZero => without_zone(ns) + "+00:00",
            Shape::PlusTwoHours => without_zone(ns + 2 * HOUR) + "+02:00",
            Shape::MinusZero => without_zone(ns) + "-00:00",
            Shape::Local => without_zone(ns),
        }
    }
}
