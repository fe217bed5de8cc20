//! Everything that a turn led to, in one round trip: rows, heads, the turn's own row, COMMIT.
//!
//! What holds: nothing is written that the transaction has not locked. If the turn was judged before it had the lock, the first
//! statement fails unless the locked row is the one that it rests on, and with it all others. The COMMIT is sent behind everything else, and after an
//! error the database makes a rollback of it; if the connection breaks off, the turn's row decides. Whatever is written twice
//! in one turn is written once, as it is at the end.
//!
//! The lookups of a large turn are written on a second connection at the same time, also while it waits for the lock, and committed
//! before it: they are half of the work, and the database does it on another processor. That commit is not waited for: it stands in
//! the write-ahead log before the turn's own, which is. Should the turn then fail, they lead to an offset that is not there, or to
//! another entry; whoever finds one looks whether it is the right one anyway.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::{Bytes, BytesMut};
use deadpool_postgres::Object;
use futures_util::SinkExt as _;
use futures_util::future::join;
use hapax_core::claim::{Claim, ClaimState, HandlerLane, HandlerState};
use hapax_core::entry::SharedEntry;
use hapax_core::event::Identity;
use hapax_core::facts::Head;
use hapax_core::lane::{GapChange, GapKey, Gaps};
use hapax_core::time::Time;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;

use uuid::Uuid;

use super::connect::{is_gone, meant};
use super::flight::{Statement, flight};
use super::known::{Shared, late};
use super::line::Line;
use super::load::{Held, Rests, stream_of};
use super::recent::{Ahead, Mark, Ticket, Track, can_be_ahead};
use super::rows::handler::HandlerRow;
use super::rows::stream::StreamRow;
use super::rows::{self, Batch};
use super::turns::{self, Turn, was_committed};
use super::wake::channel;
use crate::seam::{HandlerKey, StoreError, StreamKey, StreamWrite, Write};

/// Fails unless the stream's row, once it is locked, has this mark: there is no other way to fail in the middle of what is
/// sent at once.
const CHECK: &str = "SELECT 1 / coalesce((SELECT (t.xmin::text = $3 AND t.version = $4 AND t.head_hash = $5 AND \
                     t.head_offset = $6 AND t.events = $7 AND t.attempts = $8 AND t.lanes = $9 AND t.gaps_open = $10)::int4 \
                     FROM streams t WHERE t.tenant = $1 AND t.stream = $2 AND t.partition = 0 FOR UPDATE), 0)";

/// Commits what a turn led to, on the transaction that it has loaded in or on a new one.
pub(super) async fn commit(shared: &Shared, line: &Line, mut held: Held, write: Write) -> Result<(), StoreError> {
    if !continues(&held, &write) {
        let_go(line, held).await;
        return Err(StoreError::Conflict);
    }
    let place = write.streams.first().map(|stream| stream.key.clone()).unwrap_or_else(|| tenant_of(&write));
    let turn = Turn { place, id: turns::id() };
    let write = Arc::new(write);
    let by_lane: Vec<bool> = write.streams.iter().map(|stream| held.is_by_lane(&stream.key)).collect();
    let batches = Batches::of(&held, &write, turn.id);
    let leaves = Leaves::of(shared, &mut held, &write, &batches);
    let has_news = write.streams.iter().any(|stream| !stream.changes.entries.is_empty());
    let hint = has_news.then(|| format!("NOTIFY {}", channel(&shared.address)));
    let beside = match is_worth_another(&held, &write) {
        // Without one it is done as usual.
        true => line.client().await.ok(),
        false => None,
    };
    let sent = line.patiently(batches.send(&held, &write, &turn, leaves, beside.as_ref(), hint.as_deref())).await;
    if let Some(beside) = beside.filter(|_| !matches!(sent, Some(Ok(_)))) {
        line.close(beside).await;
        held.ticket.iter().for_each(Ticket::doubt);
    }
    let committed = match sent {
        Some(Ok(true)) => Ok(()),
        // It was committed, and one lane lacks what happened to it. Nothing more is built on that.
        Some(Ok(false)) => Err(StoreError::Corrupt(format!("{:?} had lanes that are gone", turn.place))),
        Some(Err(error)) if !is_gone(&error) => {
            if let Some(ticket) = held.ticket.as_ref().filter(|_| error.code() == Some(&SqlState::DIVISION_BY_ZERO)) {
                ticket.doubt();
            }
            // A COPY that failed before it took any rows is answered twice: nothing is to be asked here any more.
            line.close(held.client).await;
            Err(meant(&error))
        }
        // The connection is of no use any more, whatever becomes of the turn.
        Some(Err(_)) | None => {
            line.close(held.client).await;
            match was_committed(line, &turn).await {
                Ok(true) => Ok(()),
                Ok(false) => Err(StoreError::Conflict),
                Err(error) => Err(error),
            }
        }
    };
    if committed.is_ok() {
        write.streams.iter().zip(by_lane).for_each(|(stream, by_lane)| shared.seen.tell(stream, by_lane));
        held.ticket.into_iter().for_each(Ticket::committed);
    }
    for stream in write.streams.iter().filter(|stream| stream.version.is_some()) {
        shared.forget(&stream.key);
    }
    if !write.keys.is_empty() {
        shared.keys_changed();
    }
    committed
}

