//! A contract written out whole, every key with its value, as JSON. It reads back as the same contract.
//!
//! It is made as the tree that contracts are read from, because that tree keeps every number exact.

use serde::Serialize;

use super::{
    BatchOrder, Contract, CounterRules, Different, Envelope, First, Identity, Mode, OnGap, OnNumber, OnTime, Same,
    Scope, Sequence, Source, TimeRules, When,
};
use crate::payload::{Decimals, PayloadRules, Units};
use crate::period::Period;
use crate::pointer::Pointer;
use crate::source::{Node, Value};
use crate::value;

impl Serialize for Contract {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.node().serialize(serializer)
    }
}

/// The contract as compact JSON.
pub fn to_json(contract: &Contract) -> String {
    contract.node().to_json()
}

impl Contract {
    /// The tree that reads as this contract: every key with its value, in the order of the specification.
    pub fn node(&self) -> Node {
        let preset = self.preset.as_ref().map(|preset| ("preset", text(preset)));
        let batch = [("order", text(batch_order(self.batch.order))), ("stop_on", text(self.stop_on()))];
        let nonce = [("required", yes(self.nonce.required)), ("keep", text(self.nonce.keep.as_keep()))];
        let counters = self.counters.iter().map(|rules| (rules.name.as_str(), counter(rules)));
        let rest = [
            ("mode", text(mode(self.mode))),
            ("envelope", envelope(&self.envelope)),
            ("identity", identity(&self.identity)),
            ("sequence", sequence(&self.sequence)),
            ("time", time(&self.time)),
            ("nonce", table(nonce)),
            ("lanes", table([("silence", text(self.silence))])),
            ("batch", table(batch)),
            ("override", table([("allowed", yes(self.override_allowed))])),
            ("audit", table([("keep", text(self.audit_keep.as_keep()))])),
            ("counters", table(counters)),
        ];
        table(preset.into_iter().chain(rest))
    }

    const fn stop_on(&self) -> &'static str {
        if self.batch.stop_on_ordering { "ordering" } else { "never" }
    }
}

fn table<'k>(members: impl IntoIterator<Item = (&'k str, Node)>) -> Node {
    Node::implied(Value::Table(members.into_iter().map(|(key, node)| (key.to_owned(), node)).collect()))
}

fn list(items: impl IntoIterator<Item = Node>) -> Node {
    Node::implied(Value::List(items.into_iter().collect()))
}

fn text(value: impl ToString) -> Node {
    Node::implied(Value::Text(value.to_string()))
}

fn number(value: impl ToString) -> Node {
    Node::implied(Value::Number(value.to_string()))
}

fn yes(value: bool) -> Node {
    Node::implied(Value::Bool(value))
}

fn envelope(envelope: &Envelope) -> Node {
    let field = |pointer: &Option<Pointer>| pointer.as_ref().map_or(yes(false), text);
    let lane = match envelope.lane.as_slice() {
        [] => yes(false),
        [one] => text(one),
        parts => pointers(parts),
    };
    table([
        ("id", field(&envelope.id)),
        ("lane", lane),
        ("seq", field(&envelope.seq)),
        ("time", field(&envelope.time)),
        ("nonce", field(&envelope.nonce)),
        ("epoch", field(&envelope.epoch)),
        ("expected", field(&envelope.expected)),
    ])
}

fn identity(identity: &Identity) -> Node {
    let scope = match identity.scope {
        Scope::Stream => "stream",
        Scope::Lane => "lane",
    };
    let same = match identity.same {
        Same::Replay => "replay",
        Same::Reject => "reject",
    };
    let different = match identity.different {
        Different::Reject => "reject",
        Different::Warn => "warn",
    };
    table([
        ("required", yes(identity.required)),
        ("derive", pointers(&identity.derive)),
        ("keep", text(identity.keep.as_keep())),
        ("scope", text(scope)),
        ("same", text(same)),
        ("different", text(different)),
        ("payload", payload(&identity.payload)),
    ])
}

fn payload(rules: &PayloadRules) -> Node {
    let decimals = |it: &Decimals| table([("field", text(&it.field)), ("places", number(it.places))]);
    let units = |it: &Units| {
        let factors = it.factors.iter().map(|(name, factor)| (name.as_str(), text(factor)));
        table([("field", text(&it.field)), ("unit", text(&it.unit)), ("to", text(&it.to)), ("factors", table(factors))])
    };
    table([
        ("include", pointers(&rules.include)),
        ("exclude", pointers(&rules.exclude)),
        ("lowercase", pointers(&rules.lowercase)),
        ("utc", pointers(&rules.utc)),
        ("decimals", list(rules.decimals.iter().map(decimals))),
        ("units", list(rules.units.iter().map(units))),
    ])
}

fn sequence(sequence: &Sequence) -> Node {
    let source = match sequence.source {
        Source::None => "none",
        Source::Producer => "producer",
        Source::Server => "server",
    };
    let first = match sequence.first {
        First::Any => text("any"),
        First::Number(first) => number(first),
    };
    let gap = match sequence.gap {
        OnGap::Mark => "mark",
        OnGap::Reject => "reject",
    };
    table([
        ("source", text(source)),
        ("first", first),
        ("gap", text(gap)),
        ("gap_large", number(sequence.gap_large)),
        ("regression", text(on_number(sequence.regression))),
        ("repeat", text(on_number(sequence.repeat))),
        ("gaps_open_max", number(sequence.gaps_open_max)),
        ("expected_required_for", when(sequence.expected_required_for.as_ref())),
    ])
}

fn time(time: &TimeRules) -> Node {
    let regression = match time.regression {
        OnTime::Ignore => "ignore",
        OnTime::Mark => "mark",
        OnTime::Reject => "reject",
    };
    table([
        ("required", yes(time.required)),
        ("utc_only", yes(time.utc_only)),
        ("future", text(time.future)),
        ("past", text(time.past)),
        ("late", text(time.late)),
        ("regression", text(regression)),
        ("grace", text(time.grace)),
    ])
}

fn counter(rules: &CounterRules) -> Node {
    let period = match rules.period {
        Period::Hour => "hour",
        Period::Day => "day",
        Period::Week => "week",
        Period::Month => "month",
        Period::None => "none",
    };
    table([
        ("key", pointers(&rules.key)),
        ("amount", text(&rules.amount)),
        ("period", text(period)),
        ("lateness", text(rules.lateness)),
        ("when", when(rules.when.as_ref())),
    ])
}

fn when(when: Option<&When>) -> Node {
    let Some(when) = when else { return table([]) };
    table([("field", text(&when.field)), ("values", list(when.values.iter().map(scalar)))])
}

fn scalar(value: &value::Value) -> Node {
    match value {
        value::Value::Bool(value) => yes(*value),
        value::Value::String(value) => text(value),
        value::Value::Number(value) => number(value),
        // A contract is read with none of these in it.
        value::Value::Null | value::Value::Array(_) | value::Value::Object(_) => Node::implied(Value::Null),
    }
}

fn pointers(pointers: &[Pointer]) -> Node {
    list(pointers.iter().map(text))
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

const fn batch_order(order: BatchOrder) -> &'static str {
    match order {
        BatchOrder::AsSent => "as_sent",
        BatchOrder::Time => "time",
        BatchOrder::Sequence => "sequence",
    }
}
