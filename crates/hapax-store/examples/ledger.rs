//! What a large ledger in a directory costs: to fill, to open, to build its index again.
//!
//! ```text
//! ledger fill DIR EVENTS close|kill    telemetry through whole turns, 1 000 a turn, 10 000 lanes, documents of 256 bytes
//! ledger open DIR close|kill           how long a start takes, and how much memory there is afterwards
//! ledger rebuild DIR                   the same without the index
//! ledger read DIR EVENTS               random entries by id, and duplicates of whole batches
//! ledger compare DIR EVENTS ROUNDS     the same turns on this store and on one with everything in memory, in turns
//! ```
//!
//! `kill` ends the process without a word, as a crash does.

// A measurement has a clock of its own.
#![allow(clippy::disallowed_methods)]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hapax_core::access::Patterns;
use hapax_core::batch::Terms;
use hapax_core::claim::Jitter;
use hapax_core::contract::Contract;
use hapax_core::entry::Caller;
use hapax_core::event::Identity;
use hapax_core::time::Time;
use hapax_store::embedded::codec::{Sections, encode};
use hapax_store::embedded::disk::RealDisk;
use hapax_store::embedded::index::IndexOptions;
use hapax_store::embedded::log::{Log, LogId, Options as LogOptions};
use hapax_store::embedded::{Embedded, Options};
use hapax_store::memory::Memory;
use hapax_store::seam::{Loaded, Read, Store, StoreError, StreamKey, TurnNeeds, Write};
use hapax_store::turn::{Ask, Request, Submission, turn};

const BATCH: u64 = 1_000;
const LANES: u64 = 10_000;
const NOW: i64 = 1_767_225_600_123_456_789;
const ID: LogId = LogId([7; 16]);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<u64>().expect("a number");
    match arguments[..] {
        ["fill", directory, events, end] => fill(directory, number(events), end),
        ["open", directory, end] => open(directory, end),
        ["rebuild", directory] => {
            std::fs::remove_dir_all(Path::new(directory).join("index")).expect("an index to remove");
            open(directory, "kill");
        }
        ["read", directory, events] => read(directory, number(events)),
        ["compare", directory, events, rounds] => compare(directory, number(events), number(rounds)),
        _ => println!(
            "fill DIR EVENTS close|kill, open DIR close|kill, rebuild DIR, read DIR EVENTS, compare DIR EVENTS ROUNDS"
        ),
    }
}

fn stream() -> StreamKey {
    StreamKey { tenant: Arc::from("default"), stream: Arc::from("telemetry") }
}

fn request(ask: Ask) -> Request {
    let now = Time::from_nanos(NOW);
    Request { now, spare: 1, jitter: Jitter::NONE, caller: Caller::default(), id: None, ask }
}

fn id_of(index: u64) -> String {
    // Ids that do not come in order, as random ones do not.
    let mixed = index.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    format!("{:08x}-7000-7000-8000-{index:012}", mixed >> 32)
}

fn batch(first: u64) -> Request {
    let document = |index: u64| {
        let (lane, seq) = (index % LANES, 1 + index / LANES);
        let id = id_of(index);
        let mut text = format!(
            r#"{{"event_id":"{id}","component_instance_id":"component-{lane:05}","sequence":{seq},"observed_at":"2026-01-01T00:00:00.{:09}Z","kind":"process_start","payload":{{"pid":4711,"pad":""#,
            index % 100_000_000
        );
        while text.len() < 253 {
            text.push('x');
        }
        text.push_str("\"}}");
        Arc::from(text.into_bytes())
    };
    request(Ask::Submit(Submission {
        stream: stream(),
        documents: (first..first + BATCH).map(document).collect(),
        events: Arc::default(),
        terms: Terms { atomic: false, dry_run: false, brief: false, caller: Caller::default(), lanes: Patterns::all() },
        single: false,
        event_bytes_max: 1 << 20,
    }))
}

