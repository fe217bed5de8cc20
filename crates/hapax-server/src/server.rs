//! Sockets: listening, places for connections, and stopping in good order. What comes over a connection is elsewhere.
//!
//! ```text
//! stop: not ready ▶ no new connections ▶ running requests are answered ▶ the writers end ▶ the store is closed
//! ```

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hapax_core::problem::{Problem, ProblemCode};
use hapax_store::seam::{Read, Store, StoreError};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::block_in_place;

use crate::clock::Clock;
use crate::config::Config;
use crate::connection;
use crate::connection::places::Places;
use crate::http::App;
use crate::metrics::Metrics;
use crate::tls::{Handshake, Tls, TlsError};
use crate::writer;

/// Connections too many that are told so at the same time.
const REFUSED_AT_ONCE_MAX: usize = 64;

/// Held by a connection; when all are gone, so is the last connection.
type Connection = mpsc::Sender<()>;

/// Why a server did not start, or ended other than it was asked to.
#[derive(Debug)]
pub enum ServerError {
    /// Nobody needs a key, and others than this machine could ask.
    Exposed(SocketAddr),
    /// The address cannot be listened at.
    Listen(SocketAddr, std::io::Error),
    /// The certificate or its key cannot be used.
    Tls(TlsError),
    /// The store gave up.
    Store(StoreError),
}

impl std::fmt::Display for ServerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exposed(address) => write!(
                f,
                "{address} can be reached from other machines, and no keys are needed here. Make one first (hapax keys \
                 create --role admin --store DIR), listen at 127.0.0.1, or say --insecure"
            ),
            Self::Listen(address, error) => write!(f, "cannot listen at {address}: {error}"),
            Self::Tls(error) => write!(f, "cannot speak TLS: {error}"),
            Self::Store(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for ServerError {}

/// Serves until `stop`, then stops in good order. The stores are one ledger, each for a writer of its own. Answers with
/// them, for their owner to close. `listening` is told where.
pub async fn serve<S: Store + Send + 'static>(
    stores: Vec<S>,
    config: &Config,
    listening: impl FnOnce(SocketAddr),
    stop: impl Future<Output = ()>,
) -> Result<Vec<S>, ServerError> {
    let none = || ServerError::Store(StoreError::Unreachable("there is no store to serve".to_owned()));
    let reader = stores.first().ok_or_else(none)?.reader().clone();
    let needs_keys = block_in_place(|| reader.needs_keys()).map_err(ServerError::Store)?;
    if !config.listen.ip().is_loopback() && !needs_keys && !config.insecure {
        return Err(ServerError::Exposed(config.listen));
    }
    let tls = config.tls.as_ref().map(|files| Tls::open(files, config.limits.handshake_timeout).map(Arc::new));
    let tls = tls.transpose().map_err(ServerError::Tls)?;
    if !config.listen.ip().is_loopback() && needs_keys && tls.is_none() {
        tracing::warn!("keys travel in the clear: other machines can be asked for them, and there is no TLS");
    }
    let cannot = |error| ServerError::Listen(config.listen, error);
    let listener = TcpListener::bind(config.listen).await.map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;

    let metrics = Arc::new(Metrics::default());
    let writers = block_in_place(|| writer::start(stores, &config.limits, Arc::clone(&metrics)));
    let (inbox, writers) = writers.map_err(ServerError::Store)?;
    let mut ended = writers.ended();
    // What other servers commit on the same ledger is looked for like what is committed here.
    reader.wake(inbox.wake());
    let clock = Arc::new(Clock::default());
    let app = Arc::new(App::new(Arc::new(reader), inbox, clock, metrics, config));
    listening(address);
    // Every connection holds an end of it for as long as it lasts.
    let (connection, mut connections) = mpsc::channel(1);
    tokio::select! {
        () = accept(&listener, tls.as_ref(), &app, &connection) => {}
        () = fresh(tls.as_ref()) => {}
        () = stop => {}
        _ = ended.changed() => {}
    }
    drop(listener);
    app.stop();
    // Those who take longer lose their answers, not their events: what was decided stands.
    drop(connection);
    let late = tokio::time::timeout(config.limits.stop_timeout, connections.recv()).await.is_err();
    if late {
        tracing::warn!("some requests did not end in time");
    }
    app.inbox.stop();
    let (stores, error) = block_in_place(|| writers.join());
    match error {
        Some(error) => Err(ServerError::Store(error)),
        None => Ok(stores),
    }
}

/// Keeps the certificate up to date, where there is one.
async fn fresh(tls: Option<&Arc<Tls>>) {
    match tls {
        Some(tls) => tls.keep_fresh().await,
        None => std::future::pending().await,
    }
}

async fn accept(listener: &TcpListener, tls: Option<&Arc<Tls>>, app: &Arc<App>, connection: &Connection) {
    let places = Places::new(&app.limits);
    let refusing = Arc::new(Semaphore::new(REFUSED_AT_ONCE_MAX));
    loop {
        let (socket, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of descriptors, or a connection that is gone already: neither ends the server.
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        _ = socket.set_nodelay(true);
        match places.take(address.ip()) {
            Ok(place) => {
                let (app, connection) = (Arc::clone(app), connection.clone());
                let tls = tls.cloned();
                tokio::spawn(async move {
                    match tls {
                        Some(tls) => secured(&tls, socket, address.ip(), app).await,
                        None => connection::serve(socket, address.ip(), app).await,
                    }
                    drop((place, connection));
                });
            }
            Err(problem) => {
                app.metrics.refused(problem.status);
                // Most are told why; in a flood they are only closed.
                if let Ok(telling) = Arc::clone(&refusing).try_acquire_owned() {
                    tokio::spawn(async move {
                        connection::refuse(socket, &problem).await;
                        drop(telling);
                    });
                }
            }
        }
    }
}

/// Serves a connection that begins with a handshake.
async fn secured(tls: &Tls, socket: TcpStream, peer: IpAddr, app: Arc<App>) {
    let mut stopping = app.stopping();
    let handshake = tokio::select! {
        handshake = tls.accept(socket) => handshake,
        // Nothing was asked yet, so nothing is owed.
        _ = stopping.wait_for(|stops| *stops) => return,
    };
    match handshake {
        Handshake::Done(stream) => connection::serve(*stream, peer, app).await,
        Handshake::Plain(socket) => {
            app.metrics.handshake_failed("plain");
            let problem = Problem::new(ProblemCode::Malformed, "this port speaks TLS; ask with https://");
            connection::refuse(socket, &problem).await;
        }
        Handshake::Late => app.metrics.handshake_failed("late"),
        Handshake::Failed(error) => {
            app.metrics.handshake_failed("failed");
            tracing::debug!(%error, %peer, "a handshake failed");
        }
    }
}
