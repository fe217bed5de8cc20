//! A fresh Postgres with the settings that it comes with, and one table with one unique key.
//!
//! Statements are prepared and their arguments binary. They are written as bytes before the clock starts, because a
//! driver's own work would be taken from what is measured. Not here: the cluster (`cluster`), and the check (`plain`).

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use anyhow::{Context as _, bail, ensure};

use super::drive::drive;
use super::line::{Line, Listener};
use super::{Measured, Task};
use crate::cluster::Cluster;
use crate::plain;
use crate::workload::Batch;

/// What a transaction is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Transaction {
    /// A batch, in one statement.
    Batch,
    /// An event. Those of a batch are sent together, so nobody waits between them for an answer.
    Event,
}

/// A new cluster with a new table.
pub(super) fn run(task: &Task<'_>, programs: &Path, transaction: Transaction) -> anyhow::Result<Measured> {
    let cluster = task.runtime.block_on(Cluster::start(programs, task.under))?;
    let admin = task.runtime.block_on(cluster.connect())?;
    for table in ["plain", "warm"] {
        let made = format!("CREATE TABLE {table} (id text PRIMARY KEY, document bytea NOT NULL)");
        task.runtime.block_on(admin.batch_execute(&made))?;
    }
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, cluster.port()));
    let mut lines = Vec::new();
    let mut questions = Vec::new();
    for batches in &task.workload.clients {
        let mut line = Line::connect(address, Messages::default())?;
        line.ask(&startup(), 1)?;
        for table in ["warm", "plain"] {
            line.ask(&prepare(table), 1)?;
        }
        let first = batches.first().context("a client without events")?;
        let parts = if transaction == Transaction::Event { first.ids.len() } else { 1 };
        let answer = line.ask(&insert("warm", first, transaction), parts)?;
        line.make_ready(batches.len(), answer.len(), parts);
        questions.push(batches.iter().map(|batch| insert("plain", batch, transaction)).collect());
        lines.push(line);
    }
    let spent = drive(&mut lines, &questions, task.threads, Some(cluster.pid()))?;
    for (line, batches) in lines.iter().zip(&task.workload.clients) {
        ensure!(line.answers().count() == batches.len(), "batches without an answer");
        for (answer, batch) in line.answers().zip(batches) {
            let new = inserted(answer)?;
            ensure!(new == batch.fresh, "{new} of {} events were new", batch.fresh);
        }
    }
    task.runtime.block_on(plain::check(&admin, task.workload))?;
    Ok(Measured::new(spent, &lines))
}

/// One message: its kind, its length, its body.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend_from_slice(&length(body.len() + 4));
    bytes.extend_from_slice(body);
    bytes
}

/// The protocol counts in 32 bits; nothing here comes near their end.
fn length(length: usize) -> [u8; 4] {
    (length as u32).to_be_bytes()
}

fn startup() -> Vec<u8> {
    // The first message has no kind.
    message(0, b"\x00\x03\x00\x00user\x00postgres\x00database\x00postgres\x00\x00")[1..].to_vec()
}

fn sync() -> Vec<u8> {
    message(b'S', b"")
}

/// A statement, under the name of its table.
fn prepare(table: &str) -> Vec<u8> {
    let insert = format!(
        "INSERT INTO {table} (id, document) SELECT unnest($1::text[]), unnest($2::bytea[]) ON CONFLICT DO NOTHING"
    );
    let body = [table.as_bytes(), b"\0", insert.as_bytes(), b"\0\0\0"].concat();
    [message(b'P', &body), sync()].concat()
}

fn insert(table: &str, batch: &Batch, transaction: Transaction) -> Vec<u8> {
    let execute = [message(b'E', b"\0\0\0\0\0"), sync()].concat();
    let pairs: Vec<(&[u8], &[u8])> =
        batch.ids.iter().zip(&batch.documents).map(|(id, document)| (id.as_bytes(), document.as_slice())).collect();
    let each = if transaction == Transaction::Event { 1 } else { pairs.len() };
    pairs.chunks(each).flat_map(|pairs| [bind(table, pairs), execute.clone()].concat()).collect()
}

