//! A shown contract reads back as the same contract; the presets are the table of the specification, and their words.

use crate::contract::*;
use crate::source::{Node, Value};

fn preset(name: &str) -> Contract {
    Contract::from_toml(&format!("preset = \"{name}\"")).expect("a preset").contract
}

/// The keys in which a preset differs from the defaults, one line each.
fn differences(name: &str) -> String {
    fn walk(path: &str, node: &Node, default: Option<&Node>, out: &mut Vec<String>) {
        // A table that is empty by default is told whole.
        if let (Value::Table(members), Some(default)) = (&node.value, default)
            && default.to_json() != "{}"
        {
            for (key, member) in members {
                let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                walk(&inner, member, default.get(key), out);
            }
        } else if default.map(Node::to_json) != Some(node.to_json()) {
            out.push(format!("{path} = {}", node.to_json()));
        }
    }
    let (shown, default) = (preset(name).node(), Contract::from_toml("").expect("the defaults").contract.node());
    let mut out = Vec::new();
    walk("", &shown, Some(&default), &mut out);
    out.join("\n")
}

#[test]
fn the_strict_telemetry_preset_is_its_column_of_the_specification() {
    assert_eq!(
        differences("telemetry-strict"),
        r#"preset = "telemetry-strict"
envelope.id = "/event_id"
envelope.lane = "/producer_id"
envelope.seq = "/sequence"
envelope.time = "/timestamp"
identity.same = "reject"
identity.payload.exclude = ["/nonce"]
sequence.source = "producer"
sequence.first = 1
sequence.regression = "reject"
time.required = true
time.future = "5m"
time.past = "5m"
time.regression = "reject"
nonce.required = true"#
    );
}

#[test]
fn the_tolerant_telemetry_preset_is_its_column_of_the_specification() {
    assert_eq!(
        differences("telemetry-tolerant"),
        r#"preset = "telemetry-tolerant"
envelope.id = "/event_id"
envelope.lane = "/component_instance_id"
envelope.seq = "/sequence"
envelope.time = "/observed_at"
identity.required = true
identity.same = "reject"
sequence.source = "producer"
time.required = true
time.future = "5s"
time.past = "30d"
time.late = "1h""#
    );
}

#[test]
fn the_event_sourcing_preset_is_its_column_of_the_specification() {
    assert_eq!(
        differences("event-sourcing"),
        r#"preset = "event-sourcing"
envelope.id = "/event_id"
envelope.lane = "/aggregate_id"
envelope.seq = false
envelope.time = "/occurred_at"
identity.required = true
sequence.source = "server"
sequence.expected_required_for = {"field":"/kind","values":["update","delete"]}"#
    );
}

#[test]
fn the_metering_preset_is_its_column_of_the_specification() {
    assert_eq!(
        differences("metering"),
        r#"preset = "metering"
envelope.id = "/idempotencyKey"
envelope.lane = ["/tenantId","/metric","/customerRef"]
envelope.time = "/ts"
identity.derive = ["/tenantId","/metric","/customerRef","/resourceId","/ts"]
time.required = true
counters = {"usage":{"key":["/tenantId","/metric","/customerRef"],"amount":"/quantity","period":"month","lateness":"2d","when":{}}}"#
    );
}

#[test]
fn the_measurements_preset_is_its_column_of_the_specification() {
    assert_eq!(
        differences("measurements"),
        r#"preset = "measurements"
envelope.id = "/measurement_id"
envelope.lane = "/user_id"
envelope.time = "/timestamp"
identity.required = true
identity.scope = "lane"
identity.payload.include = ["/weight","/timestamp","/source","/unit"]
identity.payload.lowercase = ["/source"]
identity.payload.utc = ["/timestamp"]
identity.payload.decimals = [{"field":"/weight","places":2}]
identity.payload.units = [{"field":"/weight","unit":"/unit","to":"kg","factors":{"g":"0.001","lb":"0.45359237"}}]
time.required = true
time.future = "5m"
time.regression = "reject"
time.grace = "5m"
batch.order = "time""#
    );
}

#[test]
fn the_cloudevents_preset_is_what_the_specification_says_of_it() {
    assert_eq!(
        differences("cloudevents"),
        r#"preset = "cloudevents"
envelope.lane = "/source"
identity.required = true
identity.scope = "lane""#
    );
    let by_subject = "preset = \"cloudevents\"\nenvelope = { id = false, lane = \"/subject\" }\n\
                      identity.derive = [\"/source\", \"/id\"]";
    let checked = Contract::from_toml(by_subject).expect("lanes by subject");
    assert!(checked.warnings.is_empty(), "{:?}", checked.warnings);
}

