//! Handlers and what counts for all of each: a row of `handlers` each.

use std::sync::Arc;

use hapax_core::claim::{Fence, Handler, HandlerState};
use tokio_postgres::Row;

use super::cells::Cells;
use super::{Text, batch, own};
use crate::codec::alone;
use crate::seam::{HandlerKey, StoreError};

/// A handler as its row has it.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::postgres) struct HandlerRow {
    /// Which.
    pub(in crate::postgres) key: HandlerKey,
    /// As declared.
    pub(in crate::postgres) handler: Handler,
    /// What counts for all of it.
    pub(in crate::postgres) state: HandlerState,
    /// Claims that somebody holds.
    pub(in crate::postgres) held: u64,
}

impl HandlerRow {
    /// Where its lanes and claims lie: the stream that it reads, or '' for a bare registry.
    pub(in crate::postgres) fn stream(&self) -> Arc<str> {
        Arc::from(self.handler.stream.as_deref().unwrap_or_default())
    }
}

/// What [`read`] expects.
pub(in crate::postgres) const COLUMNS: &str = "t.tenant, t.handler, t.record, t.next_fence, t.passed, t.dead, t.held";

/// Reads a row.
pub(in crate::postgres) fn read(row: &Row) -> Result<HandlerRow, StoreError> {
    let mut cells = Cells::new(row, "handlers");
    Ok(HandlerRow {
        key: read_key(&mut cells)?,
        handler: cells.record(alone::read_handler)?,
        state: HandlerState {
            next_fence: Fence(cells.own()?),
            passed: cells.record(alone::read_ranges)?,
            dead: cells.own()?,
        },
        held: cells.own()?,
    })
}

pub(super) fn read_key(cells: &mut Cells<'_>) -> Result<HandlerKey, StoreError> {
    Ok(HandlerKey { tenant: cells.text()?, handler: cells.text()? })
}

batch! {
    /// Handlers as they are now.
    HandlerRows {
        tenant: Text,
        handler: Text,
        reads: Option<String>,
        record: Vec<u8>,
        next_fence: i64,
        dead: i64,
        held: i64,
        passed: Vec<u8>,
    }
    "INSERT INTO handlers (tenant, handler, reads, record, next_fence, dead, held, passed)
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::int8[], $6::int8[], $7::int8[], $8::bytea[])
     ON CONFLICT (tenant, stream, partition, handler) DO UPDATE SET reads = excluded.reads, record = excluded.record,
       next_fence = excluded.next_fence, dead = excluded.dead, held = excluded.held, passed = excluded.passed"
}

impl HandlerRows {
    pub(in crate::postgres) fn push(&mut self, row: &HandlerRow) {
        let HandlerRow { key, handler, state, held } = row;
        self.tenant.push((&key.tenant).into());
        self.handler.push((&key.handler).into());
        self.reads.push(handler.stream.clone());
        self.record.push(alone::write_handler(handler));
        self.next_fence.push(own(state.next_fence.0));
        self.dead.push(own(state.dead));
        self.held.push(own(*held));
        self.passed.push(alone::write_ranges(&state.passed));
    }
}
