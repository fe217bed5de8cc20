//! Scenarios that hold, and scenarios that do not.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::program::{Said, folder, run};

#[test]
fn every_scenario_of_the_repository_holds() {
    all_hold(&[]);
}

#[test]
fn every_scenario_holds_on_a_durable_store_that_leaves_nothing_behind() {
    let store = folder("every_scenario_on_a_store").join("store");
    all_hold(&["--store", store.to_str().expect("UTF-8")]);
    assert_eq!(fs::read_dir(&store).expect("the folder").count(), 0, "each removed what it made");
}

#[test]
fn a_store_that_cannot_be_is_told_with_its_reason() {
    let arguments = ["test", "--store", "story.toml", "story.toml"];
    let said = run("a_store_in_a_file", &[("story.toml", HOLDS.as_bytes())], &arguments, "");
    assert_eq!((said.out.as_str(), said.code), ("0 passed, 0 failed, 1 not run\n", 2));
    assert!(said.err.starts_with("story.toml: story.toml cannot hold a store: "), "{}", said.err);
}

fn all_hold(arguments: &[&str]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut names: Vec<_> = fs::read_dir(&folder)
        .expect("the scenarios")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .filter(|name| name.ends_with(".toml"))
        .collect();
    names.sort();
    assert!(names.len() > 100, "{} scenarios", names.len());
    let program = Command::new(env!("CARGO_BIN_EXE_hapax"))
        .arg("test")
        .args(arguments)
        .args(&names)
        .current_dir(&folder)
        .output();
    let output = program.expect("the program runs");
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(output.status.code(), Some(0), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines.len(), names.len() + 1, "one line for each, and one at the end");
    for (line, name) in lines.iter().zip(&names) {
        assert!(
            line.starts_with(&format!("ok    {name}: ")) && line.ends_with(" steps)") || line.ends_with("(1 step)")
        );
    }
    assert_eq!(lines[names.len()], format!("{} passed, 0 failed", names.len()));
}

const HOLDS: &str =
    "name = \"it holds\"\ncontract = {}\n[[step]]\nat = \"2026-01-01T10:00:00Z\"\nevent = { id = \"a\" }\n";

/// The steps under a contract with producer's numbers, and what the program prints of them but for the hashes.
fn check(test: &str, steps: &str, code: i32, expect: &str) {
    let text = format!("name = \"a story\"\ncontract.sequence = {{ source = \"producer\", first = 1 }}\n\n{steps}");
    let said = run(test, &[("story.toml", text.as_bytes())], &["test", "story.toml"], "");
    let shown = said.out.lines().filter(|line| !line.trim_start().starts_with("hash ")).collect::<Vec<_>>().join("\n");
    assert_eq!((shown.as_str(), said.err.as_str(), said.code), (expect, "", code));
}

#[test]
fn a_difference_is_told_with_its_step_its_line_and_the_answer() {
    let steps = r#"[[step]]
at = "2026-01-01T10:00:00Z"
event = { id = "a", lane = "l", seq = 1 }
expect = { verdict = "accepted", seq = 1 }

[[step]]
event = { id = "b", lane = "l", seq = 3 }
expect = { verdict = "rejected", marks = [], detail = { gap = { size = 2 } }, absent = ["offset"], cod = "*" }
"#;
    let expect = r#"FAIL  story.toml: a story
      step 2 (line 9), event:
        verdict: expected "rejected", found "accepted"
        marks: expected [], found ["HAS_GAPS"]
        detail.gap.size: expected 2, found 1
        offset: expected nothing, found 2
        cod: expected "*", found nothing
        the answer was
          verdict      "accepted"
          id           "b"
          lane         "l"
          seq          3
          epoch        0
          offset       2
          ingested_at  "2026-01-01T10:00:00Z"
          contract     1
          marks        ["HAS_GAPS"]
          states       ["SEQUENCE_GAP_DETECTED"]
          detail       {"gap":{"from":2,"to":2,"size":1,"large":false}}
0 passed, 1 failed"#;
    check("difference", steps, 1, expect);
}

#[test]
fn a_long_answer_has_a_line_for_each_of_its_items() {
    let steps = r#"[[step]]
at = "2026-01-01T10:00:00Z"
event = { id = "b", lane = "l", seq = 7 }

[[step]]
acknowledge = { lane = "l", from = 2, to = 3, reason = "known" }

[[step]]
lane = "l"
expect = { gaps = [{ from = 1 }], last_sq = 7 }
"#;
    let text = format!("name = \"a story\"\ncontract.sequence = {{ source = \"producer\", first = 1 }}\n\n{steps}");
    let said = run("items", &[("story.toml", text.as_bytes())], &["test", "story.toml"], "");
    let differs = r"      step 3 (line 11), lane:
        gaps: expected 1 in the list, found 3
        last_sq: expected 7, found nothing; did you mean `last_seq`?
        the answer was
";
    assert!(said.out.contains(differs), "{}", said.out);
    let items = r#"
          gaps[0]       {"from":1,"to":1,"state":"open","opened_at":"2026-01-01T10:00:00Z"}
          gaps[1]       {"from":2,"to":3,"state":"acknowledged","opened_at":"2026-01-01T10:00:00Z"}
          gaps[2]       {"from":4,"to":6,"state":"open","opened_at":"2026-01-01T10:00:00Z"}
"#;
    assert!(said.out.contains(items) && said.code == 1, "{}", said.out);
}

