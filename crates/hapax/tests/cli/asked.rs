//! The commands that ask, against the real server: what they print is what the ledger holds.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::Value;

use crate::served::Served;

/// A server whose stream `s` has a gap, an event out of order, a duplicate, a conflict and a refusal.
fn served(test: &str) -> Served {
    let served = Served::new(test);
    served.file("numbered.toml", "[identity]\nrequired = true\n[sequence]\nsource = \"producer\"\n");
    served.ok(&["streams", "put", "s", "numbered.toml"]);
    served.file(
        "events.ndjson",
        "{\"id\":\"e-1\",\"lane\":\"a\",\"seq\":1}\n\
         {\"id\":\"e-5\",\"lane\":\"a\",\"seq\":5}\n\
         {\"id\":\"e-3\",\"lane\":\"a\",\"seq\":3}\n\
         {\"id\":\"e-1\",\"lane\":\"a\",\"seq\":1}\n\
         {\"id\":\"e-1\",\"lane\":\"a\",\"seq\":2}\n\
         {\"id\":\"e-x\",\"lane\":\"a\",\"seq\":5}\n\
         {\"id\":\"f-1\",\"lane\":\"b/c d\",\"seq\":1}\n",
    );
    assert_eq!(served.run(&["send", "--stream", "s", "events.ndjson"]).code, 1);
    served
}

/// The words of each line, without what differs from run to run.
fn words(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split_whitespace().filter(|word| !word.starts_with("20")).collect()).collect()
}

#[test]
fn streams_are_listed_and_shown() {
    let served = served("asked-streams");
    let list = served.ok(&["streams"]);
    assert_eq!(
        words(&list),
        [vec!["STREAM", "VERSION", "ENTRIES", "LANES", "LAST", "ENTRY", "CREATED"], vec!["s", "1", "4", "2"]]
    );
    let shown = served.ok(&["streams", "show", "s"]);
    assert!(shown.contains("entries   4\n") && shown.contains("\"source\": \"producer\""), "{shown}");
    let again = served.ok(&["streams", "put", "s", "numbered.toml"]);
    assert!(again.starts_with("s: contract version 1 "), "{again}");
    served.file("unsafe.toml", "[identity]\nkeep = \"1h\"\n");
    let said = served.run(&["streams", "put", "t", "unsafe.toml"]);
    assert_eq!(said.code, 2);
    assert!(
        said.err.contains("CONTRACT_INVALID") && said.err.contains("an older event could be accepted twice"),
        "{said:?}"
    );
    served.file("as.json", "{\"preset\": \"metering\"}");
    assert!(served.ok(&["streams", "put", "t", "as.json"]).starts_with("t: contract version 1 made"));
}

