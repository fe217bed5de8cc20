//! Limits of rate, over real sockets: refusals that write nothing, headers that are true, and a sender that slows down.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::{Client, Reply};
use crate::process::{Server, folder, run};
use crate::rights::key;

const STREAM: &str = "/v1/streams/s/events";
const CONTRACT: &str = "identity.required = true\nsequence.source = \"server\"";

/// A batch of new events.
fn batch(name: &str, events: usize) -> String {
    let events: Vec<_> = (0..events).map(|number| json!({"id": format!("{name}-{number}"), "lane": "l"})).collect();
    serde_json::to_string(&events).expect("JSON")
}

fn post(client: &mut Client, key: &str, body: &str) -> Reply {
    let bearer = format!("Bearer {key}");
    client.send("POST", STREAM, &[("authorization", &bearer), ("content-type", "application/json")], body.as_bytes())
}

fn get(server: &Server, key: &str, path: &str) -> Reply {
    server.client().send("GET", path, &[("authorization", &format!("Bearer {key}"))], b"")
}

/// How many events the ledger holds.
fn offset(server: &Server, admin: &str) -> u64 {
    get(server, admin, "/v1/streams/s/head").json()["offset"].as_u64().expect("an offset")
}

fn counted(server: &Server, admin: &str, limit: &str) -> u64 {
    let metrics = get(server, admin, "/metrics").text();
    let name = format!("hapax_rate_limited_total{{limit=\"{limit}\"}} ");
    let line = metrics.lines().find_map(|line| line.strip_prefix(name.as_str())).expect("a figure");
    line.parse().expect("a number")
}

/// A store with an admin's key, and the contract of `s`.
fn house(test: &str, more: &[&str]) -> (Server, String, String) {
    let place = folder(test).join("store");
    let store = place.to_str().expect("a path").to_owned();
    let admin = key(&store, &["--role", "admin", "--rate-requests", "0", "--rate-events", "0"]);
    let limited = key(&store, &["--role", "ingest", "--rate-events", "10"]);
    let server = Server::on(&place, more);
    let headers = [("authorization", &*format!("Bearer {admin}")), ("content-type", "application/toml")];
    assert_eq!(server.client().send("PUT", "/v1/streams/s", &headers, CONTRACT.as_bytes()).status, 201);
    (server, admin, limited)
}

#[test]
fn a_key_is_held_to_its_events_and_told_when_to_come_again() {
    let (server, admin, limited) = house("rate-events", &["--rate-requests", "1000"]);
    let mut client = server.client();
    let first = post(&mut client, &limited, &batch("a", 30));
    assert_eq!(first.status, 200, "{}", first.text());
    assert_eq!(first.header("ratelimit-policy"), Some("\"requests\";q=1000;w=1, \"events\";q=10;w=1"));
    let told = first.header("ratelimit").expect("what is left").to_owned();
    assert!(told.starts_with("\"requests\";r=") && told.ends_with("\"events\";r=0;t=3"), "{told}");

    // Refused at the door, and on a connection that goes on.
    let refused = post(&mut client, &limited, &batch("b", 1));
    assert_eq!((refused.status, refused.code().as_str()), (429, "RATE_LIMITED"));
    assert_eq!(refused.json()["effect"], "none");
    assert_eq!(refused.headers.iter().filter(|(name, _)| name == "retry-after").count(), 1);
    assert!(refused.text().contains("this key may send 10 events a second"), "{}", refused.text());
    let after: u64 = refused.header("retry-after").and_then(|it| it.parse().ok()).expect("seconds");
    assert!((1..=3).contains(&after), "{after}");
    assert_eq!((offset(&server, &admin), counted(&server, &admin, "events")), (30, 1), "nothing was written");
    let unlimited = post(&mut client, &admin, &batch("c", 100));
    assert_eq!((unlimited.status, unlimited.header("ratelimit")), (200, None), "a key can be exempt");

    // Asking again costs nothing, so whoever keeps asking gets through, too; how soon is a matter of `rate`.
    let since = now();
    while post(&mut client, &limited, &batch("b", 1)).status == 429 {
        assert!(since.elapsed() < Duration::from_secs(30), "refused for ever");
    }
    assert_eq!(offset(&server, &admin), 131);
    assert_eq!(get(&server, &admin, "/v1/keys").json()["keys"][1]["rate_events"], 10);
}

#[test]
fn requests_without_a_key_that_holds_are_counted_by_address() {
    let (server, admin, limited) = house("rate-wrong-keys", &["--rate-requests", "5"]);
    let statuses: Vec<u16> = (0..20).map(|_| get(&server, "hapax_wrong", "/v1/streams").status).collect();
    assert_eq!(statuses[..5], [401; 5]);
    let limits = statuses.iter().filter(|status| **status == 429).count();
    assert!(limits >= 5 && statuses.iter().all(|status| matches!(status, 401 | 429)), "{statuses:?}");
    assert_eq!(counted(&server, &admin, "requests"), limits as u64);
    assert_eq!(server.get("/livez").status, 200, "probes are not counted");
    // The address owes, the keys do not.
    assert_eq!(post(&mut server.client(), &limited, &batch("a", 1)).status, 200);
}

#[test]
fn without_keys_an_address_is_a_caller() {
    let server = Server::on(&folder("rate-address").join("store"), &["--rate-events", "5"]);
    server.put("s", CONTRACT);
    assert_eq!(server.post(STREAM, &batch("a", 50)).status, 200);
    let refused = server.post(STREAM, &batch("b", 1));
    assert_eq!((refused.status, refused.code().as_str()), (429, "RATE_LIMITED"));
    assert!(refused.text().contains("this address may send 5 events a second"), "{}", refused.text());
    assert_eq!(server.get("/v1/streams/s/head").json()["offset"], 50, "reading is not sending");
}

#[test]
fn a_large_body_that_is_refused_is_answered_and_not_cut_off() {
    let (server, _, limited) = house("rate-large", &[]);
    let mut client = server.client();
    assert_eq!(post(&mut client, &limited, &batch("a", 1_000)).status, 200);
    let large = format!("[{{\"id\":\"b\",\"lane\":\"l\",\"text\":\"{}\"}}]", "x".repeat(8 << 20));
    for _ in 0..3 {
        assert_eq!(post(&mut client, &limited, &large).status, 429, "on the same connection");
    }
}

#[test]
fn a_file_that_is_sent_under_a_limit_takes_its_time_and_arrives_whole() {
    let (server, admin, limited) = house("rate-send", &["--rate-requests", "3"]);
    let file = server.store.with_file_name("events.ndjson");
    let lines: String = (0..40).map(|number| format!("{{\"id\":\"f-{number}\",\"lane\":\"l\"}}\n")).collect();
    std::fs::write(&file, lines).expect("a file");
    let since = now();
    let url = format!("http://{}", server.address);
    let sent = run(&[
        "send",
        "--stream",
        "s",
        "--batch",
        "8",
        "--server",
        &url,
        "--key",
        &limited,
        file.to_str().expect("a path"),
    ]);
    let took = since.elapsed();
    let said = String::from_utf8_lossy(&sent.stderr);
    assert!(sent.status.success() && said.contains("RATE_LIMITED"), "{said}");
    // 10 at once, and 10 a second: the last 8 begin when 22 of the first 32 were earned.
    assert!(took >= Duration::from_millis(2_200), "{took:?} for 40 events at 10 a second");
    assert_eq!(offset(&server, &admin), 40);
    assert!(counted(&server, &admin, "events") > 0);
}

#[allow(clippy::disallowed_methods, reason = "a limit of rate is about real time")]
fn now() -> Instant {
    Instant::now()
}
