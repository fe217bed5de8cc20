//! `hapax contract`: what a contract does, what is odd about it, what is wrong with it, and the presets.

use crate::program::{Said, run};

fn check(test: &str, text: &str) -> Said {
    run(&format!("contract-{test}"), &[("c.toml", text.as_bytes())], &["contract", "check", "c.toml"], "")
}

#[test]
fn a_good_contract_is_told_in_words() {
    let said = check("good", "preset = \"measurements\"\n");
    assert_eq!((said.err.as_str(), said.code), ("", 0));
    assert!(said.out.starts_with("The lane of an event is /user_id.\n"), "{}", said.out);
    assert!(said.out.contains("\nA batch is judged in the order of time, lane by lane.\n"));
    assert!(!said.out.contains("warning"));
}

#[test]
fn an_odd_contract_is_good_and_warned_about() {
    let said = check("odd", "[identity]\nrequired = true\n\n[batch]\nstop_on = \"ordering\"\n");
    assert_eq!((said.err.as_str(), said.code), ("", 0));
    let last = said.out.lines().last();
    let expect = "warning: line 5: batch.stop_on: no rule of this contract refuses an event for its order";
    assert_eq!(last, Some(expect), "{}", said.out);
}

#[test]
fn an_unsafe_contract_is_refused_with_every_problem() {
    let said = check("unsafe", "preset = \"telemetry-strict\"\n\n[time]\npast = \"30d\"\nlate = \"31d\"\n");
    let err = "c.toml: line 4: nonce.keep: 1d is shorter than time.past + time.future = 30d + 5m, so a replay would pass \
               after it\nc.toml: line 5: time.late: 31d is above time.past = 30d, so nothing could ever be marked late\n";
    assert_eq!(said, Said { out: String::new(), err: err.to_owned(), code: 2 });
}

#[test]
fn a_contract_may_be_json_and_come_from_standard_input() {
    let json = "\n {\"preset\": \"metering\",\n \"time\": {\"future\": \"2h\"}}";
    let said = run("contract-stdin", &[], &["contract", "check", "-"], json);
    assert_eq!((said.err.as_str(), said.code), ("", 0));
    assert!(said.out.contains("More than 2h ahead of our clock is refused"), "{}", said.out);
    let said = run("contract-stdin", &[], &["contract", "check", "-"], &json.replace("\"2h\"", "2"));
    let err = "standard input: line 3: time.future: expected a duration such as \"5m\", found 2\n";
    assert_eq!((said.err.as_str(), said.code), (err, 2));
    let said = run("contract-stdin", &[], &["contract", "check", "-"], "{\"mode\": \"enforce\"");
    assert_eq!((said.err.as_str(), said.code), ("standard input: line 1: not JSON: the text ends too early\n", 2));
}

#[test]
fn a_contract_that_cannot_be_read_is_told_why() {
    for (argument, expect) in [("nobody.toml", "there is no such file"), (".", "is a directory; name the files in it")]
    {
        let said = run("contract-unreadable", &[], &["contract", "check", argument], "");
        assert_eq!((said.err.as_str(), said.code), (format!("hapax: {argument}: {expect}\n").as_str(), 2));
    }
    let said = check("not-toml", "mode = enforce\n");
    assert!(said.err.starts_with("c.toml: line 1: not TOML: "), "{}", said.err);
}

#[test]
fn what_was_written_never_reaches_the_terminal_as_a_command() {
    let said = check("escape", "mode = \"\\u001b[31mred\\nred\"\n");
    let err = "c.toml: line 1: mode: expected \"enforce\", \"shadow\" or \"off\", found \"\\u{1b}[31mred\\nred\"\n";
    assert_eq!((said.err.as_str(), said.code), (err, 2));
}

const PRESETS: &[&str] =
    &["telemetry-strict", "telemetry-tolerant", "event-sourcing", "metering", "measurements", "cloudevents"];

#[test]
fn the_presets_are_listed_with_what_they_are_for() {
    let said = run("list", &[], &["contract", "show"], "");
    let out = "telemetry-strict     Security telemetry that trusts nobody\n\
               telemetry-tolerant   Telemetry that keeps all that is valid\n\
               event-sourcing       Commands on aggregates\n\
               metering             Usage metering\n\
               measurements         Measurements of people by devices\n\
               cloudevents          CloudEvents 1.0\n";
    assert_eq!(said, Said { out: out.to_owned(), err: String::new(), code: 0 });
}

#[test]
fn each_form_of_each_preset_is_a_contract_that_says_the_same() {
    let words = |test: &str, text: &str| {
        let said = run(test, &[], &["contract", "check", "-"], text);
        assert_eq!((said.err.as_str(), said.code), ("", 0), "{test}");
        said.out
            .lines()
            .filter(|line| !line.starts_with("warning: "))
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    for preset in PRESETS {
        let show = |form: &[&str]| {
            let said = run("show", &[], &[&["contract", "show", preset], form].concat(), "");
            assert_eq!((said.err.as_str(), said.code), ("", 0), "{preset} {form:?}");
            said.out
        };
        let told = show(&["--output", "words"]);
        assert_eq!(words("show-toml", &show(&[])), told, "{preset} as the file that it is");
        assert_eq!(words("show-json", &show(&["-o", "json"])), told, "{preset} written out");
        assert!(show(&["-o", "toml"]).starts_with("# "), "a preset says first what it is for");
    }
}

#[test]
fn an_unknown_preset_or_form_is_told_with_those_that_there_are() {
    let said = run("unknown", &[], &["contract", "show", "metring"], "");
    assert_eq!(
        (said.err.as_str(), said.code),
        ("hapax: there is no preset \"metring\"; did you mean \"metering\"?\n", 2)
    );
    let said = run("unknown", &[], &["contract", "show", "nothing"], "");
    assert_eq!(said.err, format!("hapax: there is no preset \"nothing\"; there are {}\n", PRESETS.join(", ")));
    let said = run("unknown", &[], &["contract", "show", "metering", "-o", "yaml"], "");
    assert!(said.err.contains("toml, json, words") && said.code == 2, "{}", said.err);
}
