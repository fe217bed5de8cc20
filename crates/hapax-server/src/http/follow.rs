//! Following a stream: each entry as it is accepted, as server-sent events that resume with `Last-Event-ID`.
//!
//! What holds: only what is durable is shown, in the order of offsets, without holes; a slow reader holds no more than a
//! page of entries and a few pieces, because the channel is short, and is cut off when it reads nothing at all.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use hapax_core::problem::Problem;
use hapax_core::view::EntryView;
use hapax_store::seam::StreamKey;
use tokio::sync::{mpsc, watch};

use super::ledger::Filter;
use super::reply::BrokenOff;
use super::{App, Call, Reply, malformed, unread};
use crate::writer::busy;

/// Entries that are read at once. Each may be as large as a megabyte, and they wait for a slow reader.
const PAGE: usize = 16;
/// What is sent at once, unless one entry is larger.
const PIECE_BYTES: usize = 64 << 10;
/// Pieces that wait for a slow reader.
const AHEAD: usize = 2;
/// A silent connection says that it lives, so that nobody in between closes it.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) fn follow(app: Arc<App>, call: Call) -> Result<Reply, Problem> {
    let (stream, _) = call.version(&app)?;
    let filter = Filter::of(&call)?;
    let resumed = match call.header("last-event-id") {
        None => None,
        Some(id) => Some(id.parse().map_err(|_| malformed("Last-Event-ID is the offset of the last entry"))?),
    };
    // A client that comes back knows better than the address that it began with.
    let after = match (resumed, call.number("after")?) {
        (Some(offset), _) | (None, Some(offset)) => offset,
        (None, None) => 0,
    };
    let place = Arc::clone(&app.followers).try_acquire_owned();
    let place = place.map_err(|_| busy("as many connections follow streams as this server takes"))?;
    let (sender, receiver) = mpsc::channel(AHEAD);
    let following = Following { app, call, stream, filter, after, sender };
    tokio::spawn(async move {
        following.app.metrics.followers.inc();
        following.run().await;
        following.app.metrics.followers.dec();
        drop(place);
    });
    Ok(Reply::streamed("text/event-stream", receiver).with("cache-control", "no-cache".to_owned()))
}

struct Following {
    app: Arc<App>,
    call: Call,
    stream: StreamKey,
    filter: Filter,
    after: u64,
    sender: mpsc::Sender<Result<Bytes, BrokenOff>>,
}

impl Following {
    async fn run(&self) {
        let mut turns = self.app.inbox.turns();
        let mut stopping = self.app.stopping();
        let mut after = self.after;
        // Headers go out with the first bytes, so that a client knows at once that it is connected.
        if self.sender.send(Ok(Bytes::from_static(b": following\n\n"))).await.is_err() {
            return;
        }
        loop {
            turns.mark_unchanged();
            if self.app.is_stopping() || self.sender.is_closed() || !self.call.is_still_let_in(&self.app) {
                return;
            }
            let page = tokio::task::block_in_place(|| self.app.reader.entries(&self.stream, after, PAGE));
            let Ok(page) = page.map_err(unread) else { return };
            let is_last = page.len() < PAGE;
            let mut out = BytesMut::new();
            for entry in page {
                after = entry.offset;
                if self.filter.takes(&self.call, &entry) {
                    let data = serde_json::to_string(&EntryView(&entry)).unwrap_or_default();
                    out.extend_from_slice(format!("id: {after}\ndata: {data}\n\n").as_bytes());
                }
                if out.len() >= PIECE_BYTES && self.sender.send(Ok(out.split().freeze())).await.is_err() {
                    return;
                }
            }
            if !out.is_empty() && self.sender.send(Ok(out.freeze())).await.is_err() {
                return;
            }
            if is_last && !self.wait(&mut turns, &mut stopping).await {
                return;
            }
        }
    }

    /// Waits for a turn. False if nobody listens any more, or the server stops.
    async fn wait(&self, turns: &mut watch::Receiver<u64>, stopping: &mut watch::Receiver<bool>) -> bool {
        loop {
            if self.app.is_stopping() {
                return false;
            }
            tokio::select! {
                changed = turns.changed() => return changed.is_ok(),
                _ = stopping.changed() => return false,
                () = self.sender.closed() => return false,
                () = tokio::time::sleep(KEEP_ALIVE) => {
                    if self.sender.send(Ok(Bytes::from_static(b": \n\n"))).await.is_err() {
                        return false;
                    }
                }
            }
        }
    }
}
