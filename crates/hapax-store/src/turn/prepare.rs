//! What a turn will look at, found out before it is loaded.

use std::collections::BTreeMap;
use std::sync::Arc;

use hapax_core::contract::{Scope, Version};
use hapax_core::entry::SharedEntry;
use hapax_core::event::{Door, Identity, Reader};
use hapax_core::manual::{Closing, Correction, find_counter};
use hapax_core::period::Period;
use hapax_core::planted;
use hapax_core::problem::{Problem, ProblemCode};
use hapax_core::time::Time;

use super::{Ask, CallAsk, ClaimAsk, CorrectionAsk, Request, Submission};
use crate::seam::{HandlerKey, Loaded, Read, StoreError, StreamKey, StreamNeeds, TurnNeeds};

/// What a turn will look at, and what was there when that was found out.
#[derive(Default)]
pub(super) struct Prepared {
    pub(super) needs: TurnNeeds,
    /// The version in force of each stream that was looked at; none if there was no such stream.
    versions: BTreeMap<StreamKey, Option<Version>>,
    /// Was there such a handler?
    handlers: BTreeMap<HandlerKey, bool>,
    /// Events without a time of their own are counted in the period of now: which kinds, and when that was.
    timeless: Vec<(Period, Time)>,
}

impl Prepared {
    /// Is it still as it was? What is to be loaded depends on contracts and handlers, so a turn that finds others than
    /// it asked under has not asked for all that it needs.
    pub(super) fn is_current(&self, loaded: &Loaded) -> bool {
        let version = |key: &StreamKey| loaded.streams.get(key).map(|stream| stream.facts.version.number);
        let same = |(period, seen): &(Period, Time)| loaded.now.is_none_or(|now| period.of(now) == period.of(*seen));
        self.timeless.iter().all(same)
            && self.versions.iter().all(|(key, seen)| seen.as_ref().map(|seen| seen.number) == version(key))
            && self.handlers.iter().all(|(key, seen)| *seen == loaded.handlers.contains_key(key))
    }

    /// The version in force. It is looked up once: all of a turn is read under the same.
    fn latest(&mut self, store: &impl Read, stream: &StreamKey) -> Result<Option<Version>, StoreError> {
        if let Some(seen) = self.versions.get(stream) {
            return Ok(seen.clone());
        }
        let found = store.version(stream)?;
        self.versions.insert(stream.clone(), found.clone());
        Ok(found)
    }

    fn stream(&mut self, stream: &StreamKey) -> &mut StreamNeeds {
        self.needs.streams.entry(stream.clone()).or_default()
    }
}

/// Says what the requests will look at, and reads their documents under the contract in force.
pub(super) fn prepare(store: &impl Read, requests: &mut [Request]) -> Result<Prepared, StoreError> {
    let mut found = Prepared::default();
    for request in requests {
        if planted!(TenantLeftOut)
            && let Some(id) = &mut request.id
        {
            id.key.tenant = Arc::from("");
        }
        found.needs.requests.extend(request.id.as_ref().map(|id| id.key.clone()));
        let (now, spare) = (request.now, request.spare);
        match &mut request.ask {
            Ask::Submit(submission) => submit(store, submission, now, spare, &mut found)?,
            Ask::PutContract { stream, .. } => found.stream(stream).writes = true,
            Ask::Correct(ask) => {
                let version = found.latest(store, &ask.stream)?;
                let StreamNeeds { needs: wanted, writes, .. } = found.stream(&ask.stream);
                *writes = true;
                if let Some(correction) = version.and_then(|version| correction(&version, ask).ok()) {
                    wanted.identities.push(correction.identity());
                    wanted.counters.insert(correction.key);
                }
            }
            Ask::Close { stream, counter, key, period } => {
                let version = found.latest(store, stream)?;
                let StreamNeeds { needs: wanted, writes, .. } = found.stream(stream);
                *writes = true;
                if let Some(version) = version
                    && let Ok(closing) = closing(&version, counter, key.as_deref(), period)
                {
                    wanted.identities.push(closing.identity());
                    wanted.counters.extend(closing.counter_key());
                }
            }
            Ask::Acknowledge { stream, lane, .. } => {
                let wanted = found.stream(stream);
                wanted.whole_lanes.push(Arc::clone(lane));
                wanted.writes = true;
            }
            Ask::PutHandler { key, handler } => {
                found.needs.handlers.push(key.clone());
                if let Some(stream) = &handler.stream {
                    let stream = StreamKey { tenant: Arc::clone(&key.tenant), stream: Arc::from(stream.as_str()) };
                    found.stream(&stream);
                }
            }
            Ask::Claim(ask) => claim(store, &ask.handler, &ask.about(), &mut found)?,
            Ask::Call(ask) => claim(store, &ask.handler, &ask.about(), &mut found)?,
            Ask::PutKey(key) => found.needs.keys.push(Arc::clone(&key.tenant)),
            Ask::RevokeKey { tenant, .. } => found.needs.keys.push(Arc::clone(tenant)),
        }
    }
    Ok(found)
}

