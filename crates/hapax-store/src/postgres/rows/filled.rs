//! Numbers that came after all: a row of `filled` each, until the audit forgets it.

use std::sync::Arc;

use hapax_core::lane::Gap;
use hapax_core::time::Time;
use tokio_postgres::Row;

use super::cells::Cells;
use super::gap::gather;
use super::{Text, Whole, batch};
use crate::seam::{StoreError, StreamKey};

/// What [`read_lists`] expects: all rows in one.
pub(in crate::postgres) const LISTS: &str = "array_agg(t.generation), array_agg(t.first), array_agg(t.last), \
                                             array_agg(t.kind), array_agg(t.opened_at), array_agg(t.filled_at)";

/// Reads all rows from one, from this column on, in any order.
pub(in crate::postgres) fn read_lists(row: &Row, first: usize) -> Result<Vec<(Gap, Time)>, StoreError> {
    let mut cells = Cells::at(row, "filled", first);
    let gaps = gather(&mut cells)?;
    let filled: Vec<i64> = cells.list()?;
    gaps.into_iter().zip(filled).map(|(gap, at)| Ok((gap, cells.within(at)?))).collect()
}

batch! {
    /// Numbers that have come now.
    FilledRows {
        tenant: Text,
        stream: Text,
        lane: Text,
        generation: i32,
        first: Whole,
        last: Whole,
        kind: i16,
        opened_at: i64,
        filled_at: i64,
    }
    "INSERT INTO filled (tenant, stream, lane, generation, first, last, kind, opened_at, filled_at)
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::int4[], $5::numeric[], $6::numeric[], $7::int2[], $8::int8[], $9::int8[])
     ON CONFLICT (tenant, stream, partition, lane, generation, first)
     DO UPDATE SET last = excluded.last, kind = excluded.kind, opened_at = excluded.opened_at, filled_at = excluded.filled_at"
}

impl FilledRows {
    pub(in crate::postgres) fn push(&mut self, key: &StreamKey, lane: &Arc<str>, gap: &Gap, at: Time) {
        let Gap { generation, from, to, kind, opened_at } = gap;
        self.tenant.push((&key.tenant).into());
        self.stream.push((&key.stream).into());
        self.lane.push(lane.into());
        self.generation.push(generation.cast_signed());
        self.first.push(Whole(*from));
        self.last.push(Whole(*to));
        self.kind.push(*kind as i16);
        self.opened_at.push(opened_at.nanos());
        self.filled_at.push(at.nanos());
    }
}
