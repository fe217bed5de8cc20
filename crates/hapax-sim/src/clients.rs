//! The clients: producers, workers and people, each with what it remembers.
//!
//! They know what they sent and what they were told. Nobody here tries to be good: they repeat themselves, contradict
//! themselves, come too late, and say what they have no right to say any more.

mod workers;

use std::collections::{BTreeMap, BTreeSet};

use hapax_core::time::Time;
use serde_json::Value;

use crate::document::{LANES, Made, Says, observed};
use crate::ledger::PlainEntry;
use crate::plan::{HOUR, Kind, Plan, SECOND};
use crate::random::Random;
use crate::words::{Asked, Client, Sent, Told, What, Word};
use workers::{Held, Worker};

/// Everybody, and what they remember.
#[derive(Debug)]
pub(crate) struct Clients {
    plan: Plan,
    made: Vec<Vec<Made>>,
    lanes: Vec<Vec<&'static str>>,
    /// The next number of a lane, and the highest that the ledger was heard to have.
    next: BTreeMap<(usize, &'static str), u64>,
    /// How often the producer of a lane was started afresh.
    epochs: BTreeMap<(usize, &'static str), u64>,
    heard: BTreeMap<(usize, String), u64>,
    /// How wrong each producer's clock is.
    lies: Vec<i64>,
    /// What a follower has read of each stream.
    pub(crate) read: Vec<Vec<PlainEntry>>,
    workers: Vec<Worker>,
    /// What workers know to be done, and what people know to be dead.
    done: Vec<BTreeSet<(String, Option<String>)>>,
    dead: Vec<(usize, String, Option<String>)>,
    corrections: u64,
}

impl Clients {
    pub(crate) fn new(plan: &Plan, random: &mut Random) -> Self {
        let lanes = plan.streams.iter().map(|_| {
            let from = random.below(LANES.len());
            (0..2 + random.below(3)).map(|step| LANES[(from + step * 3) % LANES.len()]).collect()
        });
        Self {
            plan: plan.clone(),
            made: plan.streams.iter().map(|_| Vec::new()).collect(),
            lanes: lanes.collect(),
            next: BTreeMap::new(),
            epochs: BTreeMap::new(),
            heard: BTreeMap::new(),
            lies: vec![0, -20 * SECOND, 3 * SECOND, *[-2 * HOUR, 400 * SECOND].get(random.below(2)).unwrap_or(&0)],
            read: plan.streams.iter().map(|_| Vec::new()).collect(),
            workers: (0..plan.handlers.len() * 2)
                .map(|number| Worker { handler: number / 2, holding: None, old: None })
                .collect(),
            done: plan.handlers.iter().map(|_| BTreeSet::new()).collect(),
            dead: Vec::new(),
            corrections: 0,
        }
    }

    /// Somebody wants something.
    pub(crate) fn ask(&mut self, random: &mut Random, now: i64) -> (Client, What) {
        match random.weighted(&[6, 5, 1]) {
            0 => self.produce(random, now),
            1 => self.work(random),
            _ => (Client::Person, self.rule(random, now)),
        }
    }

    fn produce(&mut self, random: &mut Random, now: i64) -> (Client, What) {
        let producer = random.below(self.lies.len());
        let stream = random.below(self.plan.streams.len());
        let count = [1, 1, 1, 2, 3, 6][random.below(6)];
        let mut sent: Vec<Sent> = (0..count).map(|_| self.event(random, stream, producer, now)).collect();
        if random.once_in(3) {
            sent.reverse();
        }
        let atomic = random.once_in(6);
        let single = count == 1 && !atomic && random.once_in(2);
        (Client::Producer(producer), What::Events { stream, sent, atomic, dry: random.once_in(12), single })
    }

    /// A new event, or one that was made before: in the same bytes, in other bytes, or with another payload.
    fn event(&mut self, random: &mut Random, stream: usize, producer: usize, now: i64) -> Sent {
        let count = self.made[stream].len();
        let again = if count == 0 { 0 } else { random.weighted(&[5, 3, 1, 1]) };
        if again > 0 {
            // Mostly something recent: that is what is retried.
            let back = if random.once_in(3) { count } else { count.min(6) };
            let made = &self.made[stream][count - 1 - random.below(back)];
            return match again {
                1 => made.written(0, 0),
                2 => made.written(0, 1 + random.below(2)),
                _ => made.written(1 + random.below(2) as u32, random.below(2)),
            };
        }
        let lane = *random.pick(&self.lanes[stream]);
        let epoch = self.epochs.entry((stream, lane)).or_insert(0);
        let next = self.next.entry((stream, lane)).or_insert(1);
        if random.once_in(30) {
            (*epoch, *next) = (*epoch + 1, 1);
        }
        let epoch = epoch.saturating_sub(u64::from(random.once_in(12)));
        let seq = match random.weighted(&[10, 2, 2]) {
            0 => *next,
            1 => *next + 1 + random.below(3) as u64,
            _ => next.saturating_sub(1 + random.below(3) as u64).max(1),
        };
        *next = (*next).max(seq + 1);
        let heard = self.heard.get(&(stream, lane.to_owned())).copied().unwrap_or(0);
        let expected = match random.weighted(&[4, 4, 1]) {
            0 => None,
            1 => Some(heard),
            _ => Some((heard + random.below(3) as u64).saturating_sub(1)),
        };
        let observed = observed(random, now, self.lies[producer]);
        let nonce = if random.once_in(10) { count as u64 / 2 } else { count as u64 };
        let says = Says { seq, epoch, expected, observed, nonce };
        let made = Made::draw(random, &self.plan.streams[stream], lane, count, &says);
        let sent = made.written(0, 0);
        self.made[stream].push(made);
        sent
    }

    /// What people do.
    fn rule(&mut self, random: &mut Random, now: i64) -> What {
        let stream = random.below(self.plan.streams.len());
        let plan = &self.plan.streams[stream];
        let choice = random.weighted(&[3, 2, 2, 2, 1, 1, 1]);
        if choice == 0 && !self.dead.is_empty() {
            let (handler, event, lane) = self.dead[random.below(self.dead.len())].clone();
            let word = if random.once_in(2) { Word::Retry } else { Word::Skip };
            return What::Say { handler, event, lane, word };
        }
        let period = |when: i64| crate::audit::period(plan.period, &Time::from_nanos(when).to_string());
        let key = |random: &mut Random, lanes: &[&str]| {
            let parts = [crate::plan::TENANTS[plan.tenant], *random.pick(&["m", "M"]), *random.pick::<&str>(lanes)];
            serde_json::to_string(&parts).unwrap_or_default()
        };
        match choice {
            1 if plan.counts() => {
                self.corrections += u64::from(!random.once_in(3));
                let key = key(random, &self.lanes[stream]);
                let amount = ["1.5", "-0.25", "100"][(self.corrections % 3) as usize].to_owned();
                What::Correct { stream, id: format!("c{}", self.corrections), key, period: period(now), amount }
            }
            2 if plan.counts() => {
                let key = (!random.once_in(3)).then(|| key(random, &self.lanes[stream]));
                let back = random.between(0, 3) * HOUR;
                What::Close { stream, key, period: period(now - back) }
            }
            1 | 2 => {
                let from = 1 + random.below(6) as u64;
                let lane = (*random.pick(&self.lanes[stream])).to_owned();
                What::Acknowledge { stream, lane, from, to: from + random.below(3) as u64 }
            }
            3 | 0 => {
                let mode = *random.pick(&["enforce", "enforce", "shadow", "off"]);
                let same = *random.pick(&["replay", "reject"]);
                let different = if random.once_in(3) { "warn" } else { plan.different };
                What::Put { stream, contract: plan.contract(mode, same, different) }
            }
            4 => What::Declare { handler: random.below(self.plan.handlers.len()) },
            5 => What::MakeKey { tenant: random.below(2), id: format!("k{}", random.below(3)) },
            _ => What::EndKey { tenant: random.below(2), id: format!("k{}", random.below(3)) },
        }
    }

    /// The same events, cut otherwise: the second half alone.
    pub(crate) fn cut(&self, what: &What) -> Option<What> {
        let What::Events { stream, sent, dry, .. } = what else { return None };
        let rest = sent[sent.len() / 2..].to_vec();
        (sent.len() > 1).then_some(What::Events {
            stream: *stream,
            sent: rest,
            atomic: false,
            dry: *dry,
            single: false,
        })
    }

    /// Somebody hears the answer.
    pub(crate) fn hear(&mut self, asked: &Asked, told: &Told) {
        let body: Value = serde_json::from_slice(&told.body).unwrap_or_default();
        match (&asked.what, asked.client) {
            (What::Events { stream, single, dry: false, .. }, _)
                if self.plan.streams[*stream].kind == Kind::Sourcing =>
            {
                let one = std::slice::from_ref(&body);
                let all = if *single { one } else { body["results"].as_array().map_or(&[][..], Vec::as_slice) };
                for receipt in all {
                    if let (Some(lane), Some(seq)) = (receipt["lane"].as_str(), receipt["seq"].as_u64()) {
                        let heard = self.heard.entry((*stream, lane.to_owned())).or_insert(0);
                        *heard = seq.max(*heard);
                    }
                }
            }
            (What::Claim { handler, event, lane, .. }, Client::Worker(worker)) => {
                let (event, lane) = (event.clone(), lane.clone());
                match body["decision"].as_str().unwrap_or_default() {
                    "claimed" => {
                        let fence = body["fence"].as_u64().unwrap_or(0);
                        self.workers[worker].holding = Some(Held { event, lane, fence });
                    }
                    "done" | "stale" => _ = self.done[*handler].insert((event, lane)),
                    "dead" => self.dead.push((*handler, event, lane)),
                    _ => {}
                }
            }
            (What::Say { handler, event, lane, .. }, client) => {
                let key = (event.clone(), lane.clone());
                let status = body["status"].as_str().or_else(|| body["state"].as_str()).unwrap_or_default().to_owned();
                if matches!(status.as_str(), "done" | "skipped") {
                    self.done[*handler].insert(key.clone());
                }
                if matches!(status.as_str(), "skipped" | "failed") {
                    self.dead.retain(|(it, event, lane)| (it, event, lane) != (handler, &key.0, &key.1));
                }
                if status == "dead" {
                    self.dead.push((*handler, key.0, key.1));
                }
                if let Client::Worker(worker) = client
                    && status != "claimed"
                {
                    let it = &mut self.workers[worker];
                    it.old = it.holding.take().or(it.old.take());
                }
            }
            (_, _) => {}
        }
    }
}
