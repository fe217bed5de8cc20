//! Everything that a turn looks at, in one round trip: a transaction begins, locks what it will write, and reads.
//!
//! What holds: streams are locked before handlers, handlers before tenants, each in the order of their keys, so no two turns
//! wait for each other. Each statement sees what was committed before it began (READ COMMITTED), and the locks come first, so
//! what is read stays true until the transaction ends. Rows of gaps are asked for at once if the stream had some the last time. A
//! second round trip is needed only by the first gap after none, by lanes with more than [`GAPS_AT_ONCE`] rows of gaps, and by a
//! contract that is not known yet.
//!
//! Not here: what is made of it.

pub(super) mod ask;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use deadpool_postgres::Object;
use hapax_core::claim::ClaimState;
use hapax_core::contract::{Scope, Version};
use hapax_core::event::Identity;
use hapax_core::facts::Facts;
use hapax_core::lane::{GapNeeds, Gaps, Lane};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

use super::connect::{is_gone, meant};
use super::flight::{Statement, flight};
use super::known::{CONTRACTS, Shared, late, read_clock, read_versions};
use super::rows::{self, handler::HandlerRow, stream::StreamRow};
use crate::seam::{
    Commits, HandlerKey, Loaded, LoadedStream, RequestKey, StoreError, StreamKey, StreamNeeds, TurnNeeds,
};
use ask::{About, Arrays, GAPS, GAPS_HOLDING, GAPS_OF_LANE, GAPS_OLDEST, ask};

/// Lanes with at most so many rows of gaps are read with all of them; of others only what is needed.
const GAPS_AT_ONCE: i64 = 64;

/// A transaction that holds what a turn has loaded.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) client: Object,
    /// Which load it belongs to.
    pub(super) number: Commits,
    pub(super) streams: HashMap<StreamKey, HeldStream>,
    pub(super) handlers: HashMap<HandlerKey, HandlerRow>,
    /// The requests that were answered before, perhaps so long ago that it does not count.
    pub(super) requests: HashSet<RequestKey>,
    /// The claims that somebody holds, of those that were asked for.
    pub(super) leased: HashSet<(HandlerKey, Identity)>,
}

/// A stream as it was found.
#[derive(Debug)]
pub(super) struct HeldStream {
    pub(super) row: StreamRow,
    /// Are ids unique within lanes only?
    pub(super) by_lane: bool,
    /// The lanes that were asked for and are there, with their open gaps.
    pub(super) lanes: HashMap<Arc<str>, u64>,
}

type Answers = Result<Vec<Row>, Error>;

/// Loads, within a time.
pub(super) async fn load(shared: &Shared, needs: &TurnNeeds, number: Commits) -> Result<(Held, Loaded), StoreError> {
    shared.patiently(load_twice(shared, needs, number)).await.unwrap_or_else(|| Err(late()))
}

/// Loads. A connection that was cut while it lay in the pool is replaced once.
async fn load_twice(shared: &Shared, needs: &TurnNeeds, number: Commits) -> Result<(Held, Loaded), StoreError> {
    let client = shared.writer().await?;
    match try_load(shared, client, needs, number).await {
        Err(Failure::Statement(error)) if is_gone(&error) => {
            let client = shared.writer().await?;
            try_load(shared, client, needs, number).await.map_err(Failure::into)
        }
        answer => answer.map_err(Failure::into),
    }
}

enum Failure {
    Statement(Error),
    Store(StoreError),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Statement(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Statement(error) => meant(&error),
            Failure::Store(error) => error,
        }
    }
}

