//! Lanes with their gaps, and with the numbers that came after all.

use std::sync::{Arc, LazyLock};

use tokio_postgres::Row;

use super::PostgresReader;
use super::walk::page;
use crate::postgres::rows;
use crate::seam::{LaneRecord, Named, StoreError, StreamKey};

/// Lanes `l` with what stands beside them, where that is wanted.
fn lanes(some: &str, wanted: &str) -> String {
    let (columns, gaps, filled) = (rows::lane::COLUMNS.replace("t.", "l."), rows::gap::LISTS, rows::filled::LISTS);
    let beside = "t.tenant = l.tenant AND t.stream = l.stream AND t.partition = 0 AND t.lane = l.lane";
    format!(
        "SELECT {columns}, g.*, f.* FROM ({some}) l
         LEFT JOIN LATERAL (SELECT {gaps} FROM gaps t WHERE {beside} AND {wanted}) g ON true
         LEFT JOIN LATERAL (SELECT {filled} FROM filled t WHERE {beside} AND {wanted}) f ON true
         ORDER BY l.lane"
    )
}

static LANE: LazyLock<String> = LazyLock::new(|| {
    let one = "SELECT * FROM lanes WHERE tenant = $1 AND stream = $2 AND partition = 0 AND lane = $3";
    lanes(one, "true")
});

/// The fifth value says whether only lanes with open gaps are shown: of the others nothing more is needed.
static LANES: LazyLock<String> = LazyLock::new(|| {
    let some =
        "SELECT * FROM lanes WHERE tenant = $1 AND stream = $2 AND partition = 0 AND lane > $3 ORDER BY lane LIMIT $4";
    lanes(some, "(l.open > 0 OR NOT $5)")
});

impl PostgresReader {
    pub(super) fn find_lane(&self, stream: &StreamKey, lane: &str) -> Result<Option<LaneRecord>, StoreError> {
        if !rows::can_be(lane) {
            return Ok(None);
        }
        let row = self.shared.query_opt(&LANE, &[&&*stream.tenant, &&*stream.stream, &lane])?;
        Ok(row.map(|row| read(&row)).transpose()?.map(|(_, record)| record))
    }

    pub(super) fn find_lanes(
        &self,
        stream: &StreamKey,
        open_gaps: bool,
        after: &str,
        limit: usize,
    ) -> Result<Named<LaneRecord>, StoreError> {
        let fetch = |last: Option<&Arc<str>>, count: i64| {
            let after = last.map_or(after, |last| last);
            let values: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
                [&&*stream.tenant, &&*stream.stream, &after, &count, &open_gaps];
            self.shared.query(&LANES, &values)?.iter().map(read).collect()
        };
        let takes = |(_, record): &(Arc<str>, LaneRecord)| !open_gaps || record.lane.counts.open > 0;
        page(limit, open_gaps, |(name, _)| Arc::clone(name), takes, fetch)
    }
}

fn read(row: &Row) -> Result<(Arc<str>, LaneRecord), StoreError> {
    let (name, lane) = rows::lane::read(row)?;
    let mut record = LaneRecord { lane, ..LaneRecord::default() };
    record.gaps.extend(rows::gap::read_lists(row, rows::lane::WIDTH)?);
    record.filled = rows::filled::read_lists(row, rows::lane::WIDTH + rows::gap::LISTS_WIDTH)?;
    record.filled.sort_by_key(|(gap, _)| gap.key());
    Ok((name, record))
}
