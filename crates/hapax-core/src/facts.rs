//! What a turn knows of a stream: loaded before the first event is judged, moved forward by each that is accepted.
//!
//! The judge only reads it. [`Facts::record`] is the only way in, and what it wrote is handed to the store at the end as
//! [`Changes`]. A batch that must be all or nothing begins with [`Facts::begin`] and can be taken back whole.

mod needs;
mod originals;
mod record;
mod undo;

pub use needs::{Brought, LaneNeeds, Needs, Sought};

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock};

use crate::audit::Attempt;
use crate::chain::GENESIS;
use crate::contract::Version;
use crate::counter::{Adjustment, Counter, CounterKey};
use crate::entry::{Entry, EntryKind, SharedEntry};
use crate::event::{Digest, Identity, NonceKey};
use crate::lane::{GapChange, Gaps, Lane};
use crate::period::PeriodStart;
use crate::time::Time;
use originals::{Original, Originals};
use undo::Undo;

/// How names and keys are hashed within a turn: with a secret of the process, in a fifth of the time that SipHash takes.
/// Each event is looked up half a dozen times.
pub type Spread = foldhash::quality::RandomState;

/// Where a stream's ledger ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The last offset; 0 if there is none.
    pub offset: u64,
    /// The last hash.
    pub hash: Digest,
    /// When the last entry was received.
    pub at: Option<Time>,
    /// How many events there are.
    pub events: u64,
    /// How many attempts there were.
    pub attempts: u64,
}

impl Default for Head {
    fn default() -> Self {
        Self { offset: 0, hash: GENESIS, at: None, events: 0, attempts: 0 }
    }
}

/// Everything that judging the events of a turn can look at.
#[derive(Debug)]
pub struct Facts {
    /// The stream's name.
    pub stream: Arc<str>,
    /// The rules in force.
    pub version: Version,
    /// Where the ledger ends.
    pub head: Head,
    originals: Originals,
    lanes: Vec<LaneFacts>,
    /// Where a lane stands in the list: a name is hashed once per event, and the place is good for the rest.
    slots: HashMap<Arc<str>, usize, Spread>,
    /// The lanes that changed, in the order in which they first did.
    touched: Vec<usize>,
    nonces: HashMap<NonceKey, Time, Spread>,
    counters: HashMap<CounterKey, CounterFacts>,
    closed: HashSet<(Arc<str>, PeriodStart)>,
    counter_names: Vec<Arc<str>>,
    /// Entries of the request that is judged. They are [shared](Facts::share) when all of them are there.
    open: Vec<Entry>,
    changes: Changes,
    undo: Option<Undo>,
}

#[derive(Clone, Debug, Default)]
struct LaneFacts {
    name: Arc<str>,
    lane: Lane,
    gaps: Gaps,
    changed: bool,
}

#[derive(Clone, Debug, Default)]
struct CounterFacts {
    counter: Counter,
    changed: bool,
}

/// What a turn leads to: all of it is written, or nothing.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// New entries, in the order of their offsets.
    pub entries: Vec<SharedEntry>,
    /// What was not accepted.
    pub attempts: Vec<Arc<Attempt>>,
    /// Lanes as they are now.
    pub lanes: Vec<(Arc<str>, Lane)>,
    /// What became of gaps, in order.
    pub gaps: Vec<(Arc<str>, GapChange)>,
    /// Nonces that were used, and when.
    pub nonces: Vec<(NonceKey, Time)>,
    /// Counters as they are now.
    pub counters: Vec<(CounterKey, Counter)>,
    /// New adjustments.
    pub adjustments: Vec<(CounterKey, Adjustment)>,
    /// Periods that are closed for every key.
    pub closed: Vec<(Arc<str>, PeriodStart)>,
    /// Losses that people recorded.
    pub acknowledgements: Vec<Acknowledgement>,
}

impl Changes {
    /// Is there anything to write?
    pub fn is_any(&self) -> bool {
        !(self.entries.is_empty()
            && self.attempts.is_empty()
            && self.lanes.is_empty()
            && self.gaps.is_empty()
            && self.counters.is_empty()
            && self.closed.is_empty())
    }
}

/// A loss that a person recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// The lane.
    pub lane: Arc<str>,
    /// The first number.
    pub from: u64,
    /// The last number.
    pub to: u64,
    /// Why.
    pub reason: Arc<str>,
    /// When.
    pub at: Time,
}

static NEW_LANE: LazyLock<LaneFacts> = LazyLock::new(LaneFacts::default);

impl Facts {
    /// Facts of a stream of which nothing is loaded yet.
    pub fn new(stream: Arc<str>, version: Version, head: Head) -> Self {
        let counter_names = version.contract.counters.iter().map(|rules| Arc::from(rules.name.as_str())).collect();
        Self {
            stream,
            version,
            head,
            originals: Originals::default(),
            lanes: Vec::new(),
            slots: HashMap::default(),
            touched: Vec::new(),
            nonces: HashMap::default(),
            counters: HashMap::new(),
            closed: HashSet::new(),
            counter_names,
            open: Vec::new(),
            changes: Changes::default(),
            undo: None,
        }
    }

