//! `hapax bench` against the real server.

use serde_json::Value;

use crate::program::run;
use crate::served::Served;

#[test]
fn it_counts_what_it_sent_and_the_ledger_holds_it() {
    let served = Served::new("benched");
    let said =
        served.ok(&["bench", "--stream", "b", "--clients", "3", "--batch", "50", "--events", "1010", "-o", "json"]);
    let told: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!((&told["stream"], &told["events"], &told["requests"]), (&"b".into(), &1010.into(), &21.into()));
    assert_eq!((&told["holds"], &told["wrong"], &told["summary"]), (&true.into(), &0.into(), &told["expected"]));
    let [accepted, duplicate] = ["accepted", "duplicate"].map(|it| told["summary"][it].as_u64().expect("a count"));
    assert!(accepted + duplicate == 1010 && duplicate > 0, "{said}");
    assert!(told["p50_ms"].as_f64() > Some(0.0) && told["max_ms"].as_f64() >= told["p999_ms"].as_f64(), "{said}");
    assert!(served.ok(&["streams", "head", "b"]).starts_with(&format!("{accepted} ")));

    let again = served.run(&["bench", "--stream", "b", "--events", "10"]);
    assert_eq!(again.code, 2);
    let expect = format!("hapax: b has {accepted} entries, and these would stand among them; --append allows that\n");
    assert_eq!(again.err, expect);
    let appended = served.ok(&["bench", "--stream", "b", "--append", "--events", "10", "--duplicates", "0"]);
    assert!(appended.starts_with("10 events into b in "), "{appended}");
    assert!(served.ok(&["streams", "head", "b"]).starts_with(&format!("{} ", accepted + 10)));
}

#[test]
fn single_events_go_into_a_stream_of_its_own_for_as_long_as_told() {
    let served = Served::new("benched-alone");
    let said = served.ok(&["bench", "--clients", "8", "--batch", "1", "--seconds", "1", "--payload", "400"]);
    let lines: Vec<_> = said.lines().collect();
    assert!(lines[0].contains(" events into bench-"), "{said}");
    assert!(lines[1].starts_with("EVENTS/S") && lines[1].ends_with("MAX MS"), "{said}");
    assert_eq!(lines.last(), Some(&"every event got exactly one verdict, and the right one"));
}

#[test]
fn a_contract_that_takes_something_else_is_no_figure() {
    let served = Served::new("benched-refused");
    served.file("other.toml", "[identity]\nrequired = true\n");
    served.ok(&["streams", "put", "other", "other.toml"]);
    let said = served.run(&["bench", "--stream", "other", "--events", "20", "--batch", "10", "--duplicates", "0"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.out.contains("WRONG  ") && said.out.ends_with("things are wrong\n"), "{said:?}");
}

#[test]
fn a_server_that_is_not_there_is_told() {
    let said = run("benched-nowhere", &[], &["bench", "--server", "http://127.0.0.1:9"], "");
    let expect = "hapax: cannot reach http://127.0.0.1:9: connection refused. Is `hapax serve` running?\n";
    assert_eq!((said.code, said.err.as_str()), (2, expect));
}

#[test]
fn the_engine_alone_is_measured_in_a_new_directory_and_nowhere_else() {
    let folder = "benched-engine";
    let args = ["bench", "--store", "ledger", "--events", "2050", "--batch", "100", "--duplicates", "20", "-o", "json"];
    let said = run(folder, &[], &args, "");
    assert_eq!(said.code, 0, "{said:?}");
    let told: Value = serde_json::from_str(&said.out).expect("JSON");
    let [events, accepted, duplicates] =
        ["events", "accepted", "duplicates"].map(|it| told[it].as_u64().expect("a count"));
    assert!(events == 2050 && accepted + duplicates == events && duplicates > 100, "{told}");
    let waits = ["bench", "--store", "other", "--events", "200", "--batch", "100", "--duplicates", "0", "--wait"];
    let said = run(folder, &[], &waits, "");
    assert!(said.code == 0 && said.out.contains("200 accepted, 0 duplicates"), "{said:?}");
}
