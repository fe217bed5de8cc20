//! Clients that take their time: with heads, with bodies, between requests.

use crate::process::{Server, folder};
use crate::wire::{Wire, until};

const HURRY: [&str; 8] =
    ["--header-timeout", "1", "--body-timeout", "3", "--body-rate-window", "1", "--idle-timeout", "1"];

fn server(test: &str) -> Server {
    Server::on(&folder(test).join("store"), &HURRY)
}

#[test]
fn heads_and_bodies_that_drip_are_told_408_and_closed() {
    let server = server("hostile-slow");
    server.put("s", "");
    let post = |length: usize| {
        format!("POST /v1/streams/s/events HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n")
    };
    let endless = b"GET /livez HTTP/1.1\r\nhost: localhost\r\nx: ";
    let mut wire = Wire::to(&server);
    let heard = wire.drip(|at| endless.get(at..=at).map_or(b"y".to_vec(), <[u8]>::to_vec));
    heard.problem(408, "REQUEST_TIMEOUT", "a head that drips");
    wire.is_closed("a head that drips");

    // After a request the next head has its time from its first byte on.
    let mut wire = Wire::to(&server);
    wire.say("GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\nGET /li");
    assert_eq!(wire.hear().status, 200);
    wire.hear().problem(408, "REQUEST_TIMEOUT", "half of a second head");
    wire.is_closed("half of a second head");

    for (what, length, piece, why) in [
        ("a body that is announced and does not come", 16 << 20, 0, "too slowly"),
        ("a body that drips", 1 << 20, 1, "too slowly"),
        ("a body that comes, and not in time", 16 << 20, 1 << 10, "in time"),
    ] {
        let mut wire = Wire::to(&server);
        wire.say(post(length));
        let heard = wire.drip(|_| vec![b' '; piece]);
        heard.problem(408, "REQUEST_TIMEOUT", what);
        assert!(heard.text().contains(why), "{what}: {}", heard.text());
        wire.is_closed(what);
    }
    let mut wire = Wire::to(&server);
    wire.say("POST /v1/streams/s/events HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n");
    wire.hear().problem(408, "REQUEST_TIMEOUT", "chunks that stop");
}

#[test]
fn idle_connections_are_closed_and_followers_are_not_idle() {
    let server = server("hostile-idle");
    server.put("s", "");
    let mut follower = server.client();
    assert_eq!(follower.open("/v1/streams/s/events?follow=true", &[]), 200);
    let mut silent = Wire::to(&server);
    let mut idle = Wire::to(&server);
    idle.say("GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n");
    assert_eq!(idle.hear().status, 200);
    silent.is_closed("a connection that never says anything");
    idle.is_closed("a connection between two requests");
    let mut other = Wire::to(&server);
    other.is_closed("another second");
    assert_eq!(server.post("/v1/streams/s/events", r#"{"id":"late"}"#).status, 201);
    until("the follower hears of the event", || follower.line().contains("late"));
}

#[test]
fn announced_bodies_take_no_memory_from_those_that_come() {
    let more = ["--waiting-bytes-max", "4000000", "--body-rate-window", "60"];
    let server = Server::on(&folder("hostile-announced").join("store"), &more);
    server.put("s", "");
    let announced: Vec<_> = (0..64)
        .map(|_| {
            let mut wire = Wire::to(&server);
            wire.say("POST /v1/streams/s/events HTTP/1.1\r\nhost: localhost\r\ncontent-length: 16000000\r\n\r\n{");
            wire
        })
        .collect();
    let body = format!(r#"{{"id":"{{}}","x":"{}"}}"#, "y".repeat(900_000));
    for number in 0..10 {
        let reply = server.post("/v1/streams/s/events", &body.replace("{}", &number.to_string()));
        assert_eq!(reply.status, 201, "{}", reply.text());
    }
    // What is there takes memory, and what does not fit is told so.
    let mut filling = Vec::new();
    until("somebody is told that there is no room", || {
        let mut wire = Wire::to(&server);
        wire.say("POST /v1/streams/s/events HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2000000\r\n\r\n");
        wire.say(vec![b' '; 950_000]);
        filling.push(wire);
        server.post("/v1/streams/s/events", &body.replace("{}", "more")).code() == "BUSY"
    });
    drop((announced, filling));
    until("the memory comes back", || server.post("/v1/streams/s/events", &body.replace("{}", "at last")).status < 300);
}
