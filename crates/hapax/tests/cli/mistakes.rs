//! Files that are wrong: each mistake is answered with its line, its key, what was expected and what was found.

use crate::program::run;

const AT: &str = "at = \"2026-01-01T10:00:00Z\"\n";

/// A file and all that is said about it.
fn check(test: &str, text: &str, expect: &[&str]) {
    let said = run(&format!("mistake-{test}"), &[("f.toml", text.as_bytes())], &["test", "f.toml"], "");
    let lines: Vec<_> = said.err.lines().map(|line| line.strip_prefix("f.toml: ").unwrap_or(line)).collect();
    assert_eq!(lines, expect, "{text}");
    assert_eq!((said.code, said.out.as_str()), (2, "0 passed, 0 failed, 1 not run\n"));
}

/// A file with a name, an empty contract, and one step that begins in line 3.
fn check_step(test: &str, step: &str, expect: &str) {
    check(test, &format!("name = \"x\"\ncontract = {{}}\n[[step]]\n{AT}{step}\n"), &[expect]);
}

/// A file whose contract is in line 2.
fn check_contract(test: &str, contract: &str, expect: &[&str]) {
    check(test, &format!("name = \"x\"\ncontract = {contract}\n[[step]]\n{AT}head = true\n"), expect);
}

#[test]
fn what_is_no_toml_is_told_with_its_line() {
    check("string", "name = \"x\ncontract = {}", &["line 1: not TOML: invalid basic string, expected `\"`"]);
    check("bracket", "name = \"x\"\n[[step\n", &["line 2: not TOML: unclosed array table, expected `]]`"]);
    check("twice", "name = \"x\"\nname = \"y\"\n", &["line 2: not TOML: the key `name` is there twice"]);
    check("json", "{\"name\": \"x\"}", &["line 1: not TOML: invalid key-value pair, expected key"]);
    check_step("infinity", "event = { a = inf }", "line 5: inf is not a number that JSON can write");
}

#[test]
fn what_a_scenario_needs_is_named() {
    check(
        "empty",
        "",
        &[
            "line 1: name: is missing; expected a short sentence",
            "line 1: contract: is missing; expected the contract that the story begins with",
            "line 1: step: is missing; expected at least one [[step]]",
        ],
    );
    check(
        "name",
        &format!("contract = {{}}\n[[step]]\n{AT}head = true"),
        &["line 1: name: is missing; expected a short sentence"],
    );
    check(
        "name-kind",
        &format!("name = 5\ncontract = {{}}\n[[step]]\n{AT}head = true"),
        &["line 1: name: expected a text, found a number"],
    );
    check(
        "no-steps",
        "name = \"x\"\ncontract = {}\nstep = []",
        &["line 3: step: expected at least one [[step]], with two brackets, found an empty list"],
    );
    check(
        "one-bracket",
        &format!("name = \"x\"\ncontract = {{}}\n[step]\n{AT}head = true"),
        &["line 3: step: expected at least one [[step]], with two brackets, found a table"],
    );
    check(
        "unknown",
        &format!("name = \"x\"\ncontracts = 1\ncontract = {{}}\n[[step]]\n{AT}head = true"),
        &["line 2: contracts: is not a key that is known here; did you mean `contract`?"],
    );
}

#[test]
fn a_file_that_cannot_be_read_is_told_why() {
    fn check(test: &str, files: &[(&str, &[u8])], argument: &str, expect: &str) {
        let said = run(&format!("unreadable-{test}"), files, &["test", argument], "");
        assert_eq!((said.err.as_str(), said.code), (format!("{argument}: {expect}\n").as_str(), 2));
    }
    check("missing", &[], "nobody.toml", "there is no such file");
    check("folder", &[], ".", "is a directory; name the files in it");
    check("latin", &[("f.toml", b"name = \"x\"\n# caf\xe9\n")], "f.toml", "line 2: is not UTF-8 (byte 16 of the file)");
}

#[test]
fn a_contract_is_no_scenario_and_the_reverse() {
    let contract: &[(&str, &[u8])] = &[("f.toml", b"preset = \"metering\"\n")];
    let said = run("contract-as-scenario", contract, &["test", "f.toml"], "");
    assert_eq!(said.err, "f.toml: this is a contract, not a scenario; `hapax contract check` reads it\n");
    let scenario: &[(&str, &[u8])] = &[("f.toml", b"name = \"x\"\ncontract = {}\n[[step]]\nhead = true\n")];
    let said = run("scenario-as-contract", scenario, &["contract", "check", "f.toml"], "");
    assert_eq!(said.err, "f.toml: this is a scenario, not a contract; `hapax test` runs it\n");
    assert_eq!(said.code, 2);
}

