//! A store whose index was damaged, snapshot and runs, and whose log was not: it opens, and what it says is what it said
//! before, or an error. After an error the next start says everything again.

use std::sync::{Arc, OnceLock};

use hapax_core::batch::Terms;
use hapax_core::claim::{Handler, Jitter};
use hapax_core::contract::{Contract, to_json};
use hapax_core::entry::{Caller, SharedEntry};
use hapax_core::event::Identity;
use hapax_core::receipt::hex;
use hapax_core::time::Time;
use hapax_core::view::AttemptView;
use hapax_store::embedded::disk::{Disk as _, SimDisk};
use hapax_store::embedded::index::IndexOptions;
use hapax_store::embedded::log::{self, LogId};
use hapax_store::embedded::{Embedded, Options};
use hapax_store::seam::{AttemptFilter, HandlerKey, Page, Read, Store, StoreError, StreamKey};
use hapax_store::turn::{Ask, Call, CallAsk, ClaimAsk, Request, Submission, turn};

use super::super::damage::{Files, number, put_checksum, suffer};
use super::runs;
use crate::allocations::at_most;

const ID: LogId = LogId([5; 16]);
/// The store is small. A window of the log reads half a mebibyte ahead.
const AT_ONCE_BYTES_MAX: usize = 2 << 20;

const CONTRACT: &str = r#"
[sequence]
source = "producer"
first = 1

[counters.usage]
key = ["/customer"]
amount = "/amount"
period = "month"
"#;

fn options() -> Options {
    let log = log::Options { segment_bytes: 64 << 10, reserve_bytes: 512, low_water_bytes: 0, check: log::Check::Tail };
    let index = IndexOptions { ids_in_memory: 16, others_in_memory: 16, sync: false };
    Options { index, frames_bytes_max: 64 << 10, ..log.into() }
}

/// A store, closed in good order, and the same some commits earlier.
struct World {
    disk: SimDisk,
    files: Files,
    others: Vec<Files>,
    said: Vec<String>,
}

fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| {
        let make = |rounds: u64, id: LogId| {
            let disk = SimDisk::new(1);
            let (mut store, _) = Embedded::open(disk.clone(), options(), id).expect("an empty disk");
            fill(&mut store, rounds);
            store.close().expect("a good disk");
            disk
        };
        let disk = make(4, ID);
        let others = vec![files(&make(3, ID)), files(&make(4, LogId([6; 16])))];
        let (store, _) = Embedded::open(disk.clone(), options(), ID).expect("a good disk");
        let said = ask(store.reader()).into_iter().map(|it| it.expect("a good disk")).collect();
        store.close().expect("a good disk");
        World { files: files(&disk), disk, others, said }
    })
}

fn files(disk: &SimDisk) -> Files {
    let names = disk.files().into_iter().filter(|it| it.starts_with("index/"));
    names.map(|it| (it.clone(), disk.contents(&it))).collect()
}

fn stream() -> StreamKey {
    StreamKey { tenant: Arc::from("t"), stream: Arc::from("s") }
}

fn handler() -> HandlerKey {
    HandlerKey { tenant: Arc::from("t"), handler: Arc::from("h") }
}