async fn try_load(
    shared: &Shared,
    client: Object,
    needs: &TurnNeeds,
    number: Commits,
) -> Result<(Held, Loaded), Failure> {
    let arrays: Vec<Arrays<'_>> = needs.streams.iter().map(|(key, needs)| Arrays::of(shared, key, needs)).collect();
    let found = match ask(shared, &client, needs, &arrays).await {
        Ok(found) => found,
        Err(error) => {
            // The transaction has failed: what it locked is free again, and the connection is good for another.
            _ = client.batch_execute("ROLLBACK").await;
            return Err(error.into());
        }
    };
    let mut held = Held {
        client,
        number,
        streams: HashMap::new(),
        handlers: HashMap::new(),
        requests: HashSet::new(),
        leased: HashSet::new(),
    };
    let mut loaded = Loaded { as_of: number, ..Loaded::default() };
    let rows_of = |about: About| found.iter().filter(move |(it, _)| *it == about).flat_map(|(_, rows)| rows);
    for row in rows_of(About::Streams) {
        let row = rows::stream::read(row)?;
        let stream = HeldStream { by_lane: false, lanes: HashMap::new(), row };
        held.streams.insert(stream.row.key.clone(), stream);
    }
    for (place, arrays) in arrays.iter().enumerate() {
        let Some(stream) = held.streams.get_mut(arrays.key) else { continue };
        let versions = versions(shared, &held.client, &stream.row).await?;
        let Some(version) = versions.last() else { continue };
        stream.by_lane = version.contract.identity.scope == Scope::Lane;
        let mut facts = Facts::new(Arc::clone(&arrays.key.stream), version.clone(), stream.row.head);
        let mut entries = Vec::new();
        for row in rows_of(About::Entries(place)) {
            entries.extend(rows::entry::read_found(row)?);
        }
        // An id that was forgotten may have been used again, and then the newest counts.
        entries.sort_by_key(|entry| entry.offset);
        entries.into_iter().for_each(|entry| facts.load_original(entry));
        let mut lanes = Vec::new();
        for row in rows_of(About::Lanes(place)) {
            lanes.push(rows::lane::read(row)?);
        }
        let has_gaps = lanes.iter().any(|(_, lane)| lane.counts.total() > 0);
        let later = match has_gaps && !arrays.asks_for_gaps {
            true => gaps_of(&held.client, arrays).await?,
            false => Vec::new(),
        };
        if has_gaps != arrays.asks_for_gaps && !lanes.is_empty() {
            shared.learn_gaps(arrays.key, has_gaps);
        }
        let mut gaps: HashMap<Arc<str>, Gaps> = HashMap::new();
        let expected = rows_of(About::Gaps(place)).map(rows::gap::read);
        for found in expected.chain(later.iter().map(rows::gap::read)) {
            let (lane, gap) = found?;
            gaps.entry(lane).or_default().insert(gap);
        }
        for (name, lane) in lanes {
            stream.lanes.insert(Arc::clone(&name), lane.counts.open);
            let wanted = gap_needs(arrays.needs, &name, &lane, version);
            let known = gaps.remove(&name).unwrap_or_default();
            let selected =
                if lane.counts.total() > GAPS_AT_ONCE.unsigned_abs() && !arrays.needs.whole_lanes.contains(&name) {
                    crowded(&held.client, arrays.key, &name, &lane, &wanted).await?
                } else {
                    known.select(lane.generation, &wanted)
                };
            facts.load_lane(name, lane, selected);
        }
        for row in rows_of(About::Nonces(place)) {
            let (nonce, used_at) = rows::nonce::read(row)?;
            facts.load_nonce(nonce, used_at);
        }
        for row in rows_of(About::Counters(place)) {
            let (key, counter) = rows::counter::read(row)?;
            facts.load_counter(key, counter);
        }
        for row in rows_of(About::Closed(place)) {
            let (name, period) = rows::closed::read(row)?;
            facts.load_closed(name, period);
        }
        loaded.streams.insert(arrays.key.clone(), LoadedStream { versions: versions.to_vec(), facts });
    }
    for row in rows_of(About::Handlers) {
        let row = rows::handler::read(row)?;
        loaded.handlers.insert(row.key.clone(), (row.handler.clone(), row.state.clone()));
        held.handlers.insert(row.key.clone(), row);
    }
    for row in rows_of(About::HandlerLanes) {
        let (handler, lane, record) = rows::handler_lane::read(row)?;
        loaded.handler_lanes.insert((handler, lane), record);
    }
    for row in rows_of(About::Claims) {
        let (handler, identity, claim) = rows::claim::read(row)?;
        if matches!(claim.state, ClaimState::Held { .. }) {
            held.leased.insert((handler.clone(), identity));
        }
        loaded.claims.insert((handler, identity), claim);
    }
    for row in rows_of(About::Requests) {
        let (key, record) = rows::request::read(row)?;
        held.requests.insert(key.clone());
        loaded.requests.insert(key, record);
    }
    for row in rows_of(About::Keys) {
        loaded.keys.push(rows::key::read(row)?);
    }
    loaded.needs_keys = rows_of(About::AnyKey).next().is_some();
    for row in rows_of(About::Clock) {
        loaded.now = Some(read_clock(row)?);
    }
    Ok((held, loaded))
}

