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
    /// Events whose ids are looked for.
    pub events: Vec<Arc<Vec<Event>>>,
    /// Other ids.
    pub identities: Vec<Identity>,
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
#[derive(Clone, Copy, Debug)]
pub struct Sought<'n> {
    /// What it is looked up by.
    pub identity: &'n Identity,
    /// The event that it is of. An original with the same digest has its document, and that need not be read.
    pub brought: Option<Brought<'n>>,
}

/// A document that somebody has at hand, and what was read in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Brought<'n> {
    /// Its SHA-256.
    pub digest: &'n Digest,
    /// Its bytes.
    pub document: &'n Arc<[u8]>,
    /// Its id.
    pub id: &'n Arc<str>,
    /// Its lane.
    pub lane: &'n Arc<str>,
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
    /// Adds what judging events can look at.
    pub fn add(&mut self, contract: &Contract, events: &Arc<Vec<Event>>, now: Time) {
        self.events.push(Arc::clone(events));
        events.iter().filter(|event| event.refusal.is_none()).for_each(|event| self.look(contract, event, now));
    }

    /// Every id that is looked for.
    pub fn sought(&self) -> impl Iterator<Item = Sought<'_>> {
        let looked_for = |event: &&Event| event.refusal.is_none() && event.id_source != IdSource::Assigned;
        let of_events = self.events.iter().flat_map(|events| events.iter()).filter(looked_for).map(|event| {
            let Event { digest, document, id, lane, identity, .. } = event;
            let brought =
                || Some(Brought { digest, document: document.as_ref()?, id: id.as_ref()?, lane: lane.as_ref()? });
            Sought { identity, brought: brought() }
        });
        of_events.chain(self.identities.iter().map(|identity| Sought { identity, brought: None }))
    }

    /// At how many ids it looks at most.
    pub fn sought_max(&self) -> usize {
        self.events.iter().map(|events| events.len()).sum::<usize>() + self.identities.len()
    }

    fn look(&mut self, contract: &Contract, event: &Event, now: Time) {
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
