//! What it costs to read a body of events: cut into documents, and each of them read. One thread, nothing stored.
//!
//! ```text
//! reading [ROUNDS]
//! ```

// A measurement has a clock of its own.
#![allow(clippy::disallowed_methods)]

use std::sync::Arc;
use std::time::Instant;

use hapax_core::contract::{Contract, Version};
use hapax_core::event::{Door, Event, Reader};
use hapax_core::json::Batch;
use hapax_core::time::Time;

const EVENTS: u64 = 1_000;
const LANES: u64 = 100;
const NOW: Time = Time::from_nanos(1_767_225_600_123_456_789);

fn main() {
    let rounds = std::env::args().nth(1).map_or(200, |text| text.parse().expect("a number"));
    let checked = Contract::from_toml("preset = \"telemetry-tolerant\"").expect("a contract");
    let version = Version::first(checked.contract);
    let body = body();
    let (mut cutting, mut reading) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let began = Instant::now();
        let (batch, documents) = cut(&body);
        cutting.push(began.elapsed());
        let began = Instant::now();
        let events = events(&batch, &documents, &version);
        reading.push(began.elapsed());
        assert!(events.iter().all(|event| event.refusal.is_none()));
    }
    for (name, mut times) in [("cutting", cutting), ("reading", reading)] {
        times.sort_unstable();
        let each = |at: usize| times[at].as_nanos() as u64 / EVENTS;
        println!("{name}: {} ns each at best, {} in the middle", each(0), each(times.len() / 2));
    }
}

#[inline(never)]
fn cut(body: &[u8]) -> (Batch<'_>, Vec<Arc<[u8]>>) {
    let batch = Batch::of(body, usize::MAX).expect("an array");
    let documents = batch.raw().map(|raw| Arc::from(raw.as_bytes())).collect();
    (batch, documents)
}

#[inline(never)]
fn events(batch: &Batch<'_>, documents: &[Arc<[u8]>], version: &Version) -> Vec<Event> {
    let door = Door { salt: &[7; 32], now: NOW, spare: 1, event_bytes_max: 1 << 20, covers: &|_| true };
    let mut reader = Reader::new(version, documents.len());
    let read = |(index, document): (usize, &Arc<[u8]>)| match batch.node(index) {
        Some(node) => reader.read_scanned(Arc::clone(document), node, &door),
        None => reader.read(Arc::clone(document), &door),
    };
    documents.iter().enumerate().map(read).collect()
}

fn body() -> Vec<u8> {
    let document = |index: u64| {
        let (lane, seq) = (index % LANES, 1 + index / LANES);
        let mixed = index.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!(
            r#"{{"event_id":"{:08x}-7000-7000-8000-{index:012}","component_instance_id":"device-{lane:03}","sequence":{seq},"observed_at":"2026-01-01T00:00:00.{:09}Z","payload":{{"celsius":21.33,"bar":1.234,"battery":55,"status":"running","firmware":"4.2.1","site":"north-2"}}}}"#,
            mixed >> 32,
            index % 100_000_000
        )
    };
    let list: Vec<_> = (0..EVENTS).map(document).collect();
    format!("[{}]", list.join(",")).into_bytes()
}
