//! Reading the working state, in whatever store: one answer to every question but those about the ledger itself.
//!
//! A store says where its state is and how it finds entries and attempts ([`Keeper`]); that makes it readable.

use std::ops::Bound;
use std::sync::Arc;

use hapax_core::claim::{Claim, Handler, HandlerState};
use hapax_core::contract::Version;
use hapax_core::counter::{Counter, CounterKey};
use hapax_core::entry::SharedEntry;
use hapax_core::event::{Digest, Identity};
use hapax_core::facts::Head;
use hapax_core::period::Period;
use hapax_core::time::Time;
use hapax_core::view::AttemptView;

use super::Track;
use super::{Handling, State, Stream};
use crate::seam::{
    AttemptFilter, CounterFilter, CounterRecord, Figures, HandlerFigures, HandlerKey, Key, LaneRecord, Named, Page,
    Read, SCAN_MAX, StoreError, StreamFigures, StreamKey, StreamRecord,
};

/// A store whose working state is in memory, wherever its ledger is.
pub(crate) trait Keeper {
    /// Looks at the state, which stands still meanwhile. What was seen is durable.
    fn look<T>(&self, at: impl FnOnce(&State) -> T) -> Result<T, StoreError>;

    /// The same for what changes seldom: tenants, contracts, handlers as declared, keys. Nobody waits for a commit that
    /// changes none of them.
    fn look_up<T>(&self, at: impl FnOnce(&State) -> T) -> Result<T, StoreError> {
        self.look(at)
    }

    /// The entries after an offset, at most so many.
    fn find_entries(&self, stream: &StreamKey, after: u64, limit: usize) -> Result<Vec<SharedEntry>, StoreError>;

    /// The newest entry of an identity.
    fn find_entry(&self, stream: &StreamKey, identity: &Identity) -> Result<Option<SharedEntry>, StoreError>;

    /// The newest entry of each identity that has this id, in the order of their offsets.
    fn find_entries_with_id(&self, stream: &StreamKey, id: &str) -> Result<Vec<SharedEntry>, StoreError>;

    /// As [`Read::attempts`] says.
    fn find_attempts(
        &self,
        stream: &StreamKey,
        filter: &AttemptFilter,
        after: u64,
        limit: usize,
    ) -> Result<Page<AttemptView, u64>, StoreError>;

    /// The figures that are not the state's: sizes, and how many attempts there are.
    fn sizes(&self) -> Result<Figures, StoreError>;
}

impl<K: Keeper> Read for K {
    fn tenants(&self) -> Result<Vec<Arc<str>>, StoreError> {
        self.look_up(|state| state.tenants.keys().cloned().collect())
    }

    fn salt(&self, tenant: &str) -> Result<Option<[u8; 32]>, StoreError> {
        self.look_up(|state| state.tenants.get(tenant).copied())
    }

    fn streams(&self, tenant: &str, after: &str, limit: usize) -> Result<Page<StreamRecord, Arc<str>>, StoreError> {
        let from = StreamKey { tenant: Arc::from(tenant), stream: Arc::from(after) };
        self.look(|state| {
            let rest = state.streams.range((Bound::Excluded(from), Bound::Unbounded));
            let mine = rest.take_while(|(key, _)| *key.tenant == *tenant);
            page(mine, limit, |(key, _)| Arc::clone(&key.stream), |_| true, |(key, stream)| stream.record(key))
        })
    }

    fn stream(&self, stream: &StreamKey) -> Result<Option<StreamRecord>, StoreError> {
        self.look(|state| state.streams.get(stream).map(|found| found.record(stream)))
    }

    fn versions(&self, stream: &StreamKey) -> Result<Vec<Version>, StoreError> {
        self.look_up(|state| state.streams.get(stream).map(Stream::versions).unwrap_or_default())
    }

    fn version(&self, stream: &StreamKey) -> Result<Option<Version>, StoreError> {
        self.look_up(|state| state.streams.get(stream).and_then(Stream::version))
    }