fn begin(store: &mut impl Store) {
    store.tenant(&Arc::from("default"), [7; 32]).expect("a tenant");
    let contract = Contract::from_toml("preset = \"telemetry-tolerant\"").expect("a contract");
    turn(store, &mut [request(Ask::PutContract { stream: stream(), contract: Box::new(contract) })]).expect("a turn");
}

/// Where the time of a store goes.
struct Timed<S> {
    store: S,
    load: Duration,
    commit: Duration,
}

impl<S: Store> Store for Timed<S> {
    type Reader = S::Reader;

    fn reader(&self) -> &Self::Reader {
        self.store.reader()
    }

    fn tenant(&mut self, name: &Arc<str>, salt: [u8; 32]) -> Result<[u8; 32], StoreError> {
        self.store.tenant(name, salt)
    }

    fn load(&mut self, needs: &TurnNeeds) -> Result<Loaded, StoreError> {
        let began = Instant::now();
        let loaded = self.store.load(needs);
        self.load += began.elapsed();
        loaded
    }

    fn commit(&mut self, write: Write) -> Result<(), StoreError> {
        let began = Instant::now();
        let committed = self.store.commit(write);
        self.commit += began.elapsed();
        committed
    }
}

/// Everything in memory, and a log: what this store was before it had an index.
struct InMemory {
    log: Log<RealDisk>,
    memory: Memory,
    sections: Sections,
}

impl Store for InMemory {
    type Reader = Memory;

    fn reader(&self) -> &Memory {
        &self.memory
    }

    fn tenant(&mut self, name: &Arc<str>, salt: [u8; 32]) -> Result<[u8; 32], StoreError> {
        self.memory.tenant(name, salt)
    }

    fn load(&mut self, needs: &TurnNeeds) -> Result<Loaded, StoreError> {
        self.memory.load(needs)
    }

    fn commit(&mut self, write: Write) -> Result<(), StoreError> {
        encode(&write, &mut self.sections);
        self.log.append(&self.sections.lasting, &self.sections.expiring)?;
        self.memory.commit(write)
    }
}

/// Sends so many events and says what that took, without what it takes to write them.
fn send(name: &str, store: &mut Timed<impl Store>, events: u64) {
    let (mut whole, mut slowest) = (Duration::ZERO, Duration::ZERO);
    for first in (0..events).step_by(BATCH as usize) {
        let mut requests = [batch(first)];
        let began = Instant::now();
        let answers = turn(store, &mut requests).expect("a turn");
        let took = began.elapsed();
        whole += took;
        slowest = slowest.max(took);
        assert!(answers[0].status < 300, "{}", String::from_utf8_lossy(&answers[0].body));
    }
    let each = |time: Duration| time.as_nanos() as f64 / events as f64;
    println!(
        "{name}: {:.0} events/s, each {:.0} ns: load {:.0}, commit {:.0}; the slowest turn took {:.1} ms; {} MB",
        events as f64 / whole.as_secs_f64(),
        each(whole),
        each(store.load),
        each(store.commit),
        slowest.as_secs_f64() * 1e3,
        resident_mb()
    );
}

/// Runs something with the upkeep beside it, as a server does.
fn busy(store: Embedded<RealDisk>, work: impl FnOnce(&mut Timed<Embedded<RealDisk>>)) -> Embedded<RealDisk> {
    let (upkeep, done) = (store.upkeep(), AtomicBool::new(false));
    let mut timed = Timed { store, load: Duration::ZERO, commit: Duration::ZERO };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                if !upkeep.step(Time::from_nanos(NOW)).expect("upkeep") {
                    std::thread::park_timeout(Duration::from_millis(5));
                }
            }
        });
        work(&mut timed);
        done.store(true, Ordering::Relaxed);
    });
    timed.store
}