fn submit(
    store: &impl Read,
    submission: &mut Submission,
    now: Time,
    spare: u128,
    found: &mut Prepared,
) -> Result<(), StoreError> {
    let version = found.latest(store, &submission.stream)?;
    let wanted = found.stream(&submission.stream);
    wanted.writes |= !submission.terms.dry_run;
    let Some(version) = version else { return Ok(()) };
    let is_stale = submission.events.iter().any(|event| event.version != version.number);
    if is_stale || !submission.documents.is_empty() {
        let salt = store.salt(&submission.stream.tenant)?.unwrap_or_default();
        let whole = "events that an entry has taken over are not read again";
        let read = submission.events.iter().map(|event| event.document.clone().expect(whole));
        let unread: Vec<_> = read.chain(submission.documents.drain(..)).collect();
        let event_bytes_max = submission.event_bytes_max;
        let lanes = submission.terms.lanes.clone();
        let covers: &(dyn Fn(&str) -> bool + Sync) = &|lane| lanes.cover(lane);
        let mut reader = Reader::new(&version, unread.len());
        let read_one = |(index, document): (usize, Arc<[u8]>)| {
            let spare = spare.wrapping_add(index as u128);
            let door = Door { salt: &salt, now, spare, event_bytes_max, covers };
            reader.read(document, &door)
        };
        submission.events = Arc::new(unread.into_iter().enumerate().map(read_one).collect());
    }
    wanted.needs.add(&version.contract, &submission.events, now);
    if submission.events.iter().any(|event| event.time.time().is_none() && !event.counted.is_empty()) {
        found.timeless.extend(version.contract.counters.iter().map(|rules| (rules.period, now)));
    }
    Ok(())
}

/// Checks a correction against the contract.
pub(super) fn correction(version: &Version, ask: &CorrectionAsk) -> Result<Correction, Problem> {
    let CorrectionAsk { counter, id, key, period, amount, reason, .. } = ask;
    Correction::read(&version.contract, counter, id, key, period, amount, reason)
}

/// Checks a closing against the contract.
pub(super) fn closing(version: &Version, counter: &str, key: Option<&str>, period: &str) -> Result<Closing, Problem> {
    let (name, key, period) = find_counter(&version.contract, counter, key, period)?;
    Ok(Closing { name, key, period })
}

/// The event that a claim is about: its entry, or for a bare registry only what it is looked up by.
#[derive(Clone, Debug)]
pub(super) enum Subject {
    /// An entry of the handler's stream.
    Entry(SharedEntry),
    /// An id that only the caller knows.
    Named(Identity),
}

impl Subject {
    pub(super) fn identity(&self) -> Identity {
        match self {
            Self::Entry(entry) => entry.identity,
            Self::Named(identity) => *identity,
        }
    }
}

