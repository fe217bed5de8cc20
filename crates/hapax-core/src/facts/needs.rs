//! What a turn will look at, said before it begins, so that a store can fetch it together.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::Spread;
use crate::contract::{Contract, Mode, Source};
use crate::counter::CounterKey;
use crate::event::{Digest, Event, IdSource, Identity, NonceKey};
use crate::lane::{GapNeeds, Lane};
use crate::period::PeriodStart;
use crate::time::Time;

/// The keys of everything that judging some events can look at.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// Ids.
    pub identities: Vec<Sought>,
    /// Lanes, and the numbers that will be placed in them.
    pub lanes: HashMap<Arc<str>, LaneNeeds, Spread>,
    /// Nonces.
    pub nonces: Vec<NonceKey>,
    /// Counters.
    pub counters: BTreeSet<CounterKey>,
    /// Periods that may be closed for every key.
    pub periods: BTreeSet<(Arc<str>, PeriodStart)>,
}

/// An id that is looked for.
#[derive(Clone, Debug)]
pub struct Sought {
    /// What it is looked up by.
    pub identity: Identity,
    /// The document that came with it. An original with the same digest is this one, and need not be read.
    pub brought: Option<Brought>,
}

/// A document that somebody has at hand.
#[derive(Clone, Debug)]
pub struct Brought {
    /// Its SHA-256.
    pub digest: Digest,
    /// Its bytes.
    pub document: Arc<[u8]>,
}

impl From<Identity> for Sought {
    fn from(identity: Identity) -> Self {
        Self { identity, brought: None }
    }
}

/// What is needed of one lane.
#[derive(Clone, Debug, Default)]
pub struct LaneNeeds {
    /// The numbers.
    pub numbers: Vec<u64>,
    /// The highest epoch among them.
    pub epoch: u64,
}

impl Needs {
    /// Adds what judging an event can look at.
    pub fn add(&mut self, contract: &Contract, event: &Event, now: Time) {
        if event.refusal.is_some() {
            return;
        }
        if event.id_source != IdSource::Assigned {
            let brought = Brought { digest: event.digest, document: Arc::clone(&event.document) };
            self.identities.push(Sought { identity: event.identity, brought: Some(brought) });
        }
        if let Some(lane) = &event.lane {
            let needs = match self.lanes.get_mut(lane) {
                Some(needs) => needs,
                None => self.lanes.entry(Arc::clone(lane)).or_default(),
            };
            if let Some(number) = event.seq {
                needs.numbers.push(number);
                needs.epoch = needs.epoch.max(event.epoch);
            }
        }
        self.nonces.extend(event.nonce);
        for counted in &event.counted {
            let rules = &contract.counters[counted.counter];
            let name: Arc<str> = Arc::from(rules.name.as_str());
            let period = rules.period.of(event.time.time().unwrap_or(now));
            self.periods.insert((Arc::clone(&name), period));
            self.counters.insert(CounterKey { name, key: Arc::clone(&counted.key), period });
        }
    }
}

impl LaneNeeds {
    /// The gaps that are needed of a lane as it stands.
    pub fn gaps(&self, lane: &Lane, contract: &Contract, baseline: u32) -> GapNeeds {
        if contract.sequence.source != Source::Producer || contract.mode == Mode::Off {
            return GapNeeds::default();
        }
        let renumbers = self.epoch > lane.epoch || lane.baseline != baseline;
        GapNeeds::of(lane, &self.numbers, renumbers, contract.sequence.gaps_open_max)
    }
}
