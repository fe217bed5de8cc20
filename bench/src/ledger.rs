//! Our side: the same documents over HTTP, judged under a contract, each answered with its receipt.
//!
//! Answers are read to their end while the clock runs, and looked at afterwards: every receipt, and then the ledger.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::usage::{Meter, Used};
use crate::wire::{Wire, request};
use crate::workload::{CONTRACT, Workload};

const PAGE: usize = 1000;

/// Sends everything to these servers and into so many streams, and checks that it is there once. Answers what the
/// sending used. Client `k` sends to server `k` and into stream `k`, and so on around.
pub(crate) async fn run(
    servers: &[SocketAddr],
    streams: usize,
    brief: bool,
    meter: &Meter<'_>,
    workload: &Workload,
) -> anyhow::Result<Used> {
    let mut wire = Wire::connect(servers[0]).await?;
    for stream in (0..streams).map(name).chain(["warm".to_owned()]) {
        wire.ask(&request("PUT", &path(&stream, ""), CONTRACT.as_bytes())).await?.fine()?;
    }
    let start = Arc::new(Barrier::new(workload.clients.len() + 1));
    let mut clients = JoinSet::new();
    for (client, batches) in workload.clients.iter().enumerate() {
        let mut wire = Wire::connect(servers[client % servers.len()]).await?;
        if let Some(batch) = batches.first() {
            wire.ask(&request("POST", &path("warm", "/events"), &batch.json())).await?.fine()?;
        }
        let path = path(&name(client % streams), if brief { "/events?brief=true" } else { "/events" });
        let requests: Vec<_> = batches.iter().map(|batch| request("POST", &path, &batch.json())).collect();
        let start = Arc::clone(&start);
        clients.spawn(async move {
            let mut answers = Vec::with_capacity(requests.len());
            start.wait().await;
            for request in &requests {
                answers.push(wire.ask(request).await?.fine()?);
            }
            anyhow::Ok((client, answers))
        });
    }
    let began = meter.begin().await?;
    start.wait().await;
    let mut answered = Vec::new();
    while let Some(ended) = clients.join_next().await {
        answered.push(ended??);
    }
    let used = meter.end(began).await?;
    for (client, answers) in answered {
        let check = if brief { brief_receipts } else { receipts };
        check(workload, client, &answers)?;
    }
    // A new one: a connection that was idle for the length of a run may be closed by now.
    let mut wire = Wire::connect(servers[0]).await?;
    for stream in 0..streams {
        ledger(&mut wire, workload, stream, streams).await?;
    }
    Ok(used)
}

/// The name of a stream that is measured.
pub(crate) fn name(stream: usize) -> String {
    format!("stream-{stream}")
}

/// Where a stream is, and what belongs to it.
pub(crate) fn path(stream: &str, rest: &str) -> String {
    format!("/v1/streams/{stream}{rest}")
}

#[derive(Deserialize)]
struct Receipts<'a> {
    #[serde(borrow)]
    results: Vec<Receipt<'a>>,
}

#[derive(Deserialize)]
struct Receipt<'a> {
    #[serde(borrow)]
    verdict: Cow<'a, str>,
    #[serde(borrow)]
    id: Cow<'a, str>,
}

/// The receipts of a batch, or the one of an event that was sent alone.
fn results(answer: &[u8]) -> serde_json::Result<Vec<Receipt<'_>>> {
    match serde_json::from_slice(answer) {
        Ok(Receipts { results }) => Ok(results),
        Err(_) => Ok(vec![serde_json::from_slice(answer)?]),
    }
}

/// Has every event that a client sent got its receipt, in its place, and is it the right one?
pub(crate) fn receipts(workload: &Workload, client: usize, answers: &[impl AsRef<[u8]>]) -> anyhow::Result<()> {
    let mut seen = HashSet::new();
    for (batch, answer) in workload.clients[client].iter().zip(answers) {
        let results = results(answer.as_ref()).context("an answer that is not one")?;
        ensure!(results.len() == batch.ids.len(), "{} receipts for {} events", results.len(), batch.ids.len());
        for (receipt, id) in results.iter().zip(&batch.ids) {
            let expected = if seen.insert(id) { "accepted" } else { "duplicate" };
            ensure!(receipt.id == *id, "the receipt of {id} is for {}", receipt.id);
            ensure!(receipt.verdict == expected, "{id} is {} and should be {expected}", receipt.verdict);
        }
    }
    ensure!(answers.len() == workload.clients[client].len(), "batches without an answer");
    Ok(())
}