#[test]
fn the_contract_at_the_top_is_checked_like_any_other() {
    check_contract("contract-kind", "\"metering\"", &["line 2: contract: expected a table, found a text"]);
    check_contract(
        "contract-key",
        "{ tiem = { future = \"1h\" } }",
        &["line 2: contract.tiem: is not a key that is known here; did you mean `time`?"],
    );
    check_contract(
        "contract-value",
        "{ time = { future = \"1 hour\" }, mode = \"on\" }",
        &[
            "line 2: contract.mode: expected \"enforce\", \"shadow\" or \"off\", found \"on\"",
            "line 2: contract.time.future: \"1 hour\" is not a duration: a duration is an integer and ms, s, m, h or d, like \
         900s, without sign or space",
        ],
    );
    check_contract(
        "contract-preset",
        "{ preset = \"meterin\" }",
        &["line 2: contract.preset: there is no preset \"meterin\"; did you mean \"metering\"?"],
    );
    check_contract(
        "contract-unsafe",
        "{ identity = { keep = \"1h\" }, time = { late = \"2h\", past = \"1h\" } }",
        &[
            "line 2: contract.identity.keep: an id is forgotten after 1h, so an older event could be accepted twice: set \
         time.required = true and a finite time.past, or identity.keep = \"forever\"",
            "line 2: contract.time.late: 2h is above time.past = 1h, so nothing could ever be marked late",
        ],
    );
}

#[test]
fn a_step_does_one_thing() {
    check_step("two", "event = {}\nhead = true", "line 6: step 1.head: a step has one action, found event and head");
    check_step(
        "none",
        "expect = {}",
        "line 3: step 1: has no action; expected one of event, raw, batch, lane, counter, adjust, close, acknowledge, \
         handler, claim, heartbeat, done, failed, contract, head, verify, recount, attempts",
    );
    check_step(
        "typo",
        "head = true\nexpct = {}",
        "line 6: step 1.expct: is not a key that is known here; did you mean `expect`?",
    );
    check_step("expect", "head = true\nexpect = [1]", "line 6: step 1.expect: expected a table, found a list");
    check_step(
        "save",
        "head = true\nsave = \"a.b\"",
        "line 6: step 1.save: expected a name without a dot, found \"a.b\"",
    );
}

#[test]
fn the_clock_is_a_time_in_utc_and_the_first_step_sets_it() {
    fn check_at(test: &str, at: &str, expect: &str) {
        check(&format!("at-{test}"), &format!("name = \"x\"\ncontract = {{}}\n[[step]]\n{at}\nhead = true"), &[expect]);
    }
    let such = "line 4: step 1.at: expected a time such as \"2026-01-01T10:00:00Z\", found";
    check_at(
        "none",
        "",
        "line 3: step 1.at: is missing: the first step needs the clock, such as \"2026-01-01T10:00:00Z\"",
    );
    check_at("word", "at = \"noon\"", &format!("{such} \"noon\": a time is written like 2025-09-01T10:00:00Z"));
    check_at("number", "at = 5", &format!("{such} 5"));
    check_at(
        "offset",
        "at = 2026-01-01T10:00:00+01:00",
        &format!("{such} \"2026-01-01T10:00:00+01:00\": the offset is not zero; write the time in UTC"),
    );
}

#[test]
fn what_stands_beside_an_action_means_something_there() {
    for key in ["dry_run", "atomic", "override"] {
        check_step(
            &format!("beside-{key}"),
            &format!("head = true\n{key} = true"),
            &format!("line 6: step 1.{key}: means nothing beside head; it goes with event, raw, batch"),
        );
        check_step(
            &format!("kind-{key}"),
            &format!("event = {{}}\n{key} = 1"),
            &format!("line 6: step 1.{key}: expected true or false, found a number"),
        );
    }
    check_step(
        "beside-key",
        "lane = \"a\"\nkey = \"k\"",
        "line 6: step 1.key: means nothing beside lane; it goes with event, raw, batch, adjust, close, acknowledge, \
         handler, claim, heartbeat, done, failed",
    );
}