/// What a caller says about the event of its claim.
#[derive(Clone, Copy)]
pub(super) struct About<'a> {
    pub(super) event_id: &'a str,
    pub(super) stream: Option<&'a str>,
    pub(super) lane: Option<&'a str>,
}

impl ClaimAsk {
    pub(super) fn about(&self) -> About<'_> {
        About { event_id: &self.event_id, stream: self.stream.as_deref(), lane: self.lane.as_deref() }
    }
}

impl CallAsk {
    pub(super) fn about(&self) -> About<'_> {
        About { event_id: &self.event_id, stream: self.stream.as_deref(), lane: self.lane.as_deref() }
    }
}

/// Finds what a claim is about, with these ways to look at a stream.
pub(super) fn subject(
    stream: Option<&StreamKey>,
    about: &About<'_>,
    scope: Option<Scope>,
    entry: impl Fn(&StreamKey, &Identity) -> Result<Option<SharedEntry>, StoreError>,
    with_id: impl Fn(&StreamKey, &str) -> Result<Vec<SharedEntry>, StoreError>,
) -> Result<Result<Subject, Problem>, StoreError> {
    let Some(stream) = stream else {
        // Two streams may use the same id; a caller who says whose it is keeps them apart.
        return Ok(Ok(Subject::Named(match about.stream {
            Some(stream) => Identity::of_claim(stream, about.event_id),
            None => Identity::of(None, about.event_id),
        })));
    };
    let About { event_id, lane, .. } = *about;
    let found = match (scope, lane) {
        (Some(Scope::Lane), Some(lane)) => entry(stream, &Identity::of(Some(lane), event_id))?,
        (Some(Scope::Lane), None) => {
            let mut found = with_id(stream, event_id)?;
            if found.len() > 1 {
                let detail = format!("several lanes hold the id {event_id}; say which with `lane`");
                return Ok(Err(Problem::new(ProblemCode::IdAmbiguous, detail)));
            }
            found.pop()
        }
        (Some(Scope::Stream) | None, _) => entry(stream, &Identity::of(None, event_id))?,
    };
    let missing =
        || Problem::new(ProblemCode::EventNotFound, format!("stream {} has no event {event_id}", stream.stream));
    Ok(found.map(Subject::Entry).ok_or_else(missing))
}

fn claim(store: &impl Read, handler: &HandlerKey, about: &About<'_>, found: &mut Prepared) -> Result<(), StoreError> {
    let About { event_id, lane, .. } = *about;
    found.needs.handlers.push(handler.clone());
    let declared = store.handler(handler)?;
    found.handlers.insert(handler.clone(), declared.is_some());
    let Some((declared, _)) = declared else { return Ok(()) };
    let tenant = &handler.tenant;
    let stream = declared.stream.map(|name| StreamKey { tenant: Arc::clone(tenant), stream: Arc::from(name) });
    let mut scope = None;
    if let Some(stream) = &stream {
        scope = found.latest(store, stream)?.map(|version| version.contract.identity.scope);
        found.stream(stream);
    }
    let entry = |stream: &StreamKey, identity: &Identity| store.entry(stream, identity);
    let with_id = |stream: &StreamKey, id: &str| store.entries_with_id(stream, id);
    if let (Some(stream), Some(Scope::Lane), None) = (&stream, scope, lane) {
        // All of them, so that the decision sees whether there are several.
        let all = store.entries_with_id(stream, event_id)?;
        found.stream(stream).needs.identities.extend(all.iter().map(|entry| entry.identity));
    }
    let Ok(subject) = subject(stream.as_ref(), about, scope, entry, with_id)? else { return Ok(()) };
    if let (Subject::Entry(entry), Some(stream)) = (&subject, &stream) {
        found.stream(stream).needs.identities.push(entry.identity);
        found.needs.handler_lanes.push((handler.clone(), Arc::clone(&entry.lane)));
    } else if let Some(lane) = lane {
        found.needs.handler_lanes.push((handler.clone(), Arc::from(lane)));
    }
    found.needs.claims.push((handler.clone(), subject.identity()));
    Ok(())
}
