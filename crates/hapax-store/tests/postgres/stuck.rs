//! A server that stands still in the middle of a statement, with the lock of a stream: the others end it and go on.

use std::time::Duration;

use futures_util::FutureExt as _;
use hapax_store::postgres::{Options, Postgres};
use hapax_store::turn::turn;
use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls};

use crate::cluster::{Cluster, wait_until};
use crate::servers::{Ledger, json};
use crate::world::{event, stream, submit};

/// A COPY that waits for its rows.
const ROWS: &str = r#"COPY hapax.lookups (lookup, "offset", partition, tenant, stream) FROM STDIN"#;
/// An answer that is more than fits into any buffer on its way.
const ANSWER: &str = "SELECT repeat('x', 100000000)";

/// As a server that was stopped: its connection is driven while it is told something, and never again.
struct Stopped {
    runtime: Runtime,
    client: Client,
    session: i32,
}

impl Stopped {
    /// Begins these statements one after the other, and is stopped in the last one.
    fn new(database: &str, name: &str, first: &str, last: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let url = Cluster::shared().url_of(database, "hapax");
        let url = format!("{}?application_name={name}", url.split('?').next().expect("an address"));
        let (client, session) = runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(&url, NoTls).await.expect("a connection");
            tokio::spawn(connection);
            let session = client.query_one("SELECT pg_backend_pid()", &[]).await.expect("a session").get(0);
            client.batch_execute(first).await.expect("a lock");
            assert!(client.batch_execute(last).now_or_never().is_none());
            // It is sent, and whatever comes back is left lying.
            tokio::task::yield_now().await;
            (client, session)
        });
        let stopped = Self { runtime, client, session };
        wait_until("the database waits for it", || stopped.is("state = 'active' AND wait_event LIKE 'Client%'"));
        stopped
    }

    /// Is its session there, and like this?
    fn is(&self, like: &str) -> bool {
        let sql = format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {} AND ({like})", self.session);
        Cluster::shared().ask(&sql) == "1"
    }

    /// It goes on. Can it still write?
    fn can_commit(self) -> bool {
        self.runtime.block_on(self.client.batch_execute("COMMIT")).is_ok()
    }
}

const LOCK: &str = "BEGIN; SELECT 1 FROM hapax.streams WHERE stream = 'one' FOR UPDATE";

/// A server for which no statement may take longer than a second.
fn impatient(ledger: &Ledger) -> Postgres {
    let statement_timeout = Duration::from_secs(1);
    Postgres::open(&ledger.address, Options { own_clock: true, statement_timeout, ..Options::default() })
        .expect("a ledger")
}

/// Its turns get through, sooner or later.
fn gets_through(server: &mut Postgres, number: u64) {
    let mut answers = Vec::new();
    wait_until("a turn gets through", || {
        let taken = turn(server, &mut [submit(&stream("t", "one"), &[event(number)])]);
        answers = taken.unwrap_or_default();
        !answers.is_empty()
    });
    assert_eq!(json(&answers[0])["results"][0]["verdict"], "accepted");
}

#[test]
fn whoever_stands_still_with_a_lock_in_the_middle_of_a_statement_is_ended() {
    let ledger = Ledger::apart("stuck");
    for (number, last) in (1..).zip([ROWS, ANSWER]) {
        let stopped = Stopped::new("stuck", "hapax", LOCK, last);
        gets_through(&mut impatient(&ledger), number);
        assert!(!stopped.is("true"), "{last}");
        assert!(!stopped.can_commit(), "{last}");
    }
}

#[test]
fn whoever_only_reads_or_is_no_server_is_left_alone() {
    let ledger = Ledger::apart("stuck_others");
    let read = "BEGIN; SELECT 1 FROM hapax.streams";
    let elsewhere = "CREATE TABLE public.another (n int4); COMMIT; BEGIN; LOCK TABLE public.another";
    let others = [
        Stopped::new("stuck_others", "hapax", read, ANSWER),
        Stopped::new("stuck_others", "pg_restore", "BEGIN", ROWS),
        Stopped::new("stuck_others", "hapax", elsewhere, "COPY public.another FROM STDIN"),
    ];
    // Begun later than these, so that they had their time when this one is ended.
    let stopped = Stopped::new("stuck_others", "hapax", LOCK, ROWS);
    gets_through(&mut impatient(&ledger), 1);
    assert!(!stopped.is("true"));
    assert!(others.iter().all(|other| other.is("wait_event LIKE 'Client%'")));
}
