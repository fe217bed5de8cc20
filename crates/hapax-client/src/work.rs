//! The work loop: every entry of a stream, acted on once, as far as that is possible.
//!
//! What holds: nothing is run without a claim; while it runs, the claim is kept alive; how it ended is said before
//! anything else is claimed, also when the worker is asked to stop. What must wait holds up no other lane. Not here: what
//! the work is ([`Work`]), and who decides about claims (the server).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use serde_json::value::RawValue;

use crate::backlog::{Backlog, Turn};
use crate::reader::{Found, read};
use crate::{Claims, Client, Decision, Entry, Error, Retry, Status, Stop, clock};

mod hold;
mod plan;

pub use hold::Claim;
pub use plan::Plan;

/// How often to look again where the server does not know when.
const AGAIN: Duration = Duration::from_secs(1);
/// Another worker is mostly done long before its lease ends.
const HELD_MAX: Duration = Duration::from_secs(2);
/// A person may have retried or skipped a dead one meanwhile.
const DEAD_AGAIN: Duration = Duration::from_secs(30);
/// Whoever wants everything handled gives a lane so many chances before it counts as held back.
const VAIN_MAX: u32 = 5;
/// How long a wish to stop may go unnoticed while nothing comes.
const LOOK_UP: Duration = Duration::from_millis(250);

/// What is done about each entry.
pub trait Work {
    /// Does it. An error is a sentence about what failed; a result is kept with the claim.
    fn run(&mut self, entry: &Entry, claim: &Claim) -> Result<Option<Box<RawValue>>, String>;

    /// Told what became of an entry.
    fn told(&mut self, _entry: &Entry, _happening: &Happening) {}
}

/// What became of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
    /// Done, and said so.
    Done,
    /// Failed; it comes again.
    Failed(String),
    /// Failed for the last time, or found given up.
    Dead,
    /// Another worker has it now.
    Lost,
    /// There is nothing to claim: the server does not know the event.
    Unknown,
}

/// What a worker did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Entries that it finished.
    pub done: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Entries that were given up.
    pub dead: u64,
    /// Entries that cannot be handled before a person has looked at an earlier one.
    pub held_back: u64,
    /// Entries that needed nothing: done before, or overtaken.
    pub skipped: u64,
}

/// A worker of one handler.
pub struct Worker {
    client: Client,
    plan: Plan,
    stop: Stop,
    backlog: Backlog,
    vain: BTreeMap<Turn, u32>,
    held: BTreeSet<Turn>,
    dead: BTreeSet<u64>,
    summary: Summary,
    /// Whether all that the worker was to read is read.
    ended: bool,
}

impl Worker {
    /// A worker that works by this plan until it is asked to stop.
    pub fn new(client: &Client, plan: Plan, stop: Stop) -> Worker {
        Worker {
            client: client.clone(),
            plan,
            stop,
            backlog: Backlog::default(),
            vain: BTreeMap::new(),
            held: BTreeSet::new(),
            dead: BTreeSet::new(),
            summary: Summary::default(),
            ended: false,
        }
    }

    /// Works. Ends when asked to, when everything is handled (if the plan says so), or when the server is gone.
    pub fn run(mut self, work: &mut impl Work) -> Result<Summary, Error> {
        let entries = read(&self.client, &self.plan.stream, self.plan.after, self.plan.once, &self.stop);
        while !(self.stop.is_set() || self.ended && self.backlog.is_empty()) {
            let worked = match self.backlog.take(clock::now()) {
                Some((turn, entry)) => {
                    self.attempt(turn, entry, work)?;
                    true
                }
                None => false,
            };
            let until_due = self.backlog.next_due().map(|due| due.saturating_duration_since(clock::now()));
            let patience = if worked { Duration::ZERO } else { until_due.unwrap_or(LOOK_UP).min(LOOK_UP) };
            if self.ended || self.backlog.is_full() {
                self.stop.wait(patience);
            } else {
                self.ended = self.take_in(&entries, patience)?;
            }
        }
        Ok(self.summary)
    }

    /// Takes the next entry in, if one comes in time; says whether it was the last.
    fn take_in(&mut self, entries: &Receiver<Found>, patience: Duration) -> Result<bool, Error> {
        match entries.recv_timeout(patience) {
            Ok(Found::Entry(entry)) => {
                let turn = if self.plan.in_order { Turn::Lane(entry.lane.clone()) } else { Turn::Offset(entry.offset) };
                if !entry.is_event() {
                    self.summary.skipped += 1;
                } else if self.held.contains(&turn) {
                    self.summary.held_back += 1;
                } else if self.plan.by_number {
                    self.backlog.add_by_number(turn, *entry, clock::now());
                } else {
                    self.backlog.add(turn, *entry, clock::now());
                }
                Ok(false)
            }
            Ok(Found::End) | Err(RecvTimeoutError::Disconnected) => Ok(true),
            // Asked to stop while it waited: that is no failure.
            Ok(Found::Error(_)) if self.stop.is_set() => Ok(true),
            Ok(Found::Error(error)) => Err(error),
            Err(RecvTimeoutError::Timeout) => Ok(false),
        }
    }

