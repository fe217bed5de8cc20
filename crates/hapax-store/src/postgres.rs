//! The store in Postgres: any number of servers on one ledger.
//!
//! ```text
//! load:   BEGIN · lock heads and handlers, in their order · everything that was asked for      one round trip
//! commit: entries, lanes, counters, … · the turn's own row · COMMIT                             one round trip
//! ```
//!
//! What holds: nobody writes anything of a stream without the lock of its row, or anything of a handler without its; so what a
//! turn has loaded stays true until its commit, offsets have no holes, and they appear in their order. Locks are taken in
//! the order of keys, streams before handlers. Each turn writes a row under a random id of its own: after a COMMIT that
//! broke off, that row decides whether it happened, and nothing else does.
//!
//! Not here: rules. A verdict never depends on the store.

mod address;
mod connect;
mod known;
mod load;
pub mod migrate;
mod reader;
mod rows;
mod turns;
pub mod upkeep;
mod wake;
mod write;

pub use address::Address;
pub use reader::PostgresReader;

use std::sync::Arc;
use std::time::Duration;

use crate::seam::{Loaded, Store, StoreError, TurnNeeds, Write};

/// How a store in Postgres is used.
#[derive(Clone, Debug)]
pub struct Options {
    /// Connections for reading, at most.
    pub connections_max: usize,
    /// How long one statement may take.
    pub statement_timeout: Duration,
    /// Use a server that may lose what it has confirmed.
    pub accept_unsafe: bool,
    /// Whose clock counts in a turn: the database's, or that of whoever asks (scenarios bring their own).
    pub own_clock: bool,
}

impl Default for Options {
    fn default() -> Self {
        let statement_timeout = Duration::from_secs(10);
        Self { connections_max: 8, statement_timeout, accept_unsafe: false, own_clock: false }
    }
}

/// A ledger in Postgres, as one writer sees it.
#[derive(Debug)]
pub struct Postgres {
    reader: PostgresReader,
}

impl Postgres {
    /// Opens the ledger at an address: makes or migrates its tables if that is needed.
    pub fn open(address: &Address, options: Options) -> Result<Self, StoreError> {
        let _ = (address, options);
        Err(StoreError::Unreachable("not yet".to_owned()))
    }

    /// Another writer on the same ledger, in the same process.
    pub fn another(&self) -> Result<Self, StoreError> {
        Err(StoreError::Unreachable("not yet".to_owned()))
    }

    /// What is due beside the turns: deleting what has expired.
    pub fn upkeep(&self) -> upkeep::Upkeep {
        upkeep::Upkeep::default()
    }
}

impl Store for Postgres {
    type Reader = PostgresReader;

    fn reader(&self) -> &PostgresReader {
        &self.reader
    }

    fn tenant(&mut self, _: &Arc<str>, _: [u8; 32]) -> Result<[u8; 32], StoreError> {
        Err(StoreError::Unreachable("not yet".to_owned()))
    }

    fn load(&mut self, _: &TurnNeeds) -> Result<Loaded, StoreError> {
        Err(StoreError::Unreachable("not yet".to_owned()))
    }

    fn commit(&mut self, _: Write) -> Result<(), StoreError> {
        Err(StoreError::Unreachable("not yet".to_owned()))
    }
}
