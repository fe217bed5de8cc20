//! `hapax bench`: how much a server takes, and how soon it answers, where it runs; and whether every verdict is right.
//!
//! What holds: what is sent is known event by event, so is the verdict that each must get, and a figure is told only beside
//! whether they did. Events are made while requests are under way, and answers looked at meanwhile. Not here: what is sent
//! (`made`), the sending (`clients`), counting and telling (`tally`).

mod clients;
mod clock;
mod engine;
mod made;
mod tally;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use hapax_client::{Call, Client, Error, Retry, Route, Stop, random_key};
use hapax_core::time::{Time, parse};
use hapax_server::clock::Clock;
use serde_json::json;

use crate::field::{number, text};
use crate::outcome::Outcome;
use crate::progress::Progress;
use crate::remote::{Remote, Server, told};
use crate::signals;
use clients::Clients;
use made::{Maker, Shape};
use tally::Tally;

/// Measure a server: events a second, latency, and whether every verdict is right.
///
/// Sends made-up telemetry into a stream of its own and looks at every receipt: a new event must be accepted, a repeat must be
/// a duplicate. Ends 1 if one is not. What was accepted stays in the ledger, as everything does: do not point it at
/// a ledger that you cannot throw away.
///
/// Example: hapax bench --server http://127.0.0.1:4090 --clients 4 --batch 1000 --seconds 10
#[derive(Args)]
pub(crate) struct Bench {
    /// The stream; a new one with the preset `telemetry-tolerant` if not given.
    #[arg(long, short, value_name = "STREAM")]
    stream: Option<String>,
    /// Send into the stream although it has events. Its contract must take what is sent.
    #[arg(long, requires = "stream")]
    append: bool,
    /// Connections, each of which sends one request after the other.
    #[arg(long, short, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=250))]
    clients: u64,
    /// Events of a request.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    batch: u64,
    /// How many events to send; 100000 if nothing is said.
    #[arg(long, value_name = "N", conflicts_with = "seconds", value_parser = clap::value_parser!(u64).range(1..))]
    events: Option<u64>,
    /// How long to send.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    seconds: Option<u64>,
    /// How many percent of the events are repeats.
    #[arg(long, value_name = "PERCENT", default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..100))]
    duplicates: u64,
    /// About how long an event is.
    #[arg(long, value_name = "BYTES", default_value_t = 256, value_parser = clap::value_parser!(u64).range(256..=100_000))]
    payload: u64,
    /// Measure the engine in a directory of its own instead, without a server. The directory must be new.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["stream", "append", "seconds"])]
    store: Option<PathBuf>,
    /// With --store: each turn is durable before the next is begun.
    #[arg(long, requires = "store")]
    wait: bool,
    /// With --store: the contract, as TOML.
    #[arg(long, value_name = "TOML", requires = "store", default_value = CONTRACT)]
    contract: String,
    #[command(flatten)]
    remote: Remote,
}

const CONTRACT: &str = "preset = \"telemetry-tolerant\"";

const EVENTS: u64 = 100_000;

impl Bench {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        if let Some(directory) = &self.store {
            return self.engine(directory);
        }
        let server = self.remote.server()?;
        let (stream, before) = self.open(&server)?;
        let shape = Shape {
            token: random_key().chars().take(8).collect(),
            clients: self.clients,
            batch: self.batch,
            events: self.seconds.is_none().then_some(self.events.unwrap_or(EVENTS)),
            duplicates_percent: self.duplicates,
            bytes: self.payload as usize,
            begin: time_of(&server.client, &stream)?,
        };
        let (stop, kill) = (Stop::new(), Stop::new());
        signals::listen(&stop, &kill)?;
        let mut clients = Clients::new(&stream, self.seconds.map(Duration::from_secs), stop);
        for (client, maker) in Maker::all(&shape).into_iter().enumerate() {
            // Each with connections of its own: those that share them would wait for each other.
            let server = self.remote.server()?.client.with_retry(Retry::PATIENT);
            clients.add(server, maker).with_context(|| format!("client {}", client + 1))?;
        }
        let progress = match (shape.events, self.seconds) {
            (None, Some(seconds)) => Progress::count(seconds, "seconds"),
            (events, _) => Progress::count(events.unwrap_or(EVENTS), "events"),
        };
        let mut tally = Tally::default();
        let sent = clients.run(|answered, since_start| {
            tally.add(answered);
            progress.at(self.seconds.map_or(tally.events(), |_| since_start.as_secs()));
        });
        progress.done();
        tally.sent(sent);
        if before == Some(0) {
            let head = server.get(Route::stream(&stream, &["head"]))?.json().map_err(told)?;
            tally.compare_entries(number(&head, "/offset"));
        }
        tally.print(&stream, server.is_json());
        Ok(if tally.holds() { Outcome::Fine } else { Outcome::Failed })
    }

    /// The engine alone.
    fn engine(&self, directory: &Path) -> anyhow::Result<Outcome> {
        let shape = Shape {
            token: random_key().chars().take(8).collect(),
            clients: 1,
            batch: self.batch,
            events: Some(self.events.unwrap_or(EVENTS)),
            duplicates_percent: self.duplicates,
            bytes: self.payload as usize,
            begin: Clock::default().now(),
        };
        let json = self.remote.is_json();
        engine::run(&shape, &engine::Plan { directory, contract: &self.contract, waits: self.wait, json })
    }

    /// The stream to send into, and how many entries it has; unknown entries are those of others.
    fn open(&self, server: &Server) -> anyhow::Result<(String, Option<u64>)> {
        let name = match &self.stream {
            Some(name) => name.clone(),
            None => format!("bench-{}", random_key().chars().take(8).collect::<String>()),
        };
        match server.client.get(Route::stream(&name, &[])) {
            Ok(answer) => {
                let entries = number(&answer.json().map_err(told)?, "/head/offset");
                if entries > 0 && !self.append {
                    bail!("{name} has {entries} entries, and these would stand among them; --append allows that");
                }
                Ok((name, (!self.append).then_some(entries)))
            }
            Err(Error::Problem(problem)) if problem.code == "STREAM_NOT_FOUND" => {
                server.call(&Call::put(Route::stream(&name, &[])).json(&json!({ "preset": "telemetry-tolerant" })))?;
                Ok((name, Some(0)))
            }
            Err(error) => Err(told(error)),
        }
    }
}

/// The server's time: events that are made with another clock may be too early or too late for it.
fn time_of(client: &Client, stream: &str) -> anyhow::Result<Time> {
    let probe = json!({ "event_id": "what time is it" });
    let call = Call::post(Route::stream(stream, &["events"]).with("dry_run", true)).json(&probe);
    let receipt = client.call(&call).and_then(|answer| answer.json()).map_err(told)?;
    parse(&text(&receipt, "/ingested_at"), true).ok().context("the server does not say what time it is")
}
