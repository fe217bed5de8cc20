//! Nonces that were used: a row of `nonces` each, until the contract forgets it.

use hapax_core::event::NonceKey;
use hapax_core::time::Time;
use tokio_postgres::Row;

use super::cells::Cells;
use super::{Fixed, Text, batch};
use crate::seam::{StoreError, StreamKey};

/// What [`read`] expects.
pub(in crate::postgres) const COLUMNS: &str = "t.nonce, t.used_at";

/// Reads a row.
pub(in crate::postgres) fn read(row: &Row) -> Result<(NonceKey, Time), StoreError> {
    let mut cells = Cells::new(row, "nonces");
    Ok((NonceKey(cells.fixed()?), cells.time()?))
}

batch! {
    /// Nonces with when they were used last.
    NonceRows {
        tenant: Text,
        stream: Text,
        nonce: Fixed<32>,
        used_at: i64,
    }
    "INSERT INTO nonces (tenant, stream, nonce, used_at)
     SELECT * FROM unnest($1::text[], $2::text[], $3::bytea[], $4::int8[])
     ON CONFLICT (tenant, stream, partition, nonce) DO UPDATE SET used_at = excluded.used_at"
}

impl NonceRows {
    pub(in crate::postgres) fn push(&mut self, key: &StreamKey, nonce: &NonceKey, used_at: Time) {
        self.tenant.push((&key.tenant).into());
        self.stream.push((&key.stream).into());
        self.nonce.push(Fixed(nonce.0));
        self.used_at.push(used_at.nanos());
    }
}
