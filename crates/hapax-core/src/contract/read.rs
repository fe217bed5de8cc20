//! From a tree to a contract: kinds, words, durations, pointers. What is wrong is named; what is unknown is refused.

use std::collections::BTreeMap;

use super::{
    BatchOrder, BatchRules, Contract, CounterRules, Different, Envelope, First, Identity, Mode, NonceRules, OnGap,
    OnNumber, OnTime, Preset, Same, Scope, Sequence, Source, TimeRules, When, is_name,
};
use crate::duration::{Bound, Span};
use crate::json;
use crate::number::Number;
use crate::payload::{Decimals, PayloadRules, Units};
use crate::period::Period;
use crate::pointer::Pointer;
use crate::source::{Node, Problem, Reader, Table, Value};
use crate::value;

/// Reads what was written, laid over its preset. With problems the contract is only good for being thrown away.
pub(super) fn read(written: Node) -> (Contract, Vec<Problem>) {
    let mut reader = Reader::default();
    let node = with_preset(written, &mut reader);
    read_whole(&node, reader)
}

/// Reads every key as it stands, with no preset under it.
pub(super) fn read_kept(kept: &Node) -> (Contract, Vec<Problem>) {
    read_whole(kept, Reader::default())
}

fn read_whole(node: &Node, mut reader: Reader) -> (Contract, Vec<Problem>) {
    let mut top = reader.table(node, "");
    let contract = read_top(&mut top, &mut reader);
    top.finish(&mut reader);
    (contract, reader.problems)
}

fn with_preset(written: Node, reader: &mut Reader) -> Node {
    // Anything but a text is complained about where the key is read.
    let Some(Node { value: Value::Text(name), at }) = written.get("preset") else { return written };
    match Preset::named(name) {
        Ok(preset) => written.over(preset.node()),
        Err(why) => {
            reader.complain("preset", *at, why);
            written
        }
    }
}

fn read_top(top: &mut Table<'_>, reader: &mut Reader) -> Contract {
    let preset = top.text("preset", reader).map(str::to_owned);
    let modes = [("enforce", Mode::Enforce), ("shadow", Mode::Shadow), ("off", Mode::Off)];
    let mode = top.word("mode", &modes, Mode::Enforce, reader);
    let mut envelope = in_table(top, "envelope", reader, envelope);
    let identity = in_table(top, "identity", reader, identity);
    let sequence = in_table(top, "sequence", reader, sequence);
    if sequence.source == Source::Server {
        // The server's numbers are read from nowhere, whatever a preset says; the check refuses a pointer that is written.
        envelope.seq = None;
    }
    let time = in_table(top, "time", reader, time);
    let nonce = in_table(top, "nonce", reader, nonce);
    let silence = in_table(top, "lanes", reader, |table, reader| bound(table, "silence", "none", reader));
    let batch = in_table(top, "batch", reader, batch);
    let override_allowed = in_table(top, "override", reader, |table, reader| table.bool("allowed", false, reader));
    let audit_keep = in_table(top, "audit", reader, |table, reader| bound(table, "keep", "30d", reader));
    let counters = counters(&top.table("counters", reader), reader);
    Contract {
        preset,
        mode,
        envelope,
        identity,
        sequence,
        time,
        nonce,
        silence,
        batch,
        override_allowed,
        audit_keep,
        counters,
    }
}