/// Something of every kind: entries, refusals, duplicates, gaps, counters, a handler with claims, a dead letter.
fn fill(store: &mut Embedded<SimDisk>, rounds: u64) {
    store.tenant(&stream().tenant, [1; 32]).expect("a tenant");
    let mut request = |ask: Ask| {
        let (now, caller) = (Time::from_nanos(1_767_225_600_000_000_000), Caller::default());
        turn(store, &mut [Request { now, spare: 0, jitter: Jitter::NONE, caller, id: None, ask }]).expect("a turn");
    };
    let contract = Box::new(Contract::from_toml(CONTRACT).expect("a contract"));
    request(Ask::PutContract { stream: stream(), contract });
    let declared = Handler { stream: Some("s".to_owned()), ..Handler::new("h") };
    request(Ask::PutHandler { key: handler(), handler: Box::new(declared) });
    for round in 1..=rounds {
        let document = |index: u64| {
            let (id, seq) = (round * 10 + index, round * 4 + index * 2);
            let text = format!(
                r#"{{"id":"e{id}","lane":"l{}","seq":{seq},"nonce":"n{id}","customer":"c","amount":{index}}}"#,
                index % 2
            );
            Arc::from(text.into_bytes())
        };
        let mut documents: Vec<Arc<[u8]>> = (0..4).map(document).collect();
        documents.push(Arc::from(br#"{"id":"e10","lane":"l0","seq":4,"amount":"x"}"#.as_slice()));
        let (terms, event_bytes_max) = (Terms::default(), 1 << 20);
        let (stream, events) = (stream(), Arc::default());
        request(Ask::Submit(Submission { stream, documents, events, terms, single: false, event_bytes_max }));
        let event_id = || format!("e{}", round * 10);
        let ask = ClaimAsk {
            handler: handler(),
            event_id: event_id(),
            stream: None,
            lane: None,
            epoch: 0,
            seq: None,
            owner: None,
        };
        request(Ask::Claim(ask));
        if round.is_multiple_of(2) {
            let call = Call::Done { fence: round, result: None };
            request(Ask::Call(CallAsk { handler: handler(), event_id: event_id(), stream: None, lane: None, call }));
        }
    }
}

/// Everything that a store can be asked. Entries are told by their hashes, which cover all of them.
fn ask(reader: &impl Read) -> Vec<Result<String, StoreError>> {
    fn words<T: std::fmt::Debug>(answer: Result<T, StoreError>) -> Result<String, StoreError> {
        answer.map(|it| format!("{it:?}"))
    }
    let hashes = |list: Vec<SharedEntry>| list.iter().map(|it| (it.offset, hex(&it.hash))).collect::<Vec<_>>();
    let numbers = |page: Page<AttemptView, u64>| -> Vec<_> {
        page.items.iter().map(|it| (it.number(), it.id().map(str::to_owned), it.verdict())).collect()
    };
    let stream = stream();
    let identity = Identity::of(None, "e10");
    let of_one = AttemptFilter { id: Some("e10".to_owned()), ..AttemptFilter::default() };
    vec![
        words(reader.tenants()),
        words(reader.salt("t").map(|it| it.map(|salt| hex(&salt)))),
        words(reader.streams("t", "", 10).map(|it| it.items.len())),
        words(reader.head(&stream).map(|it| (it.offset, it.events, it.attempts, hex(&it.hash)))),
        words(reader.versions(&stream).map(|it| it.iter().map(|it| to_json(&it.contract)).collect::<Vec<_>>())),
        words(reader.entries(&stream, 0, 100).map(hashes)),
        words(reader.entries(&stream, 6, 2).map(hashes)),
        words(reader.entry(&stream, &identity).map(|it| hashes(it.into_iter().collect()))),
        words(reader.entries_with_id(&stream, "e21").map(hashes)),
        words(reader.entries_with_id(&stream, "nobody").map(hashes)),
        words(reader.lanes(&stream, false, "", 10)),
        words(reader.counters(&stream, &Default::default(), None, 10)),
        words(reader.attempts(&stream, &AttemptFilter::default(), 0, 100).map(numbers)),
        words(reader.attempts(&stream, &of_one, 0, 100).map(numbers)),
        words(reader.handlers("t", "", 10)),
        words(reader.claim(&handler(), &identity)),
        words(reader.dead(&handler(), None, 10)),
    ]
}

pub(super) fn check(program: &[u8]) {
    let world = world();
    let mut files = world.files.clone();
    let sealed = suffer(&mut files, &world.others, program, seal);
    let disk = world.disk.fork(1);
    for (name, bytes) in &files {
        match bytes {
            Some(bytes) => disk.put(name, bytes),
            None => disk.remove(name).expect("it was there"),
        }
    }
    let opened = at_most(AT_ONCE_BYTES_MAX, || Embedded::open(disk.clone(), options(), ID));
    if sealed {
        // What it says may be forged. That it says something is all that can be asked.
        if let Ok((store, _)) = opened {
            _ = ask(store.reader());
        }
        return;
    }
    let (store, _) = opened.expect("whatever the index says, the log is whole");
    let mut failed = false;
    for (found, said) in ask(store.reader()).into_iter().zip(&world.said) {
        failed |= found.is_err();
        assert!(found.as_ref().is_ok_and(|found| found == said) || found.is_err(), "{found:?} is not {said}");
    }
    if failed {
        drop(store);
        let (store, _) = Embedded::open(disk, options(), ID).expect("the log is whole");
        let again: Vec<_> = ask(store.reader()).into_iter().map(|it| it.expect("the index was built again")).collect();
        assert_eq!(again, world.said, "and says the same");
    }
}

/// Makes a checksum of a run or of the snapshot right: of the snapshot the header's, and those of all its pieces.
fn seal(name: &str, bytes: &mut [u8], at: usize, value: u8) {
    if !name.ends_with(".snap") {
        runs::seal_of(ID, name, bytes, at, value);
        return;
    }
    if bytes.len() < 68 {
        return;
    }
    let head = bytes[..64].to_vec();
    put_checksum(bytes, 64, &[&head]);
    let (mut at, mut place) = (68, 0_u64);
    while bytes.len() >= at + 16 {
        let end = at + 16 + number::<4>(bytes, at + 4) as usize + number::<4>(bytes, at + 8) as usize;
        let piece = bytes.to_vec();
        let Some(parts) = piece.get(at + 16..end) else { break };
        put_checksum(bytes, at + 12, &[&head, &place.to_le_bytes(), &piece[at..at + 12], parts]);
        (at, place) = (end, place + 1);
    }
}
