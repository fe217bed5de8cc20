//! Readers that do not read, and answers that break off.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;

use crate::process::{Server, folder};
use crate::wire::{Wire, memory, open_files, until};

fn fill(server: &Server, events: usize, bytes: usize) {
    server.put("s", "");
    let mut client = server.client();
    for number in 0..events {
        let document = format!(r#"{{"id":"needle-{number:04}","x":"{}"}}"#, "y".repeat(bytes));
        let json = [("content-type", "application/json")];
        assert_eq!(client.send("POST", "/v1/streams/s/events", &json, document.as_bytes()).status, 201);
    }
}

#[test]
fn readers_that_do_not_read_are_cut_off_and_cost_little() {
    let server = Server::on(&folder("hostile-readers").join("store"), &["--write-timeout", "1"]);
    fill(&server, 60, 500_000);
    let (before, _) = memory(&server);
    let open_before = open_files(&server);
    let followers = || {
        let text = server.get("/metrics").text();
        let line = text.lines().find_map(|line| line.strip_prefix("hapax_followers ")).expect("a gauge").to_owned();
        line.trim().parse::<u32>().expect("a number")
    };
    let follow = "GET /v1/streams/s/events?follow=true HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let export = "GET /v1/streams/s/attempts HTTP/1.1\r\nhost: localhost\r\naccept: application/x-ndjson\r\n\r\n";
    let mut stuck: Vec<_> = (0..6).map(|_| (Wire::to(&server), Wire::to(&server))).collect();
    for (follower, exporter) in &mut stuck {
        follower.say(follow);
        exporter.say(export);
    }
    until("they follow", || followers() > 0);
    until("they are cut off", || followers() == 0 && open_files(&server) <= open_before + 1);
    let (_, highest) = memory(&server);
    let grown = highest.saturating_sub(before);
    println!("figure: 12 readers of 30 MB that do not read cost {} MiB", grown >> 20);
    // A page of 16 entries of half a megabyte each, and pieces; not the whole of it for each.
    assert!(grown < 12 * (16 << 20), "{} MiB", grown >> 20);
    // What was cut off does not look complete.
    for (_, exporter) in &mut stuck {
        let heard = exporter.hear_all();
        assert!(heard.starts_with(b"HTTP/1.1 200") && !heard.ends_with(b"0\r\n\r\n"), "{} bytes", heard.len());
    }
    assert_eq!(server.get("/livez").status, 200);
}

#[test]
fn an_export_that_cannot_be_read_to_its_end_does_not_look_complete() {
    let place = folder("hostile-export").join("store");
    let server = Server::on(&place, &[]);
    fill(&server, 100, 2_000);
    server.stop();
    let server = Server::on(&place, &[]);
    let export = |kind: &str| {
        let mut wire = Wire::to(&server);
        wire.say(format!(
            "GET /v1/streams/s/attempts HTTP/1.1\r\nhost: localhost\r\naccept: {kind}\r\nconnection: close\r\n\r\n"
        ));
        String::from_utf8_lossy(&wire.hear_all()).into_owned()
    };
    // Behind the back of the server a byte of the 61st event changes.
    let needle = br#"{"id":"needle-0060","x":"yyyyyyyy"#;
    let mut changed = 0;
    for file in fs::read_dir(place.join("log")).expect("the log") {
        let path = file.expect("a file").path();
        let mut bytes = Vec::new();
        let file = fs::OpenOptions::new().read(true).write(true).open(&path).expect("a file of the log");
        // What is behind it is empty still.
        (&file).take(1 << 20).read_to_end(&mut bytes).expect("a file of the log");
        for at in (0..bytes.len()).filter(|at| bytes[*at..].starts_with(needle)) {
            file.write_all_at(b"z", (at + needle.len()) as u64).expect("writing");
            changed += 1;
        }
    }
    assert_eq!(changed, 1, "the event is in the log once");
    for kind in ["application/x-ndjson", "text/csv"] {
        let heard = export(kind);
        assert!(heard.starts_with("HTTP/1.1 200") && heard.contains("needle-0000"), "{kind}: {heard:.300}");
        assert!(!heard.contains("needle-0060") && !heard.ends_with("0\r\n\r\n"), "{kind} looks complete");
    }
}
