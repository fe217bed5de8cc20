//! What is sent: made-up telemetry, and which of it repeats what was sent before.
//!
//! What holds: a lane belongs to one client, so its numbers come in order; a repeat is one of the newest documents of the same
//! client, byte for byte; names carry a token of the run, so two runs share none.

use std::collections::VecDeque;
use std::time::Instant;

use hapax_core::time::Time;

use super::clock;

/// A run, as far as what is sent goes.
#[derive(Clone)]
pub(super) struct Shape {
    /// In every name, so that no other run has it.
    pub(super) token: String,
    pub(super) clients: u64,
    pub(super) batch: u64,
    /// All clients together; without end if not given.
    pub(super) events: Option<u64>,
    pub(super) duplicates_percent: u64,
    /// About so long is a document.
    pub(super) bytes: usize,
    /// The server's time when the run began.
    pub(super) begin: Time,
}

/// What one request carries.
pub(super) struct Made {
    pub(super) body: Vec<u8>,
    /// The id of each event, and whether it is new.
    pub(super) events: Vec<(String, bool)>,
}

/// Makes the requests of one client.
pub(super) struct Maker {
    shape: Shape,
    client: u64,
    /// How many events are still to be made.
    left: Option<u64>,
    made: u64,
    recent: VecDeque<(String, String)>,
    random: Random,
    since: Instant,
}

/// Lanes of a client: enough that each has its own state, few enough to be remembered.
const LANES: u64 = 25;
/// Repeats come soon, as they do when an answer was lost; and somebody must remember them.
const RECENT_MAX: usize = 10_000;
/// A document without anything to make it longer.
const BARE_BYTES: usize = 243;

impl Maker {
    /// One for each client; the events are divided by requests.
    pub(super) fn all(shape: &Shape) -> Vec<Maker> {
        (0..shape.clients).map(|client| Maker::new(shape, client)).collect()
    }

    fn new(shape: &Shape, client: u64) -> Maker {
        let seed = shape.token.bytes().fold(client, |seed, byte| seed.wrapping_mul(257).wrapping_add(u64::from(byte)));
        let left = shape.events.map(|events| share(events, shape.batch, shape.clients, client));
        let recent = VecDeque::with_capacity(if shape.duplicates_percent > 0 { RECENT_MAX } else { 0 });
        Maker { shape: shape.clone(), client, left, made: 0, recent, random: Random(seed), since: clock::now() }
    }

    /// A document, and whether it is new.
    fn event(&mut self, at: Time) -> (String, String, bool) {
        if !self.recent.is_empty() && self.random.below(100) < self.shape.duplicates_percent {
            let (id, document) = &self.recent[self.random.below(self.recent.len() as u64) as usize];
            return (id.clone(), document.clone(), false);
        }
        let (lane, number) = (self.made % LANES, self.made / LANES + 1);
        self.made += 1;
        let id = self.id();
        let document = self.document(&id, lane, number, at);
        if self.shape.duplicates_percent > 0 {
            if self.recent.len() == RECENT_MAX {
                self.recent.pop_front();
            }
            self.recent.push_back((id.clone(), document.clone()));
        }
        (id, document, true)
    }

    /// The token makes it the run's, the rest like a random UUID.
    fn id(&mut self) -> String {
        let (high, low) = (self.random.next(), self.random.next());
        let token = &self.shape.token;
        format!("{token}-{:04x}-4{:03x}-a{:03x}-{:012x}", high & 0xffff, high >> 52, low >> 52, low & 0xffff_ffff_ffff)
    }

    fn document(&mut self, id: &str, lane: u64, number: u64, at: Time) -> String {
        let (token, client) = (&self.shape.token, self.client);
        let random = &mut self.random;
        let note = "x".repeat(self.shape.bytes.saturating_sub(BARE_BYTES));
        format!(
            r#"{{"event_id":"{id}","component_instance_id":"bench-{token}-{client}-{lane}","sequence":{number},"observed_at":"{at}","payload":{{"celsius":{}.{:02},"bar":{}.{:03},"battery":{},"status":"running","note":"{note}"}}}}"#,
            15 + random.below(20),
            random.below(100),
            random.below(10),
            random.below(1000),
            random.below(101),
        )
    }
}

impl Iterator for Maker {
    type Item = Made;

    fn next(&mut self) -> Option<Made> {
        let many = self.left.map_or(self.shape.batch, |left| left.min(self.shape.batch));
        if many == 0 {
            return None;
        }
        self.left = self.left.map(|left| left - many);
        // Time goes on also in a run of hours, and what is too late would be marked.
        let passed = i64::try_from(self.since.elapsed().as_nanos()).unwrap_or(i64::MAX);
        let at = Time::from_nanos(self.shape.begin.nanos().saturating_add(passed));
        let mut body = Vec::with_capacity((self.shape.bytes + 32) * many as usize);
        let mut events = Vec::with_capacity(many as usize);
        for number in 0..many {
            let (id, document, new) = self.event(at);
            body.push(if number == 0 { b'[' } else { b',' });
            body.extend_from_slice(document.as_bytes());
            events.push((id, new));
        }
        if many == 1 {
            // An event alone is sent as what it is.
            body.remove(0);
        } else {
            body.push(b']');
        }
        Some(Made { body, events })
    }
}

/// How many of the events a client sends: whole requests in turn, and the last request is what is left.
fn share(events: u64, batch: u64, clients: u64, client: u64) -> u64 {
    let requests = events.div_ceil(batch);
    let mine = requests / clients + u64::from(client < requests % clients);
    let is_last = requests > 0 && (requests - 1) % clients == client;
    mine * batch - if is_last { requests * batch - events } else { 0 }
}

/// SplitMix64: enough to draw values that nobody must guess.
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
mod tests;