#[test]
fn lanes_say_what_is_missing_and_a_loss_is_recorded() {
    let served = served("asked-lanes");
    let list = served.ok(&["lanes", "--stream", "s"]);
    assert_eq!(words(&list)[1..], [vec!["a", "3", "5", "2,", "4", "yes"], vec!["b/c", "d", "1", "1"]]);
    let open = served.ok(&["lanes", "--stream", "s", "--gaps", "open"]);
    assert_eq!(open.lines().count(), 2, "{open}");
    let lane = served.ok(&["lanes", "--stream", "s", "b/c d"]);
    assert!(lane.contains("lane          b/c d\n") && lane.contains("nothing is missing"), "{lane}");
    let acknowledge = ["lanes", "acknowledge", "--stream", "s", "a", "2", "2", "--reason", "known"];
    let shown = served.ok(&acknowledge);
    assert!(shown.contains("acknowledged") && shown.contains("open"), "{shown}");
    let said = served.run(&["lanes", "acknowledge", "--stream", "s", "a", "1", "1", "--reason", "known"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("GAP_NOT_FOUND"), "{said:?}");
    let lane: Value = serde_json::from_str(&served.ok(&["lanes", "--stream", "s", "a", "-o", "json"])).expect("JSON");
    assert_eq!(lane["last_seq"], 5);
}

#[test]
fn attempts_are_listed_filtered_and_exported() {
    let served = served("asked-attempts");
    let all = served.ok(&["attempts", "--stream", "s"]);
    assert_eq!(all.lines().count(), 8, "{all}");
    let refused = served.ok(&["attempts", "--stream", "s", "--code", "SEQUENCE_CONFLICT"]);
    assert_eq!(refused.lines().count(), 2, "{refused}");
    assert!(refused.contains("e-x"));
    let lines = served.ok(&["attempts", "--stream", "s", "--export", "ndjson"]);
    let ids: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")["id"].clone()).collect();
    assert_eq!(ids, ["e-1", "e-5", "e-3", "e-1", "e-1", "e-x", "f-1"]);
    let table = served.ok(&["attempts", "--stream", "s", "--verdict", "conflict", "--export", "csv"]);
    assert_eq!(table.lines().count(), 2, "{table}");
    let said = served.run(&["attempts", "--stream", "s", "--verdict", "nonsense"]);
    assert_eq!(said.code, 2);
}

#[test]
fn an_event_is_explained_rule_by_rule() {
    let served = served("asked-explain");
    let said = served.ok(&["explain", "--stream", "s", "e-1"]);
    let heads: Vec<_> = said.lines().filter(|line| line.starts_with("attempt")).collect();
    let [first, again, other] = heads[..] else { panic!("{said}") };
    assert!(first.starts_with("attempt 1 of e-1: accepted (contract 1, 20"), "{first}");
    assert!(again.contains("duplicate, DUPLICATE_EVENT_ID") && other.contains("conflict, PAYLOAD_CONFLICT"), "{said}");
    assert!(said.lines().any(|line| line.starts_with("  identity           refused")), "{said}");
    let said = served.run(&["explain", "--stream", "s", "nobody"]);
    assert!(said.code == 2 || said.out == "There is no attempt of nobody on record.\n", "{said:?}");
}

#[test]
fn another_contract_shows_which_verdicts_would_change() {
    let served = served("asked-whatif");
    served.file(
        "stricter.toml",
        "[identity]\nrequired = true\n[sequence]\nsource = \"producer\"\nregression = \"reject\"\n",
    );
    let said = served.ok(&["whatif", "--stream", "s", "--contract", "stricter.toml"]);
    assert!(said.starts_with("7 attempts judged again, "), "{said}");
    assert!(said.contains("COUNT") && said.contains("accepted") && said.contains("rejected"), "{said}");
}

#[test]
fn counters_are_shown_adjusted_closed_and_told_by_the_day() {
    let served = Served::new("asked-counters");
    served.file("metering.toml", "preset = \"metering\"\n");
    served.ok(&["streams", "put", "m", "metering.toml"]);
    let use_of = |node: u32, quantity: &str| {
        format!(
            "{{\"tenantId\":\"t\",\"metric\":\"r\",\"customerRef\":\"c\",\"resourceId\":\"n{node}\",\"ts\":\"2026-01-05T10:00:0{node}Z\",\"quantity\":{quantity}}}\n"
        )
    };
    let said = served.run_with(&["send", "--stream", "m"], &(use_of(1, "10") + &use_of(2, "0.5") + &use_of(1, "10")));
    assert_eq!(said.out, "3 events: 2 accepted, 1 duplicate\n", "{said:?}");
    let key = "[\"t\",\"r\",\"c\"]";
    let which = ["--stream", "m", "usage", "--key", key, "--period", "2026-01"];
    let shown = served.ok(&[&["counters"], &which[..]].concat());
    assert_eq!(words(&shown)[1], ["[\"t\",\"r\",\"c\"]", "2", "10.5", "0.5", "10", "0.5", "0", "10.5"], "{shown}");
    let adjust =
        [&["counters", "adjust"], &which[..], &["--amount=-0.25", "--reason", "refund", "--id", "r-1"]].concat();
    assert_eq!(served.ok(&adjust), "adjusted: entry 3\n");
    assert_eq!(served.ok(&adjust), "adjusted: entry 3\n", "the same correction is made once");
    assert_eq!(served.ok(&["counters", "close", "--stream", "m", "usage", "--period", "2026-01"]), "closed: entry 4\n");
    let late = served.run_with(&["send", "--stream", "m"], &use_of(3, "4"));
    assert_eq!(late.out, "1 event: 1 accepted; marks: ADJUSTMENT 1\n");
    let shown = served.ok(&[&["counters"], &which[..]].concat());
    assert!(shown.contains("14.25") && shown.contains("refund") && shown.contains("period_closed"), "{shown}");
    let history =
        [&["counters", "history"], &which[..5], &["--from", "2026-01-05T00:00:00Z", "--to", "2026-01-06T00:00:00Z"]];
    let history = served.ok(&history.concat());
    assert_eq!(history.lines().count(), 2, "{history}");
    let said = served.run(&["counters", "--stream", "m", "usage", "--key", "t"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("a key is a JSON list"), "{said:?}");
}

#[test]
fn a_tail_shows_the_last_and_follows_through_a_restart() {
    let mut served = served("asked-tail");
    let last = served.ok(&["tail", "--stream", "s", "-n", "1"]);
    assert!(
        last.starts_with("     4  20")
            && last.ends_with("b/c d#1  f-1  {\"id\":\"f-1\",\"lane\":\"b/c d\",\"seq\":1}\n"),
        "{last}"
    );
    assert_eq!(served.ok(&["tail", "--stream", "s", "--after", "1", "--lane", "a"]).lines().count(), 2);
    let verdicts = served.ok(&["tail", "--stream", "s", "--verdicts", "--after", "0"]);
    assert_eq!(verdicts.lines().count(), 7, "{verdicts}");
    assert!(verdicts.lines().any(|line| line.contains("conflict       a#2  e-1  PAYLOAD_CONFLICT")), "{verdicts}");
    let mut command = served.command(&["tail", "--stream", "s", "-f", "-n", "1", "-o", "json"]);
    let mut tail = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the tail");
    let mut lines = BufReader::new(tail.stdout.take().expect("standard output")).lines();
    let mut next = || {
        let line = lines.next().expect("a line").expect("text");
        serde_json::from_str::<Value>(&line).expect("JSON")["id"].clone()
    };
    assert_eq!(next(), "f-1");
    served.run_with(&["send", "--stream", "s"], "{\"id\":\"f-2\",\"lane\":\"b\",\"seq\":1}\n");
    assert_eq!(next(), "f-2");
    served.kill();
    served.start_again();
    served.run_with(&["send", "--stream", "s"], "{\"id\":\"f-3\",\"lane\":\"b\",\"seq\":2}\n");
    assert_eq!(next(), "f-3");
    _ = tail.kill();
    _ = tail.wait();
}

#[test]
fn keys_are_shown_once_and_confine_their_holder() {
    let served = served("asked-keys");
    let admin = served.run(&["keys", "create", "--role", "admin", "--name", "the first"]);
    assert_eq!(admin.code, 0, "{admin:?}");
    let key = admin.out.trim();
    let said = served.run(&["streams"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("Show a key with HAPAX_KEY or --key"), "{said:?}");
    let list = served.ok(&["keys", "list", "--key", key]);
    assert!(list.contains("admin") && list.contains("the first") && !list.contains(key), "{list}");
    let made = served.run(&["keys", "create", "--role", "ingest", "--stream", "s*", "--lane", "b", "--key", key]);
    let id = made.err.strip_prefix("This is key ").and_then(|rest| rest.split('.').next()).expect("an id");
    let ingest = made.out.trim();
    let event = |lane: &str| format!("{{\"id\":\"k-{lane}\",\"lane\":\"{lane}\",\"seq\":9}}\n");
    assert_eq!(served.run_with(&["send", "--stream", "s", "--key", ingest], &event("b")).code, 0);
    let said = served.run_with(&["send", "--stream", "s", "--key", ingest], &event("a"));
    assert!(said.code == 1 && said.out.contains("LANE_FORBIDDEN"), "{said:?}");
    assert_eq!(served.run(&["streams", "--key", ingest]).code, 2);
    assert_eq!(served.ok(&["keys", "revoke", id, "--key", key]), format!("{id} is revoked\n"));
    assert_eq!(served.run_with(&["send", "--stream", "s", "--key", ingest], &event("b")).code, 2);
}
