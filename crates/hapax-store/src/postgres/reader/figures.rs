//! What an operator watches. Asked often, so it must cost little: sizes are those that the database keeps anyway.
//!
//! Attempts are counted as long as there are few, and from then on are what the database's statistics say.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use super::PostgresReader;
use crate::postgres::rows::{self, handler::HandlerRow, stream::StreamRow};
use crate::seam::{Figures, HandlerFigures, HandlerKey, StoreError, StreamFigures, StreamKey};

/// Tables with what is stored beside them, indexes, attempts up to the number that is still counted, and the estimate.
const SIZES: &str = "
SELECT coalesce(sum(pg_table_size(c.oid)), 0)::int8, coalesce(sum(pg_indexes_size(c.oid)), 0)::int8,
  (SELECT count(*) FROM (SELECT FROM attempts LIMIT $1) a),
  coalesce(max(c.reltuples) FILTER (WHERE c.relname = 'attempts'), 0)::int8
FROM pg_class c WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema())) AND c.relkind = 'r'";

/// More than so many attempts are not counted.
const COUNTED_MAX: i64 = 10_000;

static STREAMS: LazyLock<String> = LazyLock::new(|| {
    format!("SELECT {} FROM streams t WHERE t.partition = 0 ORDER BY t.tenant, t.stream", rows::stream::COLUMNS)
});

static HANDLERS: LazyLock<String> = LazyLock::new(|| {
    format!("SELECT {} FROM handlers t WHERE t.partition = 0 ORDER BY t.tenant, t.handler", rows::handler::COLUMNS)
});

impl PostgresReader {
    pub(super) fn find_figures(&self) -> Result<Figures, StoreError> {
        let mut figures = Figures::default();
        if let Some(row) = self.shared.query_opt(SIZES, &[&COUNTED_MAX])? {
            let [log, index, counted, estimate] = [0, 1, 2, 3].map(|place| rows::number(&row, place, "pg_class"));
            let (counted, estimate) = (counted?, estimate?);
            let attempts = if counted < COUNTED_MAX { counted } else { counted.max(estimate) };
            [figures.log_bytes, figures.index_bytes, figures.attempts] =
                [log?, index?, attempts].map(i64::unsigned_abs);
        }
        let handlers = self.shared.query(&HANDLERS, &[])?;
        let handlers = handlers.iter().map(rows::handler::read).collect::<Result<Vec<_>, _>>()?;
        // After the handlers, so that none has passed an event that its stream does not know.
        let streams = self.shared.query(&STREAMS, &[])?;
        let streams = streams.iter().map(rows::stream::read).collect::<Result<Vec<_>, _>>()?;
        let events: BTreeMap<&StreamKey, u64> = streams.iter().map(|row| (&row.key, row.head.events)).collect();
        figures.handlers = handlers.iter().map(|row| (row.key.clone(), handler_figures(row, &events))).collect();
        let stream =
            |StreamRow { key, version: _, head, lanes, gaps_open }| StreamFigures { key, head, lanes, gaps_open };
        figures.streams = streams.into_iter().map(stream).collect();
        Ok(figures)
    }
}

fn handler_figures(row: &HandlerRow, events: &BTreeMap<&StreamKey, u64>) -> HandlerFigures {
    let HandlerRow { key: HandlerKey { tenant, .. }, handler, state, held } = row;
    let stream =
        handler.stream.as_deref().map(|name| StreamKey { tenant: Arc::clone(tenant), stream: Arc::from(name) });
    let events = stream.and_then(|key| events.get(&key).copied()).unwrap_or_default();
    HandlerFigures { lag: state.lag(events), dead: state.dead, held: *held }
}