#[test]
fn an_action_is_read_as_strictly_as_a_contract() {
    check_step("raw", "raw = { a = 1 }", "line 5: step 1.raw: expected a text, found a table");
    check_step("batch", "batch = { a = 1 }", "line 5: step 1.batch: expected a list of documents, found a table");
    check_step("lane", "lane = 5", "line 5: step 1.lane: expected a text, found a number");
    check_step("head", "head = false", "line 5: step 1.head: expected true, found false");
    check_step("claim", "claim = \"e\"", "line 5: step 1.claim: expected a table, found a text");
    check_step(
        "claim-seq",
        "claim = { handler = \"h\", event_id = \"e\", seq = -1 }",
        "line 5: step 1.claim.seq: expected a whole number from 0, found -1",
    );
    check_step(
        "claim-key",
        "claim = { handler = \"h\", event_id = \"e\", sequence = 1 }",
        "line 5: step 1.claim.sequence: is not a key that is known here; known are handler, event_id, lane, epoch, seq, owner",
    );
    check_step(
        "counter",
        "counter = { name = \"c\", period = \"all\" }",
        "line 5: step 1.counter.key: is missing; expected a list such as [\"t1\", \"requests\"]",
    );
    check_step(
        "adjust",
        "adjust = { counter = \"c\", id = \"i\", key = [], period = \"all\", amount = true }",
        "line 5: step 1.adjust.amount: expected a number, found true",
    );
    check_step("close", "close = { counter = \"c\" }", "line 5: step 1.close.period: is missing; expected a text");
    check_step(
        "acknowledge",
        "acknowledge = { lane = \"a\", from = 1 }",
        "line 5: step 1.acknowledge.to: is missing; expected a whole number",
    );
    check_step(
        "attempts-verdict",
        "attempts = { verdict = \"acepted\" }",
        "line 5: step 1.attempts.verdict: there is no verdict \"acepted\"; did you mean \"accepted\"?",
    );
    check_step(
        "attempts-code",
        "attempts = { code = \"SEQUENCE_GAPS\" }",
        "line 5: step 1.attempts.code: there is no code \"SEQUENCE_GAPS\"; did you mean \"SEQUENCE_GAP\"?",
    );
}

#[test]
fn a_handler_is_told_which_of_its_keys_is_wrong() {
    check_step(
        "handler-name",
        "handler = { order = \"none\" }",
        "line 5: step 1.handler.name: is missing; expected a text",
    );
    check_step(
        "handler-order",
        "handler = { name = \"h\", order = \"sorted\" }",
        "line 5: step 1.handler.order: expected one of \"none\", \"latest_only\", \"in_order\", found \"sorted\"",
    );
    check_step(
        "handler-key",
        "handler = { name = \"h\", leese = \"5s\" }",
        "line 5: step 1.handler.leese: is not a key that is known here; did you mean `lease`?",
    );
    check_step(
        "handler-lease",
        "handler = { name = \"h\", lease = 5 }",
        "line 5: step 1.handler.lease: 5: a duration is a text such as \"30s\"",
    );
    check_step(
        "handler-stream",
        "handler = { name = \"h\", stream = true }",
        "line 5: step 1.handler.stream: expected a string, found true",
    );
}

#[test]
fn a_value_that_nobody_saved_is_told_apart_from_a_wrong_one() {
    check_step(
        "saved-nobody",
        "done = { handler = \"h\", event_id = \"e\", fence = \"$nobody.fence\" }",
        "line 5: step 1.done.fence: expected a whole number, found \"$nobody.fence\", which no earlier step has saved",
    );
    check(
        "saved-path",
        &format!(
            "name = \"x\"\ncontract = {{}}\n[[step]]\n{AT}head = true\nsave = \"head\"\n[[step]]\n\
             done = {{ handler = \"h\", event_id = \"e\", fence = \"$head.fence\" }}"
        ),
        &["line 8: step 2.done.fence: expected a whole number, found \"$head.fence\", which no earlier step has saved"],
    );
}

#[test]
fn the_program_itself_says_how_it_is_called() {
    for arguments in
        [&[][..], &["test"], &["contract"], &["contract", "check"], &["tset", "x"], &["test", "--explian", "1"]]
    {
        let said = run("usage", &[], arguments, "");
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{arguments:?}");
        assert!(said.err.contains("Usage: hapax"), "{}", said.err);
    }
    let help = run("help", &[], &["test", "--help"], "");
    assert_eq!((help.code, help.err.as_str()), (0, ""));
    assert!(help.out.contains("--explain <N>") && help.out.contains("FILE"));
}