/// With fewer entries a second connection costs more than it gains.
const BESIDE_MIN: usize = 200;

/// Are the lookups worth a connection of their own? Not where others write: a turn that then finds that it was not the next leaves
/// lookups that lead nowhere.
fn is_worth_another(held: &Held, write: &Write) -> bool {
    let is_large = matches!(&write.streams[..], [only] if only.changes.entries.len() >= BESIDE_MIN);
    is_large && held.ticket.as_ref().is_some_and(Ticket::is_undisputed)
}

/// Ends a transaction of which nothing is wanted.
pub(super) async fn let_go(line: &Line, held: Held) {
    if held.rests.is_some() {
        return;
    }
    let done = line.patiently(held.client.batch_execute("ROLLBACK")).await;
    if !matches!(done, Some(Ok(()))) {
        line.close(held.client).await;
    }
}

/// Is what a turn rested on true, and durable? One that writes nothing has nothing else that would show it.
pub(super) async fn prove(line: &Line, rests: &Rests) -> Result<(), StoreError> {
    let asked = async {
        let client = line.client().await?;
        let failed = |error: Error| meant(&error);
        let check = client.prepare_cached(CHECK).await.map_err(failed)?;
        client.execute(&check, &rests.values()).await.map_err(failed)?;
        Ok(())
    };
    line.patiently(asked).await.unwrap_or_else(|| Err(late()))
}

/// What the next turn of this process may rest on, once this one has its locks.
struct Leaves {
    /// The stream's row before, and after.
    rests_on: Option<Mark>,
    row: StreamRow,
    now: Option<Time>,
    tick: u64,
    write: Arc<Write>,
    /// The lanes that it has looked at, as they were.
    tracks: HashMap<Arc<str>, Track>,
}

impl Leaves {
    fn of(shared: &Shared, held: &mut Held, write: &Arc<Write>, batches: &Batches) -> Option<Self> {
        if held.ticket.is_none() || !can_be_ahead(write) {
            return None;
        }
        let (row, stream) = (batches.row.clone()?, held.streams.get_mut(&write.streams.first()?.key)?);
        let mut tracks = std::mem::take(&mut stream.tracks);
        // A lane that was not there, and is not now, is none.
        let made: HashSet<&Arc<str>> = write.streams[0].changes.lanes.iter().map(|(name, _)| name).collect();
        tracks.retain(|name, _| stream.lanes.contains_key(name) || made.contains(name));
        Some(Self { rests_on: stream.mark, row, now: held.now, tick: shared.ticks(), write: Arc::clone(write), tracks })
    }

