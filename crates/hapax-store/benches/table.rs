//! What the index costs: a record taken in, a key looked up that is there or not, a merge, a start.
//!
//! `cargo bench -p hapax-store --bench table` shows items per second, an item being a record or a key. The tables are
//! built once, in a temporary directory of the disk that `TMPDIR` is on; the ten million records take a minute.

use std::cell::Cell;
use std::sync::OnceLock;

use divan::Bencher;
use divan::counter::ItemsCount;
use hapax_store::embedded::disk::RealDisk;
use hapax_store::embedded::index::table::{Key, Place, Record, Table, TableOptions};
use hapax_store::embedded::log::{FrameNumber, LogId};
use tempfile::TempDir;

/// Keys of one call, and records of one frame.
const BATCH: u64 = 1_000;

const SIZES: [u64; 2] = [1_000_000, 10_000_000];

fn main() {
    for records in SIZES {
        let (_, table) = built(records);
        let (runs, memory) = (table.runs(), table.memory_bytes() as f64 / records as f64);
        let bytes = table.bytes() as f64 / records as f64;
        println!("{records} records: {runs} runs, {memory:.1} bytes of memory and {bytes:.1} of disk each");
    }
    let table = open(&tempfile::tempdir().expect("a directory"), TableOptions::default());
    fill(&table, 500_000);
    println!("in memory: {:.1} bytes each", table.memory_bytes() as f64 / 500_000.0);
    divan::main();
}

/// The key of a number: spread as hashes are, and below this many distinct (splitmix64).
fn key(number: u64) -> Key {
    let mut bytes = [0; 20];
    for (half, into) in bytes[4..].chunks_mut(8).enumerate() {
        let mut it = (number * 2 + half as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        it = (it ^ (it >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        it = (it ^ (it >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        into.copy_from_slice(&(it ^ (it >> 31)).to_be_bytes());
    }
    Key(bytes)
}

fn frame(number: u64) -> Vec<Record> {
    let record = |index: u64| Record {
        key: key((number - 1) * BATCH + index),
        place: Place { frame: FrameNumber(number), index: index as u32 },
    };
    (0..BATCH).map(record).collect()
}

fn open(dir: &TempDir, options: TableOptions) -> Table<RealDisk> {
    let disk = RealDisk::at(dir.path()).expect("a disk");
    Table::open(disk, "ids", LogId([7; 16]), options).expect("a table that opens")
}

fn fill(table: &Table<RealDisk>, records: u64) {
    for number in 1..=records / BATCH {
        table.replay(FrameNumber(number), &frame(number)).expect("a disk that writes");
    }
}

/// A table of so many records as a ledger would have it: most of them in runs, the newest in memory.
fn built(records: u64) -> &'static (TempDir, Table<RealDisk>) {
    static BUILT: [OnceLock<(TempDir, Table<RealDisk>)>; 2] = [OnceLock::new(), OnceLock::new()];
    let which = SIZES.iter().position(|it| *it == records).expect("one of the sizes");
    BUILT[which].get_or_init(|| {
        let dir = tempfile::tempdir().expect("a directory");
        let table = open(&dir, TableOptions::default());
        fill(&table, records);
        (dir, table)
    })
}

#[divan::bench(args = [false, true], sample_count = 10, sample_size = 1)]
fn inserting(bencher: Bencher<'_, '_>, ordered: bool) {
    let frames: Vec<Vec<Record>> = (1..=500).map(frame).collect();
    let dir = tempfile::tempdir().expect("a directory");
    let options = TableOptions { ordered, ..TableOptions::default() };
    bencher.counter(ItemsCount::new(500 * BATCH)).with_inputs(|| open(&dir, options.clone())).bench_local_refs(
        |table| {
            for (number, records) in (1..).zip(&frames) {
                table.insert(FrameNumber(number), records);
            }
        },
    );
}

/// Looks up batch after batch, never the same one soon again.
fn find_all(bencher: Bencher<'_, '_>, records: u64, from: u64) {
    let (_, table) = built(records);
    let batches: Vec<Vec<Key>> = (0..500_u64)
        .map(|batch| (0..BATCH).map(|it| key(from + (batch * BATCH + it) * 7_919 % records)).collect())
        .collect();
    let next = Cell::new(0);
    bencher.counter(ItemsCount::new(BATCH)).bench_local(|| {
        next.set((next.get() + 1) % batches.len());
        let mut found = 0;
        table.find_all(&batches[next.get()], |_, _| found += 1).expect("a table that answers");
        found
    });
}

#[divan::bench(args = SIZES, sample_count = 500, sample_size = 1)]
fn finding_absent(bencher: Bencher<'_, '_>, records: u64) {
    find_all(bencher, records, records);
}

#[divan::bench(args = SIZES, sample_count = 500, sample_size = 1)]
fn finding_present(bencher: Bencher<'_, '_>, records: u64) {
    find_all(bencher, records, 0);
}

/// All that begins with most of a key, while half a million records are in memory.
#[divan::bench(args = [false, true], sample_count = 200, sample_size = 1)]
fn beginning_with(bencher: Bencher<'_, '_>, ordered: bool) {
    let dir = tempfile::tempdir().expect("a directory");
    let table = open(&dir, TableOptions { ordered, ..TableOptions::default() });
    fill(&table, 500_000);
    let next = Cell::new(0);
    bencher.bench_local(|| {
        next.set((next.get() + 7_919) % 500_000);
        table.with_prefix(&key(next.get()).0[..12], 10)
    });
}

#[divan::bench(sample_count = 3, sample_size = 1)]
fn writing_a_run(bencher: Bencher<'_, '_>) {
    let filled = || {
        let dir = tempfile::tempdir().expect("a directory");
        let table = open(&dir, TableOptions::default());
        (1..=500).for_each(|it| table.insert(FrameNumber(it), &frame(it)));
        (dir, table)
    };
    let flush = |it: &mut (TempDir, Table<RealDisk>)| it.1.flush();
    bencher.counter(ItemsCount::new(500 * BATCH)).with_inputs(filled).bench_local_refs(flush);
}

#[divan::bench(sample_count = 3, sample_size = 1)]
fn merging(bencher: Bencher<'_, '_>) {
    let written = || {
        let dir = tempfile::tempdir().expect("a directory");
        let table = open(&dir, TableOptions::default());
        for number in 1..=2_000 {
            table.insert(FrameNumber(number), &frame(number));
            if number % 500 == 0 {
                table.flush().expect("a disk that writes");
            }
        }
        (dir, table)
    };
    let merge =
        |it: &mut (TempDir, Table<RealDisk>)| assert_eq!(it.1.upkeep(), Ok(true), "there is something to merge");
    bencher.counter(ItemsCount::new(2_000 * BATCH)).with_inputs(written).bench_local_refs(merge);
}

#[divan::bench(args = SIZES, sample_count = 10, sample_size = 1)]
fn opening(bencher: Bencher<'_, '_>, records: u64) {
    let (dir, _) = built(records);
    bencher.bench_local(|| open(dir, TableOptions::default()).records());
}
