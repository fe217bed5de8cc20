//! Counters: a row of `counters` each.
//!
//! The record is all of it. Count, sum, watermark and closed stand beside it for people who look, and nobody of ours reads
//! them.

use hapax_core::counter::{Counter, CounterKey};
use hapax_core::time::Time;
use tokio_postgres::Row;

use super::cells::Cells;
use super::period::{self, period};
use super::{Decimal, Text, batch, own};
use crate::codec::alone;
use crate::seam::{StoreError, StreamKey};

/// What [`read`] expects.
pub(in crate::postgres) const COLUMNS: &str = "t.name, t.key, t.kind, t.hour, t.record";

/// Reads a row.
pub(in crate::postgres) fn read(row: &Row) -> Result<(CounterKey, Counter), StoreError> {
    let mut cells = Cells::new(row, "counters");
    Ok((read_key(&mut cells)?, cells.record(alone::read_counter)?))
}

/// Reads a row of which the record may be missing, because there is no such counter.
pub(in crate::postgres) fn read_maybe(row: &Row) -> Result<(CounterKey, Option<Counter>), StoreError> {
    let mut cells = Cells::new(row, "counters");
    let key = read_key(&mut cells)?;
    let record = cells.next::<Option<&[u8]>>()?;
    let counter = record.map(alone::read_counter).transpose().map_err(|fault| cells.corrupt(&fault))?;
    Ok((key, counter))
}

fn read_key(cells: &mut Cells<'_>) -> Result<CounterKey, StoreError> {
    Ok(CounterKey { name: cells.text()?, key: cells.text()?, period: period::read(cells)? })
}

batch! {
    /// Counters as they are now.
    CounterRows {
        tenant: Text,
        stream: Text,
        name: Text,
        key: Text,
        kind: i16,
        hour: i64,
        count: i64,
        sum: Decimal,
        watermark: Option<i64>,
        closed: bool,
        record: Vec<u8>,
    }
    "INSERT INTO counters (tenant, stream, name, key, kind, hour, count, sum, watermark, closed, record)
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::int2[], $6::int8[], $7::int8[], $8::numeric[],
       $9::int8[], $10::bool[], $11::bytea[])
     ON CONFLICT (tenant, stream, partition, name, key, kind, hour) DO UPDATE SET count = excluded.count, sum = excluded.sum,
       watermark = excluded.watermark, closed = excluded.closed, record = excluded.record"
}

impl CounterRows {
    pub(in crate::postgres) fn push(&mut self, stream: &StreamKey, key: &CounterKey, counter: &Counter) {
        // A counter whose sum is too large never comes to be.
        let all = counter.effective().unwrap_or_default();
        let (kind, hour) = period(key.period);
        self.tenant.push((&stream.tenant).into());
        self.stream.push((&stream.stream).into());
        self.name.push((&key.name).into());
        self.key.push((&key.key).into());
        self.kind.push(kind);
        self.hour.push(hour);
        self.count.push(own(all.count));
        self.sum.push(Decimal(all.sum));
        self.watermark.push(counter.watermark.map(Time::nanos));
        self.closed.push(counter.closed);
        self.record.push(alone::write_counter(counter));
    }
}
