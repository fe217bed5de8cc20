//! Everything that a turn looks at, in one round trip: a transaction begins, locks what it will write, and reads. Or, behind
//! another turn of the same process, it only reads, see `behind`.
//!
//! What holds: streams are locked before handlers, handlers before tenants, each in the order of their keys, so no two turns
//! wait for each other. Each statement sees what was committed before it began (READ COMMITTED), and the locks come first, so
//! what is read stays true until the transaction ends. Lanes that the turn before has left, of the same process, are not
//! read again, if the locked row says that nobody has written since. Rows of gaps are asked for at once if the stream had some the last time. A
//! second round trip is needed only by a stream that another server has written, by the first gap after none, by lanes with more than [`GAPS_AT_ONCE`] rows of gaps, and by a
//! contract that is not known yet.
//!
//! Not here: what is made of it.

pub(super) mod ask;
mod behind;
mod found;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use deadpool_postgres::Object;
use hapax_core::claim::ClaimState;
use hapax_core::contract::{Scope, Version};
use hapax_core::event::Identity;
use hapax_core::facts::Facts;
use hapax_core::lane::{GapNeeds, Gaps, Lane};
use hapax_core::time::Time;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

use super::connect::{is_gone, meant};
use super::flight::{Statement, flight};
use super::known::{CONTRACTS, Shared, late, read_versions};
use super::line::Line;
use super::recent::{Before, GAPS_MAX, Mark, Ticket, Track};
use super::rows::{self, handler::HandlerRow, stream::StreamRow};
use crate::seam::{
    Commits, HandlerKey, Loaded, LoadedStream, RequestKey, StoreError, StreamKey, StreamNeeds, TurnNeeds,
};
use ask::{About, Arrays, ENTRIES, GAPS, GAPS_HOLDING, GAPS_OF_LANE, GAPS_OLDEST, LANES, ask};
use behind::Behind;
use found::Found;

/// Lanes with at most so many rows of gaps are read with all of them; of others only what is needed.
const GAPS_AT_ONCE: i64 = GAPS_MAX.cast_signed();

/// What a turn has loaded: a transaction that holds it, or what it rests on.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) client: Object,
    /// Which load it belongs to.
    pub(super) number: Commits,
    /// If nothing is locked yet: what the lock must show.
    pub(super) rests: Option<Rests>,
    /// Its place among the turns of this process, if it is about one stream and the next may rest on it.
    pub(super) ticket: Option<Ticket>,
    /// By the database's clock.
    pub(super) now: Option<Time>,
    pub(super) streams: HashMap<StreamKey, HeldStream>,
    pub(super) handlers: HashMap<HandlerKey, HandlerRow>,
    /// The requests that were answered before, perhaps so long ago that it does not count.
    pub(super) requests: HashSet<RequestKey>,
    /// The claims that somebody holds, of those that were asked for.
    pub(super) leased: HashSet<(HandlerKey, Identity)>,
}

impl Held {
    fn new(client: Object, number: Commits) -> Self {
        Self {
            client,
            number,
            rests: None,
            ticket: None,
            now: None,
            streams: HashMap::new(),
            handlers: HashMap::new(),
            requests: HashSet::new(),
            leased: HashSet::new(),
        }
    }
}

impl Held {
    /// Are ids unique within lanes only?
    pub(super) fn is_by_lane(&self, key: &StreamKey) -> bool {
        self.streams.get(key).is_some_and(|stream| stream.by_lane)
    }
}

/// What a turn rests on that has locked nothing yet: the stream's row has this mark.
#[derive(Clone, Debug)]
pub(super) struct Rests {
    pub(super) tenant: String,
    pub(super) stream: String,
    /// The transaction, as the database shows it.
    pub(super) xid: String,
    pub(super) version: i32,
    pub(super) hash: Vec<u8>,
    /// Offset, events, attempts, lanes, open gaps.
    pub(super) counts: [i64; 5],
}

impl Rests {
    fn on(key: &StreamKey, mark: &Mark) -> Self {
        let Mark { xid, version, head, lanes, gaps_open } = mark;
        Self {
            tenant: key.tenant.to_string(),
            stream: key.stream.to_string(),
            xid: xid.to_string(),
            version: version.cast_signed(),
            hash: head.hash.to_vec(),
            counts: [head.offset, head.events, head.attempts, *lanes, *gaps_open].map(rows::own),
        }
    }
}

/// A stream as it was found.
#[derive(Debug)]
pub(super) struct HeldStream {
    pub(super) row: StreamRow,
    /// That of the row, if it is locked or will be.
    pub(super) mark: Option<Mark>,
    /// Are ids unique within lanes only?
    pub(super) by_lane: bool,
    /// The lanes that were asked for and are there, with their open gaps.
    pub(super) lanes: HashMap<Arc<str>, u64>,
    /// Those that were asked for, with everything; new ones too.
    pub(super) tracks: HashMap<Arc<str>, Track>,
}

