//! Many at once: one wins, and everybody is told the same.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::client::Reply;
use crate::process::Server;

const AT_ONCE: usize = 16;

/// Sends these bodies at the same moment, each on a connection of its own.
fn at_once(server: &Server, path: &str, bodies: &[String], headers: &[(&str, &str)]) -> Vec<Reply> {
    let gate = std::sync::Barrier::new(bodies.len());
    std::thread::scope(|scope| {
        let send = |body: &String| {
            let (mut client, gate, body) = (server.client(), &gate, body.clone());
            let headers: Vec<_> = headers.iter().chain(&[("content-type", "application/json")]).copied().collect();
            scope.spawn(move || {
                gate.wait();
                client.send("POST", path, &headers, body.as_bytes())
            })
        };
        let threads: Vec<_> = bodies.iter().map(send).collect();
        threads.into_iter().map(|thread| thread.join().expect("an answer")).collect()
    })
}

fn tally(replies: &[Reply], member: &str) -> BTreeMap<String, usize> {
    let mut tally = BTreeMap::new();
    for reply in replies {
        *tally.entry(reply.json()[member].as_str().unwrap_or_default().to_owned()).or_default() += 1;
    }
    tally
}

#[test]
fn of_sixteen_commands_with_the_same_expected_number_one_wins() {
    let server = Server::new("expected");
    server.put("s", "preset = \"event-sourcing\"");
    let body = |id: usize| format!(r#"{{"event_id":"c-{id}","aggregate_id":"a","kind":"update","expected_seq":0}}"#);
    let replies = at_once(&server, "/v1/streams/s/events", &(0..AT_ONCE).map(body).collect::<Vec<_>>(), &[]);
    assert_eq!(tally(&replies, "verdict"), BTreeMap::from([("accepted".into(), 1), ("rejected".into(), AT_ONCE - 1)]));
    for reply in replies.iter().filter(|reply| reply.status != 201) {
        assert_eq!((reply.status, reply.code().as_str()), (409, "SEQUENCE_CONFLICT"));
        assert_eq!(reply.json()["detail"]["current_seq"], 1);
    }
}

#[test]
fn of_sixteen_deliveries_of_one_event_one_is_accepted_and_the_others_are_its_duplicates() {
    let server = Server::new("deliveries");
    server.put("s", "preset = \"event-sourcing\"");
    let body = r#"{"event_id":"e","aggregate_id":"a","kind":"create"}"#.to_owned();
    let replies = at_once(&server, "/v1/streams/s/events", &vec![body; AT_ONCE], &[]);
    let first = replies.iter().find(|reply| reply.status == 201).expect("one was accepted").json();
    let duplicates: Vec<Value> = replies.iter().filter(|reply| reply.status == 200).map(Reply::json).collect();
    assert_eq!(duplicates.len(), AT_ONCE - 1);
    for duplicate in duplicates {
        assert_eq!((&duplicate["verdict"], &duplicate["original"]), (&"duplicate".into(), &first));
    }
    assert_eq!(server.get("/v1/streams/s/head").json()["offset"], 1);
}

#[test]
fn sixteen_times_the_same_request_is_done_once() {
    let server = Server::new("requests");
    server.put("s", "identity.required = false");
    let replies =
        at_once(&server, "/v1/streams/s/events", &vec!["{}".to_owned(); AT_ONCE], &[("idempotency-key", "\"k\"")]);
    for reply in &replies {
        let running = reply.status == 409 && reply.code() == "REQUEST_RUNNING" && reply.header("retry-after").is_some();
        assert!(running || reply.status == 201, "{} {}", reply.status, reply.text());
    }
    assert_eq!(server.get("/v1/streams/s/head").json()["offset"], 1);
}

#[test]
fn one_of_sixteen_workers_gets_the_event() {
    let server = Server::new("workers");
    server.put("s", "preset = \"event-sourcing\"");
    server.post("/v1/streams/s/events", r#"{"event_id":"e","aggregate_id":"a","kind":"create"}"#);
    let put = server.client().send("PUT", "/v1/handlers/h", &[], br#"{"stream":"s","effect":"fenced"}"#);
    assert_eq!(put.status, 201, "{}", put.text());
    let body = r#"{"event_id":"e"}"#.to_owned();
    let replies = at_once(&server, "/v1/handlers/h/claims", &vec![body; AT_ONCE], &[]);
    let decisions = tally(&replies, "decision");
    assert_eq!(decisions, BTreeMap::from([("claimed".into(), 1), ("in_progress".into(), AT_ONCE - 1)]));
}