#[test]
fn a_shown_preset_reads_back_as_the_same_contract() {
    for one in PRESETS {
        let contract = preset(one.name);
        for text in [to_json(&contract), serde_json::to_string_pretty(&contract).expect("JSON")] {
            let back = Contract::from_json(text.as_bytes()).unwrap_or_else(|why| panic!("{}: {why:?}", one.name));
            assert_eq!(back.contract, contract, "{}", one.name);
        }
        let alone = Contract::from_toml(one.toml).expect("a contract");
        assert_eq!(Contract { preset: Some(one.name.to_owned()), ..alone.contract }, contract, "{}", one.name);
    }
}

#[test]
fn a_preset_with_changes_reads_back_with_them() {
    fn check(text: &str) {
        let contract = Contract::from_toml(text).unwrap_or_else(|why| panic!("{text}: {why:?}")).contract;
        let back = Contract::from_json(to_json(&contract).as_bytes()).expect("what is shown is a contract");
        assert_eq!(back.contract, contract, "{text}");
    }
    check("preset = \"event-sourcing\"\nsequence.expected_required_for = {}");
    check("preset = \"event-sourcing\"\nsequence.expected_required_for = { field = \"/k\", values = [1e30] }");
    check("preset = \"telemetry-strict\"\nsequence.source = \"server\"");
    check("preset = \"metering\"\ncounters.usage.when = { field = \"/metric\", values = [\"requests\"] }");
    check("preset = \"metering\"\ncounters.field = { amount = \"/q\" }");
    check("preset = \"measurements\"\nidentity.payload = { include = [], units = [], decimals = [] }");
}

fn check_words(text: &str, expect: &str) {
    let contract = Contract::from_toml(text).expect("a contract").contract;
    let words = in_words(&contract);
    assert!(words.iter().any(|line| line == expect), "{text} says\n{}", words.join("\n"));
}

#[test]
fn each_rule_that_is_on_has_its_sentence() {
    check_words("", "The lane of an event is /lane.");
    check_words("envelope.lane = false", "The stream is one lane.");
    check_words("mode = \"off\"", "The rules of time, nonce and order are off.");
    check_words("mode = \"shadow\"", "Nothing is refused for time, nonce or order: what would be is marked.");
    check_words("envelope.id = false", "No field holds an id: each event gets one, and retries are not recognised.");
    check_words("envelope.id = false\nidentity.required = true", "No field holds an id, so every event is refused.");
    check_words(
        "identity.keep = \"2d\"\ntime = { required = true, past = \"1d\" }",
        "An event is known by its id /id within the stream, for 2d; older events are refused. \
         An event without one gets one of its own, and its retries are not recognised.",
    );
    check_words("envelope.time = false", "Events have no time of their own.");
    check_words("time.utc_only = false", "An event may have a time at /time, with any offset.");
    check_words("", "An event may have a nonce at /nonce; one is good for a single event of its lane for 1d.");
    check_words(
        "nonce = { required = true, keep = \"forever\" }",
        "An event must have a nonce at /nonce; one is good for a single event of its lane for ever.",
    );
    check_words("batch.stop_on = \"ordering\"", "A refusal for order stops its lane for the rest of the batch.");
    check_words("lanes.silence = \"1h\"", "A lane without an event for 1h is shown as stale.");
    check_words("override.allowed = true", "An admin may force an event past the checks of time and order.");
    check_words("audit.keep = \"forever\"", "Attempts that were not accepted are kept for ever.");
    check_words(
        "counters.c = { amount = \"/q\", period = \"none\", lateness = \"none\", when = { field = \"/m\", values = [1, \"a\", true] } }",
        "Counter c adds up /q of events whose /m is 1, \"a\" or true; nothing is too late.",
    );
    check_words("preset = \"event-sourcing\"", "It must, for events whose /kind is \"update\" or \"delete\".");
}

