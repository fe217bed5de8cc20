//! What goes over the wire: types, codings, limits, lists, and everything that a newcomer gets wrong.

use std::io::Write as _;

use serde_json::{Value, json};

use crate::process::Server;

const JSON: (&str, &str) = ("content-type", "application/json");

fn plain(test: &str) -> Server {
    let server = Server::new(test);
    server.put("s", "identity.required = true");
    server
}

#[test]
fn an_event_comes_in_many_forms_and_is_one_event() {
    let server = Server::new("forms");
    server.put("c", "preset = \"cloudevents\"");
    let mut client = server.client();
    let path = "/v1/streams/c/events";
    let event = r#"{"specversion":"1.0","id":"1","source":"/a","type":"t","data":{"n":1}}"#;
    let structured = client.send("POST", path, &[("content-type", "application/cloudevents+json")], event.as_bytes());
    assert_eq!(structured.status, 201, "{}", structured.text());
    let ce = [("ce-specversion", "1.0"), ("ce-id", "1"), ("ce-source", "/a"), ("ce-type", "t"), JSON];
    let binary = client.send("POST", path, &ce, br#"{"n":1}"#);
    assert_eq!((binary.status, binary.json()["verdict"].as_str()), (200, Some("duplicate")), "{}", binary.text());
    let typed = event.replace("\"type\"", "\"datacontenttype\":\"application/json\",\"type\"");
    let typed = client.send("POST", path, &[("content-type", "application/cloudevents+json")], typed.as_bytes());
    assert_eq!(typed.json()["verdict"], "duplicate", "that is what its absence means: {}", typed.text());
    let batch = format!("[{event},{}]", event.replace("\"1\",", "\"2\","));
    let batch = client.send("POST", path, &[("content-type", "application/cloudevents-batch+json")], batch.as_bytes());
    assert_eq!(
        batch.json()["summary"],
        json!({"accepted":1,"duplicate":1,"conflict":0,"stale":0,"rejected":0,"not_evaluated":0})
    );
}

#[test]
fn packed_bodies_are_unpacked_and_bombs_are_not() {
    let server = plain("packed");
    let mut client = server.client();
    let gzip = |bytes: &[u8]| {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packer.write_all(bytes).expect("memory");
        packer.finish().expect("memory")
    };
    let zstd = |bytes: &[u8]| zstd::bulk::compress(bytes, 19).expect("memory");
    let path = "/v1/streams/s/events";
    let send = |client: &mut crate::client::Client, coding: &str, body: &[u8]| {
        client.send("POST", path, &[JSON, ("content-encoding", coding)], body)
    };
    assert_eq!(send(&mut client, "gzip", &gzip(br#"{"id":"1"}"#)).status, 201);
    assert_eq!(send(&mut client, "zstd", &zstd(br#"{"id":"2"}"#)).status, 201);
    let bomb = vec![b' '; 200 << 20];
    assert_eq!(send(&mut client, "gzip", &gzip(&bomb)).code(), "TOO_LARGE");
    let mut client = server.client();
    assert_eq!(send(&mut client, "zstd", &zstd(&bomb)).code(), "TOO_LARGE");
    let mut client = server.client();
    let trailing = [gzip(br#"{"id":"3"}"#), b"more".to_vec()].concat();
    assert_eq!(send(&mut client, "gzip", &trailing).code(), "MALFORMED");
    assert_eq!(send(&mut client, "gzip", b"not packed").code(), "MALFORMED");
    assert_eq!(send(&mut client, "br", b"x").code(), "UNSUPPORTED_MEDIA_TYPE");
    assert_eq!(send(&mut client, "gzip, gzip", b"x").code(), "UNSUPPORTED_MEDIA_TYPE");
    assert_eq!(server.get("/v1/streams/s/head").json()["offset"], 2);
}

#[test]
fn mistakes_are_answered_with_what_to_do() {
    let server = plain("mistakes");
    let path = "/v1/streams/s/events";
    let mut client = server.client();
    let mut check = |method: &str, path: &str, headers: &[(&str, &str)], body: &str, expect: (u16, &str, &str)| {
        let reply = client.send(method, path, headers, body.as_bytes());
        let problem = reply.json();
        assert_eq!((reply.status, problem["code"].as_str()), (expect.0, Some(expect.1)), "{}", reply.text());
        assert!(problem["detail"].as_str().is_some_and(|it| it.contains(expect.2)), "{}", reply.text());
        assert_eq!(reply.header("content-type"), Some("application/problem+json"));
        assert_eq!((problem["status"].as_u64(), problem["effect"].as_str()), (Some(expect.0.into()), Some("none")));
    };
    let form = ("content-type", "application/x-www-form-urlencoded");
    check("POST", path, &[form], "{}", (415, "UNSUPPORTED_MEDIA_TYPE", "Content-Type: application/json"));
    check("POST", path, &[JSON], "{", (400, "MALFORMED", "not JSON"));
    check("POST", path, &[JSON], "", (400, "MALFORMED", "empty"));
    check("POST", "/v1/streams/nope/events", &[JSON], "{}", (404, "STREAM_NOT_FOUND", "PUT a contract"));
    check("POST", "/v1/streams/s/events?atomc=true", &[JSON], "{}", (400, "MALFORMED", "atomic"));
    check("POST", "/v1/streams/s/events?atomic=yes", &[JSON], "{}", (400, "MALFORMED", "true or false"));
    check("POST", path, &[JSON, ("idempotency-key", "a b")], "{}", (400, "MALFORMED", "quotes"));
    check("PATCH", path, &[JSON], "{}", (405, "METHOD_NOT_ALLOWED", "POST"));
    check("GET", "/v1/stream", &[], "", (404, "NOT_FOUND", "openapi"));
    check("PUT", "/v1/streams/-x", &[JSON], "{}", (422, "REQUEST_INVALID", "no name"));
    check("PUT", "/v1/streams/x", &[JSON], r#"{"mod":"off"}"#, (422, "CONTRACT_INVALID", "mod"));
    check("GET", "/v1/streams?limit=0", &[], "", (400, "MALFORMED", "1 to 1000"));
    check("GET", "/v1/streams/s/events/none", &[], "", (404, "EVENT_NOT_FOUND", "none"));
    check("POST", path, &[JSON, ("hapax-force-override", "true")], "{}", (403, "OVERRIDE_NOT_ALLOWED", "override"));
    check("POST", "/v1/handlers/h/claims", &[JSON], r#"{"event_id":"e"}"#, (404, "HANDLER_NOT_FOUND", "declares"));
    let many = format!("[{}]", vec!["{}"; 10_001].join(","));
    check("POST", path, &[JSON], &many, (413, "TOO_LARGE", "10000 events"));
}

#[test]
fn a_request_with_a_key_is_answered_alike_and_never_done_twice() {
    let server = Server::new("again");
    server.put("s", "identity.required = false");
    let mut client = server.client();
    let mut send = |key: &str, body: &str| {
        client.send("POST", "/v1/streams/s/events", &[JSON, ("idempotency-key", key)], body.as_bytes())
    };
    let first = send("\"k 1\"", r#"{"n":1}"#);
    assert_eq!((first.status, first.header("idempotency-key")), (201, Some("\"k 1\"")));
    let again = send("\"k 1\"", r#"{"n":1}"#);
    assert_eq!((again.status, &again.body), (201, &first.body));
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(send("\"k 1\"", r#"{"n":2}"#).code(), "IDEMPOTENCY_KEY_REUSED");
    assert_eq!(send("bare", r#"{"n":2}"#).body, send("\"bare\"", r#"{"n":2}"#).body, "quoted or bare: one key");
    let without = server.post("/v1/streams/s/events", r#"{"n":3}"#);
    assert_eq!(without.header("hapax-warning"), Some("no-idempotency-key"));
    let store = server.kill();
    let server = Server::on(&store, &[]);
    let after =
        server.client().send("POST", "/v1/streams/s/events", &[JSON, ("idempotency-key", "\"k 1\"")], br#"{"n":1}"#);
    assert_eq!((after.status, after.body), (201, first.body), "also after a crash");
}

#[test]
fn a_follower_sees_each_entry_once_and_goes_on_where_it_was() {
    let server = plain("followed");
    let event = |id: usize| format!(r#"{{"id":"e-{id}"}}"#);
    server.post("/v1/streams/s/events", &event(1));
    let mut follower = server.client();
    assert_eq!(follower.open("/v1/streams/s/events?follow=true", &[]), 200);
    let mut seen = Vec::new();
    let mut id = String::new();
    for next in 2..=4 {
        server.post("/v1/streams/s/events", &event(next));
        while seen.len() < next {
            let line = follower.line();
            if let Some(offset) = line.strip_prefix("id: ") {
                id = offset.to_owned();
            } else if let Some(data) = line.strip_prefix("data: ") {
                let entry: Value = serde_json::from_str(data).expect("an entry");
                assert_eq!(entry["offset"].to_string(), id);
                seen.push(entry["id"].as_str().expect("an id").to_owned());
            }
        }
    }
    assert_eq!(seen, ["e-1", "e-2", "e-3", "e-4"]);
    let mut again = server.client();
    let headers = [("accept", "text/event-stream"), ("last-event-id", "3")];
    assert_eq!(again.open("/v1/streams/s/events", &headers), 200);
    let data = std::iter::repeat_with(|| again.line()).find(|line| line.starts_with("data: ")).expect("an entry");
    assert!(data.contains("e-4"), "{data}");
}

#[test]
fn lists_have_pages_and_nothing_is_left_out() {
    let server = Server::new("pages");
    server.put("s", "preset = \"telemetry-tolerant\"\nidentity.required = false\ntime.required = false");
    let event = |lane: usize, seq: usize| {
        format!(r#"{{"event_id":"{lane}-{seq}","component_instance_id":"l{lane:02}","sequence":{seq}}}"#)
    };
    for lane in 0..25 {
        let batch = format!("[{},{}]", event(lane, 1), event(lane, 3));
        server.post("/v1/streams/s/events", &batch);
    }
    let walk = |path: &str, plural: &str| {
        let mut found = Vec::new();
        let mut next = Value::Null;
        loop {
            let after = next.as_str().map_or_else(|| next.to_string(), str::to_owned);
            let after = if next.is_null() { String::new() } else { format!("&after={after}") };
            let page = server.get(&format!("{path}{after}")).json();
            found.extend(page[plural].as_array().unwrap_or_else(|| panic!("{page}")).clone());
            next = page["next"].clone();
            if next.is_null() {
                return found;
            }
        }
    };
    assert_eq!(walk("/v1/streams/s/events?limit=7", "events").len(), 50);
    assert_eq!(walk("/v1/streams/s/lanes?limit=7", "lanes").len(), 25);
    assert_eq!(walk("/v1/streams/s/lanes?limit=7&gaps=open", "lanes").len(), 25);
    assert_eq!(walk("/v1/streams/s/attempts?limit=7", "attempts").len(), 50);
    assert_eq!(walk("/v1/streams/s/events?limit=7&lane=l03", "events").len(), 2);
    assert_eq!(walk("/v1/streams/s/events?limit=7&mark=HAS_GAPS", "events").len(), 25);
    let lane = server.get("/v1/streams/s/lanes/l03").json();
    assert_eq!(lane["gaps"][0]["from"], 2);
    let path = "/v1/streams/s/lanes/l03/gaps/acknowledge";
    let known = server.post(path, r#"{"from":2,"to":2,"reason":"the disk of l03 was lost"}"#).json();
    assert_eq!(known["gaps"][0]["state"], "acknowledged");
    assert_eq!(walk("/v1/streams/s/lanes?gaps=open", "lanes").len(), 24);
}

#[test]
fn counters_are_read_corrected_and_closed() {
    let server = Server::new("counted");
    server.put("m", "preset = \"metering\"");
    let event = |n: usize, quantity: &str| {
        let ts = format!("2025-09-0{n}T10:00:00Z");
        format!(
            r#"{{"tenantId":"t","metric":"requests","customerRef":"c","resourceId":"r","ts":"{ts}","quantity":{quantity}}}"#
        )
    };
    for (n, quantity) in [(1, "1.5"), (2, "2.25"), (3, "\"0.25\"")] {
        let reply = server.post("/v1/streams/m/events", &event(n, quantity));
        assert_eq!(reply.status, 201, "{}", reply.text());
    }
    let key = "%5B%22t%22%2C%22requests%22%2C%22c%22%5D";
    let read =
        || server.get(&format!("/v1/streams/m/counters/usage?key={key}&period=2025-09")).json()["counters"][0].clone();
    assert_eq!((&read()["sum"], &read()["count"]), (&json!("4"), &json!(3)));
    let adjust = r#"{"id":"a-1","key":["t","requests","c"],"period":"2025-09","amount":"-0.5","reason":"credit"}"#;
    let adjusted = server.post("/v1/streams/m/counters/usage/adjustments", adjust);
    assert_eq!((adjusted.status, &adjusted.json()["offset"]), (201, &json!(4)), "{}", adjusted.text());
    assert_eq!(read()["effective"]["sum"], "3.5");
    assert_eq!(server.post("/v1/streams/m/counters/usage/close", r#"{"period":"2025-09"}"#).status, 200);
    let late = server.post("/v1/streams/m/events", &event(4, "1"));
    assert_eq!(late.json()["marks"], json!(["ADJUSTMENT"]), "{}", late.text());
    let path = format!(
        "/v1/streams/m/counters/usage/history?key={key}&interval=day&from=2025-09-01T00:00:00Z&to=2025-09-30T00:00:00Z"
    );
    let history = server.get(&path).json();
    assert_eq!(history["intervals"].as_array().map(Vec::len), Some(4), "{history}");
    assert_eq!(
        history["intervals"][1],
        json!({"start":"2025-09-02T00:00:00Z","count":1,"sum":"2.25","min":"2.25","max":"2.25"})
    );
}

#[test]
fn another_contract_is_tried_on_what_is_on_record() {
    let server = Server::new("whatif");
    server.put("s", "preset = \"telemetry-tolerant\"\ntime.required = false");
    for seq in [1, 2, 5, 3, 3] {
        let body = format!(r#"{{"event_id":"e-{seq}","component_instance_id":"c","sequence":{seq}}}"#);
        server.post("/v1/streams/s/events", &body);
    }
    let contract =
        r#"{"contract":"preset = \"telemetry-tolerant\"\ntime.required = false\nsequence.gap = \"reject\""}"#;
    let told = server.post("/v1/streams/s/whatif", contract);
    assert_eq!(told.status, 200, "{}", told.text());
    let told = told.json();
    assert_eq!((&told["judged"], &told["changed"], &told["expired"]), (&json!(5), &json!(1), &json!(0)), "{told}");
    assert_eq!(told["by"], json!([{"from":"accepted","to":"rejected SEQUENCE_GAP","count":1}]));
    assert_eq!(told["examples"][0]["id"], "e-5");
}

#[test]
fn the_api_describes_itself_and_every_problem_has_its_page() {
    let server = plain("described");
    let api = server.get("/openapi.json").json();
    assert_eq!(api["openapi"], "3.1.0");
    assert!(api["paths"]["/v1/streams/{stream}/events"]["post"]["summary"].is_string());
    let problem = server.get("/v1/streams/none").json();
    let page = server.get(problem["type"].as_str().expect("a type"));
    assert_eq!(page.status, 200);
    assert!(page.text().contains("STREAM_NOT_FOUND"));
    for path in ["/", "/api", "/problems"] {
        let page = server.get(path);
        assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")), "{path}");
    }
    assert!(server.get("/").text().contains("/v1/streams/s"));
    let metrics = server.get("/metrics").text();
    assert!(metrics.ends_with("# EOF\n") && metrics.contains("hapax_ledger_offset"), "{metrics}");
    let ready = server.get("/readyz");
    assert_eq!((ready.status, server.get("/livez").status), (200, 200));
}

#[test]
fn an_idle_server_is_small() {
    let server = plain("small");
    let metrics = server.get("/metrics").text();
    let line = metrics.lines().find(|line| line.starts_with("hapax_resident_bytes ")).expect("a figure");
    let bytes: u64 = line.rsplit(' ').next().and_then(|it| it.parse().ok()).expect("a number");
    assert!(bytes < 50 << 20, "{bytes} bytes");
}

#[test]
fn a_brief_answer_tells_what_was_not_accepted_and_where_the_rest_is() {
    let server = plain("brief");
    let mut client = server.client();
    let mut send = |path: &str, body: &str| client.send("POST", path, &[JSON], body.as_bytes());
    let path = "/v1/streams/s/events?brief=true";
    assert_eq!(send("/v1/streams/s/events", r#"{"id":"0"}"#).status, 201);
    let brief = send(path, r#"[{"id":"1"},{"id":"0"},{"id":"2"},{"no":"id"}]"#).json();
    let told: Vec<_> = brief["results"].as_array().expect("a list").iter().collect();
    let told: Vec<_> = told.iter().map(|it| (it["index"].as_u64(), it["receipt"]["verdict"].as_str())).collect();
    assert_eq!(told, [(Some(1), Some("duplicate")), (Some(3), Some("rejected"))], "{brief}");
    assert_eq!((&brief["accepted"]["first"], &brief["accepted"]["last"]), (&json!(2), &json!(3)), "{brief}");
    assert_eq!(brief["accepted"]["hash"], server.get("/v1/streams/s/head").json()["hash"], "it is the last one's");
    let nothing = send(path, r#"[{"id":"1"}]"#).json();
    assert_eq!((nothing.get("accepted"), &nothing["summary"]["duplicate"]), (None, &json!(1)), "{nothing}");
    let dry = send(&format!("{path}&dry_run=true"), r#"[{"id":"9"}]"#).json();
    assert_eq!((dry.get("accepted"), &dry["summary"]["accepted"]), (None, &json!(1)), "nothing has a place: {dry}");
    // An event alone is answered with its receipt in any case.
    assert_eq!(send(path, r#"{"id":"3"}"#).json()["verdict"], "accepted");
}
