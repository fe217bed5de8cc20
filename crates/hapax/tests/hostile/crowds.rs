//! Too many: connections, lanes, nonces.

use std::process::Command;

use crate::process::{Server, folder};
use crate::wire::{Wire, memory, until};

const ALIVE: &str = "GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n";
const EVENT: &str = "POST /v1/streams/s/events HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";

#[test]
fn two_thousand_idle_connections_of_one_address_leave_room_for_others() {
    // They stay for as long as the test takes: on a busy machine two thousand connections are not made in ten seconds.
    let server = Server::on(&folder("hostile-idlers").join("store"), &["--header-timeout", "600"]);
    server.put("s", "");
    let (before, _) = memory(&server);
    let idle: Vec<_> = (0..2_000).map(|_| Wire::to(&server)).collect();
    until("one too many of this address is told so", || {
        let mut wire = Wire::to(&server);
        wire.say(ALIVE);
        let heard = wire.try_hear();
        heard.iter().for_each(|it| it.problem(503, "BUSY", "one too many of this address"));
        heard.is_some()
    });
    for (request, status) in [(ALIVE, 200), (EVENT, 201)] {
        let mut other = Wire::from("127.0.0.2", &server);
        other.say(request);
        assert_eq!(other.hear().status, status, "from another address");
    }
    let (after, _) = memory(&server);
    println!("figure: 2 000 idle connections cost {} KiB", after.saturating_sub(before) >> 10);
    assert!(after.saturating_sub(before) < 32 << 20);
    drop(idle);
    until("the address has room again", || {
        let mut wire = Wire::to(&server);
        wire.say(ALIVE);
        wire.try_hear().is_some_and(|heard| heard.status == 200)
    });
}

#[test]
fn places_that_idle_connections_hold_come_back() {
    let more = ["--connections-max", "8", "--idle-timeout", "5", "--header-timeout", "5"];
    let server = Server::on(&folder("hostile-places").join("store"), &more);
    let mut held: Vec<_> = (2..10).map(|last| Wire::from(&format!("127.0.0.{last}"), &server)).collect();
    for wire in &mut held {
        wire.say(ALIVE);
        assert_eq!(wire.hear().status, 200);
    }
    let mut one_more = Wire::to(&server);
    one_more.say(ALIVE);
    one_more.hear().problem(503, "BUSY", "one too many of all");
    one_more.is_closed("one too many of all");
    until("an idle one has given its place back", || {
        let mut wire = Wire::to(&server);
        wire.say(ALIVE);
        wire.try_hear().is_some_and(|heard| heard.status == 200)
    });
}

/// So many lanes and nonces, each with an event.
fn flood() -> usize {
    std::env::var("HAPAX_HOSTILE_LANES").ok().and_then(|text| text.parse().ok()).unwrap_or(30_000)
}

#[test]
fn a_flood_of_lanes_and_nonces_costs_a_known_amount_each() {
    let server = Server::new("hostile-flood");
    let contract = "nonce.required = true\nsequence.source = \"producer\"\ntime.required = true\ntime.past = \"1h\"";
    server.put("s", contract);
    let mut client = server.client();
    let now = Command::new("date").args(["-u", "+%FT%TZ"]).output().expect("the time");
    let now = String::from_utf8_lossy(&now.stdout).trim().to_owned();
    let (before, _) = memory(&server);
    let (count, together) = (flood(), 5_000);
    for first in (0..count).step_by(together) {
        let events = (first..(first + together).min(count)).map(|it| {
            format!(r#"{{"id":"event-{it:08}","lane":"lane-{it:08}","seq":1,"nonce":"nonce-{it:08}","time":"{now}"}}"#)
        });
        let body = format!("[{}]", events.collect::<Vec<_>>().join(","));
        let json = [("content-type", "application/json")];
        let reply = client.send("POST", "/v1/streams/s/events", &json, body.as_bytes());
        let accepted = reply.json()["summary"]["accepted"].as_u64();
        assert_eq!(accepted, Some((first + together).min(count) as u64 - first as u64), "{}", &reply.text()[..300]);
    }
    let (after, highest) = memory(&server);
    let each = after.saturating_sub(before) / count as u64;
    println!("figure: {count} lanes with a nonce each: {each} bytes each, {} MiB at the highest", highest >> 20);
    assert!(each < 6 << 10, "{each} bytes each");
}
