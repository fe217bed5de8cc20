//! One stream's part of the working state. `apply` is the only way into it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hapax_core::contract::Version;
use hapax_core::counter::{Adjustment, Counter, CounterKey};
use hapax_core::event::NonceKey;
use hapax_core::facts::{Facts, Head};
use hapax_core::lane::{Gap, GapChange, GapKey, GapNeeds, Gaps, Lane};
use hapax_core::period::PeriodStart;
use hapax_core::time::Time;

use super::Fading;
use crate::seam::{CounterRecord, LaneRecord, StreamKey, StreamNeeds, StreamRecord, StreamWrite};

#[derive(Debug)]
pub(crate) struct Stream {
    /// What it is called in an index.
    pub(crate) number: u32,
    /// Oldest first.
    pub(crate) versions: Vec<(Version, Time)>,
    pub(crate) head: Head,
    pub(crate) lanes: BTreeMap<Arc<str>, Track>,
    /// Of all lanes.
    pub(super) gaps_open: u64,
    /// With when they were used.
    pub(crate) nonces: Fading<NonceKey, ()>,
    pub(crate) counters: BTreeMap<CounterKey, Counter>,
    /// Of each counter, by their offsets.
    pub(crate) adjustments: BTreeMap<CounterKey, Vec<Adjustment>>,
    pub(crate) closed: BTreeSet<(Arc<str>, PeriodStart)>,
}

/// A lane with its rows.
#[derive(Debug, Default)]
pub(crate) struct Track {
    pub(crate) lane: Lane,
    pub(crate) gaps: Gaps,
    /// Numbers that came after all. A number is missing once in a numbering, so its key is its own.
    pub(crate) filled: BTreeMap<GapKey, (Gap, Time)>,
}

/// A lane, which is new if nobody knows it.
fn track<'t>(lanes: &'t mut BTreeMap<Arc<str>, Track>, name: &Arc<str>) -> &'t mut Track {
    if !lanes.contains_key(name) {
        lanes.insert(Arc::clone(name), Track::default());
    }
    lanes.get_mut(name).expect("it was put there")
}

impl Track {
    pub(super) fn record(&self) -> LaneRecord {
        LaneRecord { lane: self.lane.clone(), gaps: self.gaps.clone(), filled: self.filled.values().copied().collect() }
    }
}

impl Stream {
    pub(super) fn new(number: u32) -> Self {
        Self {
            number,
            versions: Vec::new(),
            head: Head::default(),
            lanes: BTreeMap::new(),
            gaps_open: 0,
            nonces: Fading::default(),
            counters: BTreeMap::new(),
            adjustments: BTreeMap::new(),
            closed: BTreeSet::new(),
        }
    }

    pub(super) fn versions(&self) -> Vec<Version> {
        self.versions.iter().map(|(version, _)| version.clone()).collect()
    }

    pub(super) fn version(&self) -> Option<Version> {
        self.versions.last().map(|(version, _)| version.clone())
    }

    /// What was asked for, but for the entries of known ids.
    pub(super) fn facts(&self, key: &StreamKey, wanted: &StreamNeeds) -> Option<Facts> {
        let (version, _) = self.versions.last()?;
        let mut facts = Facts::new(Arc::clone(&key.stream), version.clone(), self.head);
        facts.reserve_lanes(wanted.needs.lanes.len());
        for (name, needs) in &wanted.needs.lanes {
            if let Some(track) = self.lanes.get(name) {
                let gaps = needs.gaps(&track.lane, &version.contract, version.baseline);
                let rows = track.gaps.select(track.lane.generation, &gaps);
                facts.load_lane(Arc::clone(name), track.lane.clone(), rows);
            }
        }
        for name in &wanted.whole_lanes {
            if let Some(track) = self.lanes.get(name) {
                let rows = track.gaps.select(track.lane.generation, &GapNeeds { all: true, ..GapNeeds::default() });
                facts.load_lane(Arc::clone(name), track.lane.clone(), rows);
            }
        }
        for nonce in &wanted.needs.nonces {
            if let Some(used_at) = self.nonces.at(nonce) {
                facts.load_nonce(*nonce, used_at);
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

    /// Losses that people recorded are in the log, and as rows of their lanes; nobody asks for more than that.
    pub(super) fn apply(&mut self, write: &StreamWrite) {
        self.head = write.after;
        if let Some((version, at)) = &write.version
            && let Err(place) = self.versions.binary_search_by_key(&version.number, |(known, _)| known.number)
        {
            self.versions.insert(place, (version.clone(), *at));
        }
        let changes = &write.changes;
        for (name, lane) in &changes.lanes {
            let track = track(&mut self.lanes, name);
            // Together they are what the lanes hold, so this never goes below nothing.
            self.gaps_open = self.gaps_open + lane.counts.open - track.lane.counts.open;
            track.lane.clone_from(lane);
        }
        for (name, change) in &changes.gaps {
            let track = track(&mut self.lanes, name);
            track.gaps.apply(std::slice::from_ref(change));
            if let GapChange::Filled(gap, at) = change {
                track.filled.insert(gap.key(), (*gap, *at));
            }
        }
        for (nonce, at) in &changes.nonces {
            self.nonces.insert(*nonce, *at, ());
        }
        for (key, counter) in &changes.counters {
            match self.counters.get_mut(key) {
                Some(known) => known.clone_from(counter),
                None => _ = self.counters.insert(key.clone(), counter.clone()),
            }
        }
        for (key, adjustment) in &changes.adjustments {
            let list = self.adjustments.entry(key.clone()).or_default();
            if let Err(place) = list.binary_search_by_key(&adjustment.offset, |known| known.offset) {
                list.insert(place, adjustment.clone());
            }
        }
        self.closed.extend(changes.closed.iter().cloned());
    }

    pub(super) fn counter(&self, key: &CounterKey) -> CounterRecord {
        let counter = self.counters.get(key).cloned().unwrap_or_default();
        let closed = counter.closed || self.closed.contains(&(Arc::clone(&key.name), key.period));
        let adjustments = self.adjustments.get(key).cloned().unwrap_or_default();
        CounterRecord { counter, adjustments, closed }
    }

    pub(super) fn record(&self, key: &StreamKey) -> StreamRecord {
        StreamRecord {
            name: Arc::clone(&key.stream),
            versions: self.versions.clone(),
            head: self.head,
            lanes: self.lanes.len() as u64,
        }
    }
}
