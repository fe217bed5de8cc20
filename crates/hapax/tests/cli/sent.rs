//! `hapax send` against the real server.

use crate::program::run;
use crate::served::Served;

/// A server with a stream of numbered events, without times.
fn served(test: &str) -> Served {
    let served = Served::new(test);
    served.file("numbered.toml", "[identity]\nrequired = true\n[sequence]\nsource = \"producer\"\n");
    let said = served.ok(&["streams", "put", "s", "numbered.toml"]);
    assert!(said.starts_with("s: contract version 1 made\n"), "{said}");
    served
}

fn numbered(numbers: impl IntoIterator<Item = u64>) -> String {
    numbers.into_iter().map(|n| format!("{{\"id\":\"e-{n}\",\"lane\":\"a\",\"seq\":{n}}}\n")).collect()
}

#[test]
fn a_file_is_sent_and_every_refused_event_is_told_with_its_line() {
    let served = served("sent-file");
    let text = numbered([1, 2, 5]) + "{\"lane\":\"a\"}\nnonsense\n" + &numbered([1]);
    served.file("events.ndjson", &text);
    let said = served.run(&["send", "--stream", "s", "events.ndjson", "--batch", "2"]);
    let lines: Vec<_> = said.out.lines().collect();
    let [missing, nonsense, summary] = lines[..] else { panic!("{said:?}") };
    assert!(missing.starts_with("line 4: SCHEMA_VIOLATION: "), "{missing}");
    assert!(nonsense.starts_with("line 5: SCHEMA_VIOLATION: "), "{nonsense}");
    assert_eq!(summary, "6 events: 3 accepted, 1 duplicate, 2 rejected; marks: HAS_GAPS 1");
    assert_eq!((said.code, said.err.as_str()), (1, ""));
}

#[test]
fn the_same_file_again_gives_the_same_answers_and_anew_gives_new_ones() {
    let served = served("sent-again");
    served.file("events.ndjson", &numbered(1..=5));
    let send = ["send", "--stream", "s", "events.ndjson", "--batch", "3"];
    assert_eq!(served.ok(&send), "5 events: 5 accepted\n");
    let again = served.ok(&send);
    assert_eq!(again, "5 events: 5 accepted; 5 of them were answered before, and these are those answers\n");
    assert_eq!(served.ok(&[&send[..], &["--anew"]].concat()), "5 events: 5 duplicate\n");
    assert!(served.ok(&["streams", "head", "s"]).starts_with("5 "));
}

#[test]
fn a_table_is_sent_from_standard_input() {
    let served = served("sent-csv");
    let table = "id,lane,seq,note\n1001,7,1,\"a, b\"\n1002,7,2,\n";
    let send = ["send", "--stream", "s", "--format", "csv", "--text", "id,lane", "-o", "json"];
    let said = served.run_with(&send, table);
    assert_eq!(said.code, 0, "{said:?}");
    let summary: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!((&summary["events"], &summary["summary"]["accepted"]), (&2.into(), &2.into()));
    let tail = served.ok(&["tail", "--stream", "s"]);
    let document = tail.lines().next().and_then(|line| line.split("  ").last()).map(str::to_owned);
    assert_eq!(document.as_deref(), Some("{\"id\":\"1001\",\"lane\":\"7\",\"seq\":1,\"note\":\"a, b\"}"));
}

#[test]
fn an_atomic_batch_is_all_or_nothing_and_ends_the_run() {
    let served = served("sent-atomic");
    let text = numbered([1, 2]) + "{\"lane\":\"a\"}\n" + &numbered([3, 4, 5]);
    served.file("events.ndjson", &text);
    let said = served.run(&["send", "--stream", "s", "events.ndjson", "--atomic", "--batch", "3"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert_eq!(said.err, "Nothing of lines 1 to 3 was accepted, and nothing after them was sent.\n");
    assert!(said.out.ends_with("3 events: 1 rejected, 2 not_evaluated\n"), "{said:?}");
    assert!(served.ok(&["streams", "head", "s"]).starts_with("0 "));
}

#[test]
fn a_dry_run_writes_nothing() {
    let served = served("sent-dry");
    served.file("events.ndjson", &numbered(1..=3));
    let said = served.ok(&["send", "--stream", "s", "events.ndjson", "--dry-run"]);
    assert_eq!(said, "3 events: 3 accepted; nothing was written\n");
    assert!(served.ok(&["streams", "head", "s"]).starts_with("0 "));
    assert_eq!(served.ok(&["attempts", "--stream", "s"]), "There is no such attempt.\n");
}

#[test]
fn a_run_that_was_cut_off_goes_on_where_it_was() {
    let mut served = served("sent-resumed");
    served.file("events.ndjson", &numbered(1..=4));
    let send = ["send", "--stream", "s", "events.ndjson", "--batch", "2", "--resume", "state"];
    assert_eq!(served.ok(&send), "4 events: 4 accepted\n");
    served.kill();
    served.start_again();
    served.file("events.ndjson", &numbered(1..=6));
    assert_eq!(served.ok(&send), "6 events: 6 accepted\n");
    assert_eq!(served.ok(&send), "6 events: 6 accepted\n", "nothing is left to send");
    assert!(served.ok(&["streams", "head", "s"]).starts_with("6 "));
    served.file("events.ndjson", &numbered(2..=9));
    let said = served.run(&send);
    assert_eq!(said.code, 2);
    assert!(said.err.starts_with("hapax: state: the file has changed before line 7; "), "{said:?}");
}

#[test]
fn what_is_wrong_is_told_with_what_to_do() {
    let served = served("sent-wrong");
    let said = served.run_with(&["send", "--stream", "nobody"], "{}\n");
    assert_eq!(said.code, 2);
    assert!(
        said.err.contains("STREAM_NOT_FOUND") && said.err.contains("`hapax streams put NAME CONTRACT`"),
        "{said:?}"
    );
    let said = served.run(&["send", "--stream", "s", "missing.ndjson"]);
    assert_eq!((said.code, said.err.as_str()), (2, "hapax: missing.ndjson: there is no such file\n"));
    let said = run("sent-nowhere", &[], &["streams", "--server", "http://127.0.0.1:9"], "");
    let expect = "hapax: cannot reach http://127.0.0.1:9: connection refused. Is `hapax serve` running?\n";
    assert_eq!((said.code, said.err.as_str()), (2, expect));
}
