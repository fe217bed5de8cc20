//! What all writers and readers of one process share: the runtime and the connections of those who read, and what they
//! remember. A writer has a [line](super::line) of its own.
//!
//! What holds: what is remembered is either what never changes (salts), or is asked again after a tick (keys, contracts), and
//! a tick comes once a second; a turn checks the version that it has read its documents under
//! against the locked row of the stream. While the database is away the last answer about keys stands: nobody gets in who was
//! not let in before, and nothing can be read or written anyway.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deadpool_postgres::{HookError, Pool, PoolError};
use hapax_core::contract::Version;
use hapax_core::event::Digest;
use hapax_core::time::Time;
use tokio::runtime::{Handle, Runtime};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::connect::{is_gone, pool, said};
use super::recent::Recents;
use super::seen::{self, Seen};
use super::{Address, Options, rows};
use crate::seam::{Key, StoreError, StreamKey, Wake};

/// The values of a statement.
pub(super) type Values<'v> = &'v [&'v (dyn ToSql + Sync)];

/// How much longer than the database itself it is waited for, and how long for a sign of life.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// What a process shares.
#[derive(Debug)]
pub(super) struct Shared {
    /// There until it is dropped.
    runtime: Option<Runtime>,
    readers: Pool,
    /// What its own turns have left.
    pub(super) recents: Recents,
    /// Which ids it has seen.
    pub(super) seen: Arc<Seen>,
    pub(super) address: Address,
    pub(super) options: Options,
    remembered: Mutex<Remembered>,
    ticks: AtomicU64,
    wakes: Mutex<Wakes>,
}

#[derive(Debug, Default)]
struct Remembered {
    salts: HashMap<Arc<str>, [u8; 32]>,
    /// With the tick after which they were last asked.
    versions: HashMap<StreamKey, (u64, Arc<[Version]>)>,
    /// Streams some of whose lanes had gaps the last time.
    gapped: HashSet<StreamKey>,
    /// With the tick after which it was asked.
    keys: HashMap<Digest, (u64, Option<Key>)>,
    needs_keys: Option<(u64, bool)>,
}

#[derive(Default)]
struct Wakes(Vec<Wake>);

impl std::fmt::Debug for Wakes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} wakes", self.0.len())
    }
}

/// Keys that are remembered, at most: anybody may try any number of wrong ones.
const KEYS_MAX: usize = 10_000;

impl Shared {
    pub(super) fn open(address: &Address, options: Options) -> Result<Arc<Self>, StoreError> {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let built = builder.worker_threads(2).thread_name("database").enable_all().build();
        let runtime = built.map_err(|error| StoreError::Unreachable(format!("no runtime: {error}")))?;
        let readers = pool(address, &options, options.connections_max.max(1))?;
        let mut seed = [0; 8];
        getrandom::fill(&mut seed).map_err(|error| StoreError::Unreachable(format!("no random bits: {error}")))?;
        let shared = Self {
            runtime: Some(runtime),
            readers,
            recents: Recents::default(),
            address: address.clone(),
            options,
            remembered: Mutex::default(),
            ticks: AtomicU64::new(1),
            wakes: Mutex::default(),
            seen: Arc::new(Seen::new(u64::from_le_bytes(seed))),
        };
        Ok(Arc::new(shared))
    }

    /// Begins to read which ids there are, if nobody has. Before any turn with events: those that follow tell of themselves. While
    /// the database is away it is tried again the next time.
    pub(super) fn see_ids(&self) {
        let Some(_only) = self.seen.to_begin() else { return };
        let Ok(connections) = pool(&self.address, &self.options, 1) else { return };
        let begun = self.within(PATIENCE, seen::begin(Arc::clone(&self.seen), connections));
        if let Some(reading) = self.wait(begun).flatten() {
            self.spawn(reading);
        }
    }

