//! News of other servers: a notification is a hint, and the tick is the truth.
//!
//! What holds: those who wait for more look again at least once a second, whether or not a hint came, so an engine without
//! notifications, or a connection that is cut, costs a second and loses nothing. A hint is sent after the commit and outside of
//! it: inside, it would make every commit of the database wait in one line. On the same tick those are let go of who
//! stand still with a lock, see `stuck`.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::poll_fn;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_postgres::{AsyncMessage, Client, Connection, NoTls};

use super::Address;
use super::connect::{config, tls};
use super::known::Shared;
use super::stuck;

/// How often those who wait look again without a hint.
const TICK: Duration = Duration::from_secs(1);

/// The channel of a ledger.
pub(super) fn channel(address: &Address) -> String {
    format!("\"hapax {}\"", address.schema)
}

/// Listens for as long as the process shares anything.
pub(super) fn start(shared: &Arc<Shared>) {
    let (address, listener) = (shared.address.clone(), Arc::downgrade(shared));
    let statement_timeout = shared.options.statement_timeout;
    shared.spawn(async move { listen(&address, &listener, statement_timeout).await });
}

async fn listen(address: &Address, shared: &Weak<Shared>, statement_timeout: Duration) {
    let (sender, mut hints) = unbounded_channel();
    let mut listening: Option<Client> = None;
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let mut is_tick = false;
        tokio::select! {
            _ = tick.tick() => {
                is_tick = true;
                if listening.as_ref().is_none_or(Client::is_closed) {
                    listening = tokio::time::timeout(TICK, connect(address, &sender)).await.ok().flatten();
                }
                if let Some(client) = &listening {
                    _ = tokio::time::timeout(TICK, stuck::end(client, address, statement_timeout)).await;
                }
            }
            // There is a sender here, so there is always another one.
            _ = hints.recv() => while hints.try_recv().is_ok() {},
        }
        let Some(shared) = shared.upgrade() else { return };
        if is_tick {
            shared.tick();
        }
        // Those who are woken may read, and that waits.
        if tokio::task::spawn_blocking(move || shared.pulse()).await.is_err() {
            return;
        }
    }
}

/// A connection that listens; none for now if there cannot be one.
async fn connect(address: &Address, hints: &UnboundedSender<()>) -> Option<Client> {
    let client = match tls(address).ok()? {
        Some(tls) => {
            let (client, connection) = config(address).connect(tls).await.ok()?;
            tokio::spawn(hear(connection, hints.clone()));
            client
        }
        None => {
            let (client, connection) = config(address).connect(NoTls).await.ok()?;
            tokio::spawn(hear(connection, hints.clone()));
            client
        }
    };
    // An engine that has no notifications says so, and then the tick is all there is.
    client.batch_execute(&format!("LISTEN {}", channel(address))).await.ok()?;
    Some(client)
}

async fn hear<S, T>(mut connection: Connection<S, T>, hints: UnboundedSender<()>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if matches!(message, AsyncMessage::Notification(_)) && hints.send(()).is_err() {
            return;
        }
    }
}
