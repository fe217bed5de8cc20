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
    let lane = cells.text()?;
    let gap = Gap {
        generation: cells.short()?,
        from: cells.whole()?,
        to: cells.whole()?,
        kind: cells.word(GapKind::ALL)?,
        opened_at: cells.time()?,
    };
    Ok((lane, gap))
}

/// What [`read_lists`] expects: all rows in one.
pub(in crate::postgres) const LISTS: &str =
    "array_agg(t.generation), array_agg(t.first), array_agg(t.last), array_agg(t.kind), array_agg(t.opened_at)";

/// How many columns that are.
pub(in crate::postgres) const LISTS_WIDTH: usize = 5;

/// Reads all rows from one, from this column on, in any order.
pub(in crate::postgres) fn read_lists(row: &Row, first: usize) -> Result<Vec<Gap>, StoreError> {
    gather(&mut Cells::at(row, "gaps", first))
}

pub(super) fn gather(cells: &mut Cells<'_>) -> Result<Vec<Gap>, StoreError> {
    let (generations, firsts, lasts) = (cells.list::<i32>()?, cells.list::<Whole>()?, cells.list::<Whole>()?);
    let kinds = cells.list::<i16>()?;
    let kind = |place: &i16| usize::try_from(*place).ok().and_then(|place| GapKind::ALL.get(place)).copied();
    let kinds: Option<Vec<GapKind>> = kinds.iter().map(kind).collect();
    let kinds = kinds.ok_or_else(|| cells.corrupt(&"it is no word of ours"))?;
    let opened: Vec<i64> = cells.list()?;
    let rows = generations.into_iter().zip(firsts).zip(lasts).zip(kinds).zip(opened);
    rows.map(|((((generation, from), to), kind), opened)| {
        let opened_at = cells.within(opened)?;
        Ok(Gap { generation: generation.cast_unsigned(), from: from.0, to: to.0, kind, opened_at })
    })
    .collect()
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