fn bind(statement: &str, pairs: &[(&[u8], &[u8])]) -> Vec<u8> {
    const TEXT: u32 = 25;
    const BYTEA: u32 = 17;
    let ids = array(TEXT, pairs.iter().map(|(id, _)| *id));
    let documents = array(BYTEA, pairs.iter().map(|(_, document)| *document));
    // An unnamed portal; all arguments are binary; there are two; no columns come back.
    let parts: [&[u8]; 6] = [
        &[b"\0", statement.as_bytes(), b"\0\0\x01\0\x01\0\x02"].concat(),
        &length(ids.len()),
        &ids,
        &length(documents.len()),
        &documents,
        b"\0\0",
    ];
    message(b'B', &parts.concat())
}

fn array<'a>(kind: u32, members: impl ExactSizeIterator<Item = &'a [u8]>) -> Vec<u8> {
    // One dimension, no nulls, counted from 1.
    let head = [1, 0, kind, members.len() as u32, 1];
    let mut bytes: Vec<u8> = head.iter().flat_map(|it| it.to_be_bytes()).collect();
    for member in members {
        bytes.extend_from_slice(&length(member.len()));
        bytes.extend_from_slice(member);
    }
    bytes
}

/// The messages of an answer: kind and body.
fn messages(mut bytes: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let (kind, rest) = bytes.split_first()?;
        let length = u32::from_be_bytes(rest.get(..4)?.try_into().ok()?) as usize;
        let body = rest.get(4..length)?;
        bytes = &rest[length..];
        Some((*kind, body))
    })
}

/// How many rows all statements of an answer have put in.
fn inserted(answer: &[u8]) -> anyhow::Result<usize> {
    let mut all = 0;
    for (_, body) in messages(answer).filter(|(kind, _)| *kind == b'C') {
        let tag = std::str::from_utf8(body)?.trim_end_matches('\0');
        let rows = tag.strip_prefix("INSERT 0 ").with_context(|| format!("Postgres says {tag}"))?;
        all += rows.parse::<usize>()?;
    }
    Ok(all)
}

/// The end of an answer: Postgres is ready again, as often as it was told to.
#[derive(Default)]
struct Messages {
    wanted: usize,
    seen: usize,
    /// As far as the messages are whole.
    behind: usize,
}

impl Listener for Messages {
    fn expect(&mut self, parts: usize) {
        self.wanted = parts;
    }

    fn is_whole(&mut self, answer: &[u8]) -> anyhow::Result<bool> {
        for (kind, body) in messages(&answer[self.behind..]) {
            self.behind += 1 + 4 + body.len();
            match kind {
                b'Z' => self.seen += 1,
                b'E' => bail!("Postgres says {}", String::from_utf8_lossy(body).replace('\0', " ")),
                _ => {}
            }
        }
        let whole = self.seen == self.wanted;
        if whole {
            (self.seen, self.behind) = (0, 0);
        }
        Ok(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_when_postgres_is_ready_as_often_as_asked() {
        let one = [message(b'2', b""), message(b'C', b"INSERT 0 7\0"), message(b'Z', b"I")].concat();
        let two = [one.clone(), one].concat();
        for step in [1, 3, two.len()] {
            let mut listener = Messages::default();
            listener.expect(2);
            let ends: Vec<usize> = (step..two.len()).step_by(step).collect();
            assert!(ends.iter().all(|end| !listener.is_whole(&two[..*end]).expect("no error")));
            assert!(listener.is_whole(&two).expect("no error"), "in steps of {step}");
        }
        assert_eq!(inserted(&two).expect("tags"), 14);
        let mut listener = Messages::default();
        assert!(listener.is_whole(&message(b'E', b"SERROR\0\0")).is_err());
    }
}
