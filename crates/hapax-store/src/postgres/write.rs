//! Everything that a turn led to, in one round trip: rows, heads, the turn's own row, COMMIT.
//!
//! What holds: nothing is written that the transaction has not locked; the COMMIT is sent behind everything else, and after an
//! error the database makes a rollback of it; if the connection breaks off, the turn's row decides. Whatever is written twice
//! in one turn is written once, as it is at the end.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use deadpool_postgres::Object;
use futures_util::SinkExt as _;
use hapax_core::claim::{Claim, ClaimState, HandlerLane, HandlerState};
use hapax_core::event::Identity;
use hapax_core::facts::Head;
use hapax_core::lane::{GapChange, GapKey};
use tokio_postgres::Error;
use tokio_postgres::types::ToSql;

use uuid::Uuid;

use super::connect::{is_gone, meant};
use super::flight::{Statement, flight};
use super::known::Shared;
use super::load::{Held, stream_of};
use super::rows::handler::HandlerRow;
use super::rows::stream::StreamRow;
use super::rows::{self, Batch};
use super::turns::{self, Turn, was_committed};
use super::wake::channel;
use crate::seam::{HandlerKey, StoreError, StreamKey, StreamWrite, Write};

/// Commits what a turn led to on the transaction that it has loaded in.
pub(super) async fn commit(shared: &Shared, held: Held, write: Write) -> Result<(), StoreError> {
    if !continues(&held, &write) {
        let_go(shared, held).await;
        return Err(StoreError::Conflict);
    }
    let place = write.streams.first().map(|stream| stream.key.clone()).unwrap_or_else(|| tenant_of(&write));
    let turn = Turn { place, id: turns::id() };
    let batches = Batches::of(&held, &write, turn.id);
    let has_news = write.streams.iter().any(|stream| !stream.changes.entries.is_empty());
    let hint = has_news.then(|| format!("NOTIFY {}", channel(&shared.address)));
    let sent = shared.patiently(batches.send(&held.client, &turn, hint.as_deref())).await;
    let committed = match sent {
        Some(Ok(())) => Ok(()),
        Some(Err(error)) if !is_gone(&error) => Err(meant(&error)),
        // The connection is of no use any more, whatever becomes of the turn.
        Some(Err(_)) | None => {
            drop(Object::take(held.client));
            match was_committed(shared, &turn).await {
                Ok(true) => Ok(()),
                Ok(false) => Err(StoreError::Conflict),
                Err(error) => Err(error),
            }
        }
    };
    for stream in write.streams.iter().filter(|stream| stream.version.is_some()) {
        shared.forget(&stream.key);
    }
    if !write.keys.is_empty() {
        shared.keys_changed();
    }
    committed
}

/// Ends a transaction of which nothing is wanted.
pub(super) async fn let_go(shared: &Shared, held: Held) {
    let done = shared.patiently(held.client.batch_execute("ROLLBACK")).await;
    if !matches!(done, Some(Ok(()))) {
        drop(Object::take(held.client));
    }
}

/// Where the row of a turn lies that writes to no stream.
fn tenant_of(write: &Write) -> StreamKey {
    let handlers =
        write.handlers.iter().map(|(key, _)| &key.tenant).chain(write.states.iter().map(|(key, _)| &key.tenant));
    let lanes = write.handler_lanes.iter().map(|((key, _), _)| &key.tenant);
    let claims = write.claims.iter().map(|((key, _), _)| &key.tenant);
    let others = write.requests.iter().map(|(key, _)| &key.tenant).chain(write.keys.iter().map(|key| &key.tenant));
    let tenants = write.tenants.iter().map(|(name, _)| name);
    let tenant = handlers.chain(lanes).chain(claims).chain(others).chain(tenants).next();
    StreamKey { tenant: tenant.map_or_else(|| Arc::from(""), Arc::clone), stream: Arc::from("") }
}

/// Is everything as the turn has seen it? The locks see to that; this is a second look.
fn continues(held: &Held, write: &Write) -> bool {
    write.streams.iter().all(|stream| match held.streams.get(&stream.key) {
        Some(found) => found.row.head == stream.before,
        None => stream.before == Head::default() && stream.version.is_some(),
    })
}

