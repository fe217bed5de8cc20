//! What a commit costs to write and to read: in-order telemetry, as the judge leads to it.
//!
//! `cargo bench -p hapax-store --bench codec` shows the time per entry as items per second, and the allocations.

#[path = "../src/codec/tests/usual.rs"]
mod usual;

use divan::counter::ItemsCount;
use divan::{AllocProfiler, Bencher, black_box};
use hapax_store::embedded::codec::{Sections, decode, encode, entries, entry_at};
use hapax_store::seam;

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    for (events, lanes) in [(1, 1), (1_000, 10), (1_000, 1_000), (10_000, 10_000)] {
        let write = usual::write(events, lanes);
        let documents: usize = write.streams[0].changes.entries.iter().map(|entry| entry.document.len()).sum();
        let sections = encoded(&write);
        let beyond = (sections.lasting.len() - documents) as f64 / events as f64;
        println!("{events} events, {lanes} lanes: {beyond:.1} bytes beyond {}", documents as u64 / events);
    }
    divan::main();
}

const CASES: [(u64, u64); 4] = [(1, 1), (1_000, 10), (1_000, 1_000), (10_000, 10_000)];

fn encoded(write: &seam::Write) -> Sections {
    let mut sections = Sections::default();
    encode(write, &mut sections);
    sections
}

#[divan::bench(args = CASES)]
fn writing(bencher: Bencher<'_, '_>, (events, lanes): (u64, u64)) {
    let write = usual::write(events, lanes);
    let mut sections = encoded(&write);
    bencher.counter(ItemsCount::new(events)).bench_local(|| encode(black_box(&write), &mut sections));
}

#[divan::bench(args = CASES)]
fn reading(bencher: Bencher<'_, '_>, (events, lanes): (u64, u64)) {
    let sections = encoded(&usual::write(events, lanes));
    bencher.counter(ItemsCount::new(events)).bench_local(|| decode(black_box(&sections.lasting), None));
}

#[divan::bench(args = CASES)]
fn finding(bencher: Bencher<'_, '_>, (events, lanes): (u64, u64)) {
    let sections = encoded(&usual::write(events, lanes));
    bencher.counter(ItemsCount::new(events)).bench_local(|| {
        entries(black_box(&sections.lasting)).map(|found| found.flatten().map(|it| it.offset).sum::<u64>())
    });
}

#[divan::bench(args = CASES)]
fn reading_one(bencher: Bencher<'_, '_>, (events, lanes): (u64, u64)) {
    let sections = encoded(&usual::write(events, lanes));
    bencher.bench_local(|| entry_at(black_box(&sections.lasting), events / 2));
}
