//! Hapax itself: the release binary with a ledger in a directory, JSON over HTTP, and a contract with all of its rules.
//!
//! Every receipt is looked at when the clock has stopped, and then the ledger: each event once, byte for byte.

use std::path::Path;

use anyhow::{Context as _, ensure};

use super::drive::drive;
use super::line::{Line, Listener};
use super::{Measured, Task};
use crate::ledger::{brief_receipts, ledger, name, path, receipts};
use crate::server::Server;
use crate::wire::{Head, Wire, request};
use crate::workload::{Batch, CONTRACT};

/// What is asked for about a batch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Answers {
    /// A receipt for each event.
    Whole,
    /// Receipts for what was not accepted.
    Brief,
}

/// A new server on a new ledger.
pub(super) fn run(task: &Task<'_>, program: &Path, answers: Answers) -> anyhow::Result<Measured> {
    let folder = task.folder()?;
    let store = folder.path().join("ledger").display().to_string();
    let server = task.runtime.block_on(Server::start(program, &store, &folder.path().join("server")))?;
    task.runtime.block_on(async {
        let mut wire = Wire::connect(server.address).await?;
        for stream in [&name(0), WARM] {
            wire.ask(&request("PUT", &path(stream, ""), CONTRACT.as_bytes())).await?.fine()?;
        }
        anyhow::Ok(())
    })?;
    let mut lines = Vec::new();
    let mut questions = Vec::new();
    for batches in &task.workload.clients {
        let mut line = Line::connect(server.address, Http::default())?;
        let first = batches.first().context("a client without events")?;
        let answer = line.ask(&post(WARM, first, answers), 1)?;
        line.make_ready(batches.len(), answer.len(), 1);
        lines.push(line);
        questions.push(batches.iter().map(|batch| post(&name(0), batch, answers)).collect());
    }
    let spent = drive(&mut lines, &questions, task.threads, Some(server.pid()))?;
    for (client, line) in lines.iter().enumerate() {
        let bodies: Vec<_> = line.answers().map(body).collect::<Result<_, _>>()?;
        match answers {
            Answers::Whole => receipts(task.workload, client, &bodies)?,
            Answers::Brief => brief_receipts(task.workload, client, &bodies)?,
        }
    }
    let measured = Measured::new(spent, &lines);
    drop(lines);
    task.runtime.block_on(async {
        let mut wire = Wire::connect(server.address).await?;
        ledger(&mut wire, task.workload, 0, 1).await
    })?;
    Ok(measured)
}

const WARM: &str = "warm";

/// A batch is an array; an event alone is an object.
fn post(stream: &str, batch: &Batch, answers: Answers) -> Vec<u8> {
    match (batch.documents.as_slice(), answers) {
        ([document], _) => request("POST", &path(stream, "/events"), document),
        (_, Answers::Whole) => request("POST", &path(stream, "/events"), &batch.json()),
        (_, Answers::Brief) => request("POST", &path(stream, "/events?brief=true"), &batch.json()),
    }
}

fn body(answer: &[u8]) -> anyhow::Result<&[u8]> {
    let head = Head::read(answer)?.context("an answer without a head")?;
    let body = &answer[head.length..];
    // A repeat that is sent alone has the status of its code; what it is, its receipt says.
    let is_receipt = head.status < 300 || head.status == 409;
    ensure!(is_receipt, "the server answers {}: {}", head.status, String::from_utf8_lossy(body));
    Ok(body)
}

/// The end of an HTTP answer: its head says how long it is.
#[derive(Default)]
struct Http {
    length: Option<usize>,
}

impl Listener for Http {
    fn expect(&mut self, _parts: usize) {}

    fn is_whole(&mut self, answer: &[u8]) -> anyhow::Result<bool> {
        if self.length.is_none() {
            self.length = Head::read(answer)?.map(|head| head.length + head.body_length);
        }
        let whole = self.length.is_some_and(|length| answer.len() >= length);
        if whole {
            self.length = None;
        }
        Ok(whole)
    }
}
