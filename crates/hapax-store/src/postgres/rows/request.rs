//! Requests with a key of their own, and what they were answered: a row of `requests` each, for a day.

use std::sync::Arc;

use tokio_postgres::Row;

use super::cells::Cells;
use super::{Fixed, Text, batch};
use crate::seam::{RequestKey, RequestRecord, StoreError};

/// What [`read`] expects.
pub(in crate::postgres) const COLUMNS: &str = "t.tenant, t.target, t.key, t.fingerprint, t.status, t.at, t.body";

/// Reads a row.
pub(in crate::postgres) fn read(row: &Row) -> Result<(RequestKey, RequestRecord), StoreError> {
    let mut cells = Cells::new(row, "requests");
    let key = RequestKey { tenant: cells.text()?, target: cells.text()?, key: cells.text()? };
    let fingerprint = cells.fixed()?;
    let status = cells.next::<i16>()?.cast_unsigned();
    let (at, body) = (cells.time()?, cells.next::<&[u8]>()?.into());
    Ok((key, RequestRecord { fingerprint, status, body, at }))
}

batch! {
    /// Requests that are answered now; one that was answered so long ago that it does not count any more gets a new answer.
    RequestRows {
        tenant: Text,
        stream: Text,
        target: Text,
        key: Text,
        fingerprint: Fixed<32>,
        status: i16,
        at: i64,
        body: Vec<u8>,
    }
    "INSERT INTO requests (tenant, stream, target, key, fingerprint, status, at, body)
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bytea[], $6::int2[], $7::int8[], $8::bytea[])
     ON CONFLICT (tenant, stream, partition, target, key) DO UPDATE SET fingerprint = excluded.fingerprint,
       status = excluded.status, at = excluded.at, body = excluded.body"
}

impl RequestRows {
    /// `stream` is the one that the request is about, '' if it is about none.
    pub(in crate::postgres) fn push(&mut self, key: &RequestKey, stream: &Arc<str>, record: &RequestRecord) {
        self.tenant.push((&key.tenant).into());
        self.stream.push(stream.into());
        self.target.push((&key.target).into());
        self.key.push((&key.key).into());
        self.fingerprint.push(Fixed(record.fingerprint));
        self.status.push(record.status.cast_signed());
        self.at.push(record.at.nanos());
        self.body.push(record.body.to_vec());
    }
}
