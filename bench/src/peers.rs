//! `hapax-bench peers`: Hapax beside what people use today, each through its best interface for batches.
//!
//! What holds: in every round every peer runs every column, and who is first changes from round to round; every run has a new
//! server on a new folder; requests are written before the clock starts, and answers are read while it runs and looked at
//! afterwards; a run whose events are not all there exactly once is an error and no result. A peer that is not
//! installed is named.
//!
//! Not here: what is measured with Hapax on Postgres (`postgres`).

mod chart;
mod column;
mod drive;
mod hapax;
mod latency;
mod line;
mod nats;
mod peer;
mod postgres;
mod process;
mod redis;
mod results;
mod sqlite;
mod tables;
mod tools;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::clock::time_of_day;
use crate::usage::Spent;
use crate::workload::{DOCUMENT_BYTES, Ids, Shape, Workload};
use column::Column;
use latency::Latency;
use line::Line;
use peer::Peer;
use results::{Results, Run};
use tools::{Tool, Where};

/// Hapax beside Postgres, Redis, SQLite and NATS: the same events, on this machine, taking turns.
#[derive(Args)]
pub(crate) struct Peers {
    /// Who is measured
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Peer::ALL)]
    peers: Vec<Peer>,
    /// Connections x events of a request
    #[arg(long, value_delimiter = ',', default_value = "1x1000,4x1000,16x100,64x1")]
    columns: Vec<Column>,
    /// How many percent of the events are repeats
    #[arg(long, value_delimiter = ',', default_value = "0,10", value_parser = clap::value_parser!(u64).range(0..100))]
    duplicates: Vec<u64>,
    /// Events of a run; a tenth of it where events are sent one by one, and for peers that sync each event
    #[arg(long, default_value_t = 400_000)]
    events: usize,
    /// How long an event is, at least 256 bytes
    #[arg(long, value_name = "BYTES", default_value_t = DOCUMENT_BYTES as u64, value_parser = clap::value_parser!(u64).range(256..=100_000))]
    payload: u64,
    /// Rounds; the median counts
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Threads of the client, which share the connections
    #[arg(long, value_name = "N", default_value_t = 1)]
    client_threads: usize,
    /// Install what is missing, with apt-get and (NATS) pip
    #[arg(long)]
    install: bool,
    #[command(flatten)]
    programs: Where,
    /// The folder for what the peers write, on the disk to be measured
    #[arg(long, default_value = "/tmp")]
    folder: PathBuf,
    /// The folder for results.json, results.md and results.svg
    #[arg(long)]
    out: Option<PathBuf>,
}

/// What a peer has to do: a workload, on a new folder under this one.
struct Task<'a> {
    runtime: &'a Runtime,
    workload: &'a Workload,
    under: &'a Path,
    threads: usize,
}

impl Task<'_> {
    fn folder(&self) -> anyhow::Result<TempDir> {
        Ok(tempfile::Builder::new().prefix("hapax-bench-").tempdir_in(self.under)?)
    }
}

/// How a run went.
struct Measured {
    spent: Spent,
    latency: Latency,
}

impl Measured {
    fn new(spent: Spent, lines: &[Line]) -> Measured {
        Measured { spent, latency: Latency::of(lines.iter().flat_map(|line| line.waits.iter().copied())) }
    }
}

impl Peers {
    pub(crate) fn run(self, runtime: &Runtime) -> anyhow::Result<()> {
        let folder = self.folder.canonicalize().with_context(|| format!("no folder {}", self.folder.display()))?;
        let out = self.out.clone().map_or_else(beside_this_program, Ok)?;
        if self.install {
            tools::install(&self.peers, &self.programs)?;
        }
        let (tools, missing) = tools::find(&self.peers, &self.programs)?;
        if tools.is_empty() {
            bail!("none of them is installed; --install does that");
        }
        let mut results = Results::new(&tools, missing);
        for round in 0..self.runs {
            for &duplicates_percent in &self.duplicates {
                for &column in &self.columns {
                    for place in 0..tools.len() {
                        let tool = &tools[(place + round) % tools.len()];
                        let workload = self.workload(tool.peer, column, duplicates_percent, round);
                        // So that no run pays for what the one before has left.
                        rustix::fs::sync();
                        let threads = self.client_threads;
                        let task = Task { runtime, workload: &workload, under: &folder, threads };
                        let Measured { spent, latency } =
                            tool.run(&task).with_context(|| format!("{} at {column}", tool.peer.name()))?;
                        let (sent, new) = (workload.sent, workload.fresh());
                        let run =
                            Run::new(tool.peer, column, duplicates_percent, round + 1, (sent, new), spent, latency);
                        eprintln!("{run}");
                        results.runs.push(run);
                        results.keep(&out)?;
                    }
                }
            }
        }
        println!("{}\nThe raw numbers, the tables and a chart are in {}.", tables::shown(&results), out.display());
        Ok(())
    }

    /// Everybody gets the same events, however many.
    fn workload(&self, peer: Peer, column: Column, duplicates_percent: u64, round: usize) -> Workload {
        let is_slow = column.batch == 1 || peer.syncs_each_event();
        let shape = Shape {
            events: if is_slow { self.events.div_ceil(10) } else { self.events },
            clients: column.clients,
            batch: column.batch,
            document_bytes: self.payload as usize,
            duplicates_percent,
            ids: Ids::Random,
        };
        Workload::make(shape, round as u64, time_of_day())
    }
}

impl Tool {
    fn run(&self, task: &Task<'_>) -> anyhow::Result<Measured> {
        match self.peer {
            Peer::Hapax => hapax::run(task, &self.program, hapax::Answers::Whole),
            Peer::HapaxBrief => hapax::run(task, &self.program, hapax::Answers::Brief),
            Peer::Postgres => postgres::run(task, &self.program, postgres::Transaction::Batch),
            Peer::PostgresEach => postgres::run(task, &self.program, postgres::Transaction::Event),
            Peer::Redis => redis::run(task, &self.program),
            Peer::Sqlite => sqlite::run(task),
            Peer::Nats => nats::run(task, &self.program, false),
            Peer::NatsSynced => nats::run(task, &self.program, true),
        }
    }
}

fn beside_this_program() -> anyhow::Result<PathBuf> {
    let here = std::env::current_exe()?;
    let target = here.parent().and_then(Path::parent).context("this program is in no folder")?;
    Ok(target.join("bench"))
}