    /// Waits, wherever the caller is: in a thread of its own, or on a worker of another runtime.
    pub(super) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        let runtime = self.runtime.as_ref().expect("the runtime is there until this is dropped");
        match Handle::try_current() {
            Ok(_) => tokio::task::block_in_place(|| runtime.block_on(future)),
            Err(_) => runtime.block_on(future),
        }
    }

    /// Runs beside everything else, until this is dropped.
    pub(super) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.runtime {
            runtime.spawn(future);
        }
    }

    /// Reads rows.
    pub(super) fn query(&self, sql: &'static str, values: Values<'_>) -> Result<Vec<Row>, StoreError> {
        let asked = async {
            // A connection may have been cut while it lay in the pool; a read can be asked again.
            match self.try_query(sql, values).await {
                Err(PoolError::Backend(error)) if is_gone(&error) => {}
                answer => return answer.map_err(|error| unreachable(&error)),
            }
            self.try_query(sql, values).await.map_err(|error| unreachable(&error))
        };
        self.wait(self.patiently(asked)).unwrap_or_else(|| Err(late()))
    }

    /// Waits for the database, but not for ever: one that stands still does not even notice that it is too late. Nothing if
    /// it was; connections on which something is still under way are not used again.
    async fn patiently<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.within(self.options.statement_timeout + PATIENCE, work).await
    }

    async fn within<T>(&self, time: Duration, work: impl Future<Output = T>) -> Option<T> {
        match tokio::time::timeout(time, work).await {
            Ok(done) => Some(done),
            Err(_) => {
                self.readers.retain(|_, _| false);
                None
            }
        }
    }

    async fn try_query(&self, sql: &'static str, values: Values<'_>) -> Result<Vec<Row>, PoolError> {
        let client = self.readers.get().await?;
        let statement = client.prepare_cached(sql).await?;
        Ok(client.query(&statement, values).await?)
    }

    /// Reads a row, if there is one.
    pub(super) fn query_opt(&self, sql: &'static str, values: Values<'_>) -> Result<Option<Row>, StoreError> {
        Ok(self.query(sql, values)?.into_iter().next())
    }

    /// Can the database be reached?
    pub(super) fn ready(&self) -> Result<(), StoreError> {
        let asked = self.within(PATIENCE, self.try_query("SELECT 1", &[]));
        match self.wait(asked) {
            Some(answer) => answer.map(|_| ()).map_err(|error| unreachable(&error)),
            None => Err(late()),
        }
    }

    /// What time it is: the database says so, unless callers bring their own.
    pub(super) fn now(&self, own: Time) -> Result<Time, StoreError> {
        if self.options.own_clock {
            return Ok(own);
        }
        let row = self.query_opt(CLOCK, &[])?.ok_or_else(|| StoreError::Unreachable("it has no clock".to_owned()))?;
        read_clock(&row)
    }

    /// How often time has gone by.
    pub(super) fn ticks(&self) -> u64 {
        self.ticks.load(Ordering::Relaxed)
    }

    /// Time has gone by: what may have changed is asked again.
    pub(super) fn tick(&self) {
        self.ticks.fetch_add(1, Ordering::Relaxed);
    }

    /// Something may have happened: those who wait look again.
    pub(super) fn pulse(&self) {
        let wakes = self.wakes.lock().unwrap_or_else(PoisonError::into_inner).0.clone();
        wakes.iter().for_each(|wake| wake());
    }

    /// Calls this whenever something may have happened.
    pub(super) fn wake(&self, wake: Wake) {
        self.wakes.lock().unwrap_or_else(PoisonError::into_inner).0.push(wake);
    }

    /// Nothing is left half done under this lock.
    fn remembered(&self) -> MutexGuard<'_, Remembered> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A tenant's salt.
    pub(super) fn salt(&self, tenant: &str) -> Result<Option<[u8; 32]>, StoreError> {
        if let Some(salt) = self.remembered().salts.get(tenant) {
            return Ok(Some(*salt));
        }
        let sql = "SELECT t.salt FROM tenants t WHERE t.tenant = $1 AND t.stream = '' AND t.partition = 0";
        let Some(row) = self.query_opt(sql, &[&tenant])? else { return Ok(None) };
        let salt = row
            .try_get::<_, rows::Fixed<32>>(0)
            .map_err(|error| StoreError::Corrupt(format!("tenants.salt: {error}")))?
            .0;
        self.remembered().salts.insert(Arc::from(tenant), salt);
        Ok(Some(salt))
    }

    /// Every version of a stream's contract, as it was when it was last looked at.
    pub(super) fn versions(&self, stream: &StreamKey) -> Result<Vec<Version>, StoreError> {
        let tick = self.ticks.load(Ordering::Relaxed);
        let before = self.remembered().versions.get(stream).cloned();
        if let Some((_, versions)) = before.as_ref().filter(|(seen, _)| *seen == tick) {
            return Ok(versions.to_vec());
        }
        match self.query(&CONTRACTS, &[&&*stream.tenant, &&*stream.stream]) {
            Ok(found) => {
                let versions = read_versions(&found)?;
                self.learn(stream, &versions);
                Ok(versions)
            }
            Err(error) => before.map(|(_, versions)| versions.to_vec()).ok_or(error),
        }
    }

    /// The versions, if the newest is this one.
    pub(super) fn versions_at(&self, stream: &StreamKey, newest: u32) -> Option<Arc<[Version]>> {
        let remembered = self.remembered();
        let (_, versions) = remembered.versions.get(stream)?;
        versions.last().is_some_and(|version| version.number == newest).then(|| Arc::clone(versions))
    }

    /// These are the versions now. No stream is remembered that does not exist: it may be made any time.
    pub(super) fn learn(&self, stream: &StreamKey, versions: &[Version]) {
        let tick = self.ticks.load(Ordering::Relaxed);
        let mut remembered = self.remembered();
        match versions {
            [] => _ = remembered.versions.remove(stream),
            versions => _ = remembered.versions.insert(stream.clone(), (tick, versions.into())),
        }
    }

    /// Had any of its lanes gaps when a turn last looked?
    pub(super) fn has_gaps(&self, stream: &StreamKey) -> bool {
        self.remembered().gapped.contains(stream)
    }

    pub(super) fn learn_gaps(&self, stream: &StreamKey, has_gaps: bool) {
        let mut remembered = self.remembered();
        match has_gaps {
            true => _ = remembered.gapped.insert(stream.clone()),
            false => _ = remembered.gapped.remove(stream),
        }
    }

    /// What is remembered of a stream may be old.
    pub(super) fn forget(&self, stream: &StreamKey) {
        self.remembered().versions.remove(stream);
    }

    /// The key with this hash.
    pub(super) fn key(&self, hash: &Digest) -> Result<Option<Key>, StoreError> {
        let tick = self.ticks.load(Ordering::Relaxed);
        let before = self.remembered().keys.get(hash).cloned();
        if let Some((_, key)) = before.as_ref().filter(|(seen, _)| *seen == tick) {
            return Ok(key.clone());
        }
        match self.query_opt(&BY_HASH, &[&&hash[..]]) {
            Ok(row) => {
                let key = row.map(|row| rows::key::read(&row)).transpose()?;
                let mut remembered = self.remembered();
                if remembered.keys.len() >= KEYS_MAX {
                    remembered.keys.clear();
                }
                remembered.keys.insert(*hash, (tick, key.clone()));
                Ok(key)
            }
            Err(error) => before.map(|(_, key)| key).ok_or(error),
        }
    }

    /// Was there ever a key?
    pub(super) fn needs_keys(&self) -> Result<bool, StoreError> {
        let tick = self.ticks.load(Ordering::Relaxed);
        let before = self.remembered().needs_keys;
        // Keys are never deleted, so this changes once.
        if let Some((_, needs)) = before.filter(|(seen, needs)| *needs || *seen == tick) {
            return Ok(needs);
        }
        match self.query_opt("SELECT 1 FROM keys LIMIT 1", &[]) {
            Ok(row) => {
                self.remembered().needs_keys = Some((tick, row.is_some()));
                Ok(row.is_some())
            }
            Err(error) => before.map(|(_, needs)| needs).ok_or(error),
        }
    }

    /// A key was made or revoked here.
    pub(super) fn keys_changed(&self) {
        let mut remembered = self.remembered();
        remembered.keys.clear();
        remembered.needs_keys = None;
    }
}

