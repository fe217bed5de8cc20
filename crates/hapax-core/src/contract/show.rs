//! A contract written out whole, every key with its value, as JSON. It reads back as the same contract.

use serde::Serialize;
use serde::ser::SerializeMap;
use serde_json::{Value as Json, json};

use super::{
    BatchOrder, Contract, CounterRules, Different, First, Mode, OnGap, OnNumber, OnTime, Same, Scope, Source, When,
};
use crate::duration::Bound;
use crate::payload::PayloadRules;
use crate::period::Period;
use crate::pointer::Pointer;
use crate::value::Value;

impl Serialize for Contract {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(preset) = &self.preset {
            map.serialize_entry("preset", preset)?;
        }
        map.serialize_entry("mode", mode(self.mode))?;
        for (key, table) in self.tables() {
            map.serialize_entry(key, &table)?;
        }
        map.end()
    }
}

impl Contract {
    fn tables(&self) -> [(&'static str, Json); 10] {
        [
            ("envelope", self.envelope_table()),
            ("identity", self.identity_table()),
            ("sequence", self.sequence_table()),
            ("time", self.time_table()),
            ("nonce", json!({ "required": self.nonce.required, "keep": keep(self.nonce.keep) })),
            ("lanes", json!({ "silence": bound(self.silence) })),
            ("batch", self.batch_table()),
            ("override", json!({ "allowed": self.override_allowed })),
            ("audit", json!({ "keep": keep(self.audit_keep) })),
            ("counters", self.counters.iter().map(|rules| (rules.name.clone(), counter(rules))).collect::<Json>()),
        ]
    }

    fn envelope_table(&self) -> Json {
        let envelope = &self.envelope;
        let mut table = serde_json::Map::new();
        // The server's numbers are read from nowhere, and the check refuses a contract that says where.
        if self.sequence.source != Source::Server {
            table.insert("seq".into(), field(envelope.seq.as_ref()));
        }
        table.insert("id".into(), field(envelope.id.as_ref()));
        table.insert("lane".into(), lane(&envelope.lane));
        table.insert("time".into(), field(envelope.time.as_ref()));
        table.insert("nonce".into(), field(envelope.nonce.as_ref()));
        table.insert("epoch".into(), field(envelope.epoch.as_ref()));
        table.insert("expected".into(), field(envelope.expected.as_ref()));
        Json::Object(table)
    }

    fn identity_table(&self) -> Json {
        let identity = &self.identity;
        json!({
            "required": identity.required,
            "derive": pointers(&identity.derive),
            "keep": keep(identity.keep),
            "scope": match identity.scope { Scope::Stream => "stream", Scope::Lane => "lane" },
            "same": match identity.same { Same::Replay => "replay", Same::Reject => "reject" },
            "different": match identity.different { Different::Reject => "reject", Different::Warn => "warn" },
            "payload": payload(&identity.payload),
        })
    }

    fn sequence_table(&self) -> Json {
        let sequence = &self.sequence;
        json!({
            "source": match sequence.source {
                Source::None => "none",
                Source::Producer => "producer",
                Source::Server => "server",
            },
            "first": match sequence.first { First::Any => json!("any"), First::Number(number) => json!(number) },
            "gap": match sequence.gap { OnGap::Mark => "mark", OnGap::Reject => "reject" },
            "gap_large": sequence.gap_large,
            "regression": on_number(sequence.regression),
            "repeat": on_number(sequence.repeat),
            "gaps_open_max": sequence.gaps_open_max,
            "expected_required_for": when(sequence.expected_required_for.as_ref()),
        })
    }

    fn time_table(&self) -> Json {
        let time = &self.time;
        json!({
            "required": time.required,
            "utc_only": time.utc_only,
            "future": bound(time.future),
            "past": bound(time.past),
            "late": bound(time.late),
            "regression": match time.regression {
                OnTime::Ignore => "ignore",
                OnTime::Mark => "mark",
                OnTime::Reject => "reject",
            },
            "grace": time.grace.to_string(),
        })
    }

    fn batch_table(&self) -> Json {
        json!({
            "order": match self.batch.order {
                BatchOrder::AsSent => "as_sent",
                BatchOrder::Time => "time",
                BatchOrder::Sequence => "sequence",
            },
            "stop_on": if self.batch.stop_on_ordering { "ordering" } else { "never" },
        })
    }
}

const fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Enforce => "enforce",
        Mode::Shadow => "shadow",
        Mode::Off => "off",
    }
}

const fn on_number(on: OnNumber) -> &'static str {
    match on {
        OnNumber::Mark => "mark",
        OnNumber::Reject => "reject",
        OnNumber::Stale => "stale",
    }
}

fn field(pointer: Option<&Pointer>) -> Json {
    pointer.map_or(Json::Bool(false), |pointer| Json::String(pointer.to_string()))
}

fn lane(parts: &[Pointer]) -> Json {
    match parts {
        [] => Json::Bool(false),
        [one] => Json::String(one.to_string()),
        _ => pointers(parts),
    }
}

fn pointers(list: &[Pointer]) -> Json {
    list.iter().map(ToString::to_string).collect()
}

fn bound(bound: Bound) -> String {
    bound.to_string()
}

/// What is kept without end is kept for ever, not for none.
fn keep(bound: Bound) -> String {
    match bound {
        Bound::None => "forever".to_owned(),
        Bound::Within(span) => span.to_string(),
    }
}

fn payload(rules: &PayloadRules) -> Json {
    let decimals: Vec<Json> =
        rules.decimals.iter().map(|it| json!({ "field": it.field.to_string(), "places": it.places })).collect();
    let unit = |it: &crate::payload::Units| {
        let factors: serde_json::Map<String, Json> =
            it.factors.iter().map(|(name, factor)| (name.clone(), Json::String(factor.to_string()))).collect();
        json!({ "field": it.field.to_string(), "unit": it.unit.to_string(), "to": it.to, "factors": factors })
    };
    json!({
        "include": pointers(&rules.include),
        "exclude": pointers(&rules.exclude),
        "lowercase": pointers(&rules.lowercase),
        "utc": pointers(&rules.utc),
        "decimals": decimals,
        "units": rules.units.iter().map(unit).collect::<Vec<_>>(),
    })
}

fn when(when: Option<&When>) -> Json {
    when.map_or(
        json!({}),
        |when| json!({ "field": when.field.to_string(), "values": when.values.iter().map(scalar).collect::<Vec<_>>() }),
    )
}

fn scalar(value: &Value) -> Json {
    match value {
        Value::Bool(yes) => Json::Bool(*yes),
        Value::String(text) => Json::String(text.clone()),
        // A number that JSON cannot hold exactly here stays exact as raw text where it is compared; shown, it is rounded.
        Value::Number(number) => serde_json::from_str(&number.to_string()).unwrap_or(Json::Null),
        Value::Null | Value::Array(_) | Value::Object(_) => Json::Null,
    }
}

fn counter(rules: &CounterRules) -> Json {
    json!({
        "key": pointers(&rules.key),
        "amount": rules.amount.to_string(),
        "period": match rules.period {
            Period::Hour => "hour",
            Period::Day => "day",
            Period::Week => "week",
            Period::Month => "month",
            Period::None => "none",
        },
        "lateness": bound(rules.lateness),
        "when": when(rules.when.as_ref()),
    })
}
