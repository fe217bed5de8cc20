//! A disk that fills up, really: nothing is taken below the mark, everything can be read, and with room it goes on.

use std::fs;

use serde_json::json;

use crate::ledger::{EVENTS, Told, holds, proved};
use crate::mounted::mount;
use crate::process::folder;
use crate::program::{PATIENCE, Program, SMALL, serve};

const SETTINGS: [&str; 6] = ["--segment-bytes", "131072", "--reserve-bytes", "131072", "--low-water-bytes", "1048576"];

/// An event of eight kilobytes.
fn large(n: u64) -> String {
    json!({ "event_id": format!("large-{n}"), "component_instance_id": "large", "sequence": n + 1,
        "observed_at": "2026-11-01T00:00:00Z", "n": "1", "text": "x".repeat(8192) })
    .to_string()
}

#[test]
fn a_full_disk_refuses_with_nothing_written_and_goes_on_when_there_is_room() {
    let here = folder("faults-full");
    let Some(disk) = mount("a disk that fills up", &["-t", "tmpfs", "-o", "size=6m", "tmpfs"], &here.join("disk"))
    else {
        return;
    };
    let (store, ballast) = (disk.path().join("store"), disk.path().join("ballast"));
    fs::write(&ballast, vec![1; 2 << 20]).expect("a ballast");
    let program = Program::start(serve(&store, &SETTINGS));
    let mut told = Told::default();
    told.put(&program).expect("a contract");
    let mut client = program.client().expect("a connection");
    for n in 0..8 {
        told.send(&mut client, n).expect("an answer");
    }
    let send = |n: u64| program.ask("POST", EVENTS, &large(n)).expect("an answer");
    let filled = (0..1_000).find(|n| {
        let reply = send(*n);
        assert!(reply.status == 201 || reply.status == 503, "{}", reply.text());
        reply.status == 503
    });
    let taken = filled.expect("the disk is full at last");
    let refused = send(taken);
    let problem = refused.json();
    assert_eq!((problem["code"].as_str(), problem["effect"].as_str()), (Some("DISK_LOW"), Some("none")), "{problem}");
    assert!(refused.header("retry-after").is_some(), "when to try again");

    // Reading goes on, of all that was acknowledged and of nothing else.
    holds(&mut client, &told);
    let head = program.ask("GET", "/v1/streams/s/head", "").expect("a head").json();
    assert_eq!(head["offset"], 8 + taken, "what was refused was not written");
    assert_eq!(program.ask("GET", "/readyz", "").expect("an answer").status, 200);
    assert_eq!(send(0).status, 503, "also what is known already is not answered by a store that takes nothing");

    fs::remove_file(&ballast).expect("room");
    let again = send(taken);
    assert_eq!(again.status, 201, "with room it goes on, without a restart: {}", again.text());
    assert_eq!(again.json()["offset"], 9 + taken);
    holds(&mut client, &told);
    drop(client);
    crate::flipped::stop(program);
    proved(&store);
    println!("figure: full after {taken} events of 8 KiB, DISK_LOW with nothing written, all readable, and it went on");
}

#[test]
fn a_disk_that_takes_no_file_more_stops_the_store_and_loses_nothing() {
    let here = folder("faults-hard");
    let options = "size=16m,nr_inodes=48";
    let Some(disk) = mount("a disk without room", &["-t", "tmpfs", "-o", options, "tmpfs"], &here.join("disk")) else {
        return;
    };
    let store = disk.path().join("store");
    let mut program = Program::start(serve(&store, &SMALL));
    let mut told = Told::default();
    told.put(&program).expect("a contract");
    let mut client = program.client().expect("a connection");
    told.send(&mut client, 0).expect("an answer");
    // Free bytes there are, so no mark warns: the next file is a real ENOSPC.
    let ballast = |n: usize| disk.path().join(format!("ballast-{n}"));
    let fill = (0..100).find(|n| fs::write(ballast(*n), "").is_err()).expect("no inode is left");
    let stopped = (1..100).find(|n| told.send(&mut client, *n).map_or(true, |it| it.status == 503));
    let sent = stopped.expect("it stops at last");
    let ended = program.end(PATIENCE).expect("the process ends");
    assert!(ended.code().is_some_and(|it| it > 0), "and not well: {ended}");
    assert!(program.heard().contains("No space left on device"), "it says why: {}", program.heard());
    assert!(told.refused.iter().all(|(code, effect)| code == "STORE_STOPPED" && effect == "unknown"), "{told:?}");
    (0..fill).for_each(|n| fs::remove_file(ballast(n)).expect("room"));
    let held = crate::ledger::recovers(&store, told, sent + 1);
    println!("figure: ENOSPC after {held} acknowledged events: the process ended, a restart has them all");
}