#[test]
fn the_words_of_each_preset_are_these() {
    fn check(name: &str, expect: &str) {
        assert_eq!(in_words(&preset(name)).join("\n"), expect, "{name}");
    }
    let nonce = "An event may have a nonce at /nonce; one is good for a single event of its lane for 1d.";
    let audit = "Attempts that were not accepted are kept for 30d.";
    check(
        "telemetry-strict",
        &format!(
            "The lane of an event is /producer_id.\n\
             An event is known by its id /event_id within the stream, for ever. An event without one gets one of its own, and its retries are not recognised.\n\
             The same event again is answered 409, with the original receipt; another payload under a known id is a conflict. Payloads are compared whole, without /nonce.\n\
             An event must have a time at /timestamp, in UTC.\n\
             More than 5m ahead of our clock is refused; anything ahead is marked CLOCK_SKEW.\n\
             More than 5m behind our clock is refused.\n\
             A time more than 0s before the lane's latest is refused.\n\
             An event must have a nonce at /nonce; one is good for a single event of its lane for 1d.\n\
             The producer numbers the events of each lane, beginning with 1.\n\
             A gap is marked.\n\
             A late number is refused.\n\
             A number that was used is refused.\n{audit}"
        ),
    );
    check(
        "telemetry-tolerant",
        &format!(
            "The lane of an event is /component_instance_id.\n\
             An event is known by its id /event_id within the stream, for ever. An event without one is refused.\n\
             The same event again is answered 409, with the original receipt; another payload under a known id is a conflict. Payloads are compared whole.\n\
             An event must have a time at /observed_at, in UTC.\n\
             More than 5s ahead of our clock is refused; anything ahead is marked CLOCK_SKEW.\n\
             More than 30d behind our clock is refused.\n\
             More than 1h behind our clock is marked LATE_ARRIVAL.\n\
             {nonce}\n\
             The producer numbers the events of each lane, beginning with any number.\n\
             A gap is marked.\n\
             A late number is accepted and marked.\n\
             A number that was used is refused.\n{audit}"
        ),
    );
    check(
        "event-sourcing",
        &format!(
            "The lane of an event is /aggregate_id.\n\
             An event is known by its id /event_id within the stream, for ever. An event without one is refused.\n\
             The same event again is answered with the original receipt; another payload under a known id is a conflict. Payloads are compared whole.\n\
             An event may have a time at /occurred_at, in UTC.\n\
             More than 1h ahead of our clock is refused; anything ahead is marked CLOCK_SKEW.\n\
             {nonce}\n\
             The ledger numbers the events of each lane; a sender may say which number it builds on.\n\
             It must, for events whose /kind is \"update\" or \"delete\".\n{audit}"
        ),
    );
    check(
        "metering",
        &format!(
            "The lane of an event is made of /tenantId, /metric, /customerRef.\n\
             An event is known by its id /idempotencyKey, or else an id derived from /tenantId, /metric, /customerRef, /resourceId, /ts, within the stream, for ever.\n\
             The same event again is answered with the original receipt; another payload under a known id is a conflict. Payloads are compared whole.\n\
             An event must have a time at /ts, in UTC.\n\
             More than 1h ahead of our clock is refused; anything ahead is marked CLOCK_SKEW.\n\
             {nonce}\n\
             Counter usage adds up /quantity by /tenantId, /metric, /customerRef per month; what is more than 2d behind the watermark becomes an adjustment.\n{audit}"
        ),
    );
    check(
        "measurements",
        &format!(
            "The lane of an event is /user_id.\n\
             An event is known by its id /measurement_id within its lane, for ever. An event without one is refused.\n\
             The same event again is answered with the original receipt; another payload under a known id is a conflict. Payloads are compared by /weight, /timestamp, /source, /unit, /weight in kg by the unit at /unit, /weight rounded to 2 places, /timestamp as instants, /source without case.\n\
             An event must have a time at /timestamp, in UTC.\n\
             More than 5m ahead of our clock is refused; anything ahead is marked CLOCK_SKEW.\n\
             A time more than 5m before the lane's latest is refused.\n\
             {nonce}\n\
             A batch is judged in the order of time, lane by lane.\n{audit}"
        ),
    );
    check(
        "cloudevents",
        &format!(
            "The lane of an event is /source.\n\
             An event is known by its id /id within its lane, for ever. An event without one is refused.\n\
             The same event again is answered with the original receipt; another payload under a known id is a conflict. Payloads are compared whole.\n\
             An event may have a time at /time, in UTC.\n\
             More than 1h ahead of our clock is refused; anything ahead is marked CLOCK_SKEW.\n\
             {nonce}\n{audit}"
        ),
    );
}
