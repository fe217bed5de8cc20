//! `hapax serve`: the server, on a ledger in a directory, in Postgres or in memory.

use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use clap::Args;
use hapax_core::time::Time;
use hapax_server::clock::{Clock, random};
use hapax_server::config::Config;
use hapax_server::server::serve;
use hapax_server::threads;
use hapax_store::embedded::disk::RealDisk;
use hapax_store::embedded::log::LogId;
use hapax_store::embedded::{Embedded, Options, Progress as Started};
use hapax_store::memory::Memory;
use hapax_store::postgres::{Address, Postgres};
use hapax_store::seam::{Store, StoreError};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::block_in_place;

use crate::log;
use crate::outcome::Outcome;
use crate::pages;
use crate::place::Place;
use crate::progress::Progress;
use crate::settings::{Database, Kept, Settings};

/// How often the store is asked whether something is due.
const PAUSE: Duration = Duration::from_millis(100);
/// The same for a database, where asking is work.
const PAUSE_THERE: Duration = Duration::from_secs(5);

/// Run the server. It listens at 127.0.0.1:4090 and keeps the ledger in ./hapax-data unless told otherwise.
#[derive(Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    settings: Settings,
}

impl Serve {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let resolved = self.settings.resolve()?;
        let _log = log::start(&resolved.log, resolved.json_log)?;
        let runtime = threads::runtime(resolved.bound).context("cannot start the runtime")?;
        let scheme = if resolved.server.tls.is_some() { "https" } else { "http" };
        let said = |address| eprintln!("hapax: listening on {scheme}://{address}, the ledger is in {}", resolved.store);
        runtime.block_on(async {
            // Before anything is said: who is told where the server listens may stop it at once.
            let stop = asked_to_stop()?;
            run(&resolved.store, &resolved.kept, &resolved.server, said, stop).await
        })?;
        Ok(Outcome::Fine)
    }
}

/// Commits of so many events, if few requests wait for them, are written by who judged them, and larger ones beside: to encode these takes less
/// than to wake a thread.
const AT_ONCE_MAX: usize = 64;

/// Runs a server on the ledger at this place until it is asked to stop.
pub(crate) async fn run(
    place: &Place,
    kept: &Kept,
    config: &Config,
    listening: impl FnOnce(SocketAddr),
    stop: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    match place {
        Place::Memory => {
            serve(vec![Memory::new()], config, listening, stop).await?;
            Ok(())
        }
        Place::Directory(directory) => {
            let store = open_with(directory, kept.directory.clone())?.flow_beyond(AT_ONCE_MAX);
            let upkeep = store.upkeep();
            let step = move |now| {
                pages::fit(upkeep.ids());
                upkeep.step(now)
            };
            let due = Due { step, pause: PAUSE };
            let (stores, failed) = kept_up(vec![store], due, config, listening, stop).await?;
            let closed = stores.into_iter().try_for_each(Embedded::close);
            match failed {
                Some(error) => Err(anyhow!("{error}")),
                None => closed.map_err(|error| anyhow!("the store did not close: {error}")),
            }
        }
        Place::Database(address) => {
            let cannot = |error: StoreError| anyhow!("{}: {error}", address.shown());
            let stores = block_in_place(|| open_writers(address, &kept.database)).map_err(cannot)?;
            let upkeep = stores.first().map(Postgres::upkeep);
            let due = Due { step: move |now| upkeep.as_ref().map_or(Ok(false), |it| it.step(now)), pause: PAUSE_THERE };
            let (stores, failed) = kept_up(stores, due, config, listening, stop).await?;
            // Its connections are closed, and that is waited for.
            block_in_place(|| drop(stores));
            failed.map_or(Ok(()), |error| Err(cannot(error)))
        }
    }
}

fn open_writers(address: &Address, database: &Database) -> Result<Vec<Postgres>, StoreError> {
    let mut stores = vec![Postgres::open(address, database.options.clone())?];
    while stores.len() < database.writers {
        let another = stores[0].another();
        stores.push(another);
    }
    Ok(stores)
}