#[test]
fn a_step_without_an_expectation_must_succeed() {
    let steps = "[[step]]\nat = \"2026-01-01T10:00:00Z\"\nhead = true\n\n[[step]]\nlane = \"nobody\"\n";
    let expect = r#"FAIL  story.toml: a story
      step 2 (line 8), lane:
        without `expect` a step must succeed; it was answered with status 404
        the answer was
          type    "/problems/LANE_NOT_FOUND"
          title   "Lane not found"
          code    "LANE_NOT_FOUND"
          status  404
          effect  "none"
          detail  "the stream has no lane nobody"
0 passed, 1 failed"#;
    check("succeed", steps, 1, expect);
}

#[test]
fn every_step_that_differs_is_told_and_the_story_goes_on() {
    let steps = r#"[[step]]
at = "2026-01-01T10:00:00Z"
head = true
expect = { offset = 1 }
[[step]]
head = true
expect = { offset = 0 }
[[step]]
head = true
expect = { offset = 2 }
"#;
    let answer = "        the answer was\n          offset  0\n          at      null";
    let expect = format!(
        "FAIL  story.toml: a story\n      step 1 (line 4), head:\n        offset: expected 1, found 0\n{answer}\n      \
         step 3 (line 11), head:\n        offset: expected 2, found 0\n{answer}\n0 passed, 1 failed"
    );
    check("every-step", steps, 1, &expect);
}

#[test]
fn the_worst_file_decides_how_it_ends_and_the_others_are_run() {
    let fails = HOLDS.replace("it holds", "it fails") + "expect = { offset = 2 }\n";
    let files: &[(&str, &[u8])] =
        &[("a.toml", HOLDS.as_bytes()), ("b.toml", fails.as_bytes()), ("c.toml", b"name = 1")];
    let said = run("worst", files, &["test", "c.toml", "b.toml", "a.toml"], "");
    assert!(said.out.contains("FAIL  b.toml: it fails\n") && said.out.contains("ok    a.toml: it holds (1 step)\n"));
    assert!(said.out.ends_with("1 passed, 1 failed, 1 not run\n"), "{}", said.out);
    assert_eq!(said.code, 2);
    let said = run("worst", files, &["test", "b.toml", "a.toml"], "");
    assert!(said.out.ends_with("1 passed, 1 failed\n"));
    assert_eq!((said.code, said.err.as_str()), (1, ""));
}

#[test]
fn a_scenario_may_come_from_standard_input() {
    let said = run("input", &[], &["test", "-"], HOLDS);
    let out = "ok    standard input: it holds (1 step)\n1 passed, 0 failed\n".to_owned();
    assert_eq!(said, Said { out, err: String::new(), code: 0 });
}

#[test]
fn a_saved_answer_is_a_text_or_a_number_wherever_it_is_used() {
    let steps = r#"[[step]]
at = "2026-01-01T10:00:00Z"
event = { id = "a", lane = "l", seq = 1 }
save = "first"

[[step]]
attempts = { id = "$first.id", verdict = "$first.verdict", lane = "$first.lane" }
expect = { count = "$first.offset", attempts = [{ id = "$first.id" }] }

[[step]]
handler = { name = "h", stream = false }

[[step]]
claim = { handler = "h", event_id = "$first.id", lane = "$first.lane", seq = "$first.seq" }
save = "claim"

[[step]]
done = { handler = "h", event_id = "$first.id", fence = "$claim.fence" }
expect = { status = "done" }
"#;
    check("saved", steps, 0, "ok    story.toml: a story (5 steps)\n1 passed, 0 failed");
}

#[test]
fn whoever_stops_reading_is_no_reason_to_fail() {
    use std::io::Read as _;
    let folder = crate::program::folder("closed");
    fs::write(folder.join("a.toml"), HOLDS).expect("a file");
    let mut child = Command::new(env!("CARGO_BIN_EXE_hapax"))
        .arg("test")
        .args(vec!["a.toml"; 2000])
        .current_dir(folder)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut first = [0; 2];
    child.stdout.take().expect("its output").read_exact(&mut first).expect("a beginning");
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!((&first, output.stderr.as_slice(), output.status.code()), (b"ok", b"".as_slice(), Some(0)));
}
