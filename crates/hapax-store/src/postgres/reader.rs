//! Reading what was committed: every question is a statement over the tables, on any connection that is free.
//!
//! What holds: what belongs together (a lane and its gaps, a counter and its adjustments) is read by one statement, so it is
//! as of one commit. A page that takes several statements goes no further than the head that was read first. No statement
//! reads more than [`walk::CHUNK`] rows, and every one of them follows an index.
//!
//! Salts, contracts and keys are remembered ([`super::known`]). Not here: locks. Nobody waits for a reader.

mod counters;
mod figures;
mod lanes;
mod ledger;
mod registry;
mod streams;
mod walk;

use std::sync::Arc;

use hapax_core::claim::{Claim, Handler, HandlerState};
use hapax_core::contract::Version;
use hapax_core::counter::CounterKey;
use hapax_core::entry::SharedEntry;
use hapax_core::event::{Digest, Identity};
use hapax_core::facts::Head;
use hapax_core::view::AttemptView;

use super::known::Shared;
use crate::seam::{
    AttemptFilter, CounterFilter, CounterRecord, Figures, HandlerKey, Key, LaneRecord, Named, Page, Read, StoreError,
    StreamKey, StreamRecord, Wake,
};

/// Reads a ledger in Postgres, in any thread.
#[derive(Clone, Debug)]
pub struct PostgresReader {
    shared: Arc<Shared>,
}

impl PostgresReader {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }
}

impl Read for PostgresReader {
    fn tenants(&self) -> Result<Vec<Arc<str>>, StoreError> {
        self.find_tenants()
    }

    fn salt(&self, tenant: &str) -> Result<Option<[u8; 32]>, StoreError> {
        self.shared.salt(tenant)
    }

    fn streams(&self, tenant: &str, after: &str, limit: usize) -> Result<Page<StreamRecord, Arc<str>>, StoreError> {
        self.find_streams(tenant, after, limit)
    }

    fn stream(&self, stream: &StreamKey) -> Result<Option<StreamRecord>, StoreError> {
        self.find_stream(stream)
    }

    fn versions(&self, stream: &StreamKey) -> Result<Vec<Version>, StoreError> {
        self.shared.versions(stream)
    }

    fn head(&self, stream: &StreamKey) -> Result<Head, StoreError> {
        self.find_head(stream)
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
        self.find_lane(stream, lane)
    }

    fn lanes(
        &self,
        stream: &StreamKey,
        open_gaps: bool,
        after: &str,
        limit: usize,
    ) -> Result<Named<LaneRecord>, StoreError> {
        self.find_lanes(stream, open_gaps, after, limit)
    }

    fn counter(&self, stream: &StreamKey, key: &CounterKey) -> Result<CounterRecord, StoreError> {
        self.find_counter(stream, key)
    }

    fn counters(
        &self,
        stream: &StreamKey,
        filter: &CounterFilter,
        after: Option<&CounterKey>,
        limit: usize,
    ) -> Result<Page<(CounterKey, CounterRecord), CounterKey>, StoreError> {
        self.find_counters(stream, filter, after, limit)
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
        self.find_handler(handler)
    }

    fn handlers(&self, tenant: &str, after: &str, limit: usize) -> Result<Named<(Handler, HandlerState)>, StoreError> {
        self.find_handlers(tenant, after, limit)
    }

    fn claim(&self, handler: &HandlerKey, identity: &Identity) -> Result<Option<Claim>, StoreError> {
        self.find_claim(handler, identity)
    }

    fn dead(
        &self,
        handler: &HandlerKey,
        after: Option<&Identity>,
        limit: usize,
    ) -> Result<Page<Claim, Identity>, StoreError> {
        self.find_dead(handler, after, limit)
    }

    fn key(&self, hash: &Digest) -> Result<Option<Key>, StoreError> {
        self.shared.key(hash)
    }

    fn keys(&self, tenant: &str) -> Result<Vec<Key>, StoreError> {
        self.find_keys(tenant)
    }

    fn needs_keys(&self) -> Result<bool, StoreError> {
        self.shared.needs_keys()
    }

    fn figures(&self) -> Result<Figures, StoreError> {
        self.find_figures()
    }

    fn ready(&self) -> Result<(), StoreError> {
        self.shared.ready()
    }

    fn wake(&self, wake: Wake) {
        self.shared.wake(wake);
    }
}
