//! What is unsafe, what is only odd, and what may not change. The list of what is refused is complete.

use crate::contract::*;

/// The keys of the problems and of the warnings: `problems | warnings`.
fn found(text: &str) -> String {
    let keys = |list: &[Problem]| list.iter().map(|it| it.key.as_str()).collect::<Vec<_>>().join(" ");
    match Contract::from_toml(text) {
        Ok(checked) => format!("| {}", keys(&checked.warnings)).trim_end().to_owned(),
        Err(problems) => format!("{} |", keys(&problems)),
    }
}

/// Checks a contract whose events have ids, so that nothing is odd that is not meant to be.
fn check(text: &str, expect: &str) {
    assert_eq!(found(&format!("identity.required = true\n{text}")), expect, "{text}");
}

#[test]
fn a_finite_horizon_of_identity_must_be_proven_safe() {
    let safe = "time.required = true\ntime.past = \"1d\"\ntime.future = \"1h\"";
    check(&format!("identity.keep = \"25h\"\n{safe}"), "|");
    check(&format!("identity.keep = \"90060s\"\n{safe}"), "|");
    check(&format!("identity.keep = \"89999s\"\n{safe}"), "identity.keep |");
    check("identity.keep = \"365d\"\ntime.required = false\ntime.past = \"1d\"", "identity.keep |");
    check("identity.keep = \"365d\"\ntime.required = true", "identity.keep |");
    check(
        "identity.keep = \"365d\"\ntime.required = true\ntime.past = \"1d\"\ntime.future = \"none\"",
        "identity.keep |",
    );
    check("identity.keep = \"forever\"", "|");
    // The longest spans together are longer than 64 bits of nanoseconds hold.
    let longest = "time = { required = true, past = \"106751d\", future = \"106751d\" }";
    check(&format!("identity.keep = \"106751d\"\n{longest}"), "identity.keep |");
}

#[test]
fn a_nonce_must_be_kept_as_long_as_a_replay_would_pass() {
    let bounds = "time.required = true\ntime.past = \"5m\"\ntime.future = \"5m\"";
    check(&format!("nonce = {{ required = true, keep = \"10m\" }}\n{bounds}"), "|");
    check(&format!("nonce = {{ required = true, keep = \"599s\" }}\n{bounds}"), "nonce.keep |");
    check("nonce = { required = true, keep = \"365d\" }", "nonce.keep |");
    check("nonce = { required = true, keep = \"365d\" }\ntime.past = \"1d\"\ntime.future = \"none\"", "nonce.keep |");
    check("nonce = { required = true, keep = \"forever\" }", "|");
    // Optional, it is a warning, and only for those who wrote about nonces.
    check(&format!("nonce = {{ keep = \"599s\" }}\n{bounds}"), "| nonce.keep");
    check(&format!("envelope.nonce = \"/n\"\nnonce.keep = \"599s\"\n{bounds}"), "| nonce.keep");
    check("time.past = \"30d\"", "|");
    check("envelope.nonce = false\nnonce.keep = \"1s\"", "|");
}

#[test]
fn late_is_not_above_past() {
    check("time = { late = \"2d\", past = \"1d\" }", "time.late |");
    check("time = { late = \"1d\", past = \"1d\" }", "|");
    check("time = { late = \"2d\" }", "|");
    check("time = { past = \"1d\" }", "|");
}

#[test]
fn numbers_that_the_server_assigns_are_read_from_nowhere() {
    check("sequence.source = \"server\"\nenvelope.seq = \"/n\"", "envelope.seq |");
    check("sequence.source = \"server\"", "|");
    check("sequence.source = \"server\"\nenvelope.seq = false", "|");
    check("sequence.source = \"producer\"\nenvelope.seq = \"/n\"", "|");
    // A pointer of the preset is not written in the contract itself.
    check("preset = \"telemetry-tolerant\"\nsequence.source = \"server\"", "|");
}