/// A batch of any table.
trait AnyBatch {
    fn sql(&self) -> &'static str;
    fn is_empty(&self) -> bool;
    fn params(&self) -> Vec<&(dyn ToSql + Sync)>;
}

impl<B: Batch> AnyBatch for B {
    fn sql(&self) -> &'static str {
        B::SQL
    }

    fn is_empty(&self) -> bool {
        Batch::is_empty(self)
    }

    fn params(&self) -> Vec<&(dyn ToSql + Sync)> {
        Batch::params(self)
    }
}

/// Rows that must not be there yet. What nobody could lock may have been made by another meanwhile: that one was first, and
/// this turn is taken again.
#[derive(Default)]
struct New<B>(B);

impl<B: Batch> AnyBatch for New<B> {
    fn sql(&self) -> &'static str {
        B::SQL.split("ON CONFLICT").next().unwrap_or(B::SQL)
    }

    fn is_empty(&self) -> bool {
        Batch::is_empty(&self.0)
    }

    fn params(&self) -> Vec<&(dyn ToSql + Sync)> {
        Batch::params(&self.0)
    }
}

/// The rows of a turn, by table.
#[derive(Default)]
struct Batches {
    /// In the format of COPY; empty if there are none.
    entries: BytesMut,
    lookups: BytesMut,
    attempts: BytesMut,
    new_streams: New<rows::stream::StreamRows>,
    streams: rows::stream::StreamRows,
    contracts: rows::contract::ContractRows,
    lanes: rows::lane::LaneRows,
    gaps: rows::gap::GapRows,
    gone_gaps: rows::gap::GapRemovals,
    filled: rows::filled::FilledRows,
    losses: rows::loss::LossRows,
    nonces: rows::nonce::NonceRows,
    counters: rows::counter::CounterRows,
    adjustments: rows::adjustment::AdjustmentRows,
    closed: rows::closed::ClosedRows,
    new_handlers: New<rows::handler::HandlerRows>,
    handlers: rows::handler::HandlerRows,
    handler_lanes: rows::handler_lane::HandlerLaneRows,
    claims: rows::claim::ClaimRows,
    new_requests: New<rows::request::RequestRows>,
    requests: rows::request::RequestRows,
    keys: rows::key::KeyRows,
    /// Names and salts.
    tenants: (Vec<String>, Vec<Vec<u8>>),
}

impl Batches {
    fn of(held: &Held, write: &Write, turn: Uuid) -> Self {
        let mut batches = Self::default();
        write.streams.iter().for_each(|stream| batches.stream(held, stream, turn));
        for (name, salt) in &write.tenants {
            batches.tenants.0.push(name.to_string());
            batches.tenants.1.push(salt.to_vec());
        }
        batches.registry(held, write);
        for (key, record) in write.requests.iter().map(|(key, record)| (key, record)).collect::<HashMap<_, _>>() {
            let stream = Arc::from(stream_of(&key.target));
            match held.requests.contains(key) {
                true => batches.requests.push(key, &stream, record),
                false => batches.new_requests.0.push(key, &stream, record),
            }
        }
        for key in write.keys.iter().map(|key| ((&key.tenant, &key.id), key)).collect::<HashMap<_, _>>().into_values() {
            batches.keys.push(key);
        }
        batches
    }

