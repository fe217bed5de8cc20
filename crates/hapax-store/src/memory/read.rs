//! Reading what is in memory.

use std::ops::Bound;
use std::sync::Arc;

use hapax_core::claim::{Claim, Handler, HandlerState};
use hapax_core::contract::Version;
use hapax_core::counter::CounterKey;
use hapax_core::entry::{Entry, EntryKind};
use hapax_core::event::{Digest, Identity};
use hapax_core::facts::Head;
use hapax_core::view::AttemptView;

use super::stream::Stream;
use super::{Handling, Memory, State};
use crate::seam::{
    AttemptFilter, CounterFilter, CounterRecord, Figures, HandlerFigures, HandlerKey, Key, LaneRecord, Named, Page,
    Read, SCAN_MAX, StoreError, StreamFigures, StreamKey, StreamRecord,
};

impl Read for Memory {
    fn tenants(&self) -> Result<Vec<Arc<str>>, StoreError> {
        let mut tenants: Vec<_> = self.state().tenants.keys().cloned().collect();
        tenants.sort();
        Ok(tenants)
    }

    fn salt(&self, tenant: &str) -> Result<Option<[u8; 32]>, StoreError> {
        Ok(self.state().tenants.get(tenant).copied())
    }

    fn streams(&self, tenant: &str, after: &str, limit: usize) -> Result<Page<StreamRecord, Arc<str>>, StoreError> {
        let state = self.state();
        let from = StreamKey { tenant: Arc::from(tenant), stream: Arc::from(after) };
        let rest = state.streams.range((Bound::Excluded(from), Bound::Unbounded));
        let mine = rest.take_while(|(key, _)| *key.tenant == *tenant);
        Ok(page(mine, limit, |(key, _)| Arc::clone(&key.stream), |_| true, |(key, stream)| stream.record(key)))
    }

    fn stream(&self, stream: &StreamKey) -> Result<Option<StreamRecord>, StoreError> {
        Ok(self.state().streams.get(stream).map(|found| found.record(stream)))
    }

    fn versions(&self, stream: &StreamKey) -> Result<Vec<Version>, StoreError> {
        Ok(self.state().streams.get(stream).map(Stream::versions).unwrap_or_default())
    }

    fn head(&self, stream: &StreamKey) -> Result<Head, StoreError> {
        Ok(self.state().streams.get(stream).map(|stream| stream.head).unwrap_or_default())
    }

    fn entries(&self, stream: &StreamKey, after: u64, limit: usize) -> Result<Vec<Arc<Entry>>, StoreError> {
        let state = self.state();
        let entries = state.streams.get(stream).map(|stream| stream.entries.as_slice()).unwrap_or_default();
        let start = usize::try_from(after).unwrap_or(usize::MAX);
        Ok(entries.iter().skip(start).take(limit).cloned().collect())
    }

    fn entry(&self, stream: &StreamKey, identity: &Identity) -> Result<Option<Arc<Entry>>, StoreError> {
        Ok(self.state().streams.get(stream).and_then(|stream| stream.identities.get(identity)).cloned())
    }

    fn entries_with_id(&self, stream: &StreamKey, id: &str) -> Result<Vec<Arc<Entry>>, StoreError> {
        Ok(self.state().streams.get(stream).map(|stream| stream.events_with_id(id)).unwrap_or_default())
    }

    fn lane(&self, stream: &StreamKey, lane: &str) -> Result<Option<LaneRecord>, StoreError> {
        Ok(self.state().streams.get(stream).and_then(|stream| stream.lanes.get(lane)).cloned())
    }

    fn lanes(
        &self,
        stream: &StreamKey,
        open_gaps: bool,
        after: &str,
        limit: usize,
    ) -> Result<Named<LaneRecord>, StoreError> {
        let state = self.state();
        let Some(stream) = state.streams.get(stream) else { return Ok(Page::default()) };
        let rest = stream.lanes.range::<str, _>((Bound::Excluded(after), Bound::Unbounded));
        let takes = |(_, record): &(&Arc<str>, &LaneRecord)| !open_gaps || record.lane.counts.open > 0;
        Ok(page(rest, limit, |(name, _)| Arc::clone(name), takes, |(name, record)| (Arc::clone(name), record.clone())))
    }

    fn counter(&self, stream: &StreamKey, key: &CounterKey) -> Result<CounterRecord, StoreError> {
        Ok(self.state().streams.get(stream).map(|stream| stream.counter(key)).unwrap_or_default())
    }

    fn counters(
        &self,
        stream: &StreamKey,
        filter: &CounterFilter,
        after: Option<&CounterKey>,
        limit: usize,
    ) -> Result<Page<(CounterKey, CounterRecord), CounterKey>, StoreError> {
        let state = self.state();
        let Some(stream) = state.streams.get(stream) else { return Ok(Page::default()) };
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let rest = stream.counters.range::<CounterKey, _>((from, Bound::Unbounded));
        let takes = |(key, _): &(&CounterKey, _)| filter.takes(key);
        Ok(page(rest, limit, |(key, _)| (*key).clone(), takes, |(key, _)| (key.clone(), stream.counter(key))))
    }

