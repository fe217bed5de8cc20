//! Every key: its default, what it takes, and what is said about anything else.

use crate::contract::*;
use crate::pointer::Pointer;
use crate::source::Node;

/// What a key is worth, written as the contract itself would be.
fn value(contract: &Contract, key: &str) -> String {
    let node = contract.node();
    let found = key.split('.').try_fold(&node, |node, part| node.get(part));
    found.map(Node::to_json).unwrap_or_default()
}

fn default_contract() -> Contract {
    Contract::from_toml("").expect("the defaults are safe").contract
}

#[test]
fn every_key_has_the_default_of_the_specification() {
    fn check(key: &str, expect: &str) {
        assert_eq!(value(&default_contract(), key), expect, "{key}");
    }
    assert_eq!(default_contract().preset, None);
    check("mode", r#""enforce""#);
    check("envelope.id", r#""/id""#);
    check("envelope.lane", r#""/lane""#);
    check("envelope.seq", r#""/seq""#);
    check("envelope.time", r#""/time""#);
    check("envelope.nonce", r#""/nonce""#);
    check("envelope.epoch", r#""/epoch""#);
    check("envelope.expected", r#""/expected_seq""#);
    check("identity.required", "false");
    check("identity.derive", "[]");
    check("identity.keep", r#""forever""#);
    check("identity.scope", r#""stream""#);
    check("identity.same", r#""replay""#);
    check("identity.different", r#""reject""#);
    for list in ["include", "exclude", "lowercase", "utc", "decimals", "units"] {
        check(&format!("identity.payload.{list}"), "[]");
    }
    check("sequence.source", r#""none""#);
    check("sequence.first", r#""any""#);
    check("sequence.gap", r#""mark""#);
    check("sequence.gap_large", "1000");
    check("sequence.regression", r#""mark""#);
    check("sequence.repeat", r#""reject""#);
    check("sequence.gaps_open_max", "10000");
    check("sequence.expected_required_for", "{}");
    check("time.required", "false");
    check("time.utc_only", "true");
    check("time.future", r#""1h""#);
    check("time.past", r#""none""#);
    check("time.late", r#""none""#);
    check("time.regression", r#""ignore""#);
    check("time.grace", r#""0s""#);
    check("nonce.required", "false");
    check("nonce.keep", r#""1d""#);
    check("lanes.silence", r#""none""#);
    check("batch.order", r#""as_sent""#);
    check("batch.stop_on", r#""never""#);
    check("override.allowed", "false");
    check("audit.keep", r#""30d""#);
    check("counters", "{}");
}

#[test]
fn every_key_is_read() {
    fn check(written: &str, key: &str, expect: &str) {
        let read = Contract::from_toml(written).unwrap_or_else(|problems| panic!("{written}: {problems:?}"));
        assert_eq!(value(&read.contract, key), expect, "{written}");
        let json = read.contract.node().to_json();
        assert_eq!(Contract::from_json(json.as_bytes()).expect("JSON").contract, read.contract, "{written}");
    }
    for mode in ["enforce", "shadow", "off"] {
        check(&format!("mode = \"{mode}\""), "mode", &format!("\"{mode}\""));
    }
    for field in ["id", "seq", "time", "nonce", "epoch", "expected", "lane"] {
        check(&format!("envelope.{field} = \"/a~1b/0\""), &format!("envelope.{field}"), r#""/a~1b/0""#);
        check(&format!("envelope.{field} = false"), &format!("envelope.{field}"), "false");
    }
    check(r#"envelope.lane = ["/a"]"#, "envelope.lane", r#""/a""#);
    check(r#"envelope.lane = ["/a", "/b"]"#, "envelope.lane", r#"["/a","/b"]"#);
    check("identity.required = true", "identity.required", "true");
    check(r#"identity.derive = ["/a", ""]"#, "identity.derive", r#"["/a",""]"#);
    check(
        "time = { required = true, past = \"1d\", future = \"1h\" }\nidentity.keep = \"25h\"",
        "identity.keep",
        r#""25h""#,
    );
    check("identity.scope = \"lane\"", "identity.scope", r#""lane""#);
    check("identity.same = \"reject\"", "identity.same", r#""reject""#);
    check("identity.different = \"warn\"", "identity.different", r#""warn""#);
    for list in ["include", "exclude", "lowercase", "utc"] {
        check(&format!("identity.payload.{list} = [\"/a\"]"), &format!("identity.payload.{list}"), r#"["/a"]"#);
    }
    check(
        r#"identity.payload.decimals = [{ field = "/a", places = 100 }]"#,
        "identity.payload.decimals",
        r#"[{"field":"/a","places":100}]"#,
    );
    check(
        r#"identity.payload.units = [{ field = "/a", unit = "/u", to = "kg", factors = { g = 0.001, lb = "0.45359237" } }]"#,
        "identity.payload.units",
        r#"[{"field":"/a","unit":"/u","to":"kg","factors":{"g":"0.001","lb":"0.45359237"}}]"#,
    );
    for source in ["none", "producer", "server"] {
        check(&format!("sequence.source = \"{source}\""), "sequence.source", &format!("\"{source}\""));
    }
    check("sequence.first = 0", "sequence.first", "0");
    check("sequence.first = 1", "sequence.first", "1");
    check("sequence.first = \"any\"", "sequence.first", r#""any""#);
    check("sequence.gap = \"reject\"", "sequence.gap", r#""reject""#);
    check("sequence.gap_large = 18446744073709551615", "sequence.gap_large", "18446744073709551615");
    for on in ["mark", "reject", "stale"] {
        check(&format!("sequence.regression = \"{on}\""), "sequence.regression", &format!("\"{on}\""));
        check(&format!("sequence.repeat = \"{on}\""), "sequence.repeat", &format!("\"{on}\""));
    }
    check("sequence.gaps_open_max = 1", "sequence.gaps_open_max", "1");
    check("sequence.gaps_open_max = 1000000", "sequence.gaps_open_max", "1000000");
    check(
        r#"sequence.expected_required_for = { field = "/k", values = ["a", 1.50, true, 12345678901234567890123.5] }"#,
        "sequence.expected_required_for",
        r#"{"field":"/k","values":["a",1.5,true,12345678901234567890123.5]}"#,
    );
    check("time.required = true", "time.required", "true");
    check("time.utc_only = false", "time.utc_only", "false");
    for bound in ["future", "past", "late"] {
        check(&format!("time.{bound} = \"90s\""), &format!("time.{bound}"), r#""90s""#);
        check(&format!("time.{bound} = \"forever\""), &format!("time.{bound}"), r#""none""#);
    }
    for on in ["ignore", "mark", "reject"] {
        check(&format!("time.regression = \"{on}\""), "time.regression", &format!("\"{on}\""));
    }
    check("time.grace = \"300s\"", "time.grace", r#""5m""#);
    check("nonce.keep = \"none\"\nnonce.required = true", "nonce.required", "true");
    check("nonce.keep = \"none\"", "nonce.keep", r#""forever""#);
    check("lanes.silence = \"5m\"", "lanes.silence", r#""5m""#);
    for order in ["as_sent", "time", "sequence"] {
        check(&format!("batch.order = \"{order}\""), "batch.order", &format!("\"{order}\""));
    }
    check("batch.stop_on = \"ordering\"", "batch.stop_on", r#""ordering""#);
    check("override.allowed = true", "override.allowed", "true");
    check("audit.keep = \"forever\"", "audit.keep", r#""forever""#);
    for period in ["hour", "day", "week", "month", "none"] {
        let written = format!("counters.c = {{ amount = \"/q\", period = \"{period}\" }}");
        check(&written, "counters.c.period", &format!("\"{period}\""));
    }
    check(
        r#"counters.c = { amount = "/q", key = ["/a"], lateness = "none", when = { field = "/m", values = [1] } }"#,
        "counters",
        r#"{"c":{"key":["/a"],"amount":"/q","period":"month","lateness":"none","when":{"field":"/m","values":[1]}}}"#,
    );
}

/// What is said about a contract that cannot be read.
fn problems(text: &str) -> Vec<String> {
    let read = if text.starts_with('{') { Contract::from_json(text.as_bytes()) } else { Contract::from_toml(text) };
    read.err().unwrap_or_default().iter().map(ToString::to_string).collect()
}

fn check(text: &str, expect: &str) {
    assert_eq!(problems(text), [expect], "{text}");
}

#[test]
fn a_value_of_a_wrong_kind_is_told_with_its_line_and_key() {
    for key in ["identity", "identity.payload", "sequence", "time", "nonce", "lanes", "batch", "override", "audit"] {
        check(&format!("\n{key} = 5"), &format!("line 2: {key}: expected a table, found a number"));
    }
    check("counters = []", "line 1: counters: expected a table, found a list");
    check("counters.c = 5", "line 1: counters.c: expected a table, found a number");
    for key in ["identity.required", "time.required", "time.utc_only", "nonce.required", "override.allowed"] {
        check(&format!("{key} = \"yes\""), &format!("line 1: {key}: expected true or false, found a text"));
    }
    for key in ["time.future", "time.past", "time.late", "time.grace", "identity.keep", "nonce.keep", "audit.keep"] {
        check(&format!("{key} = 5"), &format!("line 1: {key}: expected a duration such as \"5m\", found 5"));
    }
    for key in ["include", "exclude", "lowercase", "utc", "decimals", "units"] {
        let key = format!("identity.payload.{key}");
        check(&format!("{key} = \"/a\""), &format!("line 1: {key}: expected a list, found a text"));
    }
    for key in ["id", "seq", "time", "nonce", "epoch", "expected", "lane"] {
        let key = format!("envelope.{key}");
        check(&format!("{key} = 5"), &format!("line 1: {key}: expected a JSON Pointer such as \"/id\", found 5"));
        check(&format!("{key} = true"), &format!("line 1: {key}: expected a JSON Pointer such as \"/id\", found true"));
    }
    check("mode = true", "line 1: mode: expected \"enforce\", \"shadow\" or \"off\", found true");
    check("preset = 5", "line 1: preset: expected a text, found a number");
    check("{\n\"time\": null}", "line 2: time: expected a table, found null");
    check("{\"mode\":\n\n\"on\"}", "line 3: mode: expected \"enforce\", \"shadow\" or \"off\", found \"on\"");
}

#[test]
fn a_value_that_means_nothing_is_told_with_what_was_expected() {
    check("mode = \"on\"", "line 1: mode: expected \"enforce\", \"shadow\" or \"off\", found \"on\"");
    check("identity.scope = \"x\"", "line 1: identity.scope: expected \"stream\" or \"lane\", found \"x\"");
    check("identity.same = \"x\"", "line 1: identity.same: expected \"replay\" or \"reject\", found \"x\"");
    check("identity.different = \"x\"", "line 1: identity.different: expected \"reject\" or \"warn\", found \"x\"");
    check(
        "sequence.source = \"x\"",
        "line 1: sequence.source: expected \"none\", \"producer\" or \"server\", found \"x\"",
    );
    check("sequence.gap = \"stale\"", "line 1: sequence.gap: expected \"mark\" or \"reject\", found \"stale\"");
    for key in ["sequence.regression", "sequence.repeat"] {
        check(
            &format!("{key} = \"x\""),
            &format!("line 1: {key}: expected \"mark\", \"reject\" or \"stale\", found \"x\""),
        );
    }
    check("sequence.first = 2", "line 1: sequence.first: expected \"any\", 0 or 1, found 2");
    check("sequence.first = \"1\"", "line 1: sequence.first: expected \"any\", 0 or 1, found \"1\"");
    check("sequence.gap_large = -1", "line 1: sequence.gap_large: expected a whole number from 0, found -1");
    for max in ["0", "1000001"] {
        check(
            &format!("sequence.gaps_open_max = {max}"),
            &format!("line 1: sequence.gaps_open_max: expected a number from 1 to 1000000, found {max}"),
        );
    }
    check(
        "time.regression = \"x\"",
        "line 1: time.regression: expected \"ignore\", \"mark\" or \"reject\", found \"x\"",
    );
    check("batch.order = \"x\"", "line 1: batch.order: expected \"as_sent\", \"time\" or \"sequence\", found \"x\"");
    check("batch.stop_on = \"x\"", "line 1: batch.stop_on: expected \"never\" or \"ordering\", found \"x\"");
    check(
        "time.future = \"5 minutes\"",
        "line 1: time.future: \"5 minutes\" is not a duration: \
         a duration is an integer and ms, s, m, h or d, like 900s, without sign or space",
    );
    check("time.past = \"106752d\"", "line 1: time.past: \"106752d\" is not a duration: a duration is at most 106751d");
    check("time.grace = \"none\"", "line 1: time.grace: expected a duration such as \"5m\"; this one must have an end");
    check(
        "envelope.id = \"id\"",
        "line 1: envelope.id: \"id\" is not a JSON Pointer: a JSON Pointer is empty or begins with a slash",
    );
    check(
        "envelope.time = \"\"",
        "line 1: envelope.time: expected a pointer to a field, such as \"/id\", found the whole document",
    );
    check(
        "envelope.lane = []",
        "line 1: envelope.lane: expected at least one pointer; a stream of one lane says false",
    );
    check("envelope.lane = [\"/a\", 5]", "line 1: envelope.lane[1]: expected a JSON Pointer such as \"/id\", found 5");
}

#[test]
fn the_parts_of_lists_and_counters_are_told_like_any_other_key() {
    check(
        "identity.payload.decimals = [{ places = 1 }]",
        "line 1: identity.payload.decimals[0].field: is missing; expected a JSON Pointer",
    );
    check(
        "identity.payload.decimals = [{ field = \"/a\" }]",
        "line 1: identity.payload.decimals[0].places: is missing; expected the number of decimals",
    );
    check(
        "identity.payload.decimals = [{ field = \"/a\", places = 101 }]",
        "line 1: identity.payload.decimals[0].places: expected at most 100, found 101",
    );
    check("identity.payload.decimals = [5]", "line 1: identity.payload.decimals[0]: expected a table, found a number");
    check(
        "identity.payload.units = [{ field = \"/a\", unit = \"/u\" }]",
        "line 1: identity.payload.units[0].to: is missing; expected the unit that all are converted to",
    );
    check(
        "identity.payload.units = [{ field = \"/a\", unit = \"/u\", to = \"kg\", factors = { lb = \"half\" } }]",
        "line 1: identity.payload.units[0].factors.lb: expected an exact decimal such as \"0.45359237\", found \"half\"",
    );
    // Short as it is written, long as it would be shown.
    check(
        "identity.payload.units = [{ field = \"/a\", unit = \"/u\", to = \"kg\", factors = { t = \"1e70\" } }]",
        "line 1: identity.payload.units[0].factors.t: expected an exact decimal such as \"0.45359237\", found \"1e70\"",
    );
    check("counters.c = {}", "line 1: counters.c.amount: is missing; expected a JSON Pointer");
    check(
        "counters.c = { amount = \"/q\", period = \"year\" }",
        "line 1: counters.c.period: expected \"hour\", \"day\", \"week\", \"month\" or \"none\", found \"year\"",
    );
    check(
        "counters.\"a b\" = { amount = \"/q\" }",
        "line 1: counters.a b: a name begins with a letter or digit, and has at most 128 letters, digits, `.`, `_`, `-`",
    );
    check(
        "counters.c = { amount = \"/q\", when = { values = [] } }",
        "line 1: counters.c.when.field: is missing; expected a JSON Pointer",
    );
    check(
        "counters.c = { amount = \"/q\", when = { field = \"/m\" } }",
        "line 1: counters.c.when.values: is missing; expected a list of values",
    );
    for value in ["[]", "{}"] {
        let found = if value == "[]" { "a list" } else { "a table" };
        check(
            &format!("sequence.expected_required_for = {{ field = \"/m\", values = [{value}] }}"),
            &format!(
                "line 1: sequence.expected_required_for.values[0]: expected a text, a number, true or false, found {found}"
            ),
        );
    }
}

#[test]
fn an_unknown_key_is_refused_wherever_it_stands() {
    for (table, key, meant) in [
        ("", "envelop", "envelope"),
        ("envelope.", "sequence", ""),
        ("identity.", "scop", "scope"),
        ("identity.payload.", "includes", "include"),
        ("sequence.", "gaps", ""),
        ("time.", "passt", "past"),
        ("nonce.", "kep", "keep"),
        ("lanes.", "silent", "silence"),
        ("batch.", "stop", "stop_on"),
        ("override.", "allow", "allowed"),
        ("audit.", "keeps", "keep"),
    ] {
        let said = problems(&format!("{table}{key} = 1"));
        assert_eq!(said.len(), 1, "{said:?}");
        let begin = format!("line 1: {table}{key}: is not a key that is known here; ");
        assert!(said[0].starts_with(&begin), "{}", said[0]);
        if !meant.is_empty() {
            assert_eq!(said[0], format!("{begin}did you mean `{meant}`?"));
        }
    }
    check(
        "counters.c = { amount = \"/q\", latenes = \"1h\" }",
        "line 1: counters.c.latenes: is not a key that is known here; did you mean `lateness`?",
    );
}

#[test]
fn an_unknown_preset_is_told_with_those_that_there_are() {
    check(
        "preset = \"telemetry-strct\"",
        "line 1: preset: there is no preset \"telemetry-strct\"; did you mean \"telemetry-strict\"?",
    );
    check(
        "preset = \"strict\"",
        "line 1: preset: there is no preset \"strict\"; there are telemetry-strict, telemetry-tolerant, event-sourcing, \
         metering, measurements, cloudevents",
    );
}

#[test]
fn a_counter_may_be_called_field_and_the_presets_own_stay() {
    let read = Contract::from_toml("preset = \"metering\"\ncounters.field = { amount = \"/q\" }").expect("a contract");
    let names: Vec<_> = read.contract.counters.iter().map(|counter| counter.name.as_str()).collect();
    assert_eq!(names, ["field", "usage"]);
}

#[test]
fn a_name_has_its_letters_and_its_length() {
    for name in ["a", "0", "A.b_c-d", &"x".repeat(128)] {
        assert!(is_name(name), "{name}");
    }
    for name in ["", ".a", "-a", "_a", "a b", "a/b", "é", "a\0", &"x".repeat(129)] {
        assert!(!is_name(name), "{name}");
    }
}

#[test]
fn an_event_must_have_a_lane_only_where_a_rule_reads_one() {
    fn check(written: &str, expect: bool) {
        assert_eq!(Contract::from_toml(written).expect("a contract").contract.reads_lanes(), expect, "{written}");
    }
    check("", false);
    check("sequence.source = \"producer\"", true);
    check("sequence.source = \"server\"", true);
    check("time.regression = \"mark\"", true);
    check("identity.scope = \"lane\"", true);
    check("nonce = { required = true, keep = \"forever\" }", true);
    check("nonce.keep = \"forever\"", false);
    check("batch.order = \"time\"", false);
}

#[test]
fn lanes_begin_anew_when_the_rules_are_on_again() {
    let with = |mode| Contract { mode, ..default_contract() };
    let first = Version::first(with(Mode::Enforce));
    assert_eq!((first.number, first.baseline), (1, 0));
    let off = first.next(with(Mode::Off));
    assert_eq!((off.number, off.baseline), (2, 0));
    let on = off.next(with(Mode::Shadow));
    assert_eq!((on.number, on.baseline), (3, 3));
    let still = on.next(with(Mode::Enforce));
    assert_eq!((still.number, still.baseline), (4, 3));
    assert_eq!(Pointer::parse("/lane").ok().as_slice(), still.contract.envelope.lane.as_slice());
}
