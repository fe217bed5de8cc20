//! One request after the other, on the facts of the turn.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use hapax_core::access::Role;
use hapax_core::batch::submit;
use hapax_core::contract::{Checked, Version, forbidden_changes};
use hapax_core::event::Events;
use hapax_core::facts::{Acknowledgement, Facts, Head};
use hapax_core::lane::Gap;
use hapax_core::manual::{acknowledge, close, correct};
use hapax_core::planted;
use hapax_core::problem::{Problem, ProblemCode};
use hapax_core::source;
use hapax_core::time::Time;
use hapax_core::view::{HandlerView, LaneView};
use serde::Serialize;

use super::ask::Body;
use super::prepare::{closing, correction};
use super::{Answer, Ask, Request, RequestId, Submission};
use crate::seam::{HandlerKey, Key, Loaded, LoadedStream, RequestRecord, StreamKey, Write};

/// An answered request is remembered this long: 24 hours, in nanoseconds.
const REQUEST_KEEP: i128 = 24 * 3600 * 1_000_000_000;

/// The facts of a turn while its requests are decided.
pub(super) struct Working {
    pub(super) loaded: Loaded,
    /// The heads that the turn began with.
    pub(super) before: HashMap<StreamKey, Head>,
    /// Contracts that were put.
    pub(super) versions: BTreeMap<StreamKey, (Version, Time)>,
    pub(super) write: Write,
    /// May the turn have to be taken again?
    is_shared: bool,
}

impl Working {
    pub(super) fn new(loaded: Loaded, is_shared: bool) -> Self {
        let before = loaded.streams.iter().map(|(key, stream)| (key.clone(), stream.facts.head)).collect();
        Self { loaded, before, versions: BTreeMap::new(), write: Write::default(), is_shared }
    }

    /// Decides one request. A request that was answered before is answered alike, and nothing is done again.
    pub(super) fn answer(&mut self, request: &mut Request) -> Answer {
        let dry = matches!(&request.ask, Ask::Submit(submission) if submission.terms.dry_run);
        let id = request.id.as_ref().filter(|_| !dry);
        if let Some(answer) = id.and_then(|id| self.answered_before(id, request.now)) {
            return answer;
        }
        let answer = self.decide(request).unwrap_or_else(|problem| Answer::problem(&problem));
        if let Some(id) = request.id.as_ref().filter(|_| !dry && !answer.problem) {
            let record = RequestRecord {
                fingerprint: id.fingerprint,
                status: answer.status,
                body: Arc::from(&answer.body[..]),
                at: request.now,
            };
            self.loaded.requests.insert(id.key.clone(), record.clone());
            self.write.requests.push((id.key.clone(), record));
        }
        answer
    }

    fn answered_before(&self, id: &RequestId, now: Time) -> Option<Answer> {
        let record = self.loaded.requests.get(&id.key).filter(|record| now.since(record.at) <= REQUEST_KEEP)?;
        if record.fingerprint == id.fingerprint || planted!(FingerprintIgnored) {
            let body = Arc::clone(&record.body).into();
            return Some(Answer { status: record.status, body, replayed: true, problem: false });
        }
        let detail = "this Idempotency-Key was used for another request; give this one its own";
        Some(Answer::problem(&Problem::new(ProblemCode::IdempotencyKeyReused, detail)))
    }

    fn decide(&mut self, request: &mut Request) -> Result<Answer, Problem> {
        let (now, caller) = (request.now, &request.caller);
        match &mut request.ask {
            Ask::Submit(submission) => self.submit(submission, now),
            Ask::PutContract { stream, contract } => self.put_contract(stream, contract, now),
            Ask::Correct(ask) => {
                let facts = self.facts(&ask.stream)?;
                let correction = correction(&facts.version, ask)?;
                correct(facts, &correction, now, caller).map(|done| Answer::of(201, &done))
            }
            Ask::Close { stream, counter, key, period } => {
                let facts = self.facts(stream)?;
                let closing = closing(&facts.version, counter, key.as_deref(), period)?;
                Ok(Answer::of(200, &close(facts, &closing, now, caller)))
            }
            Ask::Acknowledge { stream, lane, from, to, reason } => {
                let facts = self.facts(stream)?;
                if facts.lane(lane).0.events == 0 {
                    return Err(Problem::new(ProblemCode::LaneNotFound, format!("the stream has no lane {lane}")));
                }
                let (lane, reason) = (Arc::clone(lane), Arc::clone(reason));
                let loss = Acknowledgement { lane: Arc::clone(&lane), from: *from, to: *to, reason, at: now };
                acknowledge(facts, loss)?;
                Ok(lane_answer(facts, &lane, now))
            }
            Ask::PutHandler { key, handler } => self.put_handler(key, handler),
            Ask::Claim(ask) => self.claim(ask, now),
            Ask::Call(ask) => self.call(ask, now, request.jitter),
            Ask::PutKey(key) => self.put_key(key),
            Ask::RevokeKey { tenant, id } => self.revoke_key(tenant, id, now),
        }
    }

    pub(super) fn facts(&mut self, stream: &StreamKey) -> Result<&mut Facts, Problem> {
        let found = self.loaded.streams.get_mut(stream).map(|stream| &mut stream.facts);
        found.ok_or_else(|| no_stream(stream))
    }

