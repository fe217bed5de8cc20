//! Adjustments of counters: a row of `adjustments` each.

use hapax_core::counter::{Adjustment, CounterKey};
use tokio_postgres::Row;

use super::cells::Cells;
use super::period::period;
use super::{Text, batch, own};
use crate::codec::alone;
use crate::seam::{StoreError, StreamKey};

/// Reads all rows from one, from this column on: offsets and records, in any order.
pub(in crate::postgres) fn read_lists(row: &Row, first: usize) -> Result<Vec<Adjustment>, StoreError> {
    let mut cells = Cells::at(row, "adjustments", first);
    let (offsets, records) = (cells.list::<i64>()?, cells.list::<&[u8]>()?);
    let read = |(offset, record): (i64, &[u8])| alone::read_adjustment(record, offset.unsigned_abs());
    let found: Result<Vec<_>, _> = offsets.into_iter().zip(records).map(read).collect();
    found.map_err(|fault| cells.corrupt(&fault))
}

batch! {
    /// New adjustments.
    AdjustmentRows {
        tenant: Text,
        stream: Text,
        name: Text,
        key: Text,
        kind: i16,
        hour: i64,
        offset: i64,
        record: Vec<u8>,
    }
    "INSERT INTO adjustments (tenant, stream, name, key, kind, hour, \"offset\", record)
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::int2[], $6::int8[], $7::int8[], $8::bytea[])
     ON CONFLICT (tenant, stream, partition, name, key, kind, hour, \"offset\") DO UPDATE SET record = excluded.record"
}

impl AdjustmentRows {
    pub(in crate::postgres) fn push(&mut self, stream: &StreamKey, key: &CounterKey, adjustment: &Adjustment) {
        let (kind, hour) = period(key.period);
        self.tenant.push((&stream.tenant).into());
        self.stream.push((&stream.stream).into());
        self.name.push((&key.name).into());
        self.key.push((&key.key).into());
        self.kind.push(kind);
        self.hour.push(hour);
        self.offset.push(own(adjustment.offset));
        self.record.push(alone::write_adjustment(adjustment));
    }
}
