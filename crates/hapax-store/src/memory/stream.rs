//! One stream in memory. `apply` is the only way into it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use hapax_core::audit::Attempt;
use hapax_core::contract::Version;
use hapax_core::counter::{Adjustment, Counter, CounterKey};
use hapax_core::entry::{Entry, EntryKind};
use hapax_core::event::{Identity, NonceKey};
use hapax_core::facts::{Acknowledgement, Facts, Head};
use hapax_core::lane::{GapChange, GapNeeds};
use hapax_core::period::PeriodStart;
use hapax_core::time::Time;

use crate::seam::{LaneRecord, StreamKey, StreamNeeds, StreamWrite};

#[derive(Debug, Default)]
pub(super) struct Stream {
    pub(super) versions: Vec<(Version, Time)>,
    pub(super) head: Head,
    pub(super) entries: Vec<Arc<Entry>>,
    /// The newest entry of an identity: an id that was forgotten may be used again.
    pub(super) identities: HashMap<Identity, Arc<Entry>>,
    pub(super) attempts: BTreeMap<u64, Arc<Attempt>>,
    pub(super) lanes: BTreeMap<Arc<str>, LaneRecord>,
    /// Of all lanes.
    pub(super) gaps_open: u64,
    pub(super) nonces: HashMap<NonceKey, Time>,
    pub(super) counters: BTreeMap<CounterKey, Counter>,
    pub(super) adjustments: BTreeMap<CounterKey, Vec<Adjustment>>,
    pub(super) closed: BTreeSet<(Arc<str>, PeriodStart)>,
    pub(super) acknowledgements: Vec<Acknowledgement>,
}

impl Stream {
    pub(super) fn versions(&self) -> Vec<Version> {
        self.versions.iter().map(|(version, _)| version.clone()).collect()
    }

    /// What was asked for, and nothing else.
    pub(super) fn facts(&self, key: &StreamKey, wanted: &StreamNeeds) -> Option<Facts> {
        let (version, _) = self.versions.last()?;
        let mut facts = Facts::new(Arc::clone(&key.stream), version.clone(), self.head);
        for identity in &wanted.needs.identities {
            if let Some(entry) = self.identities.get(identity) {
                facts.load_original(Arc::clone(entry));
            }
        }
        for (name, needs) in &wanted.needs.lanes {
            if let Some(record) = self.lanes.get(name) {
                let gaps = needs.gaps(&record.lane, &version.contract, version.baseline);
                let rows = record.gaps.select(record.lane.generation, &gaps);
                facts.load_lane(Arc::clone(name), record.lane.clone(), rows);
            }
        }
        for name in &wanted.whole_lanes {
            if let Some(record) = self.lanes.get(name) {
                let rows = record.gaps.select(record.lane.generation, &GapNeeds { all: true, ..GapNeeds::default() });
                facts.load_lane(Arc::clone(name), record.lane.clone(), rows);
            }
        }
        for nonce in &wanted.needs.nonces {
            if let Some(used_at) = self.nonces.get(nonce) {
                facts.load_nonce(*nonce, *used_at);
            }
        }
        for key in &wanted.needs.counters {
            if let Some(counter) = self.counters.get(key) {
                facts.load_counter(key.clone(), counter.clone());
            }
        }
        for (name, period) in self.closed.intersection(&wanted.needs.periods) {
            facts.load_closed(Arc::clone(name), *period);
        }
        Some(facts)
    }

    pub(super) fn apply(&mut self, write: StreamWrite) {
        self.head = write.after;
        self.versions.extend(write.version);
        let changes = write.changes;
        for entry in changes.entries {
            self.identities.insert(entry.identity, Arc::clone(&entry));
            self.entries.push(entry);
        }
        for attempt in changes.attempts {
            self.attempts.insert(attempt.number, attempt);
        }
        for (name, lane) in changes.lanes {
            let record = self.lanes.entry(name).or_default();
            // Together they are what the lanes hold, so this never goes below nothing.
            self.gaps_open = self.gaps_open + lane.counts.open - record.lane.counts.open;
            record.lane = lane;
        }
        for (name, change) in changes.gaps {
            let record = self.lanes.entry(name).or_default();
            record.gaps.apply(&[change]);
            if let GapChange::Filled(gap, at) = change {
                record.filled.push((gap, at));
            }
        }
        self.nonces.extend(changes.nonces);
        self.counters.extend(changes.counters);
        for (key, adjustment) in changes.adjustments {
            self.adjustments.entry(key).or_default().push(adjustment);
        }
        self.closed.extend(changes.closed);
        self.acknowledgements.extend(changes.acknowledgements);
    }

    /// Events alone: corrections and closings have ids of their own kind.
    pub(super) fn events_with_id(&self, id: &str) -> Vec<Arc<Entry>> {
        let mut found: Vec<_> = self
            .identities
            .values()
            .filter(|entry| entry.kind == EntryKind::Event && *entry.id == *id)
            .cloned()
            .collect();
        found.sort_by_key(|entry| entry.offset);
        found
    }
}
