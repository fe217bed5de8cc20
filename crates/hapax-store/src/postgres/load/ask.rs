//! What is asked for, and the statements that ask: all of them in one flight, locks first.
//!
//! Every statement finds its rows by an index that its table has for it; see the schema.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, LazyLock};

use deadpool_postgres::Object;
use hapax_core::event::NonceKey;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

use super::super::flight::{Statement, flight};
use super::super::known::{CLOCK, Shared};
use super::super::rows;
use super::super::seen::Asked;
use super::{Answers, GAPS_AT_ONCE, stream_of};
use crate::seam::{HandlerKey, StreamKey, StreamNeeds, TurnNeeds};

/// The arrays that the statements about a stream are given.
pub(super) struct Arrays<'n> {
    /// Are rows of gaps asked for with everything else?
    pub(super) asks_for_gaps: bool,
    pub(super) key: &'n StreamKey,
    tenant: &'n str,
    stream: &'n str,
    pub(super) needs: &'n StreamNeeds,
    pub(super) ids: Asked,
    lanes: Vec<&'n str>,
    whole: Vec<&'n str>,
    nonces: Vec<&'n [u8]>,
    counters: (Vec<&'n str>, Vec<&'n str>, Vec<i16>, Vec<i64>),
    periods: (Vec<&'n str>, Vec<i16>, Vec<i64>),
}

impl<'n> Arrays<'n> {
    /// Everything that is needed but for these lanes.
    pub(super) fn of(shared: &Shared, key: &'n StreamKey, needs: &'n StreamNeeds, but: &[Arc<str>]) -> Self {
        let wanted = &needs.needs;
        let but: HashSet<&str> = but.iter().map(|name| &**name).collect();
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
        let mask = rows::entry::Mask::of(key);
        let lookups = wanted.sought().map(|sought| mask.lookup(sought.identity)).collect();
        // Without the lock nobody could say whether the filter is whole.
        let ids = if needs.writes { shared.seen.split(key, lookups) } else { Asked::all(lookups) };
        let whole: Vec<&str> = needs.whole_lanes.iter().map(|name| &**name).collect();
        Self {
            asks_for_gaps: !needs.whole_lanes.is_empty() || shared.has_gaps(key),
            key,
            tenant: &key.tenant,
            stream: &key.stream,
            needs,
            ids,
            lanes: wanted
                .lanes
                .keys()
                .map(|name| &**name)
                .filter(|name| !but.contains(name))
                .chain(whole.iter().copied())
                .collect(),
            whole,
            nonces: wanted.nonces.iter().map(|NonceKey(nonce)| &nonce[..]).collect(),
            counters,
            periods,
        }
    }
}

impl Arrays<'_> {
    /// What [`GAPS`] is given.
    pub(super) fn gap_values(&self) -> Vec<&(dyn ToSql + Sync)> {
        vec![&self.tenant, &self.stream, &self.lanes, &self.whole, &GAPS_AT_ONCE]
    }

    /// What [`ENTRIES`] is given to ask for the ids that were thought to be new.
    pub(super) fn spared_values(&self) -> [&(dyn ToSql + Sync); 3] {
        [&self.tenant, &self.stream, &self.ids.spared]
    }
}

/// What an answer is about. Numbers are places among the streams.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum About {
    Nothing,
    Streams,
    /// With the transaction that wrote each of them last.
    LockedStreams,
    /// The same, not locked.
    SeenStreams,
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

