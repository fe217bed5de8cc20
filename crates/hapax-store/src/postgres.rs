//! The store in Postgres: any number of servers on one ledger.
//!
//! ```text
//! load:   BEGIN · lock heads and handlers, in their order · everything that was asked for      one round trip
//! commit: entries, lanes, counters, … · the turn's own row · COMMIT                             one round trip
//!
//! and while another turn of the same process is being written to the same stream:
//! load:   everything that was asked for, and what that turn leaves                              one round trip
//! commit: BEGIN · lock the head: did that turn write it last? · entries, … · COMMIT             one round trip
//! ```
//!
//! What holds: nobody writes anything of a stream without the lock of its row, or anything of a handler without its; so what a
//! turn has loaded stays true until its commit, offsets have no holes, and they appear in their order. A turn that was loaded
//! ahead of its lock is committed only if the row that it then locks is the one that it rests on; see `recent`. Locks are taken
//! in the order of keys, streams before handlers. Each turn writes a row under a random id of its own: after a COMMIT that
//! broke off, that row decides whether it happened, and nothing else does.
//!
//! Not here: rules. A verdict never depends on the store.

mod address;
mod connect;
mod flight;
mod known;
mod line;
mod load;
pub mod migrate;
mod reader;
mod recent;
mod rows;
mod seen;
mod stuck;
mod turns;
pub mod upkeep;
mod wake;
mod write;

pub use address::Address;
pub use reader::PostgresReader;

use std::sync::Arc;
use std::time::Duration;

use crate::seam::{Commits, Loaded, Store, StoreError, StreamNeeds, TurnNeeds, Write};
use known::Shared;
use line::Line;
use load::{Held, Rests};

/// How a store in Postgres is used.
#[derive(Clone, Debug)]
pub struct Options {
    /// Connections for reading, at most.
    pub connections_max: usize,
    /// How long one statement may take.
    pub statement_timeout: Duration,
    /// Use a server that may lose what it has confirmed.
    pub accept_unsafe: bool,
    /// Make or migrate the tables if that is needed. Whoever only looks does not.
    pub makes_tables: bool,
    /// Whose clock counts in a turn: the database's, or that of whoever asks (scenarios bring their own).
    pub own_clock: bool,
}

impl Default for Options {
    fn default() -> Self {
        let statement_timeout = Duration::from_secs(10);
        Self { connections_max: 8, statement_timeout, accept_unsafe: false, makes_tables: true, own_clock: false }
    }
}

/// A ledger in Postgres, as one writer sees it.
#[derive(Debug)]
pub struct Postgres {
    shared: Arc<Shared>,
    reader: PostgresReader,
    /// There from its first turn on.
    line: Option<Arc<Line>>,
    /// How often it has loaded.
    loads: u64,
    /// What the last load holds.
    held: Option<Held>,
    /// What a turn that wrote nothing has rested on, and nobody has looked whether it is true.
    unproven: Option<Rests>,
}

impl Postgres {
    /// Opens the ledger at an address: makes or migrates its tables if that is needed.
    pub fn open(address: &Address, options: Options) -> Result<Self, StoreError> {
        migrate::migrate(address, &options)?;
        let shared = Shared::open(address, options)?;
        wake::start(&shared);
        Ok(Self::on(shared))
    }

    /// Another writer on the same ledger, in the same process.
    #[must_use]
    pub fn another(&self) -> Self {
        Self::on(Arc::clone(&self.shared))
    }

    fn on(shared: Arc<Shared>) -> Self {
        Self {
            reader: PostgresReader::new(Arc::clone(&shared)),
            shared,
            line: None,
            loads: 0,
            held: None,
            unproven: None,
        }
    }

    /// Begins to read which ids there are, unless that was begun; the first turn with events does so, too. True once it has read
    /// them: until then the database is asked for each.
    pub fn see_ids(&self) -> bool {
        self.shared.see_ids();
        self.shared.seen.is_whole()
    }

