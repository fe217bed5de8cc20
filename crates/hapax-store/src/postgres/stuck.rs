//! Servers that stand still in the middle of a statement, with locks that others wait for.
//!
//! Between two statements the database ends a transaction that says nothing (`connect`). But a COPY that waits for its rows, or an
//! answer that nobody fetches, no timeout of Postgres ends while its client is only silent: a process that was stopped, or a
//! machine that was paused. So the servers that go on do, when a statement has taken longer than any may.
//!
//! What holds: only a session of the same user and the same name is ended, that writes to this ledger, and whose time is over anyway; what it was
//! writing is as if it had never begun, and it finds out when it goes on.

use std::time::Duration;

use tokio_postgres::Client;

use super::Address;

/// Those who wait for their client, longer than so many seconds, and hold more than the lock of a reader in this schema.
const END: &str = "WITH silent AS MATERIALIZED (SELECT a.pid FROM pg_stat_activity a \
     WHERE a.datname = current_database() AND a.usename = current_user \
     AND a.application_name = current_setting('application_name') AND a.state = 'active' \
     AND a.wait_event IN ('ClientRead', 'ClientWrite') AND a.query_start < clock_timestamp() - $1 * interval '1 second') \
     SELECT s.pid, pg_terminate_backend(s.pid) FROM silent s WHERE EXISTS \
     (SELECT 1 FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace \
     WHERE l.pid = s.pid AND l.mode <> 'AccessShareLock' AND n.nspname = $2)";

/// Ends them. An engine that cannot be asked has none that we know of.
pub(super) async fn end(client: &Client, address: &Address, after: Duration) {
    let found = client.query(END, &[&after.as_secs_f64(), &address.schema]).await;
    for row in found.iter().flatten() {
        let session: i32 = row.try_get(0).unwrap_or_default();
        tracing::warn!(session, "ended a session of a server that stands still with a lock");
    }
}
