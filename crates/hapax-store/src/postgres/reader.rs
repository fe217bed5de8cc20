//! Reading what was committed. (A beginning: the rest comes.)

use std::sync::Arc;

use super::known::Shared;
use super::rows;
use crate::seam::*;
use hapax_core::claim::{Claim, Handler, HandlerState};
use hapax_core::contract::Version;
use hapax_core::counter::CounterKey;
use hapax_core::entry::Entry;
use hapax_core::event::{Digest, Identity};
use hapax_core::facts::Head;
use hapax_core::view::AttemptView;

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

fn later<T>() -> Result<T, StoreError> {
    Err(StoreError::Unreachable("later".to_owned()))
}

impl Read for PostgresReader {
    fn tenants(&self) -> Result<Vec<Arc<str>>, StoreError> {
        later()
    }
    fn salt(&self, tenant: &str) -> Result<Option<[u8; 32]>, StoreError> {
        self.shared.salt(tenant)
    }
    fn streams(&self, _: &str, _: &str, _: usize) -> Result<Page<StreamRecord, Arc<str>>, StoreError> {
        later()
    }
    fn stream(&self, _: &StreamKey) -> Result<Option<StreamRecord>, StoreError> {
        later()
    }
    fn versions(&self, stream: &StreamKey) -> Result<Vec<Version>, StoreError> {
        self.shared.versions(stream)
    }
    fn head(&self, stream: &StreamKey) -> Result<Head, StoreError> {
        let sql = "SELECT t.tenant, t.stream, t.version, t.head_offset, t.head_hash, t.head_at, t.events, t.attempts, t.lanes, t.gaps_open FROM streams t WHERE t.tenant = $1 AND t.stream = $2 AND t.partition = 0";
        let row = self.shared.query_opt(sql, &[&&*stream.tenant, &&*stream.stream])?;
        Ok(row.map(|row| rows::stream::read(&row)).transpose()?.map(|row| row.head).unwrap_or_default())
    }
    fn entries(&self, _: &StreamKey, _: u64, _: usize) -> Result<Vec<Arc<Entry>>, StoreError> {
        later()
    }
    fn entry(&self, _: &StreamKey, _: &Identity) -> Result<Option<Arc<Entry>>, StoreError> {
        later()
    }
    fn entries_with_id(&self, _: &StreamKey, _: &str) -> Result<Vec<Arc<Entry>>, StoreError> {
        later()
    }
    fn lane(&self, _: &StreamKey, _: &str) -> Result<Option<LaneRecord>, StoreError> {
        later()
    }
    fn lanes(&self, _: &StreamKey, _: bool, _: &str, _: usize) -> Result<Named<LaneRecord>, StoreError> {
        later()
    }
    fn counter(&self, _: &StreamKey, _: &CounterKey) -> Result<CounterRecord, StoreError> {
        later()
    }
    fn counters(
        &self,
        _: &StreamKey,
        _: &CounterFilter,
        _: Option<&CounterKey>,
        _: usize,
    ) -> Result<Page<(CounterKey, CounterRecord), CounterKey>, StoreError> {
        later()
    }
    fn attempts(
        &self,
        _: &StreamKey,
        _: &AttemptFilter,
        _: u64,
        _: usize,
    ) -> Result<Page<AttemptView, u64>, StoreError> {
        later()
    }
    fn handler(&self, _: &HandlerKey) -> Result<Option<(Handler, HandlerState)>, StoreError> {
        later()
    }
    fn handlers(&self, _: &str, _: &str, _: usize) -> Result<Named<(Handler, HandlerState)>, StoreError> {
        later()
    }
    fn claim(&self, _: &HandlerKey, _: &Identity) -> Result<Option<Claim>, StoreError> {
        later()
    }
    fn dead(&self, _: &HandlerKey, _: Option<&Identity>, _: usize) -> Result<Page<Claim, Identity>, StoreError> {
        later()
    }
    fn key(&self, hash: &Digest) -> Result<Option<Key>, StoreError> {
        self.shared.key(hash)
    }
    fn keys(&self, _: &str) -> Result<Vec<Key>, StoreError> {
        later()
    }
    fn needs_keys(&self) -> Result<bool, StoreError> {
        self.shared.needs_keys()
    }
    fn figures(&self) -> Result<Figures, StoreError> {
        later()
    }
    fn ready(&self) -> Result<(), StoreError> {
        self.shared.ready()
    }
    fn wake(&self, wake: Wake) {
        self.shared.wake(wake);
    }
}