    fn attempts(
        &self,
        stream: &StreamKey,
        filter: &AttemptFilter,
        after: u64,
        limit: usize,
    ) -> Result<Page<AttemptView, u64>, StoreError> {
        let state = self.state();
        let Some(stream) = state.streams.get(stream) else { return Ok(Page::default()) };
        let start = stream.entries.partition_point(|entry| entry.attempt <= after);
        let mut entries = stream.entries[start..].iter().filter(|entry| entry.kind == EntryKind::Event).peekable();
        let mut others = stream.attempts.range((Bound::Excluded(after), Bound::Unbounded)).peekable();
        // Both are in the order of their numbers.
        let merged = std::iter::from_fn(|| match (entries.peek(), others.peek()) {
            (Some(entry), Some((number, _))) if entry.attempt < **number => {
                entries.next().map(|entry| AttemptView::Accepted(Arc::clone(entry)))
            }
            (Some(entry), None) => {
                let entry = Arc::clone(entry);
                entries.next().map(|_| AttemptView::Accepted(entry))
            }
            (_, _) => others.next().map(|(_, attempt)| AttemptView::Other(Arc::clone(attempt))),
        });
        let scan_max = if filter.id.is_some() { usize::MAX } else { SCAN_MAX };
        Ok(scan(merged, limit, scan_max, AttemptView::number, |attempt| filter.takes(attempt), |attempt| attempt))
    }

    fn handler(&self, handler: &HandlerKey) -> Result<Option<(Handler, HandlerState)>, StoreError> {
        Ok(self.state().handlers.get(handler).map(|handling| (handling.handler.clone(), handling.state.clone())))
    }

    fn handlers(&self, tenant: &str, after: &str, limit: usize) -> Result<Named<(Handler, HandlerState)>, StoreError> {
        let state = self.state();
        let from = HandlerKey { tenant: Arc::from(tenant), handler: Arc::from(after) };
        let rest = state.handlers.range((Bound::Excluded(from), Bound::Unbounded));
        let mine = rest.take_while(|(key, _)| *key.tenant == *tenant);
        let name = |key: &HandlerKey| Arc::clone(&key.handler);
        let show = |key: &HandlerKey, it: &Handling| (name(key), (it.handler.clone(), it.state.clone()));
        Ok(page(mine, limit, |(key, _)| name(key), |_| true, |(key, handling)| show(key, handling)))
    }

    fn claim(&self, handler: &HandlerKey, identity: &Identity) -> Result<Option<Claim>, StoreError> {
        Ok(self.state().handlers.get(handler).and_then(|handling| handling.claims.get(identity)).cloned())
    }

    fn dead(
        &self,
        handler: &HandlerKey,
        after: Option<&Identity>,
        limit: usize,
    ) -> Result<Page<Claim, Identity>, StoreError> {
        let state = self.state();
        let Some(handling) = state.handlers.get(handler) else { return Ok(Page::default()) };
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let rest = handling.dead.range::<Identity, _>((from, Bound::Unbounded));
        let letters = rest.filter_map(|identity| handling.claims.get(identity).map(|claim| (identity, claim)));
        Ok(page(letters, limit, |(identity, _)| **identity, |_| true, |(_, claim)| claim.clone()))
    }

    fn key(&self, hash: &Digest) -> Result<Option<Key>, StoreError> {
        Ok(self.state().keys.get(hash).cloned())
    }

    fn keys(&self, tenant: &str) -> Result<Vec<Key>, StoreError> {
        let state = self.state();
        let mut keys: Vec<_> = state.keys.values().filter(|key| *key.tenant == *tenant).cloned().collect();
        keys.sort_by(|one, other| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)));
        Ok(keys)
    }

    fn needs_keys(&self) -> Result<bool, StoreError> {
        Ok(self.state().keys.values().any(|key| key.revoked_at.is_none()))
    }

    fn figures(&self) -> Result<Figures, StoreError> {
        Ok(self.state().figures())
    }
}

impl State {
    fn figures(&self) -> Figures {
        let streams = self.streams.iter().map(|(key, stream)| StreamFigures {
            key: key.clone(),
            head: stream.head,
            lanes: stream.lanes.len() as u64,
            gaps_open: stream.gaps_open,
        });
        let handlers = self.handlers.iter().map(|(key, handling)| (key.clone(), self.handler_figures(key, handling)));
        Figures {
            attempts: self.streams.values().map(|stream| stream.attempts.len() as u64).sum(),
            streams: streams.collect(),
            handlers: handlers.collect(),
            ..Figures::default()
        }
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

impl Stream {
    fn counter(&self, key: &CounterKey) -> CounterRecord {
        let counter = self.counters.get(key).cloned().unwrap_or_default();
        let closed = counter.closed || self.closed.contains(&(Arc::clone(&key.name), key.period));
        let adjustments = self.adjustments.get(key).cloned().unwrap_or_default();
        CounterRecord { counter, adjustments, closed }
    }

    fn record(&self, key: &StreamKey) -> StreamRecord {
        StreamRecord {
            name: Arc::clone(&key.stream),
            versions: self.versions.clone(),
            head: self.head,
            lanes: self.lanes.len() as u64,
        }
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
fn scan<I, T, N>(
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
