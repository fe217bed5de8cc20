//! Everything that a turn looks at, in one round trip: a transaction begins, locks what it will write, and reads.
//!
//! What holds: streams are locked before handlers, handlers before tenants, each in the order of their keys, so no two turns
//! wait for each other. Each statement sees what was committed before it began (READ COMMITTED), and the locks come first, so
//! what is read stays true until the transaction ends. A second round trip is needed only by lanes with more than
//! [`GAPS_AT_ONCE`] rows of gaps, and by a contract that is not known yet.
//!
//! Not here: what is made of it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, LazyLock};

use deadpool_postgres::Object;
use hapax_core::claim::ClaimState;
use hapax_core::contract::{Scope, Version};
use hapax_core::event::{Identity, NonceKey};
use hapax_core::facts::Facts;
use hapax_core::lane::{GapNeeds, Gaps, Lane};
use hapax_core::time::Time;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

use super::connect::{is_gone, meant};
use super::flight::{Statement, flight};
use super::known::{CONTRACTS, Shared, read_versions};
use super::rows::{self, handler::HandlerRow, stream::StreamRow};
use crate::seam::{
    Commits, HandlerKey, Loaded, LoadedStream, RequestKey, StoreError, StreamKey, StreamNeeds, TurnNeeds,
};

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

/// The arrays that the statements about a stream are given.
struct Arrays<'n> {
    key: &'n StreamKey,
    tenant: &'n str,
    stream: &'n str,
    needs: &'n StreamNeeds,
    identities: Vec<&'n [u8]>,
    lanes: Vec<&'n str>,
    whole: Vec<&'n str>,
    nonces: Vec<&'n [u8]>,
    counters: (Vec<&'n str>, Vec<&'n str>, Vec<i16>, Vec<i64>),
    periods: (Vec<&'n str>, Vec<i16>, Vec<i64>),
}

impl<'n> Arrays<'n> {
    fn of(key: &'n StreamKey, needs: &'n StreamNeeds) -> Self {
        let wanted = &needs.needs;
        let mut counters = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for it in &wanted.counters {
            let (kind, hour) = rows::period(it.period);
            counters.0.push(&*it.name);
            counters.1.push(&*it.key);
            counters.2.push(kind);
            counters.3.push(hour);
        }
        let mut periods = (Vec::new(), Vec::new(), Vec::new());
        for (name, period) in &wanted.periods {
            let (kind, hour) = rows::period(*period);
            periods.0.push(&**name);
            periods.1.push(kind);
            periods.2.push(hour);
        }
        let whole: Vec<&str> = needs.whole_lanes.iter().map(|name| &**name).collect();
        Self {
            key,
            tenant: &key.tenant,
            stream: &key.stream,
            needs,
            identities: wanted.identities.iter().map(|Identity(identity)| &identity[..]).collect(),
            lanes: wanted.lanes.keys().map(|name| &**name).chain(whole.iter().copied()).collect(),
            whole,
            nonces: wanted.nonces.iter().map(|NonceKey(nonce)| &nonce[..]).collect(),
            counters,
            periods,
        }
    }
}

/// What an answer is about. Numbers are places among the streams.
#[derive(Clone, Copy, PartialEq, Eq)]
enum About {
    Nothing,
    Streams,
    Handlers,
    Clock,
    Entries(usize),
    Lanes(usize),
    Gaps(usize),
    Nonces(usize),
    Counters(usize),
    Closed(usize),
    HandlerLanes,
    Claims,
    Requests,
    Keys,
    AnyKey,
}

type Answers = Result<Vec<Row>, Error>;

