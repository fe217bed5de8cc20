//! `hapax bench --store DIR`: what the engine does without a server, on a disk of one's own.
//!
//! What holds: every event goes the whole way (identity, order, gaps, the chain, the log, its sync) and every receipt is
//! looked at; what is measured is measured apart: reading documents, taking turns, writing receipts. Turns are begun while
//! the one before is synced, as a server does, unless told to wait.
//!
//! Not here: HTTP, several clients.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{anyhow, bail};
use hapax_core::access::Patterns;
use hapax_core::batch::Terms;
use hapax_core::claim::Jitter;
use hapax_core::contract::{Contract, Version};
use hapax_core::entry::Caller;
use hapax_core::event::{Door, Reader};
use hapax_core::json::Batch;
use hapax_core::time::Time;
use hapax_core::words::Verdict;
use hapax_server::clock::Clock;
use hapax_store::embedded::Embedded;
use hapax_store::embedded::disk::RealDisk;
use hapax_store::seam::{Store, StreamKey};
use hapax_store::turn::{Answer, Ask, Request, Submission, begin, turn};
use serde_json::json;

use super::clock::{now, worked, worked_here};
use super::made::{Made, Maker, Shape};
use crate::outcome::Outcome;
use crate::pages;
use crate::progress::Progress;
use crate::say;
use crate::serve;

/// How it is measured.
pub(super) struct Plan<'p> {
    pub(super) directory: &'p Path,
    /// The contract, as TOML.
    pub(super) contract: &'p str,
    /// Is each turn durable before the next is begun?
    pub(super) waits: bool,
    pub(super) json: bool,
}

/// Batches that are made and read together: few enough that they stay in a processor's cache.
const READ_AHEAD: usize = 16;

/// Nanoseconds of a run, by what they were spent on.
#[derive(Default)]
struct Spent {
    reading: Duration,
    turns: Duration,
    writing: Duration,
    /// For how long this thread has worked in turns.
    judging: Duration,
    /// About one for each million.
    marks: Vec<Mark>,
}

/// How far it had come.
#[derive(Clone, Copy, Default)]
struct Mark {
    events: u64,
    /// How long their turns had taken.
    turns: Duration,
    /// For how long processors had worked for them: in their turns, and beside, in whatever thread. What others took of the machine
    /// is not in it.
    worked: Duration,
}

/// A ledger that grows should not become slower, so the first million is compared with the last.
const MILLION: u64 = 1_000_000;

impl Spent {
    /// What an event took in each million, in nanoseconds.
    fn millions(&self, of: impl Fn(&Mark) -> Duration) -> Vec<u64> {
        let mut before = Mark::default();
        let each = |mark: &Mark| {
            let from = std::mem::replace(&mut before, *mark);
            of(mark).saturating_sub(of(&from)).as_nanos() as u64 / (mark.events - from.events).max(1)
        };
        self.marks.iter().map(each).collect()
    }

    /// The same for the first and the last, if there were several.
    fn growth(&self, of: impl Fn(&Mark) -> Duration) -> Option<(u64, u64)> {
        let millions = self.millions(of);
        let [first, _, .., last] = millions.as_slice() else { return None };
        Some((*first, *last))
    }

    fn mark(&mut self, events: u64) {
        // Making and reading events is the only other thing that is done.
        let worked = worked().saturating_sub(worked_here().saturating_sub(self.judging));
        self.marks.push(Mark { events, turns: self.turns, worked });
    }
}

/// What became of the events, counted where it shows.
#[derive(Default)]
struct Seen {
    accepted: AtomicU64,
    duplicates: AtomicU64,
    /// Neither: what is made here is never refused, so it was measured wrongly.
    refused: AtomicU64,
    failed: AtomicU64,
}

pub(super) fn run(shape: &Shape, plan: &Plan<'_>) -> anyhow::Result<Outcome> {
    if plan.directory.join("log").exists() {
        bail!("{} holds a ledger already; name a directory that is new", plan.directory.display());
    }
    let checked = Contract::from_toml(plan.contract).map_err(|problems| anyhow!("the contract: {problems:?}"))?;
    let version = Version::first(checked.contract.clone());
    let store = serve::open(plan.directory)?;
    let mut store = if plan.waits { store } else { store.flow() };
    let told = |error| anyhow!("{error}");
    store.tenant(&stream().tenant, [7; 32]).map_err(told)?;
    let put = Ask::PutContract { stream: stream(), contract: Box::new(checked) };
    turn(&mut store, &mut [request(put, shape.begin)]).map_err(told)?;

    let upkeep = store.upkeep();
    let beside = std::thread::spawn(move || {
        // Ends when the store is closed, or with an error that the store tells by itself.
        while let Ok(more) = upkeep.step(Time::from_nanos(0)) {
            if upkeep.is_closed() {
                break;
            }
            pages::fit(upkeep.ids());
            if !more {
                std::thread::park_timeout(Duration::from_millis(5));
            }
        }
    });
    let measured = measure(&mut store, shape, &version, plan);
    store.close().map_err(told)?;
    beside.thread().unpark();
    _ = beside.join();
    let (spent, seen, events) = measured?;
    tell(&spent, &seen, events, plan);
    let told = |count: &AtomicU64| count.load(Ordering::Relaxed);
    if told(&seen.failed) > 0 || told(&seen.accepted) + told(&seen.duplicates) != events {
        bail!("{} events were refused, and {} turns failed", told(&seen.refused), told(&seen.failed));
    }
    Ok(Outcome::Fine)
}

