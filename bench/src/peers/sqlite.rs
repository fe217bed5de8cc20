//! SQLite: a library in the process of its users, without a network between. A write-ahead log, synced at every commit.
//!
//! SQLite has one writer at a time, so all threads share one connection behind a lock. A connection for each and a busy
//! timeout, taking turns with it on a busy machine (medians of three): about the same in batches (4x1000: 51 000 events a
//! second beside 54 000; 16x100: 17 000 beside 19 000), and half as many one by one (64x1: 360 beside 720).

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Barrier, Mutex, PoisonError};

use anyhow::{Context as _, anyhow, ensure};
use rusqlite::{Connection, params};

use super::latency::Latency;
use super::{Measured, Task};
use crate::clock::now;
use crate::usage::Gauge;
use crate::workload::{Batch, Workload};

/// A new database.
pub(super) fn run(task: &Task<'_>) -> anyhow::Result<Measured> {
    let folder = task.folder()?;
    let file = folder.path().join("events.sqlite");
    let connection = open(&file)?;
    connection.execute_batch(
        "CREATE TABLE events (id TEXT PRIMARY KEY, document BLOB NOT NULL);
         CREATE TABLE warm (id TEXT PRIMARY KEY, document BLOB NOT NULL);",
    )?;
    let start = Barrier::new(task.workload.clients.len() + 1);
    for batches in &task.workload.clients {
        insert(&connection, "warm", batches.first().context("a client without events")?)?;
    }
    let connection = Mutex::new(connection);
    let (spent, waits) = std::thread::scope(|scope| {
        let clients = task.workload.clients.iter().map(|batches| {
            let (start, connection) = (&start, &connection);
            scope.spawn(move || {
                start.wait();
                let mut waits = Vec::with_capacity(batches.len());
                for batch in batches {
                    let began = now();
                    insert(&connection.lock().unwrap_or_else(PoisonError::into_inner), "events", batch)?;
                    waits.push(began.elapsed());
                }
                anyhow::Ok(waits)
            })
        });
        let clients: Vec<_> = clients.collect();
        let began = Gauge::begin(None);
        start.wait();
        let ended: Vec<_> = clients.into_iter().map(|client| client.join()).collect();
        let spent = began.end(None);
        let waits = ended.into_iter().map(|ended| ended.map_err(|_| anyhow!("a client has panicked"))?);
        anyhow::Ok((spent, waits.collect::<anyhow::Result<Vec<_>>>()?))
    })?;
    // What another connection sees is what is there.
    check(&open(&file)?, task.workload)?;
    Ok(Measured { spent, latency: Latency::of(waits.into_iter().flatten()) })
}

fn open(file: &Path) -> anyhow::Result<Connection> {
    let connection = Connection::open(file)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(connection)
}

fn statement(table: &str) -> String {
    format!("INSERT OR IGNORE INTO {table} (id, document) VALUES (?1, ?2)")
}

/// A batch is a transaction.
fn insert(connection: &Connection, table: &str, batch: &Batch) -> anyhow::Result<()> {
    let mut begin = connection.prepare_cached("BEGIN IMMEDIATE")?;
    begin.execute([])?;
    let mut insert = connection.prepare_cached(&statement(table))?;
    let mut new = 0;
    for (id, document) in batch.ids.iter().zip(&batch.documents) {
        new += insert.execute(params![id, document])?;
    }
    connection.prepare_cached("COMMIT")?.execute([])?;
    ensure!(new == batch.fresh, "{new} of {} events were new", batch.fresh);
    Ok(())
}

/// Is every event there, exactly once and byte for byte, and nothing else?
fn check(connection: &Connection, workload: &Workload) -> anyhow::Result<()> {
    let mut missing: HashMap<&str, &Vec<u8>> = HashMap::new();
    for batch in workload.clients.iter().flatten() {
        missing.extend(batch.ids.iter().map(String::as_str).zip(&batch.documents));
    }
    let mut statement = connection.prepare("SELECT id, document FROM events")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (id, document): (String, Vec<u8>) = (row.get(0)?, row.get(1)?);
        let sent = missing.remove(id.as_str()).with_context(|| format!("{id} was not sent or is there twice"))?;
        ensure!(*sent == document, "{id} is not what was sent");
    }
    ensure!(missing.is_empty(), "{} events are not there", missing.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::time_of_day;
    use crate::workload::{DOCUMENT_BYTES, Ids, Shape};

    #[test]
    fn an_event_that_is_missing_changed_or_too_many_is_found() {
        let shape = Shape {
            events: 40,
            clients: 2,
            batch: 10,
            document_bytes: DOCUMENT_BYTES,
            duplicates_percent: 20,
            ids: Ids::Random,
        };
        let workload = Workload::make(shape, 1, time_of_day());
        for (sabotage, found) in [
            ("DELETE FROM events WHERE rowid = 3", "1 events are not there"),
            ("UPDATE events SET document = x'00' WHERE rowid = 3", "is not what was sent"),
            ("INSERT INTO events VALUES ('other', x'00')", "was not sent or is there twice"),
        ] {
            let connection = Connection::open_in_memory().expect("a database");
            connection
                .execute_batch("CREATE TABLE events (id TEXT PRIMARY KEY, document BLOB NOT NULL)")
                .expect("a table");
            for batch in workload.clients.iter().flatten() {
                insert(&connection, "events", batch).expect("a batch");
            }
            check(&connection, &workload).expect("all are there once");
            connection.execute_batch(sabotage).expect("sabotage");
            let error = check(&connection, &workload).expect_err("it is found").to_string();
            assert!(error.contains(found), "{sabotage}: {error}");
        }
    }
}