#[test]
fn an_amount_is_part_of_the_payload_that_is_compared() {
    let counter = "counters.c = { amount = \"/q/n\" }\n";
    check(counter, "|");
    check(&format!("{counter}identity.payload.exclude = [\"/q\"]"), "counters.c.amount |");
    check(&format!("{counter}identity.payload.exclude = [\"/q/n\"]"), "counters.c.amount |");
    check(&format!("{counter}identity.payload.exclude = [\"\"]"), "counters.c.amount |");
    check(&format!("{counter}identity.payload.exclude = [\"/q/m\", \"/qn\", \"/q/n/x\"]"), "|");
    check(&format!("{counter}identity.payload.include = [\"/a\"]"), "counters.c.amount |");
    check(&format!("{counter}identity.payload.include = [\"/a\", \"/q\"]"), "|");
    check(&format!("{counter}identity.payload.include = [\"\"]"), "|");
    check(
        "counters = { a = { amount = \"/x\" }, b = { amount = \"/y\" } }\nidentity.payload.exclude = [\"/x\", \"/y\"]",
        "counters.a.amount counters.b.amount |",
    );
}

#[test]
fn every_problem_of_a_contract_is_named_at_once() {
    let text = "time = { past = \"1d\", late = \"2d\" }\nidentity = { keep = \"1h\", payload = { exclude = [\"/q\"] } }\n\
                nonce = { required = true, keep = \"1m\" }\nsequence.source = \"server\"\nenvelope.seq = \"/s\"\n\
                counters.c.amount = \"/q\"";
    assert_eq!(found(text), "identity.keep nonce.keep time.late envelope.seq counters.c.amount |");
}

#[test]
fn a_problem_stands_where_its_author_can_change_something() {
    fn check(text: &str, expect: &str) {
        let problems = Contract::from_toml(text).expect_err("an unsafe contract");
        assert_eq!(problems[0].to_string(), expect, "{text}");
    }
    check(
        "preset = \"telemetry-strict\"\n\n[time]\npast = \"30d\"",
        "line 4: nonce.keep: 1d is shorter than time.past + time.future = 30d + 5m, so a replay would pass after it",
    );
    check(
        "[identity]\nkeep = \"1h\"",
        "line 2: identity.keep: an id is forgotten after 1h, so an older event could be accepted twice: set \
         time.required = true and a finite time.past, or identity.keep = \"forever\"",
    );
    check(
        "preset = \"metering\"\nidentity.payload.exclude = [\"/quantity\"]",
        "line 2: counters.usage.amount: /quantity is under identity.payload.exclude, so a retry with another amount \
         would pass for the same event",
    );
    check(
        "preset = \"telemetry-tolerant\"\ntime.past = \"1m\"",
        "line 2: time.late: 1h is above time.past = 1m, so nothing could ever be marked late",
    );
    check(
        "sequence.source = \"server\"\nenvelope.seq = \"/n\"",
        "line 2: envelope.seq: the server assigns the numbers (sequence.source = \"server\"), so none is read from the \
         document",
    );
}

#[test]
fn what_is_only_odd_is_a_warning_and_nothing_else_is_refused() {
    assert_eq!(found(""), "| identity");
    assert_eq!(found("identity.derive = [\"/a\"]"), "|");
    check("envelope.id = false", "| identity.required");
    check("envelope.seq = false\nsequence.source = \"producer\"", "| envelope.seq");
    check("envelope.nonce = false\nnonce = { required = true, keep = \"forever\" }", "| envelope.nonce");
    check("envelope.time = false\ntime.required = true", "| envelope.time");
    check("sequence.expected_required_for = { field = \"/k\", values = [1] }", "| sequence.expected_required_for");
    check("nonce = { required = true, keep = \"2d\" }\ntime.past = \"1d\"", "| nonce.required");
    check("mode = \"off\"", "| mode");
    check("batch.stop_on = \"ordering\"", "| batch.stop_on");
    check("counters.c = { amount = \"/q\", when = { field = \"/m\", values = [] } }", "| counters.c.when");
    // Strange, and still the author's right.
    check("time = { future = \"none\", past = \"0s\", late = \"0s\", grace = \"106751d\" }", "|");
    check("audit.keep = \"0s\"\nlanes.silence = \"0s\"", "|");
    check("envelope = { id = \"/x\", lane = \"/x\", time = \"/x\" }", "|");
    check(
        "sequence = { source = \"producer\", gap = \"reject\", regression = \"stale\", repeat = \"mark\", gap_large = 0 }",
        "|",
    );
    check("mode = \"shadow\"\noverride.allowed = true\nbatch.order = \"sequence\"", "|");
    check("counters.c = { amount = \"/q\", key = [\"\", \"/a\", \"/a\"], lateness = \"0s\" }", "|");
    let id = "identity.scope = \"lane\"\nidentity.same = \"reject\"\nidentity.different = \"warn\"";
    check(&format!("{id}\nidentity.derive = [\"\"]\nenvelope.lane = false"), "|");
}