fn measure(
    store: &mut Embedded<RealDisk>,
    shape: &Shape,
    version: &Version,
    plan: &Plan<'_>,
) -> anyhow::Result<(Spent, Arc<Seen>, u64)> {
    let told = |error| anyhow!("{error}");
    let (mut spent, seen, mut events) = (Spent::default(), Arc::new(Seen::default()), 0);
    let clock = Clock::default();
    let progress = Progress::count(shape.events.unwrap_or_default(), "events");
    let mut makers = Maker::all(shape);
    let Some(maker) = makers.first_mut() else { return Ok((spent, seen, 0)) };
    loop {
        let made: Vec<Made> = maker.by_ref().take(READ_AHEAD).collect();
        if made.is_empty() {
            break;
        }
        let began = now();
        let mut requests = Vec::with_capacity(made.len());
        // Events are of the time at which they were made, and in a long run that is not the time of its beginning.
        let at = clock.now();
        for it in &made {
            events += it.events.len() as u64;
            requests.push(request(Ask::Submit(submission(&it.body, version, at)?), at));
        }
        spent.reading += began.elapsed();
        let (began, worked_before, mut last) = (now(), worked_here(), None);
        for request in &mut requests {
            let (mut answers, begun) = begin(store, std::slice::from_mut(request)).map_err(told)?;
            if plan.waits {
                begun.wait().map_err(told)?;
                count(&seen, &answers);
                last = answers.pop();
                continue;
            }
            let seen = Arc::clone(&seen);
            begun.then(move |outcome| match outcome {
                Ok(()) => count(&seen, &answers),
                Err(_) => _ = seen.failed.fetch_add(1, Ordering::Relaxed),
            });
        }
        store.settle().map_err(told)?;
        spent.turns += began.elapsed();
        spent.judging += worked_here().saturating_sub(worked_before);
        let began = now();
        let written = last.map_or(0, |answer: Answer| answer.body.len());
        if written > 0 {
            // One of them stands for all.
            spent.writing += began.elapsed() * u32::try_from(made.len()).unwrap_or(1);
        }
        if events / MILLION > spent.marks.len() as u64 {
            spent.mark(events);
        }
        progress.at(events);
    }
    progress.done();
    Ok((spent, seen, events))
}

fn count(seen: &Seen, answers: &[Answer]) {
    let (mut accepted, mut duplicates, mut refused) = (0, 0, 0);
    for receipt in answers.iter().flat_map(Answer::receipts) {
        match receipt.verdict() {
            Verdict::Accepted => accepted += 1,
            Verdict::Duplicate => duplicates += 1,
            Verdict::Conflict | Verdict::Stale | Verdict::Rejected | Verdict::NotEvaluated => refused += 1,
        }
    }
    let counts = [(&seen.accepted, accepted), (&seen.duplicates, duplicates), (&seen.refused, refused)];
    counts.into_iter().for_each(|(all, more)| _ = all.fetch_add(more, Ordering::Relaxed));
}

fn stream() -> StreamKey {
    StreamKey { tenant: Arc::from("default"), stream: Arc::from("bench") }
}

fn request(ask: Ask, now: Time) -> Request {
    Request { now, spare: 1, jitter: Jitter::NONE, caller: Caller::default(), id: None, ask }
}

/// Documents in, events out: the reading that a server does at its door.
fn submission(body: &[u8], version: &Version, now: Time) -> anyhow::Result<Submission> {
    let batch = Batch::of(body, usize::MAX).map_err(|_| anyhow!("what was made is no batch"))?;
    let mut reader = Reader::new(version, batch.len());
    let event_bytes_max = 1 << 20;
    let door = Door { salt: &[7; 32], now, spare: 1, event_bytes_max, covers: &|_| true };
    let read = |(index, text): (usize, &str)| match batch.node(index) {
        Some(node) => reader.read_scanned(Arc::from(text.as_bytes()), node, &door),
        None => reader.read(Arc::from(text.as_bytes()), &door),
    };
    let events = Arc::new(batch.raw().enumerate().map(read).collect());
    let terms =
        Terms { atomic: false, dry_run: false, brief: false, caller: Caller::default(), lanes: Patterns::all() };
    let (stream, documents) = (stream(), Vec::new());
    Ok(Submission { stream, documents, events, terms, single: false, event_bytes_max })
}

fn tell(spent: &Spent, seen: &Seen, events: u64, plan: &Plan<'_>) {
    let each = |time: Duration| time.as_nanos() as u64 / events.max(1);
    let a_second = (events as f64 / spent.turns.as_secs_f64().max(1e-9)) as u64;
    let (accepted, duplicates) = (seen.accepted.load(Ordering::Relaxed), seen.duplicates.load(Ordering::Relaxed));
    if plan.json {
        say::line(json!({
            "events": events, "events_per_second": a_second, "accepted": accepted, "duplicates": duplicates,
            "first_and_last_million": spent.growth(|mark| mark.turns),
            "each_million": spent.millions(|mark| mark.turns), "each_million_worked": spent.millions(|mark| mark.worked),
            "nanoseconds": { "reading": each(spent.reading), "turn": each(spent.turns), "receipt": each(spent.writing) },
        }));
        return;
    }
    say::line(format_args!(
        "{a_second} events/s: judged, chained, written and synced; {accepted} accepted, {duplicates} duplicates"
    ));
    say::line(format_args!(
        "an event takes {} ns to read and {} ns in its turn",
        each(spent.reading),
        each(spent.turns)
    ));
    if let Some((first, last)) = spent.growth(|mark| mark.turns) {
        say::line(format_args!("in the first million {first} ns in its turn, in the last {last} ns"));
    }
    if let Some((first, last)) = spent.growth(|mark| mark.worked).filter(|(first, _)| *first > 0) {
        say::line(format_args!("of processors, with all that is done beside, {first} ns and {last} ns"));
    }
    if plan.waits {
        say::line(format_args!("and {} ns to write its receipt", each(spent.writing)));
    }
}
