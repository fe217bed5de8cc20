//! Workers: they claim, heartbeat, finish and fail; they stall, and come back with the fence they had.

use super::Clients;
use crate::audit::registry_event;
use crate::ledger::PlainEntry;
use crate::random::Random;
use crate::words::{Client, What, Word};

/// A worker of a handler.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) handler: usize,
    pub(super) holding: Option<Held>,
    /// What it held before; it may have slept through its lease.
    pub(super) old: Option<Held>,
}

/// What a worker has, as far as it knows.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) event: String,
    pub(super) lane: Option<String>,
    pub(super) fence: u64,
}

impl Clients {
    pub(super) fn work(&mut self, random: &mut Random) -> (Client, What) {
        let worker = random.below(self.workers.len());
        let handler = self.workers[worker].handler;
        if let Some(held) = self.workers[worker].holding.clone() {
            let Held { event, lane, fence } = held.clone();
            let word = match random.weighted(&[6, 2, 2, 1]) {
                0 => Word::Done(fence, format!("{{\"by\":{worker}}}")),
                1 => Word::Heartbeat(fence),
                2 => Word::Failed(fence),
                _ => {
                    // It stalls, and forgets that it has it; it may remember later.
                    let it = &mut self.workers[worker];
                    (it.holding, it.old) = (None, Some(held));
                    return (Client::Worker(worker), self.claim(random, handler));
                }
            };
            return (Client::Worker(worker), What::Say { handler, event, lane, word });
        }
        if let Some(Held { event, lane, fence }) = self.workers[worker].old.clone()
            && random.once_in(3)
        {
            let word = match random.below(3) {
                0 => Word::Done(fence, "\"late\"".to_owned()),
                1 => Word::Heartbeat(fence),
                _ => Word::Failed(fence),
            };
            return (Client::Worker(worker), What::Say { handler, event, lane, word });
        }
        (Client::Worker(worker), self.claim(random, handler))
    }

    fn claim(&self, random: &mut Random, handler: usize) -> What {
        let plan = &self.plan.handlers[handler];
        let is_open = |key: &(String, Option<String>)| !self.done[handler].contains(key);
        match plan.stream {
            None => {
                let lane = Some((*random.pick(&["x", "y"])).to_owned());
                let first = (1..).find(|seq| is_open(&registry_event(&lane, *seq))).unwrap_or(1);
                let seq = first + random.weighted(&[5, 2, 1]) as u64;
                let (event, lane) = registry_event(&lane, seq);
                What::Claim { handler, event, lane, seq: Some(seq) }
            }
            Some(stream) => {
                let by_lane = self.plan.streams[stream].is_by_lane();
                let key = |entry: &PlainEntry| (entry.id.clone(), by_lane.then(|| entry.lane.clone()));
                let events: Vec<_> = self.read[stream].iter().filter(|it| it.kind == 0).map(key).collect();
                let mut open = events.iter().filter(|key| is_open(key));
                let some = match random.weighted(&[4, 2, 1]) {
                    0 => open.next(),
                    1 => open.nth(1 + random.below(3)),
                    _ => events.get(random.below(events.len().max(1))),
                };
                let (event, lane) = some.cloned().unwrap_or_else(|| ("nobody".to_owned(), None));
                What::Claim { handler, event, lane, seq: None }
            }
        }
    }
}
