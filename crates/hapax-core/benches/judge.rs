//! What one event costs the judge: a read event in, its receipt out, chain and all. One thread, no store.
//!
//! `cargo bench -p hapax-core` shows the time per event (`items/s`) and the allocations per sample; divide those by the
//! number of events in a sample.

use std::sync::Arc;

use divan::counter::ItemsCount;
use divan::{AllocProfiler, Bencher, black_box};
use hapax_core::contract::{Contract, Version};
use hapax_core::entry::Caller;
use hapax_core::event::{Door, Event, Given, read};
use hapax_core::facts::{Facts, Head};
use hapax_core::judge::{Silent, judge};
use hapax_core::lane::{Gap, GapKind, Gaps, Lane};
use hapax_core::receipt::Receipt;
use hapax_core::time::Time;

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

const LANES: usize = 10_000;
const NOW: Time = Time::from_nanos(1_767_225_600_000_000_000);

fn version() -> Version {
    let checked = Contract::from_toml("preset = \"telemetry-tolerant\"").expect("the preset is a contract");
    Version::first(checked.contract)
}

fn event(version: &Version, lane: usize, seq: u64) -> Event {
    let document = format!(
        r#"{{"event_id":"e-{lane}-{seq}","component_instance_id":"component-{lane:05}","sequence":{seq},"observed_at":"2026-01-01T00:00:00Z","host":"web-17.eu-central","kind":"process_start","payload":{{"pid":4711,"path":"/usr/bin/env","args":["a","b"]}}}}"#
    );
    let door = Door { salt: &[0; 32], now: NOW, spare: 0, event_bytes_max: 1 << 20, covers: &|_| true };
    read(document.into_bytes().into(), version, &door)
}

fn known_lane(highest: u64) -> Lane {
    Lane { highest: Some(highest), events: highest, last_time: Some(NOW), ..Lane::default() }
}

/// A turn on facts that know every lane, and one event for each of them.
fn turn(version: &Version, events: usize) -> (Facts, Vec<Event>) {
    let mut facts = Facts::new(Arc::from("telemetry"), version.clone(), Head::default());
    for lane in 0..LANES {
        facts.load_lane(format!("component-{lane:05}").into(), known_lane(41), Gaps::default());
    }
    facts.reserve(events);
    // Spread over all lanes, however few the events are: 7919 is prime, so no lane comes twice before all have come.
    let events = (0..events).map(|index| event(version, index * 7919 % LANES, 42 + (index / LANES) as u64)).collect();
    (facts, events)
}

/// Judges and records. What comes in and what comes out is freed outside the measurement: it belongs to whoever reads the
/// request and writes the answer.
fn run((facts, events): &mut (Facts, Vec<Event>)) -> Vec<Option<Receipt>> {
    let caller = Caller::default();
    let mut receipts = Vec::with_capacity(events.len());
    for event in &*events {
        let judgement = judge(facts, event, NOW, false, &mut Silent);
        receipts.push(facts.record(Given::Lent(event), judgement, NOW, &caller));
    }
    receipts
}

/// In-order events of known lanes, ten thousand lanes, telemetry-tolerant.
#[divan::bench(args = [1_000, 10_000], sample_count = 50, sample_size = 1)]
fn in_order(bencher: Bencher<'_, '_>, events: usize) {
    let version = version();
    bencher
        .counter(ItemsCount::new(events))
        .with_inputs(|| turn(&version, events))
        .bench_refs(|input| run(black_box(input)));
}

/// A late number in a lane with this many open gaps: the cost may grow with their logarithm, no faster.
#[divan::bench(args = [10, 100, 1_000, 10_000], sample_count = 50, sample_size = 1)]
fn late_among_open_gaps(bencher: Bencher<'_, '_>, gaps: u64) {
    let version = version();
    bencher
        .counter(ItemsCount::new(1_000_usize))
        .with_inputs(|| {
            let mut facts = Facts::new(Arc::from("telemetry"), version.clone(), Head::default());
            let row = |index: u64| Gap {
                generation: 0,
                from: index * 100_000,
                to: index * 100_000 + 99_998,
                kind: GapKind::Open,
                opened_at: NOW,
            };
            let mut rows = Gaps::default();
            rows.extend((0..gaps).map(row));
            let mut lane = known_lane(gaps * 100_000);
            lane.counts.open = gaps;
            facts.load_lane("component-00000".into(), lane, rows);
            // Each takes the first of what is left of some gap, so that the number of rows stays the same.
            let late = |index: u64| event(&version, 0, (index * 7919 % gaps) * 100_000 + index / gaps);
            (facts, (0..1_000).map(late).collect::<Vec<_>>())
        })
        .bench_refs(|input| run(black_box(input)));
}

/// Reading a document of about 256 bytes: the first check, which any thread can do.
#[divan::bench(sample_count = 50, sample_size = 1)]
fn read_document(bencher: Bencher<'_, '_>) {
    let version = version();
    let documents: Vec<Arc<[u8]>> = (0..1_000).filter_map(|index| event(&version, index, 42).document).collect();
    let door = Door { salt: &[0; 32], now: NOW, spare: 0, event_bytes_max: 1 << 20, covers: &|_| true };
    bencher
        .counter(ItemsCount::new(documents.len()))
        .bench(|| documents.iter().map(|document| read(Arc::clone(document), &version, &door)).collect::<Vec<_>>());
}