/// What is to be done beside the turns.
struct Due<F> {
    /// Does some of it, and answers whether there may be more.
    step: F,
    /// How long it rests when there is nothing more.
    pause: Duration,
}

/// Serves, and does what is due beside the turns. Answers with the stores, and with the error after which only a restart
/// helps.
async fn kept_up<S: Store + Send + 'static>(
    stores: Vec<S>,
    due: Due<impl Fn(Time) -> Result<bool, StoreError> + Send + Sync + 'static>,
    config: &Config,
    listening: impl FnOnce(SocketAddr),
    stop: impl Future<Output = ()>,
) -> anyhow::Result<(Vec<S>, Option<StoreError>)> {
    let mut upkeep = tokio::spawn(keep_up(due));
    let mut failed = None;
    let stop = async {
        tokio::select! {
            () = stop => {}
            // Nothing can be taken any more, and only a restart helps: not only once somebody sends something.
            ended = &mut upkeep => failed = ended.ok().flatten(),
        }
    };
    let stores = serve(stores, config, listening, stop).await?;
    upkeep.abort();
    Ok((stores, failed))
}

/// Does what is due beside the turns, and looks again in a while. Ends with the error after which only a restart helps.
async fn keep_up(due: Due<impl Fn(Time) -> Result<bool, StoreError> + Send + Sync + 'static>) -> Option<StoreError> {
    let step = Arc::new(due.step);
    let clock = Clock::default();
    let mut pause = tokio::time::interval(due.pause);
    // Said once for as long as it lasts: a full disk stays full for many pauses.
    let mut said = None;
    loop {
        pause.tick().await;
        loop {
            let (step, now) = (Arc::clone(&step), clock.now());
            match tokio::task::spawn_blocking(move || step(now)).await {
                Ok(Ok(true)) => {}
                Ok(Ok(false)) => {
                    said = None;
                    break;
                }
                Ok(Err(error @ StoreError::Stopped(_))) => return Some(error),
                Ok(Err(error)) => {
                    if said.replace(error.clone()) != Some(error.clone()) {
                        tracing::warn!(%error, "upkeep of the store");
                    }
                    break;
                }
                // What panicked may have left the state half changed, and nothing must be answered from that.
                Err(error) if error.is_panic() => std::process::abort(),
                // The server stops.
                Err(_) => return None,
            }
        }
    }
}

/// Opens the store in a directory, or makes one there.
pub(crate) fn open(place: &Path) -> anyhow::Result<Embedded<RealDisk>> {
    open_with(place, Options::default())
}

/// The same, kept as these options say.
fn open_with(place: &Path, options: Options) -> anyhow::Result<Embedded<RealDisk>> {
    let cannot = || format!("{} cannot hold a store", place.display());
    std::fs::create_dir_all(place).with_context(cannot)?;
    let disk = RealDisk::at(place).with_context(cannot)?;
    let mut bar = None;
    let told = |progress: Started| {
        let bar = bar.get_or_insert_with(|| {
            if progress.rebuilds {
                eprintln!("hapax: building the index again, {} commits to read", progress.frames_total);
            }
            Progress::count(progress.frames_total, "commits")
        });
        bar.at(progress.frames);
    };
    let opened = Embedded::open_telling(disk, options, LogId(random()), told);
    let (store, opened) = opened.map_err(|error| anyhow!("{}: {error}", place.display()))?;
    bar.iter().for_each(Progress::done);
    for warning in &opened.warnings {
        tracing::warn!(?warning, "the log was put in order");
    }
    if let Some(cut) = &opened.cut {
        tracing::warn!(?cut, "a commit that was never acknowledged was cut off");
    }
    Ok(store)
}

/// SIGTERM or SIGINT, from now on.
pub(crate) fn asked_to_stop() -> anyhow::Result<impl Future<Output = ()>> {
    let mut term = signal(SignalKind::terminate()).context("cannot listen to SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen to SIGINT")?;
    Ok(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