impl HeldStream {
    fn new(row: StreamRow, mark: Option<Mark>) -> Self {
        Self { row, mark, by_lane: false, lanes: HashMap::new(), tracks: HashMap::new() }
    }

    /// A lane that is there, with all its rows of gaps.
    fn load_track(&mut self, facts: &mut Facts, needs: &StreamNeeds, name: Arc<str>, track: Track) {
        let wanted = gap_needs(needs, &name, &track.lane, &facts.version);
        let selected = track.gaps.select(track.lane.generation, &wanted);
        self.lanes.insert(Arc::clone(&name), track.lane.counts.open);
        facts.load_lane(Arc::clone(&name), track.lane.clone(), selected);
        self.tracks.insert(name, track);
    }
}

type Answers = Result<Vec<Row>, Error>;

/// Loads, within a time. If it may rest on what this process remembers, the next turn may rest on it.
pub(super) async fn load(
    shared: &Shared,
    line: &Line,
    needs: &TurnNeeds,
    number: Commits,
    may_rest: bool,
) -> Result<(Held, Loaded), StoreError> {
    let only = only_stream(needs).filter(|_| may_rest);
    let ticket = only.map(|(key, _)| shared.recents.of(key).join());
    let mut found = None;
    if let (Some((key, wanted)), Some(ticket)) = (only, &ticket)
        && let Before::One(before) = ticket.before()
    {
        let behind = Behind { shared, line, key, wanted, ticket, before };
        // Whatever went wrong shows again where it can be told, or it was only that nothing can be rested on.
        found = line.patiently(behind.load(needs, number)).await.and_then(Result::ok).flatten();
    }
    let (mut held, loaded) = match found {
        Some(found) => found,
        None => {
            let loaded = line.patiently(load_twice(shared, line, needs, number, ticket.as_ref())).await;
            loaded.unwrap_or_else(|| Err(late()))?
        }
    };
    held.ticket = ticket;
    Ok((held, loaded))
}

/// The stream of a turn that is about one and nothing else, and submits something.
fn only_stream(needs: &TurnNeeds) -> Option<(&StreamKey, &StreamNeeds)> {
    let TurnNeeds { streams, handlers, handler_lanes, claims, requests: _, keys } = needs;
    let mut all = streams.iter();
    let (only, None) = (all.next()?, all.next()) else { return None };
    let others = handlers.is_empty() && handler_lanes.is_empty() && claims.is_empty() && keys.is_empty();
    let submits = only.1.writes && only.1.whole_lanes.is_empty() && !only.1.needs.lanes.is_empty();
    (others && submits).then_some(only)
}

