//! The tables whose rows expire, and the statements that find and delete them.
//!
//! Each has an index that begins with tenant, stream and partition and goes on with its age. So the oldest row of a stream is
//! one step into the index, and the next stream is another: how many rows there are does not matter.

use std::sync::LazyLock;

use tokio_postgres::Row;

use crate::postgres::rows;
use crate::seam::{StoreError, StreamKey};

/// What decides how long a row is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expires {
    Audit,
    Nonce,
    Request,
    Turn,
}

/// A table whose rows expire.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) expires: Expires,
    /// The oldest row of each stream after this one.
    pub(super) oldest: String,
    /// Deletes what is older, at most so many; a row for each.
    pub(super) delete: String,
}

/// The oldest row of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Oldest {
    pub(super) key: StreamKey,
    pub(super) at: i64,
    /// The contract in force, if the stream is one.
    pub(super) version: Option<u32>,
}

impl Oldest {
    pub(super) fn read(row: &Row) -> Result<Self, StoreError> {
        let text = |place| rows::text(row, place, "streams");
        let key = StreamKey { tenant: text(0)?, stream: text(1)? };
        let version = row.try_get::<_, Option<i32>>(3);
        let version = version.map_err(|error| StoreError::Corrupt(format!("table streams: {error}")))?;
        Ok(Self { key, at: rows::number(row, 2, "streams")?, version: version.map(i32::cast_unsigned) })
    }
}

/// In the order in which they are looked at.
pub(super) static TABLES: LazyLock<[Table; 5]> = LazyLock::new(|| {
    [
        // Their numbers grow with their age, and have an index already. A clock that stepped back lets some stay longer.
        table("attempts", "number", "at", Expires::Audit),
        table("filled", "filled_at", "filled_at", Expires::Audit),
        table("nonces", "used_at", "used_at", Expires::Nonce),
        table("requests", "at", "at", Expires::Request),
        table("turns", "at", "at", Expires::Turn),
    ]
});

/// A table with an index by `order`, in which rows have the age `at`.
fn table(name: &str, order: &str, at: &str, expires: Expires) -> Table {
    let first = |after: &str| {
        format!(
            "SELECT t.tenant, t.stream, t.{at} AS at FROM {name} t WHERE (t.tenant, t.stream) > ({after}) \
             ORDER BY t.tenant, t.stream, t.partition, t.{order} LIMIT 1"
        )
    };
    let (from, next) = (first("$1, $2"), first("o.tenant, o.stream"));
    let oldest = format!(
        "WITH RECURSIVE oldest AS (({from}) UNION ALL SELECT n.* FROM oldest o, LATERAL ({next}) n)
         SELECT o.tenant, o.stream, o.at, s.version FROM (SELECT * FROM oldest LIMIT $3) o
         LEFT JOIN streams s ON s.tenant = o.tenant AND s.stream = o.stream AND s.partition = 0
         ORDER BY o.tenant, o.stream"
    );
    // The first by their order, and of those what is older: where the order is not the age itself, looking for more would
    // mean to look at all.
    let delete = format!(
        "DELETE FROM {name} WHERE ctid = ANY (ARRAY (SELECT o.ctid FROM (SELECT t.ctid, t.{at} AS at FROM {name} t
           WHERE t.tenant = $1 AND t.stream = $2 AND t.partition = 0
           ORDER BY t.{order} LIMIT $4 FOR UPDATE SKIP LOCKED) o WHERE o.at < $3))
         RETURNING 1"
    );
    Table { expires, oldest, delete }
}
