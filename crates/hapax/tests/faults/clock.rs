//! A wall clock that jumps a day forward and a day back while events flow, under libfaketime.
//!
//! What holds: order is the offset, nothing is lost, a lease that a jump has ended is taken over once, each step back is
//! counted and logged, and a restart with an earlier clock is a start like any other.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::client::Client;
use crate::ledger::{Told, entries, holds, proved};
use crate::process::folder;
use crate::program::{PATIENCE, Program, SMALL, serve};

const LIBRARIES: [&str; 3] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/faketime/libfaketimeMT.so.1",
];

/// The server, with the clock that a file tells.
fn under(clock: &Path, store: &Path) -> Command {
    let library = LIBRARIES.iter().find(|it| Path::new(it).exists());
    let library = library.expect("libfaketime is needed: apt-get install libfaketime");
    let mut command = serve(store, &SMALL);
    command.env("LD_PRELOAD", library).env("FAKETIME_TIMESTAMP_FILE", clock).env("FAKETIME_NO_CACHE", "1");
    // Timers measure how long something takes, and no step of the wall clock changes that.
    command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    command
}

/// Sets the clock; a file is replaced whole, so that nobody reads half of it.
fn set(clock: &Path, to: &str) {
    let next = clock.with_extension("next");
    fs::write(&next, to).expect("a clock");
    fs::rename(&next, clock).expect("another time");
}

fn claim(client: &mut Client) -> Value {
    let body = br#"{"event_id": "e-0"}"#;
    client.send("POST", "/v1/handlers/h/claims", &[("content-type", "application/json")], body).json()
}

fn day(entry: &Value) -> &str {
    entry["ingested_at"].as_str().map_or("", |it| &it[..10])
}

#[test]
fn a_clock_that_jumps_changes_neither_order_nor_what_is_there() {
    let here = folder("faults-clock");
    let (clock, store) = (here.join("clock"), here.join("store"));
    set(&clock, "+0");
    let mut program = Program::start(under(&clock, &store));
    let mut told = Told::default();
    told.put(&program).expect("a contract");
    let mut client = program.client().expect("a connection");
    let mut sent = 0;
    let mut more = |told: &mut Told, client: &mut Client| {
        for n in sent..sent + 5 {
            assert_eq!(told.send(client, n).expect("an answer").status, 201);
        }
        sent += 5;
    };
    more(&mut told, &mut client);
    let handler = br#"{"stream": "s", "lease": "1h"}"#;
    assert!(client.send("PUT", "/v1/handlers/h", &[("content-type", "application/json")], handler).status < 300);
    assert_eq!(claim(&mut client)["fence"], 1);
    assert_eq!(claim(&mut client)["decision"], "in_progress", "a lease holds");

    set(&clock, "+1d");
    more(&mut told, &mut client);
    let over = claim(&mut client);
    assert_eq!((&over["decision"], &over["fence"]), (&"claimed".into(), &2.into()), "its hour is over: {over}");

    set(&clock, "-1d");
    more(&mut told, &mut client);
    let held = claim(&mut client);
    assert_eq!(held["decision"], "in_progress", "a step back ends no lease: {held}");
    let done = |client: &mut Client, fence: u64| {
        let body = format!("{{\"fence\": {fence}}}");
        let headers = [("content-type", "application/json")];
        client.send("POST", "/v1/handlers/h/claims/e-0/done", &headers, body.as_bytes())
    };
    assert_eq!(done(&mut client, 1).code(), "LEASE_LOST");
    assert_eq!(done(&mut client, 2).status, 200);

    let found = entries(&mut client);
    let days: Vec<&str> = [0, 5, 10].iter().map(|n| day(&found[&format!("e-{n}")])).collect();
    assert!(days[2] < days[0] && days[0] < days[1], "the clock did jump: {days:?}");
    holds(&mut client, &told);
    let metrics = client.send("GET", "/metrics", &[], b"").text();
    let steps = metrics.lines().find_map(|line| line.strip_prefix("hapax_clock_stepped_back_total "));
    let steps: u64 = steps.and_then(|it| it.parse().ok()).expect("a metric");
    assert!(steps >= 1, "{metrics}");
    drop(client);
    program.signal("TERM");
    assert!(program.end(PATIENCE).is_some_and(|it| it.success()));
    // All that it says is out when it has ended, and not before: lines are gathered.
    assert!(program.heard().contains("CLOCK_STEPPED_BACK"), "{}", program.heard());

    // Started with a clock that is earlier than everything in it.
    set(&clock, "-10d");
    let program = Program::start(under(&clock, &store));
    let mut client = program.client().expect("a connection");
    more(&mut told, &mut client);
    let held = holds(&mut client, &told);
    assert_eq!(told.events[&19]["offset"], 20, "order is the offset");
    drop(client);
    crate::flipped::stop(program);
    proved(&store);
    println!(
        "figure: a day forward, two back, ten back over a restart: {held} events in order, {steps} steps back told"
    );
}
