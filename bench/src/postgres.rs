//! `hapax-bench postgres`: Hapax on Postgres against the plain table that it replaces, on the same Postgres.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use tokio_postgres::Client;

use crate::clock::time_of_day;
use crate::cluster::{Cluster, programs};
use crate::machine::Machine;
use crate::report::{Case, Report, Run, Side};
use crate::server::{Server, program};
use crate::usage::{Meter, Used};
use crate::workload::{BATCH, DOCUMENT_BYTES, Ids, Shape, Workload};
use crate::{ledger, plain};

/// Hapax on Postgres, and a plain INSERT … ON CONFLICT DO NOTHING into one table, taking turns on one private Postgres.
#[derive(Args)]
pub(crate) struct Postgres {
    /// Events of a run
    #[arg(long, default_value_t = 200_000)]
    events: usize,
    /// Runs of each case; the median counts
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Connections, one case for each number; none leaves the comparison out
    #[arg(long, value_delimiter = ',', num_args = 0.., default_value = "1,4")]
    clients: Vec<usize>,
    /// How many percent of the events are repeats
    #[arg(long, value_delimiter = ',', default_value = "0,10")]
    duplicates: Vec<u64>,
    /// Streams that the clients of the comparison feed
    #[arg(long, value_delimiter = ',', default_value = "1")]
    streams: Vec<usize>,
    /// Servers, each number with one stream and with as many streams; none leaves this out
    #[arg(long, value_delimiter = ',', num_args = 0.., default_value = "1,2,3")]
    servers: Vec<usize>,
    /// Connections to all those servers together
    #[arg(long, default_value_t = 6)]
    servers_clients: usize,
    /// Ask Hapax for brief answers: the plain table answers with a number
    #[arg(long)]
    brief: bool,
    /// How ids are made
    #[arg(long, value_enum, default_value_t = Ids::Random)]
    ids: Ids,
    /// Where Hapax keeps its ledger; a directory is for comparison
    #[arg(long, value_enum, default_value_t = Kept::Postgres)]
    store: Kept,
    /// The release binary; built if not given
    #[arg(long)]
    hapax: Option<PathBuf>,
    /// Where initdb and postgres are
    #[arg(long)]
    postgres_bin: Option<PathBuf>,
    /// The folder for the databases, on the disk to be measured
    #[arg(long, default_value = "/tmp")]
    folder: PathBuf,
    /// The file for the raw numbers
    #[arg(long)]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kept {
    Postgres,
    Directory,
}

impl Postgres {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let hapax = program(self.hapax.clone())?;
        let out = self.out.clone().map_or_else(beside_this_program, Ok)?;
        let cluster = Cluster::start(&programs(self.postgres_bin.clone())?, &self.folder).await?;
        let admin = cluster.connect().await?;
        let mut report = Report {
            machine: Machine::look(&admin).await?,
            arguments: std::env::args().skip(1).collect(),
            runs: Vec::new(),
        };
        for round in 0..self.runs {
            for case in self.cases() {
                let shape = Shape {
                    events: self.events,
                    clients: case.clients,
                    batch: BATCH,
                    document_bytes: DOCUMENT_BYTES,
                    duplicates_percent: case.duplicates_percent,
                    ids: self.ids,
                };
                let workload = Arc::new(Workload::make(shape, round as u64, time_of_day()));
                for side in sides(case, round) {
                    // So that no run pays for what the one before has left.
                    admin.batch_execute("CHECKPOINT").await?;
                    let used = match side {
                        Side::Plain => {
                            let meter = Meter::new(&admin, cluster.pid(), Vec::new());
                            plain::run(&cluster, &admin, &meter, &workload).await?
                        }
                        Side::Hapax => self.hapax(&hapax, &cluster, &admin, case, &workload).await?,
                    };
                    let run = Run { case, side, round, sent: workload.sent, used };
                    eprintln!("{}: {side:?}, {case:?}: {:.0} events/s", round + 1, run.events_per_second());
                    report.runs.push(run);
                    report.keep(&out)?;
                }
            }
        }
        println!("{report}\nThe raw numbers are in {}.", out.display());
        Ok(())
    }

    fn cases(&self) -> Vec<Case> {
        let mut cases = Vec::new();
        for &clients in &self.clients {
            for &duplicates_percent in &self.duplicates {
                let case = |&streams| Case { clients, duplicates_percent, servers: 1, streams, compared: true };
                cases.extend(self.streams.iter().map(case));
            }
        }
        for &servers in &self.servers {
            let case = |streams| Case {
                clients: self.servers_clients,
                duplicates_percent: 0,
                servers,
                streams,
                compared: false,
            };
            cases.push(case(1));
            cases.extend((servers > 1).then(|| case(servers)));
        }
        cases
    }

    /// New servers on a new, empty ledger.
    async fn hapax(
        &self,
        program: &Path,
        cluster: &Cluster,
        admin: &Client,
        case: Case,
        workload: &Workload,
    ) -> anyhow::Result<Used> {
        let folder = tempfile::tempdir_in(cluster.folder())?;
        let store = match self.store {
            Kept::Postgres => cluster.url(),
            Kept::Directory => folder.path().join("ledger").display().to_string(),
        };
        let mut servers = Vec::new();
        for server in 0..case.servers {
            servers.push(Server::start(program, &store, &folder.path().join(format!("server-{server}"))).await?);
        }
        let addresses: Vec<SocketAddr> = servers.iter().map(|server| server.address).collect();
        let meter = Meter::new(admin, cluster.pid(), servers.iter().map(Server::pid).collect());
        let used = ledger::run(&addresses, case.streams, self.brief, &meter, workload).await?;
        drop(servers);
        admin.batch_execute("DROP SCHEMA IF EXISTS hapax CASCADE").await?;
        Ok(used)
    }
}

/// Who is first changes from round to round, so that being second favours nobody.
fn sides(case: Case, round: usize) -> Vec<Side> {
    match (case.compared, round % 2) {
        (false, _) => vec![Side::Hapax],
        (true, 0) => vec![Side::Plain, Side::Hapax],
        (true, _) => vec![Side::Hapax, Side::Plain],
    }
}

fn beside_this_program() -> anyhow::Result<PathBuf> {
    let here = std::env::current_exe()?;
    let target = here.parent().and_then(Path::parent).context("this program is in no folder")?;
    Ok(target.join("bench/postgres.json"))
}
