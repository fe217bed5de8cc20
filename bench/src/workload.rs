//! What is sent: documents of a hundred devices, in batches, with repeats if asked for.
//!
//! What holds: the same seed gives the same events in the same order; a device belongs to one client, so its numbers come
//! in order; a repeat is an earlier document of the same client, byte for byte.

use clap::ValueEnum;
use hapax_core::time::Time;

/// The preset that reads the documents, by the names that they use.
pub(crate) const CONTRACT: &str = r#"{"preset": "telemetry-tolerant"}"#;

/// So many events are sent at once if nothing else is said.
pub(crate) const BATCH: usize = 1000;
/// So long is a document if nothing else is said; without anything to make it longer, it is about that.
pub(crate) const DOCUMENT_BYTES: usize = 256;

const DEVICES: usize = 100;
const MICROSECOND: i64 = 1000;

/// How ids are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ids {
    /// Like random UUIDs: they land anywhere in an index.
    Random,
    /// Like UUIDs that begin with the time: they land at the end of an index that is ordered by id.
    Ordered,
}

/// What a workload consists of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) events: usize,
    pub(crate) clients: usize,
    /// Events that are sent at once.
    pub(crate) batch: usize,
    /// About so long is a document.
    pub(crate) document_bytes: usize,
    pub(crate) duplicates_percent: u64,
    pub(crate) ids: Ids,
}

/// What every client sends.
pub(crate) struct Workload {
    pub(crate) clients: Vec<Vec<Batch>>,
    /// How many are sent.
    pub(crate) sent: usize,
}

/// What is sent at once.
#[derive(Clone)]
pub(crate) struct Batch {
    pub(crate) ids: Vec<String>,
    pub(crate) documents: Vec<Vec<u8>>,
    /// How many of them are new.
    pub(crate) fresh: usize,
}

impl Batch {
    /// As a JSON array.
    pub(crate) fn json(&self) -> Vec<u8> {
        let mut json = vec![b'['];
        json.extend_from_slice(&self.documents.join(&b','));
        json.push(b']');
        json
    }
}

impl Workload {
    /// Makes one. The documents are as of this time, because contracts refuse what is too old.
    pub(crate) fn make(shape: Shape, seed: u64, time: Time) -> Workload {
        let mut random = Random(seed);
        let batches = shape.events.div_ceil(shape.batch * shape.clients);
        let clients: Vec<_> =
            (0..shape.clients).map(|client| sent_by(client, batches, shape, &mut random, time)).collect();
        Workload { clients, sent: batches * shape.batch * shape.clients }
    }

    /// The batches of those clients that a stream of so many is fed by, in whatever order.
    pub(crate) fn of_stream(&self, stream: usize, streams: usize) -> impl Iterator<Item = &Batch> {
        self.clients.iter().enumerate().filter(move |(client, _)| client % streams == stream).flat_map(|(_, it)| it)
    }

    /// How many different events there are.
    pub(crate) fn fresh(&self) -> usize {
        self.clients.iter().flatten().map(|batch| batch.fresh).sum()
    }
}

fn sent_by(client: usize, batches: usize, shape: Shape, random: &mut Random, time: Time) -> Vec<Batch> {
    let devices: Vec<_> = (0..DEVICES.max(shape.clients)).filter(|device| device % shape.clients == client).collect();
    let mut before: Vec<(String, Vec<u8>)> = Vec::with_capacity(batches * shape.batch);
    let mut made = Vec::with_capacity(batches);
    for _ in 0..batches {
        let room = shape.batch;
        let mut batch = Batch { ids: Vec::with_capacity(room), documents: Vec::with_capacity(room), fresh: 0 };
        for _ in 0..room {
            if random.below(100) < shape.duplicates_percent && !before.is_empty() {
                let (id, document) = &before[random.below(before.len() as u64) as usize];
                batch.ids.push(id.clone());
                batch.documents.push(document.clone());
                continue;
            }
            let (device, number) = (devices[before.len() % devices.len()], before.len() / devices.len() + 1);
            let at = Time::from_nanos(time.nanos() + before.len() as i64 * MICROSECOND);
            let id = id(shape.ids, at, random);
            let more = shape.document_bytes.saturating_sub(DOCUMENT_BYTES);
            let document = document(&id, device, number, at, more, random).into_bytes();
            before.push((id.clone(), document.clone()));
            batch.ids.push(id);
            batch.documents.push(document);
            batch.fresh += 1;
        }
        made.push(batch);
    }
    made
}

fn id(ids: Ids, at: Time, random: &mut Random) -> String {
    let (first, second) = (random.next(), random.next());
    let first = match ids {
        Ids::Random => first,
        Ids::Ordered => at.nanos().unsigned_abs(),
    };
    format!(
        "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
        first >> 32,
        first >> 16 & 0xffff,
        first & 0xfff,
        second >> 48 & 0xfff,
        second & 0xffff_ffff_ffff
    )
}

/// About 256 bytes, as devices send them; more if they also send a text.
fn document(id: &str, device: usize, number: usize, at: Time, more: usize, random: &mut Random) -> String {
    let note = note(more, random);
    format!(
        r#"{{"event_id":"{id}","component_instance_id":"device-{device:03}","sequence":{number},"observed_at":"{at}","payload":{{"celsius":{}.{:02},"bar":{}.{:03},"battery":{},"status":"running","firmware":"4.2.{}","site":"north-2"{note}}}}}"#,
        15 + random.below(20),
        random.below(100),
        random.below(10),
        random.below(1000),
        random.below(101),
        random.below(10),
    )
}

/// A member of about so many bytes, or nothing. Letters are drawn, so that nobody gains by packing them.
fn note(bytes: usize, random: &mut Random) -> String {
    const AROUND: usize = r#","note":"""#.len();
    let letters = bytes.saturating_sub(AROUND);
    if letters == 0 {
        return String::new();
    }
    let text: String = (0..letters).map(|_| char::from(b'a' + random.below(26) as u8)).collect();
    format!(r#","note":"{text}""#)
}

/// SplitMix64: enough to draw ids and values that nobody must guess.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

#[cfg(test)]
#[path = "workload/tests.rs"]
mod tests;
