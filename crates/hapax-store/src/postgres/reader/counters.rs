//! Counters with their adjustments, and whether their periods are closed.

use std::sync::LazyLock;

use hapax_core::counter::{Adjustment, Counter, CounterKey};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::PostgresReader;
use super::walk::page;
use crate::postgres::rows;
use crate::seam::{CounterFilter, CounterRecord, Page, StoreError, StreamKey};

/// The adjustments of a counter `k`, and whether its period is closed for every key.
const BESIDE: &str = r#"
  (SELECT array_agg(t."offset") AS offsets, array_agg(t.record) AS records FROM adjustments t
   WHERE t.tenant = k.tenant AND t.stream = k.stream AND t.partition = 0 AND t.name = k.name AND t.key = k.key
     AND t.kind = k.kind AND t.hour = k.hour) a,
  LATERAL (SELECT EXISTS (SELECT FROM closed t
   WHERE t.tenant = k.tenant AND t.stream = k.stream AND t.partition = 0 AND t.name = k.name
     AND t.kind = k.kind AND t.hour = k.hour) AS is_closed) c"#;

/// A counter that is not there has adjustments and closings nevertheless.
static COUNTER: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT k.name, k.key, k.kind, k.hour, t.record, c.is_closed, a.offsets, a.records
         FROM (SELECT $1::text COLLATE \"C\" AS tenant, $2::text COLLATE \"C\" AS stream, $3::text COLLATE \"C\" AS name,
                 $4::text COLLATE \"C\" AS key, $5::int2 AS kind, $6::int8 AS hour) k
         LEFT JOIN counters t ON t.tenant = k.tenant AND t.stream = k.stream AND t.partition = 0 AND t.name = k.name
           AND t.key = k.key AND t.kind = k.kind AND t.hour = k.hour,
         LATERAL {BESIDE}"
    )
});

fn counters(condition: &str, count: &str) -> String {
    format!(
        "SELECT k.name, k.key, k.kind, k.hour, k.record, c.is_closed, a.offsets, a.records
         FROM (SELECT * FROM counters WHERE tenant = $1 AND stream = $2 AND partition = 0 AND {condition}
               ORDER BY name, key, kind, hour LIMIT {count}) k,
         LATERAL {BESIDE}
         ORDER BY k.name, k.key, k.kind, k.hour"
    )
}

static AFTER: LazyLock<String> =
    LazyLock::new(|| counters("(name, key, kind, hour) > ($3, $4, $5::int2, $6::int8)", "$7"));

static NAMED: LazyLock<String> =
    LazyLock::new(|| counters("name = $3 AND (key, kind, hour) > ($4, $5::int2, $6::int8)", "$7"));

impl PostgresReader {
    pub(super) fn find_counter(&self, stream: &StreamKey, key: &CounterKey) -> Result<CounterRecord, StoreError> {
        if !rows::can_be(&key.name) || !rows::can_be(&key.key) {
            return Ok(CounterRecord::default());
        }
        let (kind, hour) = rows::period(key.period);
        let values: [&(dyn ToSql + Sync); 6] =
            [&&*stream.tenant, &&*stream.stream, &&*key.name, &&*key.key, &kind, &hour];
        let row = self.shared.query_opt(&COUNTER, &values)?;
        Ok(row.map(|row| read(&row)).transpose()?.map(|(_, record)| record).unwrap_or_default())
    }

    pub(super) fn find_counters(
        &self,
        stream: &StreamKey,
        filter: &CounterFilter,
        after: Option<&CounterKey>,
        limit: usize,
    ) -> Result<Page<(CounterKey, CounterRecord), CounterKey>, StoreError> {
        let name = filter.name.as_deref();
        let sql: &'static str = if name.is_some() { &NAMED } else { &AFTER };
        // Nothing of a name is before the empty key, and no kind is before the first.
        let first = (name.unwrap_or_default(), "", -1, 0);
        let fetch = |last: Option<&CounterKey>, count: i64| {
            let (of, key, kind, hour) = match last.or(after) {
                None => first,
                Some(last) if name.is_some_and(|name| *last.name < *name) => first,
                // All of the name lies before.
                Some(last) if name.is_some_and(|name| *last.name > *name) => return Ok(Vec::new()),
                Some(last) => {
                    let (kind, hour) = rows::period(last.period);
                    (&*last.name, &*last.key, kind, hour)
                }
            };
            let values: [&(dyn ToSql + Sync); 7] =
                [&&*stream.tenant, &&*stream.stream, &of, &key, &kind, &hour, &count];
            self.shared.query(sql, &values)?.iter().map(read).collect()
        };
        let is_filtered = filter.key.is_some() || filter.period.is_some();
        page(limit, is_filtered, |(key, _)| key.clone(), |(key, _)| filter.takes(key), fetch)
    }
}

fn read(row: &Row) -> Result<(CounterKey, CounterRecord), StoreError> {
    let (key, counter): (CounterKey, Option<Counter>) = rows::counter::read_maybe(row)?;
    let counter = counter.unwrap_or_default();
    let is_closed = rows::flag(row, 5, "closed")?;
    let mut adjustments: Vec<Adjustment> = rows::adjustment::read_lists(row, 6)?;
    adjustments.sort_by_key(|adjustment| adjustment.offset);
    let closed = counter.closed || is_closed;
    Ok((key, CounterRecord { counter, adjustments, closed }))
}
