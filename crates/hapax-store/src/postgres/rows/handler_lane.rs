//! Lanes of handlers: a row of `handler_lanes` each, beside the stream that the handler reads.

use std::sync::Arc;

use hapax_core::claim::HandlerLane;
use tokio_postgres::Row;

use super::cells::Cells;
use super::handler::read_key;
use super::{Text, batch};
use crate::codec::alone;
use crate::seam::{HandlerKey, StoreError};

/// What [`read`] expects.
pub(in crate::postgres) const COLUMNS: &str = "t.tenant, t.handler, t.lane, t.record";

/// Reads a row.
pub(in crate::postgres) fn read(row: &Row) -> Result<(HandlerKey, Arc<str>, HandlerLane), StoreError> {
    let mut cells = Cells::new(row, "handler_lanes");
    Ok((read_key(&mut cells)?, cells.text()?, cells.record(alone::read_handler_lane)?))
}

batch! {
    /// Lanes of handlers as they are now.
    HandlerLaneRows {
        tenant: Text,
        stream: Text,
        handler: Text,
        lane: Text,
        record: Vec<u8>,
    }
    "INSERT INTO handler_lanes (tenant, stream, handler, lane, record)
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bytea[])
     ON CONFLICT (tenant, stream, partition, handler, lane) DO UPDATE SET record = excluded.record"
}

impl HandlerLaneRows {
    /// `stream` is the one that the handler reads, '' if it reads none.
    pub(in crate::postgres) fn push(
        &mut self,
        key: &HandlerKey,
        stream: &Arc<str>,
        lane: &Arc<str>,
        record: &HandlerLane,
    ) {
        self.tenant.push((&key.tenant).into());
        self.stream.push(stream.into());
        self.handler.push((&key.handler).into());
        self.lane.push(lane.into());
        self.record.push(alone::write_handler_lane(record));
    }
}