    fn attempt(&mut self, turn: Turn, entry: Entry, work: &mut impl Work) -> Result<(), Error> {
        let claims = self.claims(self.client.clone().with_stop(self.stop.clone()));
        let decision = match claims.claim(&entry) {
            Ok(decision) => decision,
            Err(Error::Problem(problem)) if problem.code == "EVENT_NOT_FOUND" => {
                work.told(&entry, &Happening::Unknown);
                self.summary.skipped += 1;
                self.backlog.finish(turn, clock::now());
                return Ok(());
            }
            Err(_) if self.stop.is_set() => return Ok(()),
            Err(error) => return Err(error),
        };
        let waited = self.vain.remove(&turn).unwrap_or(0);
        let now = clock::now();
        match decision {
            Decision::Done {} | Decision::Stale {} => {
                self.summary.skipped += 1;
                self.backlog.finish(turn, now);
            }
            Decision::Dead {} => self.bury(turn, entry, work),
            Decision::InProgress { retry_after_ms } => {
                let after = retry_after_ms.map_or(AGAIN, Duration::from_millis).min(HELD_MAX);
                self.backlog.give_back(turn, entry, now + after);
            }
            Decision::Waiting { retry_after_ms: Some(after) } => {
                self.backlog.give_back(turn, entry, now + Duration::from_millis(after));
            }
            Decision::Waiting { retry_after_ms: None } if self.plan.once && waited + 1 >= VAIN_MAX => {
                self.hold_back(turn, 1);
            }
            Decision::Waiting { retry_after_ms: None } => {
                // What it waits for may still come, as long as there is something to read.
                let vain = self.ended || self.backlog.is_full();
                self.vain.insert(turn.clone(), waited + u32::from(vain));
                self.backlog.give_back(turn, entry, now + AGAIN);
            }
            Decision::Claimed(grant) => {
                let claim = Claim::new(grant, self.claims(self.client.clone()), self.plan.heartbeat);
                let outcome = claim.hold(&entry, || work.run(&entry, &claim));
                self.conclude(turn, entry, &claim, outcome, work)?;
            }
        }
        Ok(())
    }

    /// Says how it ended.
    fn conclude(
        &mut self,
        turn: Turn,
        entry: Entry,
        claim: &Claim,
        outcome: Result<Option<Box<RawValue>>, String>,
        work: &mut impl Work,
    ) -> Result<(), Error> {
        let fence = claim.fence();
        let said = self.say(|claims| match &outcome {
            Ok(result) => claims.done(&entry, fence, result.as_deref()),
            Err(error) => claims.failed(&entry, fence, error),
        });
        let now = clock::now();
        match said {
            Ok(Status::Done {}) => {
                self.summary.done += 1;
                self.dead.remove(&entry.offset);
                work.told(&entry, &Happening::Done);
                self.backlog.finish(turn, now);
            }
            Ok(Status::Failed {} | Status::Claimed {}) => {
                self.summary.failed += 1;
                work.told(&entry, &Happening::Failed(outcome.err().unwrap_or_default()));
                // The next claim says how long to wait.
                self.backlog.give_back(turn, entry, now);
            }
            Ok(Status::Dead {}) => {
                self.summary.failed += 1;
                work.told(&entry, &Happening::Failed(outcome.err().unwrap_or_default()));
                self.bury(turn, entry, work);
            }
            Err(Error::Problem(problem)) if problem.status == 409 => {
                work.told(&entry, &Happening::Lost);
                self.backlog.give_back(turn, entry, now + AGAIN);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Whoever asked the worker to stop waits for this; so it is tried for a while, and not for ever.
    fn say(&self, say: impl Fn(&Claims) -> Result<Status, Error>) -> Result<Status, Error> {
        let said = say(&self.claims(self.client.clone().with_stop(self.stop.clone())));
        match said {
            Err(Error::Unreachable { .. } | Error::Strange { .. }) if self.stop.is_set() => {
                say(&self.claims(self.client.clone().with_stop(Stop::new()).with_retry(Retry::PATIENT)))
            }
            said => said,
        }
    }

    /// Somebody must look at this one.
    fn bury(&mut self, turn: Turn, entry: Entry, work: &mut impl Work) {
        if self.dead.insert(entry.offset) {
            self.summary.dead += 1;
            work.told(&entry, &Happening::Dead);
        }
        let now = clock::now();
        if !self.plan.once && (self.plan.in_order || !self.backlog.is_full()) {
            self.backlog.give_back(turn, entry, now + DEAD_AGAIN);
        } else if self.plan.in_order {
            self.hold_back(turn, 0);
        } else {
            self.backlog.finish(turn, now);
        }
    }

    fn hold_back(&mut self, turn: Turn, taken: u64) {
        self.summary.held_back += taken + self.backlog.drop_turn(&turn);
        self.held.insert(turn);
    }

    fn claims(&self, client: Client) -> Claims {
        Claims::new(client, &self.plan.handler, Some(&self.plan.stream), &self.plan.owner)
    }
}

#[cfg(test)]
mod tests;