#[test]
fn a_preset_warns_about_nothing_that_its_design_does_not_want() {
    for preset in PRESETS {
        let expect = if preset.name == "telemetry-strict" { "| identity" } else { "|" };
        assert_eq!(found(&format!("preset = \"{}\"", preset.name)), expect, "{}", preset.name);
        assert_eq!(found(preset.toml), expect, "{} as the file that it is", preset.name);
    }
}

/// The keys that a change from one contract to another may not touch.
fn check_change(before: &str, after: &str, expect: &str) {
    let read = |text: &str| Contract::from_toml(text).unwrap_or_else(|why| panic!("{text}: {why:?}")).contract;
    let (before, after) = (read(before), read(after));
    let keys: Vec<_> = forbidden_changes(&[&before], &after).into_iter().map(|problem| problem.key).collect();
    assert_eq!(keys.join(" "), expect);
    assert!(forbidden_changes(&[&before], &before).is_empty());
    assert!(forbidden_changes(&[], &after).is_empty());
}

#[test]
fn what_says_which_events_are_the_same_never_changes() {
    check_change("", "identity.required = true", "identity.required");
    check_change("", "identity.derive = [\"/a\"]", "identity.derive");
    check_change("", "identity.keep = \"2d\"\ntime = { required = true, past = \"1d\" }", "identity.keep");
    check_change("", "identity.scope = \"lane\"", "identity.scope");
    check_change("", "identity.payload.exclude = [\"/a\"]", "identity.payload");
    check_change("", "identity.payload.utc = [\"/a\"]", "identity.payload");
    check_change("", "envelope.id = \"/x\"", "envelope.id");
    check_change("", "envelope.id = false", "envelope.id");
    check_change("", "envelope.lane = [\"/lane\", \"/x\"]", "envelope.lane");
    check_change("", "envelope.lane = [\"/lane\"]", "");
    check_change("", "sequence.source = \"producer\"", "sequence.source");
    check_change("sequence.source = \"producer\"", "sequence.source = \"server\"", "sequence.source");
}

#[test]
fn what_only_chooses_an_answer_may_change() {
    let may = "mode = \"shadow\"\nidentity = { same = \"reject\", different = \"warn\" }\n\
               envelope = { seq = \"/n\", time = \"/t\", nonce = \"/o\", epoch = \"/e\", expected = false }\n\
               sequence = { first = 1, gap = \"reject\", gap_large = 1, regression = \"reject\", repeat = \"mark\", gaps_open_max = 5 }\n\
               time = { required = true, utc_only = false, future = \"1m\", past = \"1d\", late = \"1h\", regression = \"reject\", grace = \"1s\" }\n\
               nonce = { required = true, keep = \"5d\" }\nlanes.silence = \"1h\"\nbatch = { order = \"time\", stop_on = \"ordering\" }\n\
               override.allowed = true\naudit.keep = \"1d\"\ncounters.new = { amount = \"/q\" }";
    check_change("", may, "");
}

#[test]
fn a_counter_that_has_counted_stays_what_it_was() {
    let counter = |rest: &str| format!("counters.c = {{ amount = \"/q\", {rest} }}");
    let plain = counter("key = []");
    check_change(&plain, &counter("lateness = \"1h\""), "");
    check_change(&plain, &counter("key = [\"/a\"]"), "counters.c.key");
    check_change(&plain, &counter("period = \"day\""), "counters.c.period");
    check_change(&plain, &counter("when = { field = \"/m\", values = [1] }"), "counters.c.when");
    check_change(&plain, "counters.c.amount = \"/other\"", "counters.c.amount");
    check_change(&plain, "", "");
}

#[test]
fn a_counter_that_was_dropped_comes_back_as_it_was_or_not_at_all() {
    let read = |text: &str| Contract::from_toml(text).expect("a contract").contract;
    let (had, without) = (read("counters.c = { amount = \"/q\", period = \"day\" }"), read(""));
    let other = read("counters.c = { amount = \"/q\", period = \"hour\" }");
    assert!(forbidden_changes(&[&had, &without], &had).is_empty());
    let problems = forbidden_changes(&[&had, &without], &other);
    assert_eq!(
        problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["counters.c.period: cannot change once the stream holds entries; a new stream can have it"]
    );
}