    fn head(&self, stream: &StreamKey) -> Result<Head, StoreError> {
        self.look(|state| state.streams.get(stream).map(|stream| stream.head).unwrap_or_default())
    }

    fn entries(&self, stream: &StreamKey, after: u64, limit: usize) -> Result<Vec<SharedEntry>, StoreError> {
        self.find_entries(stream, after, limit)
    }

    fn entry(&self, stream: &StreamKey, identity: &Identity) -> Result<Option<SharedEntry>, StoreError> {
        self.find_entry(stream, identity)
    }

    fn entries_with_id(&self, stream: &StreamKey, id: &str) -> Result<Vec<SharedEntry>, StoreError> {
        self.find_entries_with_id(stream, id)
    }

    fn lane(&self, stream: &StreamKey, lane: &str) -> Result<Option<LaneRecord>, StoreError> {
        self.look(|state| state.streams.get(stream)?.lanes.get(lane).map(Track::record))
    }

    fn lanes(
        &self,
        stream: &StreamKey,
        open_gaps: bool,
        after: &str,
        limit: usize,
    ) -> Result<Named<LaneRecord>, StoreError> {
        let takes = |(_, track): &(&Arc<str>, &Track)| !open_gaps || track.lane.counts.open > 0;
        let show = |(name, track): (&Arc<str>, &Track)| (Arc::clone(name), track.record());
        self.look(|state| {
            let Some(stream) = state.streams.get(stream) else { return Page::default() };
            let rest = stream.lanes.range::<str, _>((Bound::Excluded(after), Bound::Unbounded));
            page(rest, limit, |(name, _)| Arc::clone(name), takes, show)
        })
    }

    fn counter(&self, stream: &StreamKey, key: &CounterKey) -> Result<CounterRecord, StoreError> {
        self.look(|state| state.streams.get(stream).map(|stream| stream.counter(key)).unwrap_or_default())
    }

    fn counters(
        &self,
        stream: &StreamKey,
        filter: &CounterFilter,
        after: Option<&CounterKey>,
        limit: usize,
    ) -> Result<Page<(CounterKey, CounterRecord), CounterKey>, StoreError> {
        // Keys are JSON arrays, so nothing of this name is before the empty text.
        let first = filter.name.as_ref().map(|name| CounterKey {
            name: Arc::clone(name),
            key: Arc::from(""),
            period: Period::None.of(Time::from_nanos(0)),
        });
        let from = after.map(Bound::Excluded).or(first.as_ref().map(Bound::Included)).unwrap_or(Bound::Unbounded);
        let takes = |(key, _): &(&CounterKey, &Counter)| filter.takes(key);
        self.look(|state| {
            let Some(stream) = state.streams.get(stream) else { return Page::default() };
            let rest = stream.counters.range::<CounterKey, _>((from, Bound::Unbounded));
            let rest = rest.take_while(|(key, _)| filter.name.as_ref().is_none_or(|name| *name == key.name));
            page(rest, limit, |(key, _)| (*key).clone(), takes, |(key, _)| (key.clone(), stream.counter(key)))
        })
    }

    fn attempts(
        &self,
        stream: &StreamKey,
        filter: &AttemptFilter,
        after: u64,
        limit: usize,
    ) -> Result<Page<AttemptView, u64>, StoreError> {
        self.find_attempts(stream, filter, after, limit)
    }

    fn handler(&self, handler: &HandlerKey) -> Result<Option<(Handler, HandlerState)>, StoreError> {
        self.look(|state| {
            state.handlers.get(handler).map(|handling| (handling.handler.clone(), handling.state.clone()))
        })
    }

    fn handlers(&self, tenant: &str, after: &str, limit: usize) -> Result<Named<(Handler, HandlerState)>, StoreError> {
        let from = HandlerKey { tenant: Arc::from(tenant), handler: Arc::from(after) };
        let name = |key: &HandlerKey| Arc::clone(&key.handler);
        let show = |key: &HandlerKey, it: &Handling| (name(key), (it.handler.clone(), it.state.clone()));
        self.look(|state| {
            let rest = state.handlers.range((Bound::Excluded(from), Bound::Unbounded));
            let mine = rest.take_while(|(key, _)| *key.tenant == *tenant);
            page(mine, limit, |(key, _)| name(key), |_| true, |(key, handling)| show(key, handling))
        })
    }

