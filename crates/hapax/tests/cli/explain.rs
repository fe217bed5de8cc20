//! `hapax test --explain`: the rules of a step, in their order, with what followed from each.
//!
//! What was compared is told by the judge in its own words; here only the order, the outcomes and the frame are pinned.

use crate::program::run;

const STORY: &str = r#"name = "a story to explain"
contract = { preset = "telemetry-tolerant", batch = { stop_on = "ordering" } }

[[step]]
at = "2026-01-01T10:00:00Z"
event = { event_id = "a", component_instance_id = "l", sequence = 1, observed_at = "2026-01-01T10:00:00Z" }

[[step]]
event = { event_id = "b", component_instance_id = "l", sequence = 4, observed_at = "2026-01-01T08:00:00Z" }

[[step]]
event = { event_id = "c", component_instance_id = "l", sequence = 4, observed_at = "2026-01-01T10:00:00Z" }
expect = { code = "SEQUENCE_CONFLICT" }

[[step]]
event = { event_id = "a", component_instance_id = "l", sequence = 1, observed_at = "2026-01-01T10:00:00Z" }
expect = { verdict = "duplicate" }

[[step]]
batch = [{ event_id = "d", component_instance_id = "l", sequence = 1, observed_at = "2026-01-01T10:00:00Z" }, { event_id = "e", component_instance_id = "l", sequence = 5, observed_at = "2026-01-01T10:00:00Z" }]

[[step]]
lane = "l"

[[step]]
raw = "not JSON"
expect = { code = "SCHEMA_VIOLATION" }

[[step]]
dry_run = true
event = { event_id = "f", component_instance_id = "l", sequence = 5, observed_at = "2026-01-01T10:00:00Z" }

[[step]]
key = "k"
event = { event_id = "g", component_instance_id = "l", sequence = 5, observed_at = "2026-01-01T10:00:00Z" }

[[step]]
key = "k"
event = { event_id = "g", component_instance_id = "l", sequence = 5, observed_at = "2026-01-01T10:00:00Z" }
expect = { replayed = true }
"#;

/// Heads whole, of each rule its name and what it led to.
fn check(step: &str, expect: &[&str]) {
    let said =
        run(&format!("explain-{step}"), &[("s.toml", STORY.as_bytes())], &["test", "--explain", step, "s.toml"], "");
    assert_eq!((said.err.as_str(), said.code), ("", 0), "{}", said.out);
    let shorten = |line: &str| match line.strip_prefix("  ") {
        Some(rule) => format!("  {}: {}", rule[..18].trim(), rule[19..].split_whitespace().next().unwrap_or_default()),
        None => line.to_owned(),
    };
    let mut expect = expect.to_vec();
    expect.extend(["ok    s.toml: a story to explain (10 steps)", "1 passed, 0 failed"]);
    assert_eq!(said.out.lines().map(shorten).collect::<Vec<_>>(), expect, "{}", said.out);
    assert!(!said.out.contains("this is a bug"));
}

#[test]
fn an_accepted_event_passed_every_rule() {
    check(
        "1",
        &[
            "attempt 1 of a: accepted (contract 1, 2026-01-01T10:00:00Z)",
            "  document: passed",
            "  identity: passed",
            "  time format: passed",
            "  time bounds: passed",
            "  sequence: passed",
        ],
    );
}

#[test]
fn a_marked_event_says_which_rules_marked_it() {
    check(
        "2",
        &[
            "attempt 2 of b: accepted (contract 1, 2026-01-01T10:00:00Z)",
            "  document: passed",
            "  identity: passed",
            "  time format: passed",
            "  time bounds: marked",
            "  sequence: marked",
        ],
    );
}

#[test]
fn a_refused_event_ends_with_the_rule_that_refused_it() {
    check(
        "3",
        &[
            "attempt 3 of c: rejected, SEQUENCE_CONFLICT (contract 1, 2026-01-01T10:00:00Z)",
            "  document: passed",
            "  identity: passed",
            "  time format: passed",
            "  time bounds: passed",
            "  sequence: refused",
        ],
    );
}

#[test]
fn a_duplicate_ends_with_its_identity() {
    check(
        "4",
        &[
            "attempt 4 of a: duplicate, DUPLICATE_EVENT_ID (contract 1, 2026-01-01T10:00:00Z)",
            "  document: passed",
            "  identity: refused",
        ],
    );
}

#[test]
fn a_batch_is_explained_event_by_event() {
    check(
        "5",
        &[
            "attempt 5 of d: rejected, SEQUENCE_CONFLICT (contract 1, 2026-01-01T10:00:00Z)",
            "  document: passed",
            "  identity: passed",
            "  time format: passed",
            "  time bounds: passed",
            "  sequence: refused",
            "attempt 6 of e: not_evaluated, BATCH_STOPPED (contract 1, 2026-01-01T10:00:00Z)",
            "  batch: refused",
        ],
    );
}

#[test]
fn a_step_that_judges_nothing_says_why_there_is_nothing_to_explain() {
    check("6", &["step 6, lane: nothing was judged in this step"]);
    check("8", &["step 8, event: nothing was written down, because it was a dry run"]);
    check(
        "10",
        &["step 10, event: nothing was judged, because the request's key was known and its answer was given again"],
    );
}

#[test]
fn a_document_that_cannot_be_read_is_explained_as_far_as_it_was() {
    check(
        "7",
        &[
            "attempt 7 of an event without a readable id: rejected, SCHEMA_VIOLATION (contract 1, 2026-01-01T10:00:00Z)",
            "  document: refused",
        ],
    );
}

#[test]
fn a_step_that_is_not_there_is_told_with_those_that_are() {
    let files: &[(&str, &[u8])] = &[("s.toml", STORY.as_bytes())];
    let said = run("explain-beyond", files, &["test", "--explain", "11", "s.toml"], "");
    assert_eq!((said.err.as_str(), said.code), ("s.toml: there is no step 11 to explain; the steps are 1 to 10\n", 2));
    for number in ["0", "x", ""] {
        let said = run("explain-number", files, &["test", "--explain", number, "s.toml"], "");
        assert!(said.err.contains("steps are counted from 1") && said.code == 2, "{}", said.err);
    }
}

#[test]
fn an_explanation_comes_before_what_differs() {
    let story = STORY.replace("expect = { verdict = \"duplicate\" }", "expect = { verdict = \"accepted\" }");
    let said = run("explain-differs", &[("s.toml", story.as_bytes())], &["test", "--explain", "4", "s.toml"], "");
    let lines: Vec<_> = said.out.lines().collect();
    assert!(lines[0].starts_with("attempt 4 of a: duplicate") && said.code == 1, "{}", said.out);
    assert!(lines.contains(&"        verdict: expected \"accepted\", found \"duplicate\""), "{}", said.out);
}
