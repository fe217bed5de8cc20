//! The auditor: knows what clients were told and what the ledger holds, and nothing else.
//!
//! It shares no code with the rules: sums, hashes, periods and bookkeeping are its own, written from the specification. What
//! was asked and not answered may have happened or not; what was told must be there for ever.
//!
//! Read in this order: `books` (what was told, taken down as it comes), `events`, `claims`, `requests` (each kind of answer),
//! `entries`, `attempts`, `counters` (what the ledger must hold after that), `plainly` (times and decimals).

mod attempts;
mod books;
mod claims;
mod counters;
mod entries;
mod events;
mod plainly;
mod requests;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::check::{Check, Violation};
use crate::ledger::{Ledger, PlainEntry, Wanted};
use crate::plan::{Order, Plan};
use crate::words::{Asked, Told, What};
use books::{HandlerBooks, StreamBooks};
pub(crate) use claims::registry_event;
use events::Answered;
pub(crate) use plainly::period;
use requests::Requests;

/// More than so many are of no use to anybody.
const VIOLATIONS_MAX: usize = 12;

/// Everything that was told.
#[derive(Debug)]
pub(crate) struct Auditor {
    plan: Plan,
    streams: Vec<StreamBooks>,
    handlers: Vec<HandlerBooks>,
    requests: Requests,
    /// What was asked and not answered, with when.
    waiting: BTreeMap<u64, (Asked, i64)>,
    /// The latest that any clock has shown.
    max_now: i64,
    /// Everything that was asked or told has a number, so that before and after can be told apart.
    moment: u64,
    /// Keys that were told to be made or ended, and whether that can have changed since.
    keys: BTreeMap<(usize, String), KeyBook>,
    pub(crate) violations: Vec<Violation>,
}

#[derive(Debug, Default)]
struct KeyBook {
    unanswered: u32,
    told: Option<bool>,
}