    /// What is due beside the turns: deleting what has expired.
    pub fn upkeep(&self) -> upkeep::Upkeep {
        upkeep::Upkeep::new(Arc::clone(&self.shared))
    }

    fn line(&mut self) -> Result<Arc<Line>, StoreError> {
        if let Some(line) = &self.line {
            return Ok(Arc::clone(line));
        }
        let line = Arc::new(Line::new(&self.shared)?);
        self.line = Some(Arc::clone(&line));
        Ok(line)
    }

    /// Loads, resting on what this process remembers if it may.
    fn load_from(&mut self, needs: &TurnNeeds, may_rest: bool) -> Result<Loaded, StoreError> {
        self.let_go();
        self.unproven = None;
        self.loads += 1;
        if needs.streams.values().any(|stream| stream.writes) {
            self.shared.see_ids();
        }
        let line = self.line()?;
        let load = load::load(&self.shared, &line, needs, Commits(self.loads), may_rest);
        let (held, loaded) = line.wait(load)?;
        self.held = Some(held);
        Ok(loaded)
    }

    /// What a write needs that rests on nothing that was loaded.
    fn hold(&mut self, write: &Write) -> Result<(), StoreError> {
        let mut needs = TurnNeeds::default();
        for stream in &write.streams {
            let mut wanted = StreamNeeds { writes: true, ..StreamNeeds::default() };
            wanted
                .needs
                .lanes
                .extend(stream.changes.lanes.iter().map(|(name, _)| (Arc::clone(name), Default::default())));
            needs.streams.insert(stream.key.clone(), wanted);
        }
        needs.handlers.extend(write.handlers.iter().map(|(key, _)| key.clone()));
        needs.handlers.extend(write.states.iter().map(|(key, _)| key.clone()));
        needs.claims.extend(write.claims.iter().map(|(place, _)| place.clone()));
        needs.handler_lanes.extend(write.handler_lanes.iter().map(|(place, _)| place.clone()));
        needs.keys.extend(write.keys.iter().map(|key| Arc::clone(&key.tenant)));
        self.load_from(&needs, false).map(|_| ())
    }
}

impl Store for Postgres {
    type Reader = PostgresReader;

    fn reader(&self) -> &PostgresReader {
        &self.reader
    }

    fn tenant(&mut self, name: &Arc<str>, salt: [u8; 32]) -> Result<[u8; 32], StoreError> {
        if let Some(salt) = self.shared.salt(name)? {
            return Ok(salt);
        }
        // Whoever is first has made it; the others read what that was.
        let sql = "INSERT INTO tenants (tenant, salt) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        self.shared.query(sql, &[&&**name, &&salt[..]])?;
        self.shared.salt(name)?.ok_or_else(|| StoreError::Corrupt(format!("tenant {name} was made and is not there")))
    }

    fn load(&mut self, needs: &TurnNeeds) -> Result<Loaded, StoreError> {
        self.load_from(needs, true)
    }

    fn commit(&mut self, write: Write) -> Result<(), StoreError> {
        match write.rests_on {
            Some(commits) if self.held.as_ref().is_none_or(|held| held.number != commits) => {
                return Err(StoreError::Conflict);
            }
            Some(_) => {}
            None => self.hold(&write)?,
        }
        let Some(held) = self.held.take() else { return Err(StoreError::Conflict) };
        let line = self.line()?;
        line.wait(write::commit(&self.shared, &line, held, write))
    }

    fn settle(&mut self) -> Result<(), StoreError> {
        let Some(rests) = self.unproven.take() else { return Ok(()) };
        let line = self.line()?;
        line.wait(write::prove(&line, &rests))
    }

    fn let_go(&mut self) {
        if let (Some(held), Some(line)) = (self.held.take(), self.line.clone()) {
            self.unproven = held.rests.clone();
            line.wait(write::let_go(&line, held));
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.let_go();
    }
}