/// The versions of a stream's contract: mostly they are known.
async fn versions(shared: &Shared, client: &Object, row: &StreamRow) -> Result<Arc<[Version]>, Failure> {
    if let Some(versions) = shared.versions_at(&row.key, row.version) {
        return Ok(versions);
    }
    let statement = client.prepare_cached(&CONTRACTS).await?;
    let found = client.query(&statement, &[&&*row.key.tenant, &&*row.key.stream]).await?;
    let versions = read_versions(&found)?;
    shared.learn(&row.key, &versions);
    Ok(versions.into())
}

/// Which rows of gaps a turn needs of a lane.
fn gap_needs(needs: &StreamNeeds, name: &Arc<str>, lane: &Lane, version: &Version) -> GapNeeds {
    if needs.whole_lanes.contains(name) {
        return GapNeeds { all: true, ..GapNeeds::default() };
    }
    let wanted = needs.needs.lanes.get(name);
    wanted.map(|wanted| wanted.gaps(lane, &version.contract, version.baseline)).unwrap_or_default()
}

/// The rows of gaps that nobody expected.
async fn gaps_of(client: &Object, arrays: &Arrays<'_>) -> Result<Vec<Row>, Failure> {
    let statement = client.prepare_cached(&GAPS).await?;
    Ok(client.query(&statement, &arrays.gap_values()).await?)
}

/// The rows that are needed of a lane that has many.
async fn crowded(
    client: &Object,
    key: &StreamKey,
    name: &str,
    lane: &Lane,
    wanted: &GapNeeds,
) -> Result<Gaps, Failure> {
    let mut gaps = Gaps::default();
    if wanted.all {
        let all = client.prepare_cached(&GAPS_OF_LANE).await?;
        for row in client.query(&all, &[&&*key.tenant, &&*key.stream, &name]).await? {
            gaps.insert(rows::gap::read(&row)?.1);
        }
        return Ok(gaps);
    }
    let (tenant, stream, generation) = (&*key.tenant, &*key.stream, i32::try_from(lane.generation).unwrap_or(i32::MAX));
    let numbers: Vec<rows::Whole> = wanted.numbers.iter().map(|number| rows::Whole(*number)).collect();
    let holding = client.prepare_cached(&GAPS_HOLDING).await?;
    let oldest = client.prepare_cached(&GAPS_OLDEST).await?;
    let first = i64::try_from(wanted.oldest).unwrap_or(i64::MAX);
    let values: [&(dyn ToSql + Sync); 5] = [&tenant, &stream, &name, &generation, &numbers];
    let others: [&(dyn ToSql + Sync); 4] = [&tenant, &stream, &name, &first];
    let both: Vec<Statement<'_, Answers>> =
        vec![Box::pin(client.query(&holding, &values)), Box::pin(client.query(&oldest, &others))];
    for answer in flight(both).await {
        for row in answer? {
            gaps.insert(rows::gap::read(&row)?.1);
        }
    }
    Ok(gaps)
}

/// Where an answered request lies: with the stream that it was about, which its path names.
pub(super) fn stream_of(target: &str) -> &str {
    let path = target.split_once("/streams/").map_or("", |(_, rest)| rest);
    path.split(['/', '?']).next().unwrap_or_default()
}
