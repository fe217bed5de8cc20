//! The server of the tour: the real one, in a thread of this process.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread::JoinHandle;

use anyhow::{Context as _, anyhow};
use hapax_client::Stop;
use hapax_server::config::{Config, Limits};
use tokio::sync::oneshot;

use crate::place::Place;
use crate::settings::Kept;
use crate::{serve, signals};

/// A server that listens.
pub(super) struct House {
    url: String,
    stop: Stop,
    quit: oneshot::Sender<()>,
    server: JoinHandle<anyhow::Result<()>>,
}

/// Starts a server, and waits until it listens.
pub(super) fn open(listen: SocketAddr, place: Place) -> anyhow::Result<House> {
    let config = Config { listen, insecure: false, hosts: Vec::new(), tls: None, limits: Limits::default() };
    let stop = Stop::new();
    signals::listen(&stop, &Stop::new())?;
    let (quit, asked) = oneshot::channel();
    let (say, hear) = mpsc::channel();
    let server = std::thread::spawn(move || -> anyhow::Result<()> {
        let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
        let listening = |address: SocketAddr| _ = say.send(address);
        let stop = async { _ = asked.await };
        runtime.block_on(serve::run(&place, &Kept::default(), &config, listening, stop))
    });
    match hear.recv() {
        Ok(address) => Ok(House { url: format!("http://{address}"), stop, quit, server }),
        // It ended before it listened, and says why.
        Err(_) => match ended(server) {
            Ok(()) => Err(anyhow!("the server ended before it listened")),
            Err(error) => Err(anyhow!("{error:#}. --listen and --store name other places.")),
        },
    }
}

impl House {
    /// Where it is.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Set when somebody asked the process to end.
    pub(super) fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Stops it in good order.
    pub(super) fn close(self) -> anyhow::Result<()> {
        // A server that has ended already hears nothing.
        _ = self.quit.send(());
        ended(self.server)
    }
}

fn ended(server: JoinHandle<anyhow::Result<()>>) -> anyhow::Result<()> {
    server.join().unwrap_or_else(|_| Err(anyhow!("the server panicked")))
}