    fn submit(&mut self, submission: &mut Submission, now: Time) -> Result<Answer, Problem> {
        let is_shared = self.is_shared;
        let facts = self.facts(&submission.stream)?;
        if submission.terms.caller.forced && !facts.version.contract.override_allowed {
            let detail = "the contract does not allow an override (override.allowed = false)";
            return Err(Problem::new(ProblemCode::OverrideNotAllowed, detail));
        }
        let events = match Arc::get_mut(&mut submission.events).filter(|_| !is_shared) {
            Some(events) => Events::Left(events),
            None => Events::Lent(&submission.events),
        };
        let answer = submit(facts, events, now, &submission.terms);
        let status = match answer.receipts.as_slice() {
            [_] if submission.single && answer.dry_run => 200,
            [receipt] if submission.single => receipt.status(),
            _ => answer.status(),
        };
        Ok(Answer { status, body: Body::judged(answer, submission.single), replayed: false, problem: false })
    }

    fn put_contract(&mut self, key: &StreamKey, checked: &Checked, now: Time) -> Result<Answer, Problem> {
        let contract = &checked.contract;
        let (version, status) = match self.loaded.streams.get(key) {
            None => (Version::first(contract.clone()), 201),
            Some(stream) if *stream.facts.version.contract == *contract => (stream.facts.version.clone(), 200),
            Some(stream) => {
                let history: Vec<_> = stream.versions.iter().map(|version| &*version.contract).collect();
                let forbidden =
                    if stream.facts.head.offset == 0 { Vec::new() } else { forbidden_changes(&history, contract) };
                if !forbidden.is_empty() {
                    return Err(Problem::contract(forbidden));
                }
                (stream.facts.version.next(contract.clone()), 200)
            }
        };
        let head = self.loaded.streams.get(key).map(|stream| stream.facts.head).unwrap_or_default();
        let put = self.loaded.streams.get(key).is_none_or(|stream| stream.facts.version.number != version.number);
        if put {
            let mut versions = self.loaded.streams.remove(key).map(|stream| stream.versions).unwrap_or_default();
            versions.push(version.clone());
            // A contract is put in a turn of its own, so nothing that was loaded for other requests is lost here.
            let facts = Facts::new(Arc::clone(&key.stream), version.clone(), head);
            self.loaded.streams.insert(key.clone(), LoadedStream { versions, facts });
            self.versions.insert(key.clone(), (version.clone(), now));
        }
        #[derive(Serialize)]
        struct Shape<'s> {
            stream: &'s str,
            version: u32,
            contract: &'s hapax_core::contract::Contract,
            warnings: &'s [source::Problem],
        }
        let shape = Shape { stream: &key.stream, version: version.number, contract, warnings: &checked.warnings };
        Ok(Answer::of(status, &shape))
    }

    fn put_handler(&mut self, key: &HandlerKey, handler: &hapax_core::claim::Handler) -> Result<Answer, Problem> {
        let problems = handler.problems();
        if !problems.is_empty() {
            return Err(Problem::handler(&problems));
        }
        let stream = handler
            .stream
            .as_ref()
            .map(|name| StreamKey { tenant: Arc::clone(&key.tenant), stream: Arc::from(name.as_str()) });
        let events = match &stream {
            None => 0,
            Some(stream) => self.facts(stream)?.head.events,
        };
        let (state, status) = match self.loaded.handlers.get(key) {
            Some((declared, _)) if declared.stream != handler.stream => {
                let detail = "a handler stays with its stream; declare another handler for another stream";
                return Err(Problem::new(ProblemCode::HandlerInvalid, detail));
            }
            Some((_, state)) => (state.clone(), 200),
            None => (Default::default(), 201),
        };
        let answer = Answer::of(status, &HandlerView { handler, state: &state, events });
        self.loaded.handlers.insert(key.clone(), (handler.clone(), state));
        self.write.handlers.push((key.clone(), handler.clone()));
        Ok(answer)
    }
}

/// Keys are few and seldom change, so all of a tenant's are loaded when one does.
impl Working {
    fn put_key(&mut self, key: &Key) -> Result<Answer, Problem> {
        if !self.loaded.needs_keys && key.access.role != Role::Admin {
            let detail = "the first key must be an admin's: with it keys are needed for everything";
            return Err(Problem::new(ProblemCode::RequestInvalid, detail));
        }
        self.loaded.needs_keys = true;
        Ok(self.keep_key(key.clone(), 201))
    }

    fn revoke_key(&mut self, tenant: &str, id: &str, now: Time) -> Result<Answer, Problem> {
        let found = self.loaded.keys.iter().find(|key| *key.tenant == *tenant && *key.id == *id);
        let Some(mut key) = found.cloned() else {
            return Err(Problem::new(ProblemCode::KeyNotFound, format!("there is no key {id}")));
        };
        key.revoked_at.get_or_insert(now);
        Ok(self.keep_key(key, 200))
    }

    fn keep_key(&mut self, key: Key, status: u16) -> Answer {
        let answer = Answer::of(status, &key);
        self.loaded.keys.retain(|other| other.id != key.id);
        self.loaded.keys.push(key.clone());
        self.write.keys.push(key);
        answer
    }
}

pub(super) fn no_stream(stream: &StreamKey) -> Problem {
    Problem::new(ProblemCode::StreamNotFound, format!("there is no stream {}", stream.stream))
}

fn lane_answer(facts: &Facts, name: &str, now: Time) -> Answer {
    let (lane, gaps) = facts.lane(name);
    let gaps: Vec<Gap> = gaps.iter().copied().collect();
    let contract = &facts.version.contract;
    Answer::of(200, &LaneView { name, lane, gaps, filled: Vec::new(), contract, now })
}
