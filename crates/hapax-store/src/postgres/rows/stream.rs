//! Streams and their heads: a row of `streams` each.

use hapax_core::facts::Head;
use hapax_core::time::Time;
use tokio_postgres::Row;

use super::cells::Cells;
use super::{Fixed, Text, batch, own};
use crate::postgres::recent::Mark;
use crate::seam::{StoreError, StreamKey};

/// A stream as its row has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::postgres) struct StreamRow {
    /// Which.
    pub(in crate::postgres) key: StreamKey,
    /// The contract in force.
    pub(in crate::postgres) version: u32,
    /// Where it ends.
    pub(in crate::postgres) head: Head,
    /// How many lanes it has.
    pub(in crate::postgres) lanes: u64,
    /// Open gaps of all of them.
    pub(in crate::postgres) gaps_open: u64,
}

/// What [`read`] expects.
pub(in crate::postgres) const COLUMNS: &str =
    "t.tenant, t.stream, t.version, t.head_offset, t.head_hash, t.head_at, t.events, t.attempts, t.lanes, t.gaps_open";

/// Reads a row.
pub(in crate::postgres) fn read(row: &Row) -> Result<StreamRow, StoreError> {
    let mut cells = Cells::new(row, "streams");
    Ok(StreamRow {
        key: StreamKey { tenant: cells.text()?, stream: cells.text()? },
        version: cells.short()?,
        head: Head {
            offset: cells.own()?,
            hash: cells.fixed()?,
            at: cells.maybe_time()?,
            events: cells.own()?,
            attempts: cells.own()?,
        },
        lanes: cells.own()?,
        gaps_open: cells.own()?,
    })
}

/// The mark of a row: the transaction that wrote it stands behind [`COLUMNS`].
pub(in crate::postgres) fn read_mark(row: &Row) -> Result<Mark, StoreError> {
    let xid = Cells::at(row, "streams", 10).next::<i64>()?;
    let xid = u32::try_from(xid).map_err(|_| StoreError::Corrupt(format!("table streams: transaction {xid}")))?;
    Ok(Mark::of(xid, &read(row)?))
}

batch! {
    /// Streams as they are now.
    StreamRows {
        tenant: Text,
        stream: Text,
        version: i32,
        offset: i64,
        hash: Fixed<32>,
        at: Option<i64>,
        events: i64,
        attempts: i64,
        lanes: i64,
        gaps_open: i64,
    }
    "INSERT INTO streams (tenant, stream, version, head_offset, head_hash, head_at, events, attempts, lanes, gaps_open)
     SELECT * FROM unnest($1::text[], $2::text[], $3::int4[], $4::int8[], $5::bytea[], $6::int8[], $7::int8[], $8::int8[], $9::int8[], $10::int8[])
     ON CONFLICT (tenant, stream, partition) DO UPDATE SET version = excluded.version, head_offset = excluded.head_offset,
       head_hash = excluded.head_hash, head_at = excluded.head_at, events = excluded.events, attempts = excluded.attempts,
       lanes = excluded.lanes, gaps_open = excluded.gaps_open"
}

impl StreamRows {
    pub(in crate::postgres) fn push(&mut self, row: &StreamRow) {
        let StreamRow { key, version, head, lanes, gaps_open } = row;
        self.tenant.push((&key.tenant).into());
        self.stream.push((&key.stream).into());
        self.version.push(version.cast_signed());
        self.offset.push(own(head.offset));
        self.hash.push(Fixed(head.hash));
        self.at.push(head.at.map(Time::nanos));
        self.events.push(own(head.events));
        self.attempts.push(own(head.attempts));
        self.lanes.push(own(*lanes));
        self.gaps_open.push(own(*gaps_open));
    }
}
