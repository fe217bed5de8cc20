//! Periods that are closed for every key: a row of `closed` each.

use std::sync::Arc;

use hapax_core::period::PeriodStart;
use tokio_postgres::Row;

use super::cells::Cells;
use super::period::{self, period};
use super::{Text, batch};
use crate::seam::{StoreError, StreamKey};

/// What [`read`] expects.
pub(in crate::postgres) const COLUMNS: &str = "t.name, t.kind, t.hour";

/// Reads a row.
pub(in crate::postgres) fn read(row: &Row) -> Result<(Arc<str>, PeriodStart), StoreError> {
    let mut cells = Cells::new(row, "closed");
    Ok((cells.text()?, period::read(&mut cells)?))
}

batch! {
    /// Periods that are closed now.
    ClosedRows {
        tenant: Text,
        stream: Text,
        name: Text,
        kind: i16,
        hour: i64,
    }
    "INSERT INTO closed (tenant, stream, name, kind, hour)
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::int2[], $5::int8[])
     ON CONFLICT (tenant, stream, partition, name, kind, hour) DO NOTHING"
}

impl ClosedRows {
    pub(in crate::postgres) fn push(&mut self, stream: &StreamKey, name: &Arc<str>, start: PeriodStart) {
        let (kind, hour) = period(start);
        self.tenant.push((&stream.tenant).into());
        self.stream.push((&stream.stream).into());
        self.name.push(name.into());
        self.kind.push(kind);
        self.hour.push(hour);
    }
}