fn end(store: Embedded<RealDisk>, how: &str) {
    if how != "close" {
        std::process::exit(0);
    }
    let began = Instant::now();
    store.close().expect("a clean stop");
    println!("closing took {:.2} s", began.elapsed().as_secs_f64());
}

fn fill(directory: &str, events: u64, how: &str) {
    let disk = RealDisk::at(directory).expect("a directory");
    let (store, _) = Embedded::open(disk, Options::default(), ID).expect("a store");
    let store = busy(store, |store| {
        begin(store);
        send("fill", store, events);
    });
    end(store, how);
}

fn open(directory: &str, how: &str) {
    let disk = RealDisk::at(directory).expect("a directory");
    let mut told = None;
    let began = Instant::now();
    let (store, opened) =
        Embedded::open_telling(disk, Options::default(), ID, |progress| told = Some(progress)).expect("a store");
    let took = began.elapsed().as_secs_f64();
    let (entries, frames) = told.map_or((0, 0), |it| (it.entries, it.frames));
    println!(
        "{} frames, opened in {took:.2} s: read {frames} frames again with {entries} entries, {:.0} entries/s; {} MB, of which index {} MB",
        opened.frames,
        entries as f64 / took,
        resident_mb(),
        store.upkeep().index_memory_bytes() >> 20
    );
    println!("head {:?}", store.reader().head(&stream()).expect("a head").offset);
    end(store, how);
}

fn read(directory: &str, events: u64) {
    let disk = RealDisk::at(directory).expect("a directory");
    let (store, _) = Embedded::open(disk, Options::default(), ID).expect("a store");
    let reader = store.reader().clone();
    let times = 2_000;
    let began = Instant::now();
    for turn in 0..times {
        let index = (turn * 7_919 * 1_009) % events;
        let found = reader.entry(&stream(), &Identity::of(None, &id_of(index))).expect("a read");
        assert_eq!(found.expect("an entry").offset, index + 1);
    }
    println!("an entry by id: {:.0} µs", began.elapsed().as_micros() as f64 / times as f64);
    let began = Instant::now();
    for turn in 0..times {
        assert_eq!(reader.entries(&stream(), (turn * 7_919 * 1_009) % (events - 100), 100).expect("a read").len(), 100);
    }
    println!("a page of 100: {:.0} µs", began.elapsed().as_micros() as f64 / times as f64);
    busy(store, |store| {
        let (batches, began) = (200, Instant::now());
        for number in 0..batches {
            let mut requests = [batch((number * 7_919 * BATCH) % events)];
            turn(store, &mut requests).expect("a turn");
        }
        println!("a duplicate: {:.0} ns", began.elapsed().as_nanos() as f64 / (batches * BATCH) as f64);
    });
}

fn compare(directory: &str, events: u64, rounds: u64) {
    for round in 0..rounds {
        let at = |name: &str| {
            let path = Path::new(directory).join(format!("{name}-{round}"));
            (RealDisk::at(&path).expect("a directory"), path)
        };
        let (disk, path) = at("memory");
        let log = Log::create(disk, LogOptions::default(), ID).expect("a log");
        let store = InMemory { log, memory: Memory::new(), sections: Sections::default() };
        let mut store = Timed { store, load: Duration::ZERO, commit: Duration::ZERO };
        begin(&mut store);
        send("in memory", &mut store, events);
        drop(store);
        std::fs::remove_dir_all(path).expect("it can be removed");

        for (name, sync) in [("with index, runs synced", true), ("with index, runs not synced", false)] {
            let (disk, path) = at("index");
            let options = Options { index: IndexOptions { sync, ..IndexOptions::default() }, ..Options::default() };
            let (store, _) = Embedded::open(disk, options, ID).expect("a store");
            drop(busy(store, |store| {
                begin(store);
                send(name, store, events);
            }));
            std::fs::remove_dir_all(path).expect("it can be removed");
        }
    }
}

fn resident_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|text| text.parse::<u64>().ok()).unwrap_or_default() >> 10
}
