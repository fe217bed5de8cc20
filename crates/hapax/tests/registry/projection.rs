//! The part of a projection: it reads the bus by a cursor of its own, writes an index, and the three places to die in.
//!
//! What holds: the cursor stands at the first delivery that is not dealt with, so what was not committed comes again.
//! Deliveries are dealt with one after the other, as from a partition of a broker. Only in a registry without a stream what
//! must wait lets others pass, because the one to wait for may come after it.

use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::time::Duration;

use hapax_client::{Claims, Decision, Entry, Grant, Stop};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::part::{Part, Point, say};
use crate::publisher::bus;
use crate::target::{Index, Mark};

/// How long to leave something alone that must wait, at most.
const PAUSE_MAX_MS: u64 = 20;

/// How far a projection came: a number of deliveries.
pub fn cursor(folder: &Path) -> Mark {
    Mark(folder.join("cursor"))
}

/// What became of a delivery.
enum Delivery {
    Dealt,
    Open,
}

/// Deals with all that is on the bus now.
pub fn play(part: &Part) {
    let world = part.folder.parent().expect("the folder of the test");
    let stream = Some(part.stream.as_str()).filter(|stream| !stream.is_empty());
    let claims = Claims::new(part.client(), &part.handler, stream, &part.owner);
    fs::create_dir_all(&part.folder).expect("a folder for the projection");
    let (index, cursor) = (Index::open(&part.folder), cursor(&part.folder));
    let text = fs::read_to_string(bus(world)).expect("the bus");
    let read = |line: &str| Entry::read(RawValue::from_string(line.to_owned()).expect("JSON")).expect("an entry");
    let delivered = text.lines().map(read).enumerate().map(|(at, entry)| (at as u64, entry));
    let mut open: VecDeque<_> = delivered.skip(cursor.get() as usize).collect();
    let end = text.lines().count() as u64;
    let mut vain = 0;
    while let Some((at, entry)) = open.pop_front() {
        match deal(part, &claims, &index, &entry) {
            Delivery::Dealt => {
                part.reach(Point::BeforeCommit, &entry.id);
                cursor.set(open.iter().map(|(at, _)| *at).min().unwrap_or(end));
                vain = 0;
            }
            Delivery::Open => {
                if stream.is_some() {
                    open.push_front((at, entry))
                } else {
                    open.push_back((at, entry))
                }
                vain += 1;
            }
        }
        if vain > 0 && (stream.is_some() || vain >= open.len()) {
            Stop::new().wait(Duration::from_millis(PAUSE_MAX_MS));
            vain = 0;
        }
    }
}

fn deal(part: &Part, claims: &Claims, index: &Index, entry: &Entry) -> Delivery {
    match claims.claim(entry).expect("a decision") {
        Decision::Claimed(grant) => {
            write(part, claims, index, entry, &grant);
            Delivery::Dealt
        }
        Decision::Done {} => skipped(entry, "done"),
        Decision::Stale {} => skipped(entry, "stale"),
        Decision::Dead {} => skipped(entry, "dead"),
        Decision::InProgress { .. } | Decision::Waiting { .. } => Delivery::Open,
    }
}

fn skipped(entry: &Entry, why: &str) -> Delivery {
    say(&format!("{why} {}", entry.id));
    Delivery::Dealt
}

fn write(part: &Part, claims: &Claims, index: &Index, entry: &Entry, grant: &Grant) {
    let document: Value = serde_json::from_str(entry.document.get()).expect("a document");
    let value = document["amount"].as_u64().expect("an amount");
    part.reach(Point::BeforeWrite, &entry.id);
    let taken = index.put(&entry.lane, entry.seq.expect("a number"), value, &entry.id);
    say(&format!("{} {}", if taken { "wrote" } else { "refused" }, entry.id));
    part.reach(Point::AfterWrite, &entry.id);
    claims.done(entry, grant.fence, None).expect("the end of the claim");
}