#[derive(Deserialize)]
struct Brief<'a> {
    #[serde(borrow)]
    results: Vec<Indexed<'a>>,
    summary: Summary,
}

#[derive(Deserialize)]
struct Indexed<'a> {
    index: usize,
    #[serde(borrow)]
    receipt: Receipt<'a>,
}

#[derive(Deserialize)]
struct Summary {
    accepted: usize,
}

/// Has every event that a client sent and that was not accepted got its receipt, and were all others accepted?
pub(crate) fn brief_receipts(workload: &Workload, client: usize, answers: &[impl AsRef<[u8]>]) -> anyhow::Result<()> {
    let sent = &workload.clients[client];
    if sent.iter().all(|batch| batch.ids.len() == 1) {
        // An event alone has its receipt in any case.
        return receipts(workload, client, answers);
    }
    let mut seen = HashSet::new();
    for (batch, answer) in sent.iter().zip(answers) {
        let brief: Brief<'_> = serde_json::from_slice(answer.as_ref()).context("an answer that is not one")?;
        let repeats = batch.ids.iter().enumerate().filter(|(_, id)| !seen.insert(*id));
        let expected: Vec<(usize, &str)> = repeats.map(|(index, id)| (index, id.as_str())).collect();
        let told: Vec<(usize, &str)> = brief.results.iter().map(|it| (it.index, &*it.receipt.id)).collect();
        ensure!(told == expected, "{} receipts for {} repeats, or others", told.len(), expected.len());
        ensure!(brief.results.iter().all(|it| it.receipt.verdict == "duplicate"), "a repeat that is none");
        let accepted = batch.ids.len() - expected.len();
        ensure!(brief.summary.accepted == accepted, "{} accepted of {accepted}", brief.summary.accepted);
    }
    ensure!(answers.len() == sent.len(), "batches without an answer");
    Ok(())
}

#[derive(Deserialize)]
struct Head {
    offset: u64,
}

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(borrow)]
    events: Vec<Shown<'a>>,
}

#[derive(Deserialize)]
struct Shown<'a> {
    offset: u64,
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    document: &'a RawValue,
}

/// Is every event of a stream in its ledger, exactly once and byte for byte, and nothing else?
pub(crate) async fn ledger(wire: &mut Wire, workload: &Workload, stream: usize, streams: usize) -> anyhow::Result<()> {
    let mut missing = HashMap::new();
    for batch in workload.of_stream(stream, streams) {
        missing.extend(batch.ids.iter().map(String::as_str).zip(&batch.documents));
    }
    let answer = wire.ask(&request("GET", &path(&name(stream), "/head"), b"")).await?.fine()?;
    let Head { offset } = serde_json::from_slice(&answer)?;
    ensure!(offset == missing.len() as u64, "{offset} entries for {} events", missing.len());
    let mut after = 0;
    while after < offset {
        let page = path(&name(stream), &format!("/events?after={after}&limit={PAGE}"));
        let answer = wire.ask(&request("GET", &page, b"")).await?.fine()?;
        let page: Page<'_> = serde_json::from_slice(&answer).context("a page that is not one")?;
        ensure!(!page.events.is_empty(), "nothing is shown after {after}");
        for event in page.events {
            after += 1;
            ensure!(event.offset == after, "offset {} where {after} should be", event.offset);
            let sent =
                missing.remove(&*event.id).with_context(|| format!("{} was not sent or is there twice", event.id))?;
            ensure!(event.document.get().as_bytes() == sent, "{} is not what was sent", event.id);
        }
    }
    ensure!(missing.is_empty(), "{} events are not there", missing.len());
    Ok(())
}