    /// Makes room for so many events, so that a turn does not grow its tables while it judges.
    pub fn reserve(&mut self, events: usize) {
        self.originals.reserve(events);
        self.changes.entries.reserve(events);
        // All that it holds is handed on with its room, so it is to have no more than that.
        self.open.reserve_exact(events);
    }

    /// The same for so many lanes.
    pub fn reserve_lanes(&mut self, lanes: usize) {
        self.lanes.reserve(lanes);
        self.slots.reserve(lanes);
        self.touched.reserve(lanes);
    }

    /// A store hands in an entry whose id was asked for.
    pub fn load_original(&mut self, entry: SharedEntry) {
        self.originals.load(entry);
    }

    /// A store hands in a lane and the rows that were asked for.
    pub fn load_lane(&mut self, name: Arc<str>, lane: Lane, gaps: Gaps) {
        let facts = LaneFacts { name: Arc::clone(&name), lane, gaps, changed: false };
        match self.slots.get(&name) {
            Some(slot) => self.lanes[*slot] = facts,
            None => {
                self.slots.insert(name, self.lanes.len());
                self.lanes.push(facts);
            }
        }
    }

    /// A store hands in a nonce that was used.
    pub fn load_nonce(&mut self, nonce: NonceKey, used_at: Time) {
        self.nonces.insert(nonce, used_at);
    }

    /// A store hands in a counter.
    pub fn load_counter(&mut self, key: CounterKey, counter: Counter) {
        self.counters.insert(key, CounterFacts { counter, changed: false });
    }

    /// A store hands in a period that is closed for every key.
    pub fn load_closed(&mut self, counter: Arc<str>, period: PeriodStart) {
        self.closed.insert((counter, period));
    }

    /// What was accepted under an id.
    pub fn original(&self, identity: &Identity) -> Option<&Entry> {
        Some(match self.originals.get(identity)? {
            Original::Loaded(entry) => entry,
            Original::Made(place) => match self.changes.entries.get(place) {
                Some(entry) => entry,
                None => &self.open[place - self.changes.entries.len()],
            },
        })
    }

    /// The same, for whoever keeps it. An event that repeats one of its own request keeps a copy of that, until its entries are shared.
    pub fn shared_original(&self, identity: &Identity) -> Option<SharedEntry> {
        Some(match self.originals.get(identity)? {
            Original::Loaded(entry) => entry.clone(),
            Original::Made(place) => match self.changes.entries.get(place) {
                Some(entry) => entry.clone(),
                None => self.open[place - self.changes.entries.len()].clone().into(),
            },
        })
    }

    /// Everything loaded that has this id, in whatever lanes.
    pub fn originals_with_id(&self, id: &str) -> Vec<SharedEntry> {
        let newest = |(place, entry): &(usize, &SharedEntry)| self.originals.made(&entry.identity) == Some(*place);
        let made = self.changes.entries.iter().enumerate().filter(newest).map(|(_, entry)| entry);
        let all = self.originals.loaded().chain(made);
        all.filter(|entry| entry.kind == EntryKind::Event && *entry.id == *id).cloned().collect()
    }

    /// A lane and its gaps; a lane that nobody knows is a new one.
    pub fn lane(&self, name: &str) -> (&Lane, &Gaps) {
        self.lane_at(self.slot(name))
    }

    /// Where a lane stands in these facts, if it is known.
    pub(crate) fn slot(&self, name: &str) -> Option<usize> {
        self.slots.get(name).copied()
    }

    /// The lane at a place, or a new one.
    pub(crate) fn lane_at(&self, slot: Option<usize>) -> (&Lane, &Gaps) {
        let facts = slot.map_or(&*NEW_LANE, |slot| &self.lanes[slot]);
        (&facts.lane, &facts.gaps)
    }

    /// When a nonce was last used.
    pub fn nonce(&self, nonce: &NonceKey) -> Option<Time> {
        self.nonces.get(nonce).copied()
    }

    /// A counter as it is.
    pub fn counter(&self, key: &CounterKey) -> Counter {
        self.counters.get(key).map(|facts| facts.counter.clone()).unwrap_or_default()
    }

    /// Is the period closed for every key?
    pub fn is_closed(&self, key: &CounterKey) -> bool {
        !self.closed.is_empty() && self.closed.contains(&(Arc::clone(&key.name), key.period))
    }

    /// The name of a counter of the contract.
    pub fn counter_name(&self, place: usize) -> Arc<str> {
        Arc::clone(&self.counter_names[place])
    }

    /// What the turn led to.
    pub fn into_changes(mut self) -> (Head, Changes) {
        self.share();
        let lane = |slot: &usize| (Arc::clone(&self.lanes[*slot].name), std::mem::take(&mut self.lanes[*slot].lane));
        self.changes.lanes = self.touched.iter().map(lane).collect();
        let counters = self.counters.into_iter().filter(|(_, facts)| facts.changed);
        self.changes.counters = counters.map(|(key, facts)| (key, facts.counter)).collect();
        // What is written must not depend on the order of a hash map.
        self.changes.counters.sort_by(|(one, _), (other, _)| one.cmp(other));
        (self.head, self.changes)
    }
}