/// Loads. A connection that was cut while it lay in the pool is replaced once.
pub(super) async fn load(shared: &Shared, needs: &TurnNeeds, number: Commits) -> Result<(Held, Loaded), StoreError> {
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
    let arrays: Vec<Arrays<'_>> = needs.streams.iter().map(|(key, needs)| Arrays::of(key, needs)).collect();
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
            entries.push(rows::entry::read(row)?);
        }
        // An id that was forgotten may have been used again, and then the newest counts.
        entries.sort_by_key(|entry| entry.offset);
        entries.into_iter().for_each(|entry| facts.load_original(Arc::new(entry)));
        let mut gaps: HashMap<Arc<str>, Gaps> = HashMap::new();
        for row in rows_of(About::Gaps(place)) {
            let (lane, gap) = rows::gap::read(row)?;
            gaps.entry(lane).or_default().insert(gap);
        }
        for row in rows_of(About::Lanes(place)) {
            let (name, lane) = rows::lane::read(row)?;
            stream.lanes.insert(Arc::clone(&name), lane.counts.open);
            let wanted = gap_needs(arrays.needs, &name, &lane, version);
            let known = gaps.remove(&name).unwrap_or_default();
            let selected = if lane.counts.total() > GAPS_AT_ONCE.unsigned_abs() && !wanted.all {
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
        let micros: i64 = row.try_get(0)?;
        loaded.now = (!shared.options.own_clock).then(|| Time::from_nanos(micros.saturating_mul(1_000)));
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

/// The rows that are needed of a lane that has many.
async fn crowded(
    client: &Object,
    key: &StreamKey,
    name: &str,
    lane: &Lane,
    wanted: &GapNeeds,
) -> Result<Gaps, Failure> {
    let mut gaps = Gaps::default();
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

/// Asks for everything at once.
async fn ask(
    shared: &Shared,
    client: &Object,
    needs: &TurnNeeds,
    arrays: &[Arrays<'_>],
) -> Result<Vec<(About, Vec<Row>)>, Error> {
    let writes = |writes: bool| {
        let some = arrays.iter().filter(move |it| it.needs.writes == writes);
        some.map(|it| (&*it.key.tenant, &*it.key.stream)).unzip::<_, _, Vec<&str>, Vec<&str>>()
    };
    let (written, looked_at) = (writes(true), writes(false));
    let handlers = needs.handlers.iter().chain(needs.handler_lanes.iter().map(|(handler, _)| handler));
    let handlers: BTreeSet<&HandlerKey> = handlers.chain(needs.claims.iter().map(|(handler, _)| handler)).collect();
    let handlers: (Vec<&str>, Vec<&str>) = handlers.iter().map(|key| (&*key.tenant, &*key.handler)).unzip();
    let lanes = needs.handler_lanes.iter().map(|(key, lane)| ((&*key.tenant, &*key.handler), &**lane));
    let (lanes_of, lanes): (Vec<(&str, &str)>, Vec<&str>) = lanes.unzip();
    let lanes_of: (Vec<&str>, Vec<&str>) = lanes_of.into_iter().unzip();
    let claims = needs.claims.iter().map(|(key, identity)| ((&*key.tenant, &*key.handler), &identity.0[..]));
    let (claims_of, claims): (Vec<(&str, &str)>, Vec<&[u8]>) = claims.unzip();
    let claims_of: (Vec<&str>, Vec<&str>) = claims_of.into_iter().unzip();
    let requests = needs.requests.iter().map(|key| ((&*key.tenant, &*key.target), &*key.key));
    let (requests_of, requests): (Vec<(&str, &str)>, Vec<&str>) = requests.unzip();
    let (request_tenants, targets): (Vec<&str>, Vec<&str>) = requests_of.into_iter().unzip();
    let request_streams: Vec<&str> = targets.iter().map(|target| stream_of(target)).collect();
    let tenants: Vec<&str> = needs.keys.iter().map(|tenant| &**tenant).collect();

    let mut asked: Vec<(About, &str, Vec<&(dyn ToSql + Sync)>)> = Vec::new();
    if !written.0.is_empty() {
        asked.push((About::Streams, &**LOCK_STREAMS, vec![&written.0, &written.1]));
    }
    if !handlers.0.is_empty() {
        asked.push((About::Handlers, &**LOCK_HANDLERS, vec![&handlers.0, &handlers.1]));
    }
    if !tenants.is_empty() {
        asked.push((About::Nothing, LOCK_TENANTS, vec![&tenants]));
        asked.push((About::Keys, &**KEYS, vec![&tenants]));
        asked.push((About::AnyKey, ANY_KEY, vec![]));
    }
    if !shared.options.own_clock {
        asked.push((About::Clock, CLOCK, vec![]));
    }
    if !looked_at.0.is_empty() {
        asked.push((About::Streams, &**STREAMS, vec![&looked_at.0, &looked_at.1]));
    }
    for (place, it) in arrays.iter().enumerate() {
        if !it.identities.is_empty() {
            asked.push((About::Entries(place), &**ENTRIES, vec![&it.tenant, &it.stream, &it.identities]));
        }
        if !it.lanes.is_empty() {
            asked.push((About::Lanes(place), &**LANES, vec![&it.tenant, &it.stream, &it.lanes]));
            let values: Vec<&(dyn ToSql + Sync)> = vec![&it.tenant, &it.stream, &it.lanes, &it.whole, &GAPS_AT_ONCE];
            asked.push((About::Gaps(place), &**GAPS, values));
        }
        if !it.nonces.is_empty() {
            asked.push((About::Nonces(place), &**NONCES, vec![&it.tenant, &it.stream, &it.nonces]));
        }
        let (names, keys, kinds, hours) = &it.counters;
        if !names.is_empty() {
            asked.push((About::Counters(place), &**COUNTERS, vec![&it.tenant, &it.stream, names, keys, kinds, hours]));
        }
        let (names, kinds, hours) = &it.periods;
        if !names.is_empty() {
            asked.push((About::Closed(place), &**CLOSED, vec![&it.tenant, &it.stream, names, kinds, hours]));
        }
    }
    if !lanes.is_empty() {
        asked.push((About::HandlerLanes, &**HANDLER_LANES, vec![&lanes_of.0, &lanes_of.1, &lanes]));
    }
    if !claims.is_empty() {
        asked.push((About::Claims, &**CLAIMS, vec![&claims_of.0, &claims_of.1, &claims]));
    }
    if !requests.is_empty() {
        asked.push((About::Requests, &**REQUESTS, vec![&request_tenants, &request_streams, &targets, &requests]));
    }

    let mut prepared = Vec::with_capacity(asked.len());
    for (_, sql, _) in &asked {
        prepared.push(client.prepare_cached(sql).await?);
    }
    let mut statements: Vec<Statement<'_, Answers>> = vec![Box::pin(begin(client))];
    for ((_, _, values), statement) in asked.iter().zip(&prepared) {
        statements.push(Box::pin(client.query(statement, values)));
    }
    let mut answers = flight(statements).await.into_iter();
    answers.next().transpose()?;
    asked.iter().zip(answers).map(|((about, _, _), answer)| Ok((*about, answer?))).collect()
}

/// Where an answered request lies: with the stream that it was about, which its path names.
pub(super) fn stream_of(target: &str) -> &str {
    let path = target.split_once("/streams/").map_or("", |(_, rest)| rest);
    path.split(['/', '?']).next().unwrap_or_default()
}

async fn begin(client: &Object) -> Answers {
    client.batch_execute("BEGIN").await.map(|()| Vec::new())
}

/// A select list from a table, with what follows it.
fn select(columns: &str, rest: &str) -> String {
    format!("SELECT {columns} FROM {rest}")
}

/// Of one stream.
const OF_STREAM: &str = "t.tenant = $1 AND t.stream = $2 AND t.partition = 0";

const LOCK_TENANTS: &str = "SELECT 1 FROM tenants t WHERE t.tenant = ANY($1::text[]) AND t.stream = '' AND \
                            t.partition = 0 ORDER BY t.tenant FOR UPDATE";
const ANY_KEY: &str = "SELECT 1 FROM keys t WHERE t.revoked_at IS NULL LIMIT 1";
const CLOCK: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::int8";

static STREAMS: LazyLock<String> = LazyLock::new(|| {
    let named = "unnest($1::text[], $2::text[]) n(tenant, stream) JOIN streams t ON t.tenant = n.tenant AND \
                 t.stream = n.stream AND t.partition = 0";
    select(rows::stream::COLUMNS, named)
});
static LOCK_STREAMS: LazyLock<String> =
    LazyLock::new(|| format!("{} ORDER BY t.tenant, t.stream FOR UPDATE OF t", *STREAMS));
static LOCK_HANDLERS: LazyLock<String> = LazyLock::new(|| {
    let named = "unnest($1::text[], $2::text[]) n(tenant, handler) JOIN handlers t ON t.tenant = n.tenant AND \
                 t.stream = '' AND t.partition = 0 AND t.handler = n.handler ORDER BY t.tenant, t.handler FOR UPDATE OF t";
    select(rows::handler::COLUMNS, named)
});
static KEYS: LazyLock<String> =
    LazyLock::new(|| select(rows::key::COLUMNS, "keys t WHERE t.tenant = ANY($1::text[]) AND t.stream = ''"));
static ENTRIES: LazyLock<String> = LazyLock::new(|| {
    let one = format!("SELECT * FROM entries t WHERE {OF_STREAM} AND t.identity = n.identity");
    select(rows::entry::COLUMNS, &format!("unnest($3::bytea[]) n(identity) CROSS JOIN LATERAL ({one}) t"))
});
static LANES: LazyLock<String> =
    LazyLock::new(|| select(rows::lane::COLUMNS, &format!("lanes t WHERE {OF_STREAM} AND t.lane = ANY($3::text[])")));
static GAPS: LazyLock<String> = LazyLock::new(|| {
    let rest = "lanes l JOIN gaps t ON t.tenant = l.tenant AND t.stream = l.stream AND t.partition = l.partition AND \
                t.lane = l.lane WHERE l.tenant = $1 AND l.stream = $2 AND l.partition = 0 AND l.lane = ANY($3::text[]) AND \
                (l.lane = ANY($4::text[]) OR l.open + l.acknowledged + l.abandoned + l.unlisted BETWEEN 1 AND $5)";
    select(rows::gap::COLUMNS, rest)
});
static GAPS_HOLDING: LazyLock<String> = LazyLock::new(|| {
    let one = format!(
        "SELECT * FROM gaps t WHERE {OF_STREAM} AND t.lane = $3 AND t.generation = $4 AND t.first <= n.number \
                       ORDER BY t.first DESC LIMIT 1"
    );
    let rest = format!("unnest($5::numeric[]) n(number) CROSS JOIN LATERAL ({one}) t WHERE t.last >= n.number");
    select(rows::gap::COLUMNS, &rest)
});
static GAPS_OLDEST: LazyLock<String> = LazyLock::new(|| {
    let some = format!(
        "SELECT * FROM gaps t WHERE {OF_STREAM} AND t.lane = $3 AND t.kind = k.kind \
                        ORDER BY t.generation, t.first LIMIT $4"
    );
    select(rows::gap::COLUMNS, &format!("generate_series(0, 3) k(kind) CROSS JOIN LATERAL ({some}) t"))
});
static NONCES: LazyLock<String> = LazyLock::new(|| {
    let one = format!("SELECT * FROM nonces t WHERE {OF_STREAM} AND t.nonce = n.nonce");
    select(rows::nonce::COLUMNS, &format!("unnest($3::bytea[]) n(nonce) CROSS JOIN LATERAL ({one}) t"))
});
static COUNTERS: LazyLock<String> = LazyLock::new(|| {
    let rest = "unnest($3::text[], $4::text[], $5::int2[], $6::int8[]) n(name, key, kind, hour) JOIN counters t ON \
                t.tenant = $1 AND t.stream = $2 AND t.partition = 0 AND t.name = n.name AND t.key = n.key AND \
                t.kind = n.kind AND t.hour = n.hour";
    select(rows::counter::COLUMNS, rest)
});
static CLOSED: LazyLock<String> = LazyLock::new(|| {
    let rest = "unnest($3::text[], $4::int2[], $5::int8[]) n(name, kind, hour) JOIN closed t ON t.tenant = $1 AND \
                t.stream = $2 AND t.partition = 0 AND t.name = n.name AND t.kind = n.kind AND t.hour = n.hour";
    select(rows::closed::COLUMNS, rest)
});
/// What lies with the stream that a handler reads.
fn of_handlers(columns: &str, table: &str, last: &str) -> String {
    let rest = format!(
        "unnest($1::text[], $2::text[], $3) n(tenant, handler, last) JOIN handlers h ON h.tenant = n.tenant AND \
         h.stream = '' AND h.partition = 0 AND h.handler = n.handler JOIN {table} t ON t.tenant = h.tenant AND \
         t.stream = coalesce(h.reads, '') AND t.partition = 0 AND t.handler = h.handler AND t.{last} = n.last"
    );
    select(columns, &rest)
}

static HANDLER_LANES: LazyLock<String> =
    LazyLock::new(|| of_handlers(rows::handler_lane::COLUMNS, "handler_lanes", "lane").replace("$3", "$3::text[]"));
static CLAIMS: LazyLock<String> =
    LazyLock::new(|| of_handlers(rows::claim::COLUMNS, "claims", "identity").replace("$3", "$3::bytea[]"));
static REQUESTS: LazyLock<String> = LazyLock::new(|| {
    let rest = "unnest($1::text[], $2::text[], $3::text[], $4::text[]) n(tenant, stream, target, key) JOIN requests t ON \
                t.tenant = n.tenant AND t.stream = n.stream AND t.partition = 0 AND t.target = n.target AND t.key = n.key";
    select(rows::request::COLUMNS, rest)
});