/// Loads. A connection that was cut while it lay in the pool is replaced once.
async fn load_twice(
    shared: &Shared,
    line: &Line,
    needs: &TurnNeeds,
    number: Commits,
    ticket: Option<&Ticket>,
) -> Result<(Held, Loaded), StoreError> {
    let client = line.client().await?;
    match try_load(shared, client, needs, number, ticket).await {
        Err(Failure::Statement(error)) if is_gone(&error) => {
            line.forget();
            let client = line.client().await?;
            try_load(shared, client, needs, number, ticket).await.map_err(Failure::into)
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
    ticket: Option<&Ticket>,
) -> Result<(Held, Loaded), Failure> {
    // There is a ticket only if there is one stream.
    let lanes = needs.streams.values().flat_map(|stream| stream.needs.lanes.keys().cloned());
    let left = ticket.map(|ticket| ticket.has(shared.ticks(), lanes)).unwrap_or_default();
    let arrays: Vec<Arrays<'_>> =
        needs.streams.iter().map(|(key, needs)| Arrays::of(shared, key, needs, &left)).collect();
    let found = match ask(shared, &client, needs, &arrays, true).await {
        Ok(found) => Found(found),
        Err(error) => {
            // The transaction has failed: what it locked is free again, and the connection is good for another.
            _ = client.batch_execute("ROLLBACK").await;
            return Err(error.into());
        }
    };
    let mut held = Held::new(client, number);
    let mut loaded = Loaded { as_of: number, ..Loaded::default() };
    let rows_of = |about: About| found.rows(about);
    for row in rows_of(About::LockedStreams) {
        let stream = HeldStream::new(rows::stream::read(row)?, Some(rows::stream::read_mark(row)?));
        held.streams.insert(stream.row.key.clone(), stream);
    }
    for row in rows_of(About::Streams) {
        let stream = HeldStream::new(rows::stream::read(row)?, None);
        held.streams.insert(stream.row.key.clone(), stream);
    }
    for (place, arrays) in arrays.iter().enumerate() {
        let Some(stream) = held.streams.get_mut(arrays.key) else { continue };
        let versions = versions(shared, &held.client, &stream.row).await?;
        let Some(version) = versions.last() else { continue };
        stream.by_lane = version.contract.identity.scope == Scope::Lane;
        let mut facts = Facts::new(Arc::clone(&arrays.key.stream), version.clone(), stream.row.head);
        load_entries(found.rows(About::Entries(place)), &mut facts)?;
        if !arrays.ids.is_enough_at(&stream.row.head.hash) {
            shared.seen.missed(arrays.key);
            load_entries(spared_of(&held.client, arrays).await?.iter(), &mut facts)?;
        }
        let mut lanes = found.lanes(place)?;
        let mut gaps = found.gaps(place)?;
        let has_gaps = lanes.iter().any(|(_, lane)| lane.counts.total() > 0);
        if has_gaps && !arrays.asks_for_gaps {
            read_gaps(&gaps_of(&held.client, arrays).await?, &mut gaps)?;
        }
        if has_gaps != arrays.asks_for_gaps && !lanes.is_empty() {
            shared.learn_gaps(arrays.key, has_gaps);
        }
        if let Some(ticket) = ticket.filter(|_| !left.is_empty()) {
            match stream.mark.and_then(|mark| ticket.take(mark, &left)) {
                Some(known) => {
                    known.into_iter().for_each(|(name, track)| {
                        stream.load_track(&mut facts, arrays.needs, name, track);
                    });
                }
                // Somebody else has written since.
                None => {
                    ticket.doubt();
                    let more = lanes_of(&held.client, arrays.key, &left, &mut gaps).await?;
                    lanes.extend(more);
                }
            }
        }
        for (name, lane) in lanes {
            let known = gaps.remove(&name).unwrap_or_default();
            if lane.counts.total() <= GAPS_MAX || arrays.needs.whole_lanes.contains(&name) {
                stream.load_track(&mut facts, arrays.needs, name, Track { lane, gaps: known });
                continue;
            }
            let wanted = gap_needs(arrays.needs, &name, &lane, version);
            let selected = crowded(&held.client, arrays.key, &name, &lane, &wanted).await?;
            stream.lanes.insert(Arc::clone(&name), lane.counts.open);
            facts.load_lane(name, lane, selected);
        }
        for name in arrays.needs.needs.lanes.keys().filter(|name| !stream.lanes.contains_key(*name)) {
            stream.tracks.insert(Arc::clone(name), Track::default());
        }
        found.load_rest(place, &mut facts)?;
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
    found.load_requests(&mut held, &mut loaded)?;
    for row in rows_of(About::Keys) {
        loaded.keys.push(rows::key::read(row)?);
    }
    loaded.needs_keys = rows_of(About::AnyKey).next().is_some();
    loaded.now = found.now()?;
    held.now = loaded.now;
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

/// The entries that have the ids of a stream's events.
fn load_entries<'r>(rows: impl Iterator<Item = &'r Row>, facts: &mut Facts) -> Result<(), StoreError> {
    let mut entries = rows.map(rows::entry::read_found).collect::<Result<Vec<_>, _>>()?;
    // An id that was forgotten may have been used again, and then the newest counts.
    entries.sort_by_key(|entry| entry.offset);
    entries.into_iter().for_each(|entry| facts.load_original(entry));
    Ok(())
}

/// Entries with ids that were thought to be new: another server has written since.
async fn spared_of(client: &Object, arrays: &Arrays<'_>) -> Result<Vec<Row>, Failure> {
    let statement = client.prepare_cached(&ENTRIES).await?;
    Ok(client.query(&statement, &arrays.spared_values()).await?)
}

/// The rows of gaps that nobody expected.
async fn gaps_of(client: &Object, arrays: &Arrays<'_>) -> Result<Vec<Row>, Failure> {
    let statement = client.prepare_cached(&GAPS).await?;
    Ok(client.query(&statement, &arrays.gap_values()).await?)
}

/// These lanes and their rows of gaps: it was thought that they need not be read.
async fn lanes_of(
    client: &Object,
    key: &StreamKey,
    names: &[Arc<str>],
    gaps: &mut HashMap<Arc<str>, Gaps>,
) -> Result<Vec<(Arc<str>, Lane)>, Failure> {
    let names: Vec<&str> = names.iter().map(|name| &**name).collect();
    let (tenant, stream, whole) = (&*key.tenant, &*key.stream, Vec::<&str>::new());
    let lanes = client.prepare_cached(&LANES).await?;
    let rows_of_gaps = client.prepare_cached(&GAPS).await?;
    let values: [&(dyn ToSql + Sync); 5] = [&tenant, &stream, &names, &whole, &GAPS_AT_ONCE];
    let both: Vec<Statement<'_, Answers>> =
        vec![Box::pin(client.query(&lanes, &values[..3])), Box::pin(client.query(&rows_of_gaps, &values))];
    let mut answers = flight(both).await.into_iter();
    let (lanes, found) = (answers.next().transpose()?, answers.next().transpose()?);
    read_gaps(&found.unwrap_or_default(), gaps)?;
    Ok(lanes.unwrap_or_default().iter().map(rows::lane::read).collect::<Result<_, _>>()?)
}

fn read_gaps(found: &[Row], gaps: &mut HashMap<Arc<str>, Gaps>) -> Result<(), StoreError> {
    for row in found {
        let (lane, gap) = rows::gap::read(row)?;
        gaps.entry(lane).or_default().insert(gap);
    }
    Ok(())
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