/// Asks for everything at once; in a transaction that locks it first, or without.
pub(super) async fn ask(
    shared: &Shared,
    client: &Object,
    needs: &TurnNeeds,
    arrays: &[Arrays<'_>],
    locks: bool,
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
    // First, so that whatever follows sees at least what these rows rest on.
    if !written.0.is_empty() {
        let (about, sql) =
            if locks { (About::LockedStreams, &**LOCK_STREAMS) } else { (About::SeenStreams, &**SEE_STREAMS) };
        asked.push((about, sql, vec![&written.0, &written.1]));
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
        if !it.ids.lookups.is_empty() {
            asked.push((About::Entries(place), &**ENTRIES, vec![&it.tenant, &it.stream, &it.ids.lookups]));
        }
        if !it.lanes.is_empty() {
            asked.push((About::Lanes(place), &**LANES, vec![&it.tenant, &it.stream, &it.lanes]));
        }
        if !it.lanes.is_empty() && it.asks_for_gaps {
            asked.push((About::Gaps(place), &**GAPS, it.gap_values()));
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
    let mut statements: Vec<Statement<'_, Answers>> = Vec::with_capacity(asked.len() + 1);
    if locks {
        statements.push(Box::pin(begin(client)));
    }
    for ((_, _, values), statement) in asked.iter().zip(&prepared) {
        statements.push(Box::pin(client.query(statement, values)));
    }
    let mut answers = flight(statements).await.into_iter();
    if locks {
        answers.next().transpose()?;
    }
    asked.iter().zip(answers).map(|((about, _, _), answer)| Ok((*about, answer?))).collect()
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

/// The same, but no index has it: all rows of a stream are never the shorter way to a few of them, whatever the planner
/// believes of a stream that it has not seen yet.
pub(in crate::postgres) const NO_INDEX: &str = "t.tenant || '' = $1 AND t.stream || '' = $2 AND t.partition + 0 = 0";

const LOCK_TENANTS: &str = "SELECT 1 FROM tenants t WHERE t.tenant = ANY($1::text[]) AND t.stream = '' AND \
                            t.partition = 0 ORDER BY t.tenant FOR UPDATE";
const ANY_KEY: &str = "SELECT 1 FROM keys t WHERE t.revoked_at IS NULL LIMIT 1";

const NAMED_STREAMS: &str = "unnest($1::text[], $2::text[]) n(tenant, stream) JOIN streams t ON t.tenant = n.tenant AND \
                             t.stream = n.stream AND t.partition = 0";
static STREAMS: LazyLock<String> = LazyLock::new(|| select(rows::stream::COLUMNS, NAMED_STREAMS));
static SEE_STREAMS: LazyLock<String> = LazyLock::new(|| {
    let columns = format!("{}, t.xmin::text::int8", rows::stream::COLUMNS);
    select(&columns, &format!("{NAMED_STREAMS} ORDER BY t.tenant, t.stream"))
});
static LOCK_STREAMS: LazyLock<String> = LazyLock::new(|| format!("{} FOR UPDATE OF t", *SEE_STREAMS));
static LOCK_HANDLERS: LazyLock<String> = LazyLock::new(|| {
    let named = "unnest($1::text[], $2::text[]) n(tenant, handler) JOIN handlers t ON t.tenant = n.tenant AND \
                 t.stream = '' AND t.partition = 0 AND t.handler = n.handler ORDER BY t.tenant, t.handler FOR UPDATE OF t";
    select(rows::handler::COLUMNS, named)
});
static KEYS: LazyLock<String> =
    LazyLock::new(|| select(rows::key::COLUMNS, "keys t WHERE t.tenant = ANY($1::text[]) AND t.stream = ''"));
pub(in crate::postgres) static ENTRIES: LazyLock<String> = LazyLock::new(|| {
    // What a lookup leads to is taken out of its block here: all of a block is sixteen times as much to send and to read.
    let block = format!("SELECT * FROM blocks t WHERE {OF_STREAM} AND t.last >= l.\"offset\" ORDER BY t.last LIMIT 1");
    let found = "unnest($3::int8[]) w(lookup) JOIN lookups l ON l.lookup = w.lookup";
    format!(
        "SELECT {} FROM {found} CROSS JOIN LATERAL ({block}) t WHERE l.tenant = $1 AND l.stream = $2 AND l.partition = 0 AND \
         t.first <= l.\"offset\"",
        rows::entry::FOUND
    )
});
pub(super) static LANES: LazyLock<String> =
    LazyLock::new(|| select(rows::lane::COLUMNS, &format!("lanes t WHERE {OF_STREAM} AND t.lane = ANY($3::text[])")));
pub(super) static GAPS: LazyLock<String> = LazyLock::new(|| {
    let rest = "lanes l JOIN gaps t ON t.tenant = l.tenant AND t.stream = l.stream AND t.partition = l.partition AND \
                t.lane = l.lane WHERE l.tenant = $1 AND l.stream = $2 AND l.partition = 0 AND l.lane = ANY($3::text[]) AND \
                (l.lane = ANY($4::text[]) OR l.open + l.acknowledged + l.abandoned + l.unlisted BETWEEN 1 AND $5)";
    select(rows::gap::COLUMNS, rest)
});
pub(super) static GAPS_OF_LANE: LazyLock<String> =
    LazyLock::new(|| select(rows::gap::COLUMNS, &format!("gaps t WHERE {OF_STREAM} AND t.lane = $3")));
pub(super) static GAPS_HOLDING: LazyLock<String> = LazyLock::new(|| {
    let one = format!(
        "SELECT * FROM gaps t WHERE {OF_STREAM} AND t.lane = $3 AND t.generation = $4 AND t.first <= n.number \
                       ORDER BY t.first DESC LIMIT 1"
    );
    let rest = format!("unnest($5::numeric[]) n(number) CROSS JOIN LATERAL ({one}) t WHERE t.last >= n.number");
    select(rows::gap::COLUMNS, &rest)
});
pub(super) static GAPS_OLDEST: LazyLock<String> = LazyLock::new(|| {
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
