//! Sending: each client has a connection and asks one request after the other.
//!
//! What holds: what a client sends is made by another thread meanwhile, and what it is answered is looked at by the caller, so
//! the time of a request is that of the request alone. A request that found no answer in the end is the client's last.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use hapax_client::{Call, Client, Route, Stop};

use super::clock::now;
use super::made::{Made, Maker};
use crate::remote::told;

/// Those who send.
pub(super) struct Clients {
    stream: String,
    long: Option<Duration>,
    stop: Stop,
    retries: Arc<AtomicU64>,
    each: Vec<(Client, Maker)>,
}

/// A request and what came of it.
pub(super) struct Answered {
    pub(super) events: Vec<(String, bool)>,
    pub(super) bytes: usize,
    /// The body, or why there is none.
    pub(super) answer: Result<Vec<u8>, String>,
    pub(super) took: Duration,
    pub(super) at: Instant,
}

/// How the sending went.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sent {
    /// From the first request to the last answer.
    pub(super) seconds: f64,
    /// Requests that were sent again.
    pub(super) retries: u64,
}

/// Requests that are ready before they are needed: enough that nobody waits for them.
const READY: usize = 2;

impl Clients {
    /// None yet. Into this stream, for so long if not for so many, or until somebody wishes to stop.
    pub(super) fn new(stream: &str, long: Option<Duration>, stop: Stop) -> Clients {
        Clients { stream: stream.to_owned(), long, stop, retries: Arc::default(), each: Vec::new() }
    }

    /// One more, connected.
    pub(super) fn add(&mut self, client: Client, maker: Maker) -> anyhow::Result<()> {
        let retries = Arc::clone(&self.retries);
        let client = client.with_stop(self.stop.clone()).on_wait(move |_, _| {
            retries.fetch_add(1, Ordering::Relaxed);
        });
        client.get(Route::stream(&self.stream, &["head"])).map_err(told)?;
        self.each.push((client, maker));
        Ok(())
    }

    /// Sends all, and passes every answer on, with the time since the start.
    pub(super) fn run(self, mut heard: impl FnMut(&Answered, Duration)) -> Sent {
        let Clients { stream, long, stop, retries, each } = self;
        let start = Barrier::new(each.len() + 1);
        let (answers, incoming) = sync_channel(2 * each.len());
        std::thread::scope(|scope| {
            for (client, maker) in each {
                let (ready, made) = sync_channel(READY);
                scope.spawn(move || make(maker, &ready));
                let (answers, start, stop, stream) = (answers.clone(), &start, &stop, stream.as_str());
                scope.spawn(move || {
                    start.wait();
                    let end = long.map(|long| now() + long);
                    let is_over = || stop.is_set() || end.is_some_and(|end| now() >= end);
                    send(&client, stream, &made, &answers, is_over);
                });
            }
            drop(answers);
            start.wait();
            let began = now();
            let mut last = began;
            for answered in incoming {
                last = last.max(answered.at);
                heard(&answered, last - began);
            }
            Sent { seconds: (last - began).as_secs_f64(), retries: retries.load(Ordering::Relaxed) }
        })
    }
}

/// Makes requests until nobody takes them.
fn make(maker: Maker, ready: &SyncSender<Made>) {
    for made in maker {
        if ready.send(made).is_err() {
            return;
        }
    }
}

fn send(
    client: &Client,
    stream: &str,
    made: &Receiver<Made>,
    answers: &SyncSender<Answered>,
    is_over: impl Fn() -> bool,
) {
    while let Ok(Made { body, events }) = made.recv() {
        if is_over() {
            return;
        }
        let bytes = body.len();
        let call = Call::post(Route::stream(stream, &["events"])).with("application/json", body);
        let began = now();
        let answer = client.call(&call);
        let at = now();
        let answer = answer.map(|answer| answer.body).map_err(|error| format!("{:#}", told(error)));
        let failed = answer.is_err();
        if answers.send(Answered { events, bytes, answer, took: at - began, at }).is_err() || failed {
            return;
        }
    }
}