    fn stream(&mut self, held: &Held, write: &StreamWrite, turn: Uuid) {
        let StreamWrite { key, after, version, changes, before: _ } = write;
        let found = held.streams.get(key);
        let by_lane = found.is_some_and(|stream| stream.by_lane);
        // One table is copied to once, whatever streams its rows are of.
        if !changes.entries.is_empty() {
            if self.entries.is_empty() {
                rows::copy::begin(&mut self.entries);
                rows::copy::begin(&mut self.lookups);
            }
            rows::entry::write(&mut self.entries, key, &changes.entries);
            rows::entry::write_lookups(&mut self.lookups, key, by_lane, &changes.entries);
        }
        if !changes.attempts.is_empty() {
            if self.attempts.is_empty() {
                rows::copy::begin(&mut self.attempts);
            }
            changes.attempts.iter().for_each(|attempt| rows::attempt::write(&mut self.attempts, key, attempt));
        }
        let (mut lanes, mut gaps_open) = found.map_or((0, 0), |stream| (stream.row.lanes, stream.row.gaps_open));
        for (name, lane) in &changes.lanes {
            let before = found.and_then(|stream| stream.lanes.get(name));
            lanes += u64::from(before.is_none());
            // Together they are what the lanes hold, so this never goes below nothing.
            gaps_open = gaps_open + lane.counts.open - before.copied().unwrap_or_default();
            self.lanes.push(key, name, lane);
        }
        self.gaps_of(write);
        for (nonce, used_at) in changes.nonces.iter().map(|(nonce, at)| (nonce, at)).collect::<HashMap<_, _>>() {
            self.nonces.push(key, nonce, *used_at);
        }
        changes.counters.iter().for_each(|(counter, record)| self.counters.push(key, counter, record));
        changes.adjustments.iter().for_each(|(counter, record)| self.adjustments.push(key, counter, record));
        for (name, period) in changes.closed.iter().collect::<BTreeSet<_>>() {
            self.closed.push(key, name, *period);
        }
        changes.acknowledgements.iter().for_each(|loss| self.losses.push(key, turn, loss));
        if let Some((version, at)) = version {
            self.contracts.push(key, version, *at);
        }
        let in_force = version.as_ref().map(|(version, _)| version.number).or(found.map(|stream| stream.row.version));
        let row = StreamRow { key: key.clone(), version: in_force.unwrap_or_default(), head: *after, lanes, gaps_open };
        match found {
            Some(_) => self.streams.push(&row),
            None => self.new_streams.0.push(&row),
        }
    }

    /// Rows of gaps as they are at the end: one may have been put, moved and filled in the same turn.
    fn gaps_of(&mut self, write: &StreamWrite) {
        let mut now: BTreeMap<(&Arc<str>, GapKey), Option<&GapChange>> = BTreeMap::new();
        let mut filled = BTreeMap::new();
        for (name, change) in &write.changes.gaps {
            match change {
                GapChange::Put(gap) => _ = now.insert((name, gap.key()), Some(change)),
                GapChange::Remove(gap) => _ = now.insert((name, *gap), None),
                GapChange::Filled(gap, at) => _ = filled.insert((name, gap.key()), (gap, *at)),
            }
        }
        for ((name, gap_key), change) in now {
            match change {
                Some(GapChange::Put(gap)) => self.gaps.push(&write.key, name, gap),
                Some(GapChange::Remove(_) | GapChange::Filled(..)) | None => {
                    self.gone_gaps.push(&write.key, name, gap_key)
                }
            }
        }
        for ((name, _), (gap, at)) in filled {
            self.filled.push(&write.key, name, gap, at);
        }
    }

    /// Handlers, with all that counts for them, and their claims.
    fn registry(&mut self, held: &Held, write: &Write) {
        let mut handlers: BTreeMap<&HandlerKey, HandlerRow> = BTreeMap::new();
        for (key, handler) in &write.handlers {
            let row = handlers.entry(key).or_insert_with(|| match held.handlers.get(key) {
                Some(row) => row.clone(),
                None => {
                    HandlerRow { key: key.clone(), handler: handler.clone(), state: HandlerState::default(), held: 0 }
                }
            });
            row.handler = handler.clone();
        }
        let claims: BTreeMap<&(HandlerKey, Identity), &Claim> =
            write.claims.iter().map(|(place, claim)| (place, claim)).collect();
        let lanes: BTreeMap<&(HandlerKey, Arc<str>), &HandlerLane> =
            write.handler_lanes.iter().map(|(place, lane)| (place, lane)).collect();
        let touched = write.states.iter().map(|(key, _)| key);
        let touched = touched.chain(claims.keys().map(|(key, _)| key)).chain(lanes.keys().map(|(key, _)| key));
        for key in touched {
            if let Some(row) = held.handlers.get(key) {
                handlers.entry(key).or_insert_with(|| row.clone());
            }
        }
        for (key, change) in &write.states {
            if let Some(row) = handlers.get_mut(key) {
                row.state.apply(*change);
            }
        }
        for (place, claim) in claims {
            let (key, identity) = place;
            // A claim of a handler that is not there is nobody's.
            let Some(row) = handlers.get_mut(key) else { continue };
            row.held += u64::from(matches!(claim.state, ClaimState::Held { .. }));
            row.held -= u64::from(held.leased.contains(place));
            self.claims.push(key, &row.stream(), identity, claim);
        }
        for ((key, name), lane) in lanes {
            let Some(row) = handlers.get(key) else { continue };
            self.handler_lanes.push(key, &row.stream(), name, lane);
        }
        for (key, row) in handlers {
            match held.handlers.contains_key(key) {
                true => self.handlers.push(&row),
                false => self.new_handlers.0.push(&row),
            }
        }
    }

