//! What the log says of events: every one that was refused is there, and those of a batch share lines.

use serde_json::Value;

use crate::process::{Server, folder};

/// The lines about verdicts.
fn lines(log: &[String]) -> Vec<Value> {
    let read = |line: &String| serde_json::from_str::<Value>(line).ok();
    log.iter().filter_map(read).filter(|line| line["target"] == "hapax::verdict").collect()
}

fn batch(ids: impl Iterator<Item = u32>) -> String {
    let events: Vec<_> = ids.map(|id| format!(r#"{{"id":"e-{id}"}}"#)).collect();
    format!("[{}]", events.join(","))
}

#[test]
fn every_event_of_a_batch_that_is_refused_is_in_the_log() {
    let server = Server::loud(&folder("told"), "info", &["--log-format", "json"]);
    server.put("s", "identity.required = true\nidentity.same = \"reject\"");
    let path = "/v1/streams/s/events";
    assert_eq!(server.post(path, &batch(1..=250)).status, 200);
    assert_eq!(server.post(path, &batch(1..=251)).status, 200);
    assert_eq!(server.post(path, r#"{"id":"e-7"}"#).status, 409);
    let (_, log) = server.stop_with_log();
    let lines = lines(&log);
    let about =
        |line: &Value| (line["level"].clone(), line["fields"]["code"].clone(), line["fields"]["stream"].clone());
    for line in &lines {
        assert_eq!(about(line), ("ERROR".into(), "DUPLICATE_EVENT_ID".into(), "s".into()), "{line}");
    }
    let counts: Vec<_> = lines.iter().map(|line| line["fields"]["count"].as_u64()).collect();
    assert_eq!(counts, [Some(100), Some(100), Some(50), None], "{log:?}");
    // A number leads to the audit: the first of the second batch was the 251st attempt.
    let listed = lines.iter().filter_map(|line| line["fields"]["events"].as_str());
    let listed: Vec<_> = listed.flat_map(|events| events.split(' ')).map(str::to_owned).collect();
    let expected: Vec<_> = (1..=250).map(|id| format!("{}=e-{id}", 250 + id)).collect();
    assert_eq!(listed, expected);
    let alone = &lines[3]["fields"];
    assert_eq!((alone["id"].as_str(), alone["attempt"].as_u64()), (Some("e-7"), Some(502)), "{alone}");
}
