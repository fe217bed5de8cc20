//! Documents that are deep, double, or say what no number or name can say.

use crate::process::Server;
use crate::wire::{ask, memory};

const CONTRACT: &str = "identity.required = true\nsequence.source = \"producer\"";

fn receipt(server: &Server, document: &str) -> (u16, serde_json::Value) {
    let json = [("content-type", "application/json")];
    let heard = ask(server, "POST /v1/streams/s/events", &json, document.as_bytes());
    (heard.status, heard.json())
}

#[test]
fn what_is_ambiguous_or_endless_is_a_schema_violation() {
    let server = Server::new("hostile-documents");
    server.put("s", CONTRACT);
    let deep =
        |depth: usize| format!(r#"{{"id":"deep","lane":"l","seq":1,"x":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
    for document in [
        &*deep(100_000),
        &*deep(65),
        r#"{"id":"a","id":"a","lane":"l","seq":1}"#,
        r#"{"id":"a","\u0069d":"b","lane":"l","seq":1}"#,
        r#"{"id":"a","lane":"l","seq":1,"x":{"y":1,"y":1}}"#,
        r#"{"id":"a","lane":"l","seq":1,"x":[{"y":1,"\u0079":2}]}"#,
        r#"{"id":"\ud800","lane":"l","seq":1}"#,
        r#"{"id":"a","lane":"\udc00x","seq":1}"#,
        r#"{"id":"a","lane":"l","seq":1,"x":"\ud800"}"#,
        r#"{"id":"a","lane":"l","seq":1,"\ud800":"x"}"#,
        r#"{"id":"a\u0000","lane":"l","seq":1}"#,
        r#"{"id":"a","lane":"\u0000","seq":1}"#,
        r#"{"id":"a","lane":"l","seq":18446744073709551616}"#,
        r#"{"id":"a","lane":"l","seq":1.5}"#,
        r#"{"id":"a","lane":"l","seq":-1}"#,
        r#"{"id":"a","lane":"l","seq":"1"}"#,
        r#"{"id":"a","lane":"l","seq":1e400}"#,
        r#"{"id":1,"lane":"l","seq":1}"#,
        r#"{"id":"","lane":"l","seq":1}"#,
        "[]x",
        "1",
        r#""text""#,
    ] {
        let (status, answer) = receipt(&server, document);
        let shown = &document[..document.len().min(80)];
        // Not JSON at all is a problem, everything else a verdict about an event.
        let code = answer["code"].as_str().unwrap_or_default();
        assert!(status == 400 && ["SCHEMA_VIOLATION", "MALFORMED"].contains(&code), "{shown}: {status} {answer}");
    }
    assert_eq!(server.get("/v1/streams/s").json()["events"], 0, "nothing of all that was accepted");
    assert_eq!(receipt(&server, &deep(50)).0, 201);
}

#[test]
fn numbers_are_exact_to_the_last_digit() {
    let server = Server::new("hostile-numbers");
    server.put("s", CONTRACT);
    let (status, largest) = receipt(&server, r#"{"id":"max","lane":"max","seq":18446744073709551615}"#);
    assert_eq!((status, largest["seq"].as_u64()), (201, Some(u64::MAX)));
    for (one, other) in [
        ("0.1000000000000000055", "0.1"),
        ("9007199254740993", "9007199254740992"),
        ("1e-30", "0"),
        ("123456789012345678901234567890", "123456789012345678901234567891"),
    ] {
        let document = |value: &str| format!(r#"{{"id":"{one}","lane":"{one}","seq":1,"x":{value}}}"#);
        assert_eq!(receipt(&server, &document(one)).0, 201, "{one}");
        let (status, answer) = receipt(&server, &document(other));
        assert_eq!(
            (status, answer["code"].as_str()),
            (409, Some("PAYLOAD_CONFLICT")),
            "{one} is not {other}: {answer}"
        );
    }
}

#[test]
fn a_batch_ends_at_its_limit_before_it_is_taken_apart() {
    let server = Server::new("hostile-batch");
    server.put("s", "");
    let kinds = |kind| [("content-type", kind)];
    let elements = "0,".repeat(7_000_000);
    let array = format!("[{elements}0]");
    let object = format!(r#"{{"events":[{elements}0]}}"#);
    let lines = "0\n".repeat(7_000_000);
    let (before, _) = memory(&server);
    for (kind, body) in [
        ("application/json", &array),
        ("application/json", &object),
        ("application/x-ndjson", &lines),
        ("application/cloudevents-batch+json", &array),
    ] {
        let heard = ask(&server, "POST /v1/streams/s/events", &kinds(kind), body.as_bytes());
        heard.problem(413, "TOO_LARGE", kind);
    }
    let (_, highest) = memory(&server);
    let grown = highest.saturating_sub(before);
    println!("figure: batches of 7 000 000 elements cost {} MiB", grown >> 20);
    // The body twice while it grows; 7 000 000 elements would be ten times that.
    assert!(grown < 96 << 20, "{} MiB", grown >> 20);
    let all = format!("[{}]", vec![r#"{"id":null}"#; 10_000].join(","));
    let heard = ask(&server, "POST /v1/streams/s/events", &kinds("application/json"), all.as_bytes());
    assert_eq!(heard.status, 200, "as many as are taken are taken");
}

#[test]
fn cloudevents_say_everything_once() {
    let server = Server::new("hostile-cloudevents");
    server.put("s", "preset = \"cloudevents\"");
    let post =
        |headers: &[(&str, &str)], body: &str| ask(&server, "POST /v1/streams/s/events", headers, body.as_bytes());
    let event = |more: &str| format!(r#"{{"specversion":"1.0","id":"a","source":"s","type":"t"{more}}}"#);
    let both = event(r#","data":1,"data_base64":"AQ==""#);
    post(&[("content-type", "application/cloudevents+json")], &both).problem(400, "MALFORMED", "data twice");
    let batch = format!("[{},{both}]", event(""));
    post(&[("content-type", "application/cloudevents-batch+json")], &batch).problem(400, "MALFORMED", "in a batch");
    let binary = |name: &str, value: &str, more: &[(&str, &str)]| {
        let usual = [("ce-specversion", "1.0"), ("ce-id", "b"), ("ce-source", "s"), ("ce-type", "t")];
        let mut headers: Vec<_> = usual.into_iter().filter(|(known, _)| *known != name).collect();
        headers.push((name, value));
        headers.extend_from_slice(more);
        post(&headers, "")
    };
    for value in ["%zz", "%", "%4", "%ff", "a%c3%28"] {
        binary("ce-id", value, &[]).problem(400, "MALFORMED", value);
    }
    binary("ce-id", "c", &[("ce-id", "d")]).problem(400, "MALFORMED", "two ids");
    binary("ce-data", "x", &[]).problem(400, "MALFORMED", "data in a header");
    let euro = binary("ce-id", "%E2%82%AC", &[]);
    assert_eq!((euro.status, euro.json()["id"].as_str()), (201, Some("€")));
}
