//! Servers on one ledger, and what two of them do at the same moment.

use std::sync::{Arc, Barrier};
use std::time::Instant;

use hapax_store::postgres::{Address, Options, Postgres};
use hapax_store::seam::{Loaded, Store, StoreError, TurnNeeds, Write};
use hapax_store::turn::{Answer, Request, turn};
use serde_json::Value;

use crate::cluster::{Cluster, wait_until};
use crate::world::{event, found};

/// A ledger of its own.
pub(crate) struct Ledger {
    pub(crate) address: Address,
}

impl Ledger {
    /// Without a table.
    pub(crate) fn empty() -> Self {
        let cluster = Cluster::shared();
        let address = Address::parse(&cluster.url(&cluster.schema())).expect("an address");
        Self { address }
    }

    /// With the tenant `t`, two streams and a handler.
    pub(crate) fn new() -> Self {
        let ledger = Self::empty();
        found(&mut ledger.server(), "t");
        ledger
    }

    /// In a database of its own, so that whoever waits there waits for this test.
    pub(crate) fn apart(database: &str) -> Self {
        let cluster = Cluster::shared();
        cluster.ask(&format!("CREATE DATABASE {database}"));
        let ledger = Self { address: Address::parse(&cluster.url_of(database, "hapax")).expect("an address") };
        found(&mut ledger.server(), "t");
        ledger
    }

    /// One more server, which has seen all ids that are there.
    pub(crate) fn server(&self) -> Postgres {
        let options = Options { connections_max: 2, own_clock: true, ..Options::default() };
        let server = Postgres::open(&self.address, options).expect("a ledger");
        wait_until("it has seen all ids", || server.see_ids());
        server
    }

    /// So many of them.
    pub(crate) fn servers(&self, count: usize) -> Vec<Postgres> {
        (0..count).map(|_| self.server()).collect()
    }
}

/// How many sessions of a database wait for a lock.
pub(crate) fn waiting(database: &str) -> usize {
    let waits = "wait_event_type = 'Lock' AND state = 'active'";
    let sql = format!("SELECT count(*) FROM pg_stat_activity WHERE {waits} AND datname = '{database}'");
    Cluster::shared().ask(&sql).parse().expect("a number")
}

/// Every server takes this turn at the same moment; one answer each.
pub(crate) fn at_once(servers: &mut [Postgres], request: impl Fn(usize) -> Request + Sync) -> Vec<Answer> {
    let gate = Barrier::new(servers.len());
    let (gate, request) = (&gate, &request);
    std::thread::scope(|scope| {
        let take = |(index, server)| {
            scope.spawn(move || {
                let mut requests = [request(index)];
                gate.wait();
                turn(server, &mut requests).expect("a turn").remove(0)
            })
        };
        let threads: Vec<_> = servers.iter_mut().enumerate().map(take).collect();
        threads.into_iter().map(|thread| thread.join().expect("an answer")).collect()
    })
}

/// An event of the world's streams with an id, a lane and a number of its own.
pub(crate) fn numbered(id: &str, lane: &str, seq: u64) -> Value {
    let mut document = event(1);
    (document["id"], document["nonce"]) = (id.into(), format!("{lane} {id}").into());
    (document["lane"], document["seq"]) = (lane.into(), seq.into());
    document
}

/// The answer's body.
pub(crate) fn json(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).expect("JSON")
}

/// A store in which something happens between a turn's load and its commit.
pub(crate) struct Between<'s, F> {
    pub(crate) store: &'s mut Postgres,
    pub(crate) then: Option<F>,
    /// What the commits of the turn came to.
    pub(crate) commits: Vec<Result<(), StoreError>>,
}

impl<'s, F> Between<'s, F> {
    pub(crate) fn new(store: &'s mut Postgres, then: F) -> Self {
        Self { store, then: Some(then), commits: Vec::new() }
    }
}

impl<F: FnOnce()> Store for Between<'_, F> {
    type Reader = <Postgres as Store>::Reader;

    fn reader(&self) -> &Self::Reader {
        self.store.reader()
    }

    fn tenant(&mut self, name: &Arc<str>, salt: [u8; 32]) -> Result<[u8; 32], StoreError> {
        self.store.tenant(name, salt)
    }

    fn load(&mut self, needs: &TurnNeeds) -> Result<Loaded, StoreError> {
        let loaded = self.store.load(needs)?;
        if let Some(then) = self.then.take() {
            then();
        }
        Ok(loaded)
    }

    fn commit(&mut self, write: Write) -> Result<(), StoreError> {
        let committed = self.store.commit(write);
        self.commits.push(committed.clone());
        committed
    }

    fn let_go(&mut self) {
        self.store.let_go();
    }
}

#[allow(clippy::disallowed_methods, reason = "how long somebody waited is about real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
