//! Measures Hapax against what people use today: the same documents, on one machine, in one run.
//!
//! What holds: runs of all sides take turns, and what is reported is their median; a run whose events are not all
//! there exactly once afterwards is no result but an error; the raw numbers are kept. Clients, servers and database share
//! the machine, so processor time is reported beside throughput: it explains it.
//!
//! Not here: anything that the product needs. Nothing depends on this crate.

mod clock;
mod cluster;
mod ledger;
mod machine;
mod peers;
mod plain;
mod postgres;
mod report;
mod server;
mod usage;
mod wire;
mod workload;

use clap::{Parser, Subcommand};

/// Measures Hapax against what people use today.
#[derive(Parser)]
#[command(name = "hapax-bench")]
struct Bench {
    #[command(subcommand)]
    against: Against,
}

#[derive(Subcommand)]
enum Against {
    Peers(peers::Peers),
    Postgres(postgres::Postgres),
}

fn main() -> anyhow::Result<()> {
    let Bench { against } = Bench::parse();
    let runtime = tokio::runtime::Runtime::new()?;
    match against {
        Against::Peers(peers) => peers.run(&runtime),
        Against::Postgres(postgres) => runtime.block_on(postgres.run()),
    }
}