    fn claim(&self, handler: &HandlerKey, identity: &Identity) -> Result<Option<Claim>, StoreError> {
        self.look(|state| state.handlers.get(handler).and_then(|handling| handling.claims.get(identity)).cloned())
    }

    fn dead(
        &self,
        handler: &HandlerKey,
        after: Option<&Identity>,
        limit: usize,
    ) -> Result<Page<Claim, Identity>, StoreError> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.look(|state| {
            let Some(handling) = state.handlers.get(handler) else { return Page::default() };
            let rest = handling.dead.range::<Identity, _>((from, Bound::Unbounded));
            let letters = rest.filter_map(|identity| handling.claims.get(identity).map(|claim| (identity, claim)));
            page(letters, limit, |(identity, _)| **identity, |_| true, |(_, claim)| claim.clone())
        })
    }

    fn key(&self, hash: &Digest) -> Result<Option<Key>, StoreError> {
        self.look_up(|state| state.keys.get(hash).cloned())
    }

    fn keys(&self, tenant: &str) -> Result<Vec<Key>, StoreError> {
        let mine = |state: &State| state.keys.values().filter(|key| *key.tenant == *tenant).cloned().collect();
        let mut keys: Vec<Key> = self.look_up(mine)?;
        keys.sort_by(|one, other| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)));
        Ok(keys)
    }

    fn needs_keys(&self) -> Result<bool, StoreError> {
        // Revoked ones count: a server that had keys never opens by itself.
        self.look_up(|state| !state.keys.is_empty())
    }

    fn figures(&self) -> Result<Figures, StoreError> {
        let (streams, handlers) = self.look(State::figures)?;
        Ok(Figures { streams, handlers, ..self.sizes()? })
    }
}

impl State {
    fn figures(&self) -> (Vec<StreamFigures>, Vec<(HandlerKey, HandlerFigures)>) {
        let streams = self.streams.iter().map(|(key, stream)| StreamFigures {
            key: key.clone(),
            head: stream.head,
            lanes: stream.lanes.len() as u64,
            gaps_open: stream.gaps_open,
        });
        let handlers = self.handlers.iter().map(|(key, handling)| (key.clone(), self.handler_figures(key, handling)));
        (streams.collect(), handlers.collect())
    }

    fn handler_figures(&self, key: &HandlerKey, handling: &Handling) -> HandlerFigures {
        let stream = handling
            .handler
            .stream
            .as_ref()
            .map(|name| StreamKey { tenant: Arc::clone(&key.tenant), stream: Arc::from(name.as_str()) });
        let events = stream.and_then(|key| self.streams.get(&key)).map_or(0, |stream| stream.head.events);
        HandlerFigures { lag: handling.state.lag(events), dead: handling.state.dead, held: handling.held }
    }
}

/// Some of a list whose filter has no index.
fn page<I, T, N>(
    all: impl Iterator<Item = I>,
    limit: usize,
    place: impl Fn(&I) -> N,
    takes: impl Fn(&I) -> bool,
    show: impl Fn(I) -> T,
) -> Page<T, N> {
    scan(all, limit, SCAN_MAX, place, takes, show)
}

/// Takes what fits until the page is full or too much was looked at. `next` is the last that was looked at.
pub(crate) fn scan<I, T, N>(
    all: impl Iterator<Item = I>,
    limit: usize,
    scan_max: usize,
    place: impl Fn(&I) -> N,
    takes: impl Fn(&I) -> bool,
    show: impl Fn(I) -> T,
) -> Page<T, N> {
    let mut found = Page::default();
    let mut last = None;
    for (looked_at, item) in all.enumerate() {
        if found.items.len() >= limit || looked_at >= scan_max.max(limit) {
            found.next = last;
            return found;
        }
        last = Some(place(&item));
        if takes(&item) {
            found.items.push(show(item));
        }
    }
    found
}