impl Auditor {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            plan: plan.clone(),
            streams: plan.streams.iter().map(|_| StreamBooks::default()).collect(),
            handlers: plan.handlers.iter().map(|_| HandlerBooks::default()).collect(),
            requests: Requests::default(),
            waiting: BTreeMap::new(),
            max_now: i64::MIN,
            moment: 0,
            keys: BTreeMap::new(),
            violations: Vec::new(),
        }
    }

    pub(crate) fn note(&mut self, check: Check, what: String) {
        if self.violations.len() < VIOLATIONS_MAX && !self.violations.iter().any(|known| known.check == check) {
            self.violations.push(Violation { check, what });
        }
    }

    pub(crate) fn is_content(&self) -> bool {
        self.violations.is_empty()
    }

    /// A clock showed this.
    pub(crate) fn clock(&mut self, now: i64) {
        self.max_now = self.max_now.max(now);
    }

    /// A client asks. From here on it may have happened.
    pub(crate) fn asked(&mut self, asked: &Asked, now: i64) {
        self.clock(now);
        self.moment += 1;
        match &asked.what {
            What::Events { stream, sent, dry: false, .. } => self.streams[*stream].asked(sent),
            What::Events { .. } => {}
            What::Claim { handler, event, lane, seq } => {
                // A claim that finds the event stale passes it, and later it is called done like all that has passed.
                let may_pass = self.plan.handlers[*handler].order == Order::LatestOnly;
                self.handlers[*handler].claiming(event, lane, *seq, now, may_pass);
            }
            What::Say { handler, event, lane, word } => {
                self.handlers[*handler].saying(event, lane, word, now, self.moment);
            }
            What::Put { stream, contract } => {
                let books = &mut self.streams[*stream];
                books.always_enforced &= contract.contains("mode = \"enforce\"");
            }
            What::Correct { stream, id, .. } => _ = self.streams[*stream].corrections.insert(id.clone()),
            What::Close { stream, .. } => self.streams[*stream].closings += 1,
            What::MakeKey { tenant, id } | What::EndKey { tenant, id } => {
                self.keys.entry((*tenant, id.clone())).or_default().unanswered += 1;
            }
            What::Declare { .. } | What::Acknowledge { .. } => {}
        }
        self.requests.asked(&self.plan, asked, now);
        self.waiting.insert(asked.number, (asked.clone(), now));
    }

    /// A client is told.
    pub(crate) fn told(&mut self, number: u64, told: &Told) {
        let Some((asked, now)) = self.waiting.remove(&number) else { return };
        self.moment += 1;
        let Ok(body) = serde_json::from_slice::<Value>(&told.body) else {
            return self.note(Check::Answers, format!("request {number} was answered with what is not JSON"));
        };
        // What a client must treat as unknown stays as if it had not been answered.
        if body["effect"] == "unknown" {
            self.waiting.insert(number, (asked, now));
            return;
        }
        if body["code"] == "STORE_CORRUPT" {
            self.note(Check::Refused, format!("request {number} was told that the store contradicts itself"));
        }
        let is_problem = body.get("effect").is_some();
        let is_known = self.answered(&asked, now, told, &body, is_problem);
        match &asked.what {
            What::Events { stream, sent, dry, single, .. } => {
                self.events_told(
                    *stream,
                    sent,
                    Answered { dry: *dry, single: *single, is_nothing: is_problem || is_known, is_late: told.replayed },
                    now,
                    &body,
                );
            }
            What::Claim { handler, event, lane, .. } => {
                self.claim_told(*handler, event, lane, (now, is_problem || is_known, told.replayed), &body);
            }
            What::Say { handler, event, lane, word } => {
                self.word_told(*handler, event, lane, word, (is_problem || is_known, told.replayed), &body);
            }
            What::Put { stream, .. } if !is_problem => {
                let version = body["version"].as_u64().unwrap_or(0);
                let books = &mut self.streams[*stream];
                books.version_told = books.version_told.max(version);
            }
            What::Correct { stream, .. } | What::Close { stream, .. } if !is_problem => {
                self.manual_told(*stream, &body);
            }
            What::MakeKey { tenant, id } | What::EndKey { tenant, id } => {
                let ends = matches!(asked.what, What::EndKey { .. });
                let book = self.keys.entry((*tenant, id.clone())).or_default();
                book.unanswered -= 1;
                // What was answered to an earlier sending says nothing about now.
                if !is_problem && !told.replayed {
                    book.told = Some(ends);
                }
            }
            What::Put { .. }
            | What::Correct { .. }
            | What::Close { .. }
            | What::Declare { .. }
            | What::Acknowledge { .. } => {}
        }
    }

    /// A follower read this entry.
    pub(crate) fn seen(&mut self, stream: usize, entry: &PlainEntry) {
        let books = &mut self.streams[stream];
        let known = books.seen.insert(entry.offset, entry.hash);
        if known.is_some_and(|known| known != entry.hash) {
            self.note(Check::Vanished, format!("offset {} of stream {stream} was read as two entries", entry.offset));
        }
    }

    /// Which claims the ledger is to be read for.
    pub(crate) fn wanted(&self) -> Wanted {
        self.handlers.iter().map(HandlerBooks::wanted).collect()
    }

    /// Does the ledger hold what was told, and nothing that nobody sent?
    pub(crate) fn check(&mut self, ledger: &Ledger) {
        let mut found = Vec::new();
        for (stream, held) in ledger.streams.iter().enumerate() {
            self.check_entries(stream, held, &mut found);
            self.check_attempts(stream, held, &mut found);
            if self.plan.streams[stream].counts() {
                self.check_counters(stream, held, &mut found);
            }
        }
        self.check_claims(ledger, &mut found);
        for ((tenant, id), book) in &self.keys {
            let Some(ended) = book.told.filter(|_| book.unanswered == 0) else { continue };
            let held = ledger.keys[*tenant].iter().find(|(known, _)| known == id);
            if held.is_none_or(|(_, revoked)| *revoked != ended) {
                found.push((Check::Registry, format!("key {id} of tenant {tenant} is not as it was told")));
            }
        }
        found.into_iter().for_each(|(check, what)| self.note(check, what));
    }

    /// The same at the end, with what needs the whole story.
    pub(crate) fn finish(&mut self, ledger: &Ledger) {
        self.check(ledger);
        let mut found = Vec::new();
        self.check_twins(ledger, &mut found);
        self.check_order(ledger, &mut found);
        for (stream, held) in ledger.streams.iter().enumerate() {
            let books = &self.streams[stream];
            if let Some((last, _)) = books.seen.last_key_value()
                && *last > held.head.0
            {
                found.push((
                    Check::Vanished,
                    format!("stream {stream} was read up to {last} and ends at {}", held.head.0),
                ));
            }
        }
        found.into_iter().for_each(|(check, what)| self.note(check, what));
    }
}

/// What a check found.
type Found = Vec<(Check, String)>;