/// The database's clock, in microseconds since 1970: it knows no more.
pub(super) const CLOCK: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::int8";

pub(super) fn read_clock(row: &Row) -> Result<Time, StoreError> {
    let micros: i64 = row.try_get(0).map_err(|error| StoreError::Corrupt(format!("the clock: {error}")))?;
    Ok(Time::from_nanos(micros.saturating_mul(1_000)))
}

/// The versions of a contract, oldest first.
pub(super) static CONTRACTS: LazyLock<String> = LazyLock::new(|| {
    let columns = rows::contract::COLUMNS;
    format!(
        "SELECT {columns} FROM contracts t WHERE t.tenant = $1 AND t.stream = $2 AND t.partition = 0 ORDER BY t.version"
    )
});

static BY_HASH: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {} FROM keys t WHERE t.hash = $1", rows::key::COLUMNS));

pub(super) fn read_versions(found: &[Row]) -> Result<Vec<Version>, StoreError> {
    found.iter().map(|row| rows::contract::read(row).map(|(version, _)| version)).collect()
}

/// It stands still.
pub(super) fn late() -> StoreError {
    StoreError::Unreachable("no answer in time".to_owned())
}

/// Nothing was written, and nothing could be read.
pub(super) fn unreachable(error: &PoolError) -> StoreError {
    StoreError::Unreachable(match error {
        PoolError::Timeout(_) => "no connection in time".to_owned(),
        PoolError::Backend(error) => said(error),
        PoolError::PostCreateHook(HookError::Message(what)) => what.to_string(),
        PoolError::PostCreateHook(HookError::Backend(error)) => said(error),
        PoolError::Closed | PoolError::NoRuntimeSpecified => error.to_string(),
    })
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Also on a worker of another runtime, which must not wait.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
