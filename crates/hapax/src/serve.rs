//! `hapax serve`: the server, on a store in a directory.

use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use clap::Args;
use hapax_server::clock::random;
use hapax_server::config::Config;
use hapax_server::server::serve;
use hapax_store::embedded::Embedded;
use hapax_store::embedded::disk::RealDisk;
use hapax_store::embedded::log::{LogId, Options};
use hapax_store::memory::Memory;
use tokio::signal::unix::{SignalKind, signal};

use crate::outcome::Outcome;
use crate::settings::Settings;

/// Run the server. It listens at 127.0.0.1:4090 and keeps the ledger in ./hapax-data unless told otherwise.
#[derive(Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    settings: Settings,
}

impl Serve {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let resolved = self.settings.resolve()?;
        start_log(&resolved.log, resolved.json_log)?;
        let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
        let said = |address| eprintln!("hapax: listening on http://{address}, the ledger is in {}", resolved.store);
        runtime.block_on(run(&resolved.store, &resolved.server, said, asked_to_stop()))?;
        Ok(Outcome::Fine)
    }
}

/// Runs a server on the store at this place until it is asked to stop.
pub(crate) async fn run(
    place: &str,
    config: &Config,
    listening: impl FnOnce(SocketAddr),
    stop: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    if place == "memory:" {
        serve(Memory::new(), config, listening, stop).await?;
        return Ok(());
    }
    let store = open(Path::new(place))?;
    let store = serve(store, config, listening, stop).await?;
    store.close().map_err(|error| anyhow!("the store did not close: {error}"))
}

/// Opens the store in a directory, or makes one there.
pub(crate) fn open(place: &Path) -> anyhow::Result<Embedded<RealDisk>> {
    let cannot = || format!("{} cannot hold a store", place.display());
    std::fs::create_dir_all(place).with_context(cannot)?;
    let disk = RealDisk::at(place).with_context(cannot)?;
    let (store, opened) = Embedded::open(disk, Options::default(), LogId(random()))
        .map_err(|error| anyhow!("{}: {error}", place.display()))?;
    for warning in &opened.warnings {
        tracing::warn!(?warning, "the log was put in order");
    }
    if let Some(cut) = &opened.cut {
        tracing::warn!(?cut, "a commit that was never acknowledged was cut off");
    }
    Ok(store)
}

fn start_log(filter: &str, json: bool) -> anyhow::Result<()> {
    let filter =
        tracing_subscriber::EnvFilter::try_new(filter).with_context(|| format!("{filter:?} is no log filter"))?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // Set only once in a process; a second time is the demo, which has its own.
    if json { log.json().try_init() } else { log.with_ansi(false).try_init() }.map_err(|error| anyhow!("{error}"))
}

/// SIGTERM or SIGINT.
async fn asked_to_stop() {
    let (Ok(mut term), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) else {
        // Without handlers the system's own end the process, which loses nothing that was acknowledged.
        return std::future::pending().await;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = interrupt.recv() => {}
    }
}