    /// Sends all of it, the turn's row and the COMMIT. An error of the first that failed.
    async fn send(mut self, client: &Object, turn: &Turn, hint: Option<&str>) -> Result<(), Error> {
        let copies = [
            (rows::entry::COPY, &mut self.entries),
            (rows::entry::COPY_LOOKUPS, &mut self.lookups),
            (rows::attempt::COPY, &mut self.attempts),
        ];
        let mut copied = Vec::new();
        for (sql, rows) in copies {
            if !rows.is_empty() {
                rows::copy::end(rows);
                copied.push((client.prepare_cached(sql).await?, rows.split().freeze()));
            }
        }
        let batches: [&dyn AnyBatch; 19] = [
            &self.new_streams,
            &self.streams,
            &self.contracts,
            &self.lanes,
            &self.gone_gaps,
            &self.gaps,
            &self.filled,
            &self.losses,
            &self.nonces,
            &self.counters,
            &self.adjustments,
            &self.closed,
            &self.new_handlers,
            &self.handlers,
            &self.handler_lanes,
            &self.claims,
            &self.new_requests,
            &self.requests,
            &self.keys,
        ];
        let mut arrays = Vec::new();
        for batch in batches.into_iter().filter(|batch| !batch.is_empty()) {
            arrays.push((client.prepare_cached(batch.sql()).await?, batch.params()));
        }
        if !self.tenants.0.is_empty() {
            arrays.push((client.prepare_cached(TENANTS).await?, vec![&self.tenants.0, &self.tenants.1]));
        }
        let insert = client.prepare_cached(turns::INSERT).await?;
        let (tenant, stream) = (&*turn.place.tenant, &*turn.place.stream);
        let values: [&(dyn ToSql + Sync); 3] = [&tenant, &stream, &turn.id];

        let mut statements: Vec<Statement<'_, Result<(), Error>>> =
            vec![Box::pin(async { client.execute(&insert, &values).await.map(|_| ()) })];
        for (statement, params) in &arrays {
            statements.push(Box::pin(async move { client.execute(statement, params).await.map(|_| ()) }));
        }
        for (statement, rows) in &copied {
            statements.push(Box::pin(copy(client, statement, rows.clone())));
        }
        statements.push(Box::pin(client.batch_execute("COMMIT")));
        if let Some(hint) = hint {
            // Nobody waits for it, and whether it arrives changes nothing.
            statements.push(Box::pin(async move {
                _ = client.batch_execute(hint).await;
                Ok(())
            }));
        }
        flight(statements).await.into_iter().collect()
    }
}

const TENANTS: &str =
    "INSERT INTO tenants (tenant, salt) SELECT * FROM unnest($1::text[], $2::bytea[]) ON CONFLICT DO NOTHING";

async fn copy(client: &Object, statement: &tokio_postgres::Statement, rows: Bytes) -> Result<(), Error> {
    let sink = client.copy_in::<_, Bytes>(statement).await?;
    let mut sink = std::pin::pin!(sink);
    sink.send(rows).await?;
    sink.finish().await.map(|_| ())
}
