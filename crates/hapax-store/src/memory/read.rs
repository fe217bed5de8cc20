//! Reading what is in memory.

use std::sync::Arc;

use hapax_core::claim::{Handler, HandlerState};
use hapax_core::contract::Version;
use hapax_core::counter::CounterKey;
use hapax_core::entry::{Entry, EntryKind};
use hapax_core::event::Identity;
use hapax_core::facts::Head;
use hapax_core::view::AttemptView;

use super::Memory;
use super::stream::Stream;
use crate::seam::{AttemptFilter, CounterRecord, HandlerKey, LaneRecord, Read, StoreError, StreamKey};

impl Read for Memory {
    fn versions(&self, stream: &StreamKey) -> Result<Vec<Version>, StoreError> {
        Ok(self.streams.get(stream).map(Stream::versions).unwrap_or_default())
    }

    fn head(&self, stream: &StreamKey) -> Result<Head, StoreError> {
        Ok(self.streams.get(stream).map(|stream| stream.head).unwrap_or_default())
    }

    fn salt(&self, tenant: &str) -> Result<Option<[u8; 32]>, StoreError> {
        Ok(self.tenants.get(tenant).copied())
    }

    fn entries(&self, stream: &StreamKey, after: u64, limit: usize) -> Result<Vec<Arc<Entry>>, StoreError> {
        let entries = self.streams.get(stream).map(|stream| stream.entries.as_slice()).unwrap_or_default();
        let start = usize::try_from(after).unwrap_or(usize::MAX);
        Ok(entries.iter().skip(start).take(limit).cloned().collect())
    }

    fn entry(&self, stream: &StreamKey, identity: &Identity) -> Result<Option<Arc<Entry>>, StoreError> {
        Ok(self.streams.get(stream).and_then(|stream| stream.identities.get(identity)).cloned())
    }

    fn entries_with_id(&self, stream: &StreamKey, id: &str) -> Result<Vec<Arc<Entry>>, StoreError> {
        Ok(self.streams.get(stream).map(|stream| stream.events_with_id(id)).unwrap_or_default())
    }

    fn lane(&self, stream: &StreamKey, lane: &str) -> Result<Option<LaneRecord>, StoreError> {
        Ok(self.streams.get(stream).and_then(|stream| stream.lanes.get(lane)).cloned())
    }

    fn counter(&self, stream: &StreamKey, key: &CounterKey) -> Result<CounterRecord, StoreError> {
        Ok(self.streams.get(stream).map(|stream| stream.counter(key)).unwrap_or_default())
    }

    fn counters(&self, stream: &StreamKey) -> Result<Vec<(CounterKey, CounterRecord)>, StoreError> {
        let all = |stream: &Stream| stream.counters.keys().map(|key| (key.clone(), stream.counter(key))).collect();
        Ok(self.streams.get(stream).map(all).unwrap_or_default())
    }

    fn attempts(&self, stream: &StreamKey, filter: &AttemptFilter) -> Result<Vec<AttemptView>, StoreError> {
        let Some(stream) = self.streams.get(stream) else { return Ok(Vec::new()) };
        let events = stream.entries.iter().filter(|entry| entry.kind == EntryKind::Event);
        let accepted = events.map(|entry| AttemptView::Accepted(Arc::clone(entry)));
        let others = stream.attempts.values().map(|attempt| AttemptView::Other(Arc::clone(attempt)));
        let mut found: Vec<AttemptView> = accepted.chain(others).filter(|attempt| filter.takes(attempt)).collect();
        found.sort_by_key(AttemptView::number);
        Ok(found)
    }

    fn handler(&self, handler: &HandlerKey) -> Result<Option<(Handler, HandlerState)>, StoreError> {
        Ok(self.handlers.get(handler).map(|handling| (handling.handler.clone(), handling.state.clone())))
    }
}

impl Stream {
    fn counter(&self, key: &CounterKey) -> CounterRecord {
        let counter = self.counters.get(key).cloned().unwrap_or_default();
        let closed = counter.closed || self.closed.contains(&(Arc::clone(&key.name), key.period));
        let adjustments = self.adjustments.get(key).cloned().unwrap_or_default();
        CounterRecord { counter, adjustments, closed }
    }
}
