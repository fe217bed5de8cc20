//! How many bytes an accepted in-order telemetry event costs besides its document.

use super::{assert_same, encoded, usual};
use crate::codec::decode;

/// Bytes per event beyond its document, all of the commit included.
fn overhead(events: u64, lanes: u64) -> u64 {
    let write = usual::write(events, lanes);
    let entries = &write.streams[0].changes.entries;
    assert_eq!(entries.len() as u64, events, "all were accepted");
    let documents: usize = entries.iter().map(|entry| entry.document.len()).sum();
    let sections = encoded(&write);
    assert_same(&decode(&sections.lasting, Some(&sections.expiring)).unwrap(), &write);
    assert!(sections.expiring.is_empty());
    (sections.lasting.len() - documents) as u64 / events
}

#[test]
fn an_event_in_a_batch_costs_less_than_100_bytes_beyond_its_document() {
    let cost = overhead(1_000, 10);
    println!("1000 events, 10 lanes: {cost}");
    assert!(cost <= 100, "{cost}");
}

#[test]
fn an_event_in_a_batch_with_a_lane_of_its_own_costs_less_than_120_bytes_beyond_its_document() {
    let cost = overhead(1_000, 1_000);
    println!("1000 events, 1000 lanes: {cost}");
    assert!(cost <= 120, "{cost}");
}

#[test]
fn an_event_alone_in_its_commit_costs_less_than_256_bytes_beyond_its_document() {
    let cost = overhead(1, 1);
    println!("1 event: {cost}");
    assert!(cost <= 256, "{cost}");
}
