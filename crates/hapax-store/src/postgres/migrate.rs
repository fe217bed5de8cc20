//! The tables, and how they become what this version needs.
//!
//! What holds: one process migrates at a time, in one transaction; a database that is newer than this program is refused, not
//! guessed at; a migration that has run is never edited, only followed by another.

use std::cmp::Ordering;

use tokio_postgres::Client;

use super::connect::{begin, config, said, tls};
use super::{Address, Options};
use crate::seam::StoreError;

/// Every migration, in order: its version is its place, from 1.
const MIGRATIONS: &[&str] = &[include_str!("schema/0001_ledger.sql"), include_str!("schema/0002_lookups_by_hash.sql")];

/// What those hold who migrate. Any number that nobody else uses.
const LOCK: i64 = 0x6861_7061_785f_6c6b;

/// What a migration did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migrated {
    /// The version before; 0 if there was nothing.
    pub from: i32,
    /// The version now.
    pub to: i32,
}

/// Brings the tables to this version, while everybody else who wants to waits.
pub fn migrate(address: &Address, options: &Options) -> Result<Migrated, StoreError> {
    alone(address, options, async |client| {
        let schema = address.quoted_schema();
        let mut client = client;
        let transaction = client.transaction().await?;
        transaction.batch_execute("SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0").await?;
        transaction.query("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
        // Asked first, because making a schema needs a right that running in one does not.
        let there = "SELECT to_regnamespace($1) IS NOT NULL, to_regclass($1 || '.migrations') IS NOT NULL";
        let row = transaction.query_one(there, &[&schema]).await?;
        let (has_schema, has_tables): (bool, bool) = (row.try_get(0)?, row.try_get(1)?);
        if !has_tables && !options.makes_tables {
            return Ok(Migrated { from: 0, to: 0 });
        }
        if !has_schema {
            transaction.batch_execute(&format!("CREATE SCHEMA {schema}")).await?;
        }
        if !has_tables {
            let table = "CREATE TABLE migrations (version int4 PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())";
            transaction.batch_execute(table).await?;
        }
        let row = transaction.query_one("SELECT coalesce(max(version), 0) FROM migrations", &[]).await?;
        let from: i32 = row.try_get(0)?;
        let mut to = from;
        let missing = (1..).zip(MIGRATIONS).filter(|(version, _)| options.makes_tables && *version > from);
        for (version, statements) in missing {
            transaction.batch_execute(statements).await?;
            transaction.execute("INSERT INTO migrations (version) VALUES ($1)", &[&version]).await?;
            to = version;
        }
        transaction.commit().await?;
        Ok(Migrated { from, to })
    })
    .and_then(|done| {
        let (found, known) = (done.to, i32::try_from(MIGRATIONS.len()).unwrap_or(i32::MAX));
        match found.cmp(&known) {
            Ordering::Equal => Ok(done),
            Ordering::Less if found == 0 => Err(StoreError::Unreachable("it holds no ledger".to_owned())),
            Ordering::Less => Err(StoreError::Unreachable(format!(
                "its tables have version {found}, and this program needs {known}; `hapax migrate` brings them there"
            ))),
            Ordering::Greater => Err(StoreError::Unreachable(format!(
                "its tables have version {found}, and this program knows {known}; use a newer program"
            ))),
        }
    })
}

/// Removes a ledger with everything in it: for those that were made to be thrown away.
pub fn remove(address: &Address, options: &Options) -> Result<(), StoreError> {
    let statement = format!("DROP SCHEMA IF EXISTS {} CASCADE", address.quoted_schema());
    alone(address, options, async |client| client.batch_execute(&statement).await)
}

/// Deletes everything in a ledger and keeps its tables: for those that are used again and again, with little in them.
pub fn empty(address: &Address, options: &Options) -> Result<(), StoreError> {
    let tables = "SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = $1 AND tablename <> 'migrations'";
    alone(address, options, async |client| {
        let found = client.query(tables, &[&address.schema]).await?;
        let delete = |row: &tokio_postgres::Row| row.try_get(0).map(|table: &str| format!("DELETE FROM {table};"));
        let statements = found.iter().map(delete).collect::<Result<String, _>>()?;
        client.batch_execute(&statements).await
    })
}

/// Does something on a connection of its own.
fn alone<T>(
    address: &Address,
    options: &Options,
    work: impl AsyncFnOnce(Client) -> Result<T, tokio_postgres::Error>,
) -> Result<T, StoreError> {
    let unreachable = |what: String| StoreError::Unreachable(what);
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = built.map_err(|error| unreachable(format!("no runtime: {error}")))?;
    let run = async {
        let ready = async {
            let client = connected(address).await?;
            begin(&client, address, options).await.map_err(unreachable)?;
            Ok(client)
        };
        let late = |_| Err(unreachable("no answer in time".to_owned()));
        let client = tokio::time::timeout(options.statement_timeout, ready).await.unwrap_or_else(late)?;
        work(client).await.map_err(|error| unreachable(said(&error)))
    };
    match tokio::runtime::Handle::try_current() {
        Ok(_) => tokio::task::block_in_place(|| runtime.block_on(run)),
        Err(_) => runtime.block_on(run),
    }
}

/// A connection that nobody else uses; its messages are for nobody.
async fn connected(address: &Address) -> Result<Client, StoreError> {
    let unreachable = |error: tokio_postgres::Error| StoreError::Unreachable(said(&error));
    Ok(match tls(address)? {
        Some(tls) => {
            let (client, connection) = config(address).connect(tls).await.map_err(unreachable)?;
            tokio::spawn(connection);
            client
        }
        None => {
            let (client, connection) = config(address).connect(tokio_postgres::NoTls).await.map_err(unreachable)?;
            tokio::spawn(connection);
            client
        }
    })
}
