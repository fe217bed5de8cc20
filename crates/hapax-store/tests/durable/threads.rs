//! Readers and the upkeep beside the writer, in threads: nobody sees a half of a commit, and nobody misses a whole one.

use std::sync::atomic::{AtomicBool, Ordering};

use hapax_core::time::Time;
use hapax_store::embedded::disk::SimDisk;
use hapax_store::seam::{AttemptFilter, Read, Store, StreamKey};
use serde_json::json;

use super::busy::{Busy, options};
use super::play::model::Opts;
use super::play::stage::Stage;

const NOW: i64 = 1_767_225_600_000_000_000;

fn look(reader: &impl Read, key: &StreamKey) -> u64 {
    let head = reader.head(key).expect("a head");
    if head.offset == 0 {
        return 0;
    }
    // What the head has is there: by offset, by id, as an attempt, and in its lane.
    let last = reader.entries(key, head.offset - 1, 1).expect("entries").pop().expect("the last entry");
    assert_eq!((last.offset, last.hash), (head.offset, head.hash));
    let found = reader.entry(key, &last.identity).expect("a read").expect("an entry");
    assert_eq!(found.offset, last.offset);
    assert_eq!(reader.entries_with_id(key, &last.id).expect("entries").len(), 1);
    let filter = AttemptFilter { id: Some(last.id.to_string()), ..AttemptFilter::default() };
    assert!(!reader.attempts(key, &filter, 0, 10).expect("attempts").items.is_empty());
    let lane = reader.lane(key, &last.lane).expect("a read").expect("a lane");
    assert!(lane.lane.last_offset >= last.offset);
    // What is found is no newer than a head that is asked for afterwards.
    let newest = reader.entries(key, head.offset, usize::MAX).expect("entries").last().map_or(0, |entry| entry.offset);
    assert!(newest <= reader.head(key).expect("a head").offset);
    let page = reader.attempts(key, &AttemptFilter::default(), head.attempts.saturating_sub(5), 100).expect("attempts");
    let numbers: Vec<u64> = page.items.iter().map(hapax_core::view::AttemptView::number).collect();
    assert!(numbers.is_sorted() && numbers.len() >= 5.min(head.attempts as usize), "{numbers:?}");
    head.offset
}

#[test]
fn a_reader_beside_the_writer_sees_whole_commits() {
    let disk = SimDisk::new(1);
    let (store, _) = Busy::open(&disk, options(), 0).expect("an empty disk");
    let (upkeep, reader) = (store.store.upkeep(), store.reader().clone());
    let mut stage = Stage::on(store, "preset = \"telemetry-tolerant\"");
    let (key, done) = (stage.stream.clone(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                upkeep.step(Time::from_nanos(NOW)).expect("upkeep");
            }
        });
        for _ in 0..2 {
            scope.spawn(|| {
                let mut seen = 0;
                while !done.load(Ordering::Relaxed) {
                    let now = look(&reader, &key);
                    assert!(now >= seen, "a ledger never becomes shorter");
                    seen = now;
                }
            });
        }
        for turn in 0..150_u64 {
            let docs: Vec<_> = (0..3)
                .map(|which| {
                    let (lane, seq) = (which % 2, turn * 3 + which);
                    json!({ "event_id": format!("e{seq}"), "component_instance_id": format!("c{lane}"),
                        "sequence": seq, "observed_at": "2026-01-01T00:00:00Z" })
                })
                .collect();
            stage.submit(NOW, &docs, Opts::default());
            stage.submit(NOW, &docs[..1], Opts::default());
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(look(&reader, &key), 450);
}
