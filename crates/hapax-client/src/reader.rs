//! Reading ahead of the worker, in a thread of its own, a little at a time.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use serde::Deserialize;

use crate::{Client, Entry, Error, Route, Stop};

/// So many entries are read before the worker wants them.
const AHEAD: usize = 64;

/// What the reader found.
pub(crate) enum Found {
    /// The next entry.
    Entry(Box<Entry>),
    /// All that was in the stream when the reader began.
    End,
    /// Nothing more can be read.
    Error(Error),
}

/// Reads a stream after an offset: what is there now, or without an end.
pub(crate) fn read(client: &Client, stream: &str, after: u64, once: bool, stop: &Stop) -> Receiver<Found> {
    let (sender, receiver) = sync_channel(AHEAD);
    let (client, stream, stop) = (client.clone().with_stop(stop.clone()), stream.to_owned(), stop.clone());
    std::thread::spawn(move || {
        let ended = if once {
            read_once(&client, &stream, after, &sender)
        } else {
            follow(&client, &stream, after, &stop, &sender)
        };
        // A worker that is gone wants to hear nothing more.
        _ = sender.send(ended.map_or_else(Found::Error, |()| Found::End));
    });
    receiver
}

fn read_once(client: &Client, stream: &str, after: u64, sender: &SyncSender<Found>) -> Result<(), Error> {
    #[derive(Deserialize)]
    struct Head {
        offset: u64,
    }
    let head: Head = client.get(Route::stream(stream, &["head"]))?.json()?;
    let route = Route::stream(stream, &["events"]);
    let mut after = after;
    while after < head.offset {
        let begin = after;
        for raw in client.pages(route.clone(), "events", 1_000).after(after) {
            let entry = Entry::read(raw?)
                .map_err(|error| Error::Strange { url: client.url().to_owned(), why: error.to_string() })?;
            after = entry.offset;
            if after > head.offset || sender.send(Found::Entry(Box::new(entry))).is_err() {
                return Ok(());
            }
        }
        if after == begin {
            break;
        }
    }
    Ok(())
}

fn follow(client: &Client, stream: &str, after: u64, stop: &Stop, sender: &SyncSender<Found>) -> Result<(), Error> {
    for entry in client.follow(stream, None, after, stop.clone()) {
        if sender.send(Found::Entry(Box::new(entry?))).is_err() {
            break;
        }
    }
    Ok(())
}