    /// From now on the next turn may rest on it.
    fn tell(mut self, ticket: &Ticket, xid: u32) {
        let changes = &self.write.streams[0].changes;
        for (name, change) in &changes.gaps {
            if let Some(track) = self.tracks.get_mut(name) {
                track.gaps.apply(std::slice::from_ref(change));
            }
        }
        for (name, lane) in &changes.lanes {
            match self.tracks.get_mut(name) {
                Some(track) => track.lane.clone_from(lane),
                // It is not whole, and so it is not kept: nor is what was kept of it before.
                None => _ = self.tracks.insert(Arc::clone(name), Track { lane: lane.clone(), gaps: Gaps::default() }),
            }
        }
        let mark = Mark::of(xid, &self.row);
        let ahead = Ahead { mark, rests_on: self.rests_on, row: self.row, now: self.now, write: self.write };
        ticket.writing(ahead, self.tick, self.tracks);
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

/// The rows of a turn, by table, but for those that are [copied](copies).
#[derive(Default)]
struct Batches {
    /// The last row of a stream.
    row: Option<StreamRow>,
    new_streams: New<rows::stream::StreamRows>,
    streams: rows::stream::StreamRows,
    contracts: rows::contract::ContractRows,
    lanes: rows::lane::LaneRows,
    /// Of lanes that are there.
    known_lanes: rows::lane::LaneRows,
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
        let (mut lanes, mut gaps_open) = found.map_or((0, 0), |stream| (stream.row.lanes, stream.row.gaps_open));
        for (name, lane) in &changes.lanes {
            let before = found.and_then(|stream| stream.lanes.get(name));
            lanes += u64::from(before.is_none());
            // Together they are what the lanes hold, so this never goes below nothing.
            gaps_open = gaps_open + lane.counts.open - before.copied().unwrap_or_default();
            match before {
                Some(_) => self.known_lanes.push(key, name, lane),
                None => self.lanes.push(key, name, lane),
            }
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
        self.row = Some(row);
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

    /// Sends all of it, the turn's row and the COMMIT. An error of the first that failed; false if lanes that should be there
    /// were not, which cannot be as long as all hold the lock who write them.
    async fn send(
        self,
        held: &Held,
        write: &Write,
        turn: &Turn,
        leaves: Option<Leaves>,
        beside: Option<&Object>,
        hint: Option<&str>,
    ) -> Result<bool, Error> {
        let client = &held.client;
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
        let lanes = match Batch::is_empty(&self.known_lanes) {
            true => None,
            false => Some(client.prepare_cached(rows::lane::UPDATE).await?),
        };
        let is_whole = AtomicBool::new(true);
        if !self.tenants.0.is_empty() {
            arrays.push((client.prepare_cached(TENANTS).await?, vec![&self.tenants.0, &self.tenants.1]));
        }
        let [blocks, lookups, attempts] = [rows::entry::COPY, rows::entry::COPY_LOOKUPS, rows::attempt::COPY];
        let [blocks, lookups, attempts] = [
            client.prepare_cached(blocks).await?,
            client.prepare_cached(lookups).await?,
            client.prepare_cached(attempts).await?,
        ];
        let insert = client.prepare_cached(turns::INSERT).await?;
        let (tenant, stream) = (&*turn.place.tenant, &*turn.place.stream);
        let values: [&(dyn ToSql + Sync); 3] = [&tenant, &stream, &turn.id];
        let check = match &held.rests {
            Some(rests) => Some((client.prepare_cached(CHECK).await?, rests)),
            None => None,
        };

        let mut first: Vec<Statement<'_, Result<(), Error>>> = Vec::with_capacity(arrays.len() + 3);
        if let Some((check, rests)) = &check {
            first.push(Box::pin(client.batch_execute("BEGIN")));
            first.push(Box::pin(async move { client.execute(check, &rests.values()).await.map(|_| ()) }));
        }
        first.push(Box::pin(async {
            let row = client.query_one(&insert, &values).await?;
            if let (Some(leaves), Some(ticket)) = (leaves, &held.ticket) {
                leaves.tell(ticket, turns::read_xid(&row)?);
            }
            Ok(())
        }));
        for (statement, params) in &arrays {
            first.push(Box::pin(async move { client.execute(statement, params).await.map(|_| ()) }));
        }
        if let Some(lanes) = &lanes {
            let (rows, is_whole) = (&self.known_lanes, &is_whole);
            first.push(Box::pin(async move {
                let count = client.execute(lanes, &Batch::params(rows)).await?;
                is_whole.store(count == rows.len() as u64, Ordering::Relaxed);
                Ok(())
            }));
        }
        let commit = || -> Vec<Statement<'_, Result<(), Error>>> {
            let mut last: Vec<Statement<'_, Result<(), Error>>> = vec![Box::pin(client.batch_execute("COMMIT"))];
            if let Some(hint) = hint {
                // Nobody waits for it, and whether it arrives changes nothing.
                last.push(Box::pin(async move {
                    _ = client.simple_query_raw(hint).await;
                    Ok(())
                }));
            }
            last
        };
        let then = async {
            // All that is sent before this is under way while the rest is made.
            tokio::task::yield_now().await;
            let found = copies(held, write);
            let (found, others) = match beside {
                Some(_) => found.into_iter().partition(|(copied, _)| !matches!(copied, Copied::Lookups)),
                None => (found, Vec::new()),
            };
            let mut here: Vec<Statement<'_, Result<(), Error>>> = Vec::new();
            for (copied, rows) in found {
                let statement = match copied {
                    Copied::Blocks => &blocks,
                    Copied::Lookups => &lookups,
                    Copied::Attempts => &attempts,
                };
                here.push(Box::pin(copy(client, statement, rows)));
            }
            let Some(beside) = beside else {
                here.extend(commit());
                return flight(here).await;
            };
            let (mut done, there) = join(flight(here), copy_beside(beside, others)).await;
            done.push(there);
            done
        };
        let (first, last) = join(flight(first), then).await;
        first.into_iter().chain(last).collect::<Result<(), Error>>()?;
        if beside.is_some() {
            flight(commit()).await.into_iter().collect::<Result<(), Error>>()?;
        }
        Ok(is_whole.into_inner())
    }
}

const TENANTS: &str =
    "INSERT INTO tenants (tenant, salt) SELECT * FROM unnest($1::text[], $2::bytea[]) ON CONFLICT DO NOTHING";

impl Rests {
    /// What [`CHECK`] is given.
    fn values(&self) -> [&(dyn ToSql + Sync); 10] {
        let [offset, events, attempts, lanes, gaps_open] = &self.counts;
        let Self { tenant, stream, xid, version, hash, counts: _ } = self;
        [tenant, stream, xid, version, hash, offset, events, attempts, lanes, gaps_open]
    }
}

/// Which table rows are copied to.
#[derive(Clone, Copy)]
enum Copied {
    Blocks,
    Lookups,
    Attempts,
}

/// How many entries' lookups are copied at once. For each row of a COPY the database remembers one and the same description, and
/// up to a thousand of them in a table that is searched from one end: a thousand rows at once take a third longer than in four parts.
const LOOKUPS_AT_ONCE: usize = 250;

/// What a COPY has besides its rows.
const ROOM_AROUND: usize = 64;

/// Entries of a stream.
type Part<'w> = (&'w StreamKey, &'w [SharedEntry]);

/// The rows that are copied, in the format of COPY. One table is copied to once, whatever streams its rows are of, but for lookups.
fn copies(held: &Held, write: &Write) -> Vec<(Copied, Bytes)> {
    let mut copies = Vec::new();
    let mut add = |copied: Copied, room: usize, fill: &dyn Fn(&mut BytesMut)| {
        let mut rows = BytesMut::with_capacity(room + ROOM_AROUND);
        rows::copy::begin(&mut rows);
        let header = rows.len();
        fill(&mut rows);
        if rows.len() > header {
            rows::copy::end(&mut rows);
            copies.push((copied, rows.freeze()));
        }
    };
    let entries = || write.streams.iter().flat_map(|stream| &stream.changes.entries);
    add(Copied::Blocks, entries().map(|entry| rows::entry::room(entry)).sum(), &|rows| {
        write.streams.iter().for_each(|stream| rows::entry::write(rows, &stream.key, &stream.changes.entries));
    });
    add(Copied::Attempts, 0, &|rows| {
        for stream in &write.streams {
            stream.changes.attempts.iter().for_each(|attempt| rows::attempt::write(rows, &stream.key, attempt));
        }
    });
    let parts = write
        .streams
        .iter()
        .flat_map(|stream| stream.changes.entries.chunks(LOOKUPS_AT_ONCE).map(move |entries| (&stream.key, entries)));
    // Small parts of several streams go together.
    let mut together: Vec<Vec<Part<'_>>> = Vec::new();
    let mut room = 0;
    for (key, entries) in parts {
        match together.last_mut().filter(|_| entries.len() <= room) {
            Some(parts) => parts.push((key, entries)),
            None => {
                together.push(vec![(key, entries)]);
                room = LOOKUPS_AT_ONCE;
            }
        }
        room -= entries.len();
    }
    for parts in together {
        let room = parts.iter().map(|(key, entries)| entries.len() * rows::entry::room_of_lookup(key)).sum();
        add(Copied::Lookups, room, &|rows| {
            parts
                .iter()
                .for_each(|(key, entries)| rows::entry::write_lookups(rows, key, held.is_by_lane(key), entries));
        });
    }
    copies
}

/// The turn's own commit follows, and what it waits for is all that was logged before.
const BEGIN_BESIDE: &str = "BEGIN; SET LOCAL synchronous_commit = off";

/// Copies on a connection of its own, and commits it.
async fn copy_beside(beside: &Object, copies: Vec<(Copied, Bytes)>) -> Result<(), Error> {
    let lookups = beside.prepare_cached(rows::entry::COPY_LOOKUPS).await?;
    let mut all: Vec<Statement<'_, Result<(), Error>>> = vec![Box::pin(beside.batch_execute(BEGIN_BESIDE))];
    for (_, rows) in copies {
        all.push(Box::pin(copy(beside, &lookups, rows)));
    }
    all.push(Box::pin(beside.batch_execute("COMMIT")));
    flight(all).await.into_iter().collect()
}

async fn copy(client: &Object, statement: &tokio_postgres::Statement, rows: Bytes) -> Result<(), Error> {
    let sink = client.copy_in::<_, Bytes>(statement).await?;
    let mut sink = std::pin::pin!(sink);
    sink.send(rows).await?;
    sink.finish().await.map(|_| ())
}