fn in_table<T>(
    top: &mut Table<'_>,
    key: &'static str,
    reader: &mut Reader,
    read: impl FnOnce(&mut Table<'_>, &mut Reader) -> T,
) -> T {
    let mut table = top.table(key, reader);
    let value = read(&mut table, reader);
    table.finish(reader);
    value
}

fn envelope(table: &mut Table<'_>, reader: &mut Reader) -> Envelope {
    Envelope {
        id: field(table, "id", "/id", reader),
        lane: lane(table, reader),
        seq: field(table, "seq", "/seq", reader),
        time: field(table, "time", "/time", reader),
        nonce: field(table, "nonce", "/nonce", reader),
        epoch: field(table, "epoch", "/epoch", reader),
        expected: field(table, "expected", "/expected_seq", reader),
    }
}

fn field(table: &mut Table<'_>, key: &'static str, default: &str, reader: &mut Reader) -> Option<Pointer> {
    let Some(node) = table.node(key) else { return Pointer::parse(default).ok() };
    if matches!(node.value, Value::Bool(false)) {
        return None;
    }
    envelope_pointer(node, &table.key(key), reader)
}

fn lane(table: &mut Table<'_>, reader: &mut Reader) -> Vec<Pointer> {
    let Some(node) = table.node("lane") else { return Pointer::parse("/lane").into_iter().collect() };
    let path = table.key("lane");
    match &node.value {
        Value::Bool(false) => Vec::new(),
        Value::List(items) if items.is_empty() => {
            reader.complain(path, node.at, "expected at least one pointer; a stream of one lane says false");
            Vec::new()
        }
        Value::List(items) => items
            .iter()
            .enumerate()
            .filter_map(|(index, item)| envelope_pointer(item, &format!("{path}[{index}]"), reader))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::Table(_) => {
            envelope_pointer(node, &path, reader).into_iter().collect()
        }
    }
}

fn envelope_pointer(node: &Node, path: &str, reader: &mut Reader) -> Option<Pointer> {
    let pointer = pointer(node, path, reader)?;
    if pointer.tokens().is_empty() {
        reader.complain(path, node.at, "expected a pointer to a field, such as \"/id\", found the whole document");
        return None;
    }
    Some(pointer)
}

fn pointer(node: &Node, path: &str, reader: &mut Reader) -> Option<Pointer> {
    let Value::Text(text) = &node.value else {
        reader.complain(path, node.at, format!("expected a JSON Pointer such as \"/id\", found {}", node.found()));
        return None;
    };
    match Pointer::parse(text) {
        Ok(pointer) => Some(pointer),
        Err(why) => {
            reader.complain(path, node.at, format!("{} is not a JSON Pointer: {why}", node.found()));
            None
        }
    }
}

fn pointers(table: &mut Table<'_>, key: &'static str, reader: &mut Reader) -> Vec<Pointer> {
    let items = table.list(key, reader).unwrap_or_default();
    items.into_iter().filter_map(|(path, item)| pointer(item, &path, reader)).collect()
}

fn bound(table: &mut Table<'_>, key: &'static str, default: &str, reader: &mut Reader) -> Bound {
    let path = table.key(key);
    let (text, at) = match table.node(key) {
        None => (default, table.at),
        Some(Node { value: Value::Text(text), at }) => (text.as_str(), *at),
        Some(node) => {
            reader.complain(path, node.at, format!("expected a duration such as \"5m\", found {}", node.found()));
            return Bound::None;
        }
    };
    Bound::parse(text).unwrap_or_else(|why| {
        let found = Node::implied(Value::Text(text.to_owned())).found();
        reader.complain(path, at, format!("{found} is not a duration: {why}"));
        Bound::None
    })
}

fn span(table: &mut Table<'_>, key: &'static str, default: &str, reader: &mut Reader) -> Span {
    let at = table.node(key).map_or(table.at, |node| node.at);
    let before = reader.problems.len();
    match bound(table, key, default, reader) {
        Bound::Within(span) => span,
        Bound::None => {
            if reader.problems.len() == before {
                reader.complain(table.key(key), at, "expected a duration such as \"5m\"; this one must have an end");
            }
            Span::ZERO
        }
    }
}

fn identity(table: &mut Table<'_>, reader: &mut Reader) -> Identity {
    Identity {
        required: table.bool("required", false, reader),
        derive: pointers(table, "derive", reader),
        keep: bound(table, "keep", "forever", reader),
        scope: table.word("scope", &[("stream", Scope::Stream), ("lane", Scope::Lane)], Scope::Stream, reader),
        same: table.word("same", &[("replay", Same::Replay), ("reject", Same::Reject)], Same::Replay, reader),
        different: table.word(
            "different",
            &[("reject", Different::Reject), ("warn", Different::Warn)],
            Different::Reject,
            reader,
        ),
        payload: in_table(table, "payload", reader, payload),
    }
}

fn payload(table: &mut Table<'_>, reader: &mut Reader) -> PayloadRules {
    PayloadRules {
        include: pointers(table, "include", reader),
        exclude: pointers(table, "exclude", reader),
        lowercase: pointers(table, "lowercase", reader),
        utc: pointers(table, "utc", reader),
        decimals: items(table, "decimals", reader, decimals),
        units: items(table, "units", reader, units),
    }
}

fn items<T>(
    table: &mut Table<'_>,
    key: &'static str,
    reader: &mut Reader,
    read: impl Fn(&mut Table<'_>, &mut Reader) -> Option<T>,
) -> Vec<T> {
    let items = table.list(key, reader).unwrap_or_default();
    let one = |(path, item): (String, &Node)| {
        let mut table = reader.table(item, &path);
        let value = read(&mut table, reader);
        table.finish(reader);
        value
    };
    items.into_iter().filter_map(one).collect()
}

fn decimals(table: &mut Table<'_>, reader: &mut Reader) -> Option<Decimals> {
    let field = required_pointer(table, "field", reader);
    let node = table.required("places", "the number of decimals", reader)?;
    let written = table.count("places", reader)?;
    // More places than an exact amount can have would be a slip of the pen.
    let places = u32::try_from(written).ok().filter(|places| *places <= 100);
    if places.is_none() {
        reader.complain(table.key("places"), node.at, format!("expected at most 100, found {written}"));
    }
    Some(Decimals { field: field?, places: places? })
}

fn units(table: &mut Table<'_>, reader: &mut Reader) -> Option<Units> {
    let field = required_pointer(table, "field", reader);
    let unit = required_pointer(table, "unit", reader);
    let to = table.required("to", "the unit that all are converted to", reader).and_then(|_| table.text("to", reader));
    let listed = table.table("factors", reader);
    let mut factors = BTreeMap::new();
    for (name, node) in listed.members() {
        let text = match &node.value {
            Value::Text(text) | Value::Number(text) => text.as_str(),
            Value::Null | Value::Bool(_) | Value::List(_) | Value::Table(_) => "",
        };
        // A factor is multiplied into every compared value: a bounded one keeps that cheap. `1e70` is short, but shown
        // it is long, and what is shown must be read.
        let is_short = |factor: &Number| text.len() <= 64 && factor.to_string().len() <= 64;
        match Number::parse(text).filter(is_short) {
            Some(factor) => _ = factors.insert(name.clone(), factor),
            None => {
                let why = format!("expected an exact decimal such as \"0.45359237\", found {}", node.found());
                reader.complain(listed.key(name), node.at, why);
            }
        }
    }
    Some(Units { field: field?, unit: unit?, to: to?.to_owned(), factors })
}

fn required_pointer(table: &mut Table<'_>, key: &'static str, reader: &mut Reader) -> Option<Pointer> {
    let node = table.required(key, "a JSON Pointer", reader)?;
    pointer(node, &table.key(key), reader)
}

fn sequence(table: &mut Table<'_>, reader: &mut Reader) -> Sequence {
    let sources = [("none", Source::None), ("producer", Source::Producer), ("server", Source::Server)];
    let on_number = [("mark", OnNumber::Mark), ("reject", OnNumber::Reject), ("stale", OnNumber::Stale)];
    let source = table.word("source", &sources, Source::None, reader);
    let first = first(table, reader);
    let gap = table.word("gap", &[("mark", OnGap::Mark), ("reject", OnGap::Reject)], OnGap::Mark, reader);
    let gap_large = table.count("gap_large", reader).unwrap_or(1000);
    let regression = table.word("regression", &on_number, OnNumber::Mark, reader);
    let repeat = table.word("repeat", &on_number, OnNumber::Reject, reader);
    let gaps_open_max = table.count("gaps_open_max", reader).unwrap_or(10_000);
    if gaps_open_max == 0 || gaps_open_max > 1_000_000 {
        let at = table.node("gaps_open_max").map_or(table.at, |node| node.at);
        let why = format!("expected a number from 1 to 1000000, found {gaps_open_max}");
        reader.complain(table.key("gaps_open_max"), at, why);
    }
    let expected_required_for = when(table, "expected_required_for", reader);
    Sequence { source, first, gap, gap_large, regression, repeat, gaps_open_max, expected_required_for }
}

fn first(table: &mut Table<'_>, reader: &mut Reader) -> First {
    let Some(node) = table.node("first") else { return First::Any };
    match &node.value {
        Value::Text(text) if text == "any" => return First::Any,
        Value::Number(text) if text == "0" => return First::Number(0),
        Value::Number(text) if text == "1" => return First::Number(1),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_) | Value::Table(_) => {}
    }
    reader.complain(table.key("first"), node.at, format!("expected \"any\", 0 or 1, found {}", node.found()));
    First::Any
}

fn when(table: &mut Table<'_>, key: &'static str, reader: &mut Reader) -> Option<When> {
    let mut inner = table.table(key, reader);
    if inner.members().is_empty() {
        return None;
    }
    let field = required_pointer(&mut inner, "field", reader);
    inner.required("values", "a list of values", reader);
    let values = inner.list("values", reader).unwrap_or_default();
    let values = values.into_iter().filter_map(|(path, item)| scalar(item, &path, reader)).collect();
    inner.finish(reader);
    Some(When { field: field?, values })
}

fn scalar(node: &Node, path: &str, reader: &mut Reader) -> Option<value::Value> {
    let value = match &node.value {
        Value::Text(text) => Some(value::Value::String(text.clone())),
        Value::Bool(yes) => Some(value::Value::Bool(*yes)),
        // What no document can hold, none can be compared with.
        Value::Number(text) if json::parse(text.as_bytes()).is_ok() => Number::parse(text).map(value::Value::Number),
        Value::Null | Value::Number(_) | Value::List(_) | Value::Table(_) => None,
    };
    if value.is_none() {
        reader.complain(path, node.at, format!("expected a text, a number, true or false, found {}", node.found()));
    }
    value
}

fn time(table: &mut Table<'_>, reader: &mut Reader) -> TimeRules {
    let on_time = [("ignore", OnTime::Ignore), ("mark", OnTime::Mark), ("reject", OnTime::Reject)];
    TimeRules {
        required: table.bool("required", false, reader),
        utc_only: table.bool("utc_only", true, reader),
        future: bound(table, "future", "1h", reader),
        past: bound(table, "past", "none", reader),
        late: bound(table, "late", "none", reader),
        regression: table.word("regression", &on_time, OnTime::Ignore, reader),
        grace: span(table, "grace", "0s", reader),
    }
}

fn nonce(table: &mut Table<'_>, reader: &mut Reader) -> NonceRules {
    NonceRules { required: table.bool("required", false, reader), keep: bound(table, "keep", "24h", reader) }
}

fn batch(table: &mut Table<'_>, reader: &mut Reader) -> BatchRules {
    let orders = [("as_sent", BatchOrder::AsSent), ("time", BatchOrder::Time), ("sequence", BatchOrder::Sequence)];
    BatchRules {
        order: table.word("order", &orders, BatchOrder::AsSent, reader),
        stop_on_ordering: table.word("stop_on", &[("never", false), ("ordering", true)], false, reader),
    }
}

fn counters(table: &Table<'_>, reader: &mut Reader) -> Vec<CounterRules> {
    let mut counters: Vec<CounterRules> =
        table.members().iter().filter_map(|(name, node)| counter(name, node, table, reader)).collect();
    counters.sort_by(|a, b| a.name.cmp(&b.name));
    counters
}

fn counter(name: &str, node: &Node, parent: &Table<'_>, reader: &mut Reader) -> Option<CounterRules> {
    let mut table = reader.table(node, &parent.key(name));
    if !is_name(name) {
        let why = "a name begins with a letter or digit, and has at most 128 letters, digits, `.`, `_`, `-`";
        reader.complain(table.path.clone(), node.at, why);
    }
    let periods = [
        ("hour", Period::Hour),
        ("day", Period::Day),
        ("week", Period::Week),
        ("month", Period::Month),
        ("none", Period::None),
    ];
    let key = pointers(&mut table, "key", reader);
    let amount = required_pointer(&mut table, "amount", reader);
    let period = table.word("period", &periods, Period::Month, reader);
    let lateness = bound(&mut table, "lateness", "48h", reader);
    let when = when(&mut table, "when", reader);
    table.finish(reader);
    Some(CounterRules { name: name.to_owned(), key, amount: amount?, period, lateness, when })
}
