//! Missing numbers: a row of `gaps` each.

use std::sync::Arc;

use hapax_core::lane::{Gap, GapKey, GapKind};
use tokio_postgres::Row;

use super::cells::Cells;
use super::{Text, Whole, batch};
use crate::seam::{StoreError, StreamKey};

/// What [`read`] expects.
pub(in crate::postgres) const COLUMNS: &str = "t.lane, t.generation, t.first, t.last, t.kind, t.opened_at";

/// Reads a row.
pub(in crate::postgres) fn read(row: &Row) -> Result<(Arc<str>, Gap), StoreError> {
    let mut cells = Cells::new(row, "gaps");
    Ok((cells.text()?, read_gap(&mut cells)?))
}

pub(super) fn read_gap(cells: &mut Cells<'_>) -> Result<Gap, StoreError> {
    Ok(Gap {
        generation: cells.short()?,
        from: cells.whole()?,
        to: cells.whole()?,
        kind: cells.word(GapKind::ALL)?,
        opened_at: cells.time()?,
    })
}

batch! {
    /// Gaps as they are now.
    GapRows {
        tenant: Text,
        stream: Text,
        lane: Text,
        generation: i32,
        first: Whole,
        last: Whole,
        kind: i16,
        opened_at: i64,
    }
    "INSERT INTO gaps (tenant, stream, lane, generation, first, last, kind, opened_at)
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::int4[], $5::numeric[], $6::numeric[], $7::int2[], $8::int8[])
     ON CONFLICT (tenant, stream, partition, lane, generation, first)
     DO UPDATE SET last = excluded.last, kind = excluded.kind, opened_at = excluded.opened_at"
}

impl GapRows {
    pub(in crate::postgres) fn push(&mut self, key: &StreamKey, lane: &Arc<str>, gap: &Gap) {
        let Gap { generation, from, to, kind, opened_at } = gap;
        self.tenant.push((&key.tenant).into());
        self.stream.push((&key.stream).into());
        self.lane.push(lane.into());
        self.generation.push(generation.cast_signed());
        self.first.push(Whole(*from));
        self.last.push(Whole(*to));
        self.kind.push(*kind as i16);
        self.opened_at.push(opened_at.nanos());
    }
}

batch! {
    /// Gaps that are no more.
    GapRemovals {
        tenant: Text,
        stream: Text,
        lane: Text,
        generation: i32,
        first: Whole,
    }
    "DELETE FROM gaps t USING unnest($1::text[], $2::text[], $3::text[], $4::int4[], $5::numeric[])
       AS gone (tenant, stream, lane, generation, first)
     WHERE t.tenant = gone.tenant AND t.stream = gone.stream AND t.partition = 0 AND t.lane = gone.lane
       AND t.generation = gone.generation AND t.first = gone.first"
}

impl GapRemovals {
    pub(in crate::postgres) fn push(&mut self, key: &StreamKey, lane: &Arc<str>, (generation, first): GapKey) {
        self.tenant.push((&key.tenant).into());
        self.stream.push((&key.stream).into());
        self.lane.push(lane.into());
        self.generation.push(generation.cast_signed());
        self.first.push(Whole(first));
    }
}
