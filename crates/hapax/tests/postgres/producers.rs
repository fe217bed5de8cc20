//! Producers that send each batch to two servers at once (to one, if there is no other), again and again until one of them has
//! taken it, and keep what they were told.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::client::{Client, Reply};
use crate::events::{EVENTS, Place, event, place};
use crate::fleet::Fleet;
use crate::now;

/// Nobody is down for as long as this.
const TAKEN_WITHIN: Duration = Duration::from_secs(90);

/// What one producer sent and was told.
pub struct Producer<'f> {
    id: u64,
    fleet: &'f Fleet,
    connections: Vec<Mutex<Option<Client>>>,
    /// Events of a request.
    batch: u64,
    /// Batches that were taken.
    taken: u64,
    /// Where each of its events is.
    pub told: HashMap<String, Place>,
    /// What else was answered, by code and effect, and how often nothing was.
    pub refused: BTreeMap<String, u64>,
}

impl<'f> Producer<'f> {
    pub fn new(id: u64, fleet: &'f Fleet, batch: u64) -> Self {
        let connections = (0..fleet.len()).map(|_| Mutex::default()).collect();
        Self { id, fleet, connections, batch, taken: 0, told: HashMap::new(), refused: BTreeMap::new() }
    }

    /// Sends until it is told to stop. What was begun is finished.
    pub fn produce(&mut self, stop: &AtomicBool, acknowledged: &AtomicU64) {
        while !stop.load(Ordering::Relaxed) {
            self.send();
            acknowledged.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Sends one batch until it is taken.
    fn send(&mut self) {
        let began = now();
        // With one server alone it is known who may have written what.
        let mut may_be_there = self.fleet.len() > 1;
        for attempt in 0.. {
            assert!(began.elapsed() < TAKEN_WITHIN, "nobody takes it: {:?}", self.refused);
            let first = (self.id as usize + attempt) % self.fleet.len();
            let second = (first + 1) % self.fleet.len();
            let replies = if first == second { vec![self.ask(first)] } else { self.ask_both(first, second) };
            let mut taken = 0;
            for reply in replies {
                match reply {
                    Ok(reply) if reply.status == 200 => {
                        taken += 1;
                        self.note(&reply, may_be_there);
                    }
                    Ok(reply) => may_be_there |= self.refused(&reply),
                    Err(_) => {
                        may_be_there = true;
                        *self.refused.entry("no answer".to_owned()).or_default() += 1;
                    }
                }
            }
            if taken > 0 {
                self.taken += 1;
                return;
            }
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }

    /// Events that were taken.
    pub fn events(&self) -> u64 {
        self.taken * self.batch
    }

    fn ask_both(&self, first: usize, second: usize) -> Vec<io::Result<Reply>> {
        std::thread::scope(|scope| {
            let other = scope.spawn(|| self.ask(second));
            vec![self.ask(first), other.join().expect("an end")]
        })
    }

    /// Every other producer gives its requests keys.
    fn ask(&self, server: usize) -> io::Result<Reply> {
        let mut place = self.connections[server].lock().expect("a connection");
        let mut client = match place.take() {
            Some(client) => client,
            None => self.fleet.connect(server)?,
        };
        let body =
            Value::from((1..=self.batch).map(|it| event(self.id, self.taken * self.batch + it)).collect::<Vec<_>>());
        let key = format!("p{}-{}", self.id, self.taken);
        let headers = [("content-type", "application/json"), ("idempotency-key", key.as_str())];
        let headers = if self.id.is_multiple_of(2) { &headers[..] } else { &headers[..1] };
        let reply = client.try_send("POST", EVENTS, headers, body.to_string().as_bytes())?;
        *place = Some(client);
        Ok(reply)
    }

    /// It was taken, now or before. Whoever tells tells the same.
    fn note(&mut self, reply: &Reply, may_be_there: bool) {
        let body = reply.json();
        let results = body["results"].as_array().expect("results");
        assert_eq!(results.len() as u64, self.batch, "{body}");
        let replayed = reply.header("idempotency-replayed").is_some();
        for (index, result) in results.iter().enumerate() {
            let id = format!("p{}-{:06}", self.id, self.taken * self.batch + index as u64 + 1);
            let accepted = result["verdict"] == "accepted";
            assert!(accepted || result["verdict"] == "duplicate", "{result}");
            assert!(may_be_there || accepted && !replayed, "it was said that {id} was not written: {result}");
            let found = place(if accepted { result } else { &result["original"] });
            if let Some(before) = self.told.insert(id.clone(), found.clone()) {
                assert_eq!(before, found, "{id} has one place");
            }
        }
    }

    /// It was not. True if it may have been written all the same.
    fn refused(&mut self, reply: &Reply) -> bool {
        let (code, body) = (reply.code(), reply.json());
        if reply.status == 409 && code == "REQUEST_RUNNING" {
            return true;
        }
        let effect = body["effect"].as_str().unwrap_or_default().to_owned();
        assert!(reply.status == 503 && (effect == "none" || effect == "unknown"), "{} {body}", reply.status);
        *self.refused.entry(format!("{code} {effect}")).or_default() += 1;
        effect == "unknown"
    }
}
