//! What lets callers in: a row of `keys` each.

use hapax_core::time::Time;
use tokio_postgres::Row;

use super::cells::Cells;
use super::{Fixed, Text, batch};
use crate::codec::alone;
use crate::seam::{Key, StoreError};

/// What [`read`] expects.
pub(in crate::postgres) const COLUMNS: &str = "t.tenant, t.record";

/// Reads a row.
pub(in crate::postgres) fn read(row: &Row) -> Result<Key, StoreError> {
    let mut cells = Cells::new(row, "keys");
    let tenant = cells.text()?;
    cells.record(|record| alone::read_key(record, tenant))
}

batch! {
    /// Keys as they are now.
    KeyRows {
        tenant: Text,
        id: Text,
        hash: Fixed<32>,
        created_at: i64,
        revoked_at: Option<i64>,
        record: Vec<u8>,
    }
    "INSERT INTO keys (tenant, id, hash, created_at, revoked_at, record)
     SELECT * FROM unnest($1::text[], $2::text[], $3::bytea[], $4::int8[], $5::int8[], $6::bytea[])
     ON CONFLICT (tenant, stream, partition, id) DO UPDATE SET hash = excluded.hash, created_at = excluded.created_at,
       revoked_at = excluded.revoked_at, record = excluded.record"
}

impl KeyRows {
    pub(in crate::postgres) fn push(&mut self, key: &Key) {
        self.tenant.push((&key.tenant).into());
        self.id.push((&key.id).into());
        self.hash.push(Fixed(key.hash));
        self.created_at.push(key.created_at.nanos());
        self.revoked_at.push(key.revoked_at.map(Time::nanos));
        self.record.push(alone::write_key(key));
    }
}
