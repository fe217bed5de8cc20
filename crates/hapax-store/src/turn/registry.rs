//! Claims and what is said about them, on the facts of the turn.

use std::sync::Arc;

use hapax_core::claim::{
    self, Changes, Fence, Handler, HandlerLane, HandlerState, Jitter, Place, ResultText, Work, done, failed, heartbeat,
    retry_dead, skip_dead,
};
use hapax_core::contract::Scope;
use hapax_core::event::Identity;
use hapax_core::problem::{Problem, ProblemCode};
use hapax_core::time::Time;

use super::decide::{Working, no_stream};
use super::prepare::{About, Subject, subject};
use super::{Answer, Call, CallAsk, ClaimAsk};
use crate::seam::{HandlerKey, StreamKey};

/// Everything that is known about one event and one handler.
struct Known {
    handler: Handler,
    state: HandlerState,
    /// The lane, where there is one.
    lane: Option<Arc<str>>,
    record: HandlerLane,
    claim: Option<claim::Claim>,
    subject: Subject,
}

impl Known {
    fn facts(&self) -> claim::Facts<'_> {
        let ordinal = match &self.subject {
            Subject::Entry(entry) => Some(entry.ordinal),
            Subject::Named(_) => None,
        };
        let (handler, state, lane) = (&self.handler, &self.state, &self.record);
        claim::Facts { handler, state, lane, claim: self.claim.as_ref(), ordinal }
    }
}

impl Working {
    pub(super) fn claim(&mut self, ask: &ClaimAsk, now: Time) -> Result<Answer, Problem> {
        let known = self.known(&ask.handler, &ask.about())?;
        let work = match &known.subject {
            Subject::Entry(entry) => Work {
                event_id: entry.id.to_string(),
                stream: None,
                lane: Some(entry.lane.to_string()),
                epoch: entry.epoch,
                seq: entry.seq,
                place: Place::Ledger {
                    ordinal: entry.ordinal,
                    offset: entry.offset,
                    previous_in_lane: entry.previous_in_lane,
                },
            },
            Subject::Named(_) => Work {
                event_id: ask.event_id.clone(),
                stream: ask.stream.clone(),
                lane: ask.lane.clone(),
                epoch: ask.epoch,
                seq: ask.seq,
                place: Place::Registry,
            },
        };
        let (decision, changes) = claim::claim(&known.facts(), &work, ask.owner.as_deref(), now)?;
        self.keep(&ask.handler, &known, changes);
        Ok(Answer::of(200, &decision))
    }

    pub(super) fn call(&mut self, ask: &CallAsk, now: Time, jitter: Jitter) -> Result<Answer, Problem> {
        let known = self.known(&ask.handler, &ask.about())?;
        let facts = known.facts();
        let (answer, changes) = match &ask.call {
            Call::Heartbeat { fence } => said(heartbeat(&facts, Fence(*fence), now)?),
            Call::Done { fence, result } => {
                let result = result.clone().map(ResultText::parse).transpose()?;
                said(done(&facts, Fence(*fence), result)?)
            }
            Call::Failed { fence, error } => said(failed(&facts, Fence(*fence), error, now, jitter)?),
            Call::Retry => said(retry_dead(&facts, now)?),
            Call::Skip { reason } => said(skip_dead(&facts, reason)?),
        };
        self.keep(&ask.handler, &known, changes);
        Ok(answer)
    }

    fn known(&mut self, key: &HandlerKey, about: &About<'_>) -> Result<Known, Problem> {
        let Some((handler, state)) = self.loaded.handlers.get(key).cloned() else {
            let detail = format!("there is no handler {}", key.handler);
            return Err(Problem::new(ProblemCode::HandlerNotFound, detail));
        };
        let stream = handler
            .stream
            .as_ref()
            .map(|name| StreamKey { tenant: Arc::clone(&key.tenant), stream: Arc::from(name.as_str()) });
        let scope = match &stream {
            Some(stream) => Some(self.facts(stream)?.version.contract.identity.scope),
            None => None,
        };
        let subject = self.subject(stream.as_ref(), about, scope)?;
        let lane: Option<Arc<str>> = match &subject {
            Subject::Entry(entry) => Some(Arc::clone(&entry.lane)),
            Subject::Named(_) => about.lane.map(Arc::from),
        };
        let claim = self.loaded.claims.get(&(key.clone(), subject.identity())).cloned();
        // A holder's word names no lane in a bare registry; the claim does.
        let lane = lane.or_else(|| claim.as_ref().and_then(|claim| claim.work.lane.as_deref().map(Arc::from)));
        let record = lane.as_ref().and_then(|lane| self.loaded.handler_lanes.get(&(key.clone(), Arc::clone(lane))));
        let record = record.cloned().unwrap_or_default();
        Ok(Known { handler, state, lane, record, claim, subject })
    }

    fn subject(
        &mut self,
        stream: Option<&StreamKey>,
        about: &About<'_>,
        scope: Option<Scope>,
    ) -> Result<Subject, Problem> {
        let facts = match stream {
            Some(stream) => Some(&*self.facts(stream)?),
            None => None,
        };
        let entry = |_: &StreamKey, identity: &Identity| Ok(facts.and_then(|facts| facts.shared_original(identity)));
        let with_id = |_: &StreamKey, id: &str| Ok(facts.map(|facts| facts.originals_with_id(id)).unwrap_or_default());
        let lookup: Result<Result<Subject, Problem>, crate::seam::StoreError> =
            subject(stream, about, scope, entry, with_id);
        match (lookup, stream) {
            (Ok(found), _) => found,
            // Looking at facts that are loaded cannot fail; a store's error would have come with the load.
            (Err(_), Some(stream)) => Err(no_stream(stream)),
            (Err(_), None) => Err(Problem::new(ProblemCode::EventNotFound, about.event_id)),
        }
    }

    /// The facts move, for the requests after this one and for the store.
    fn keep(&mut self, key: &HandlerKey, known: &Known, changes: Changes) {
        if let Some(change) = changes.state {
            if let Some((_, state)) = self.loaded.handlers.get_mut(key) {
                state.apply(change);
            }
            self.write.states.push((key.clone(), change));
        }
        if let (Some(record), Some(lane)) = (changes.lane, &known.lane) {
            let place = (key.clone(), Arc::clone(lane));
            self.loaded.handler_lanes.insert(place.clone(), record.clone());
            self.write.handler_lanes.push((place, record));
        }
        if let Some(claim) = changes.claim {
            let place = (key.clone(), known.subject.identity());
            self.loaded.claims.insert(place.clone(), claim.clone());
            self.write.claims.push((place, claim));
        }
    }
}

fn said<T: serde::Serialize>((answer, changes): (T, Changes)) -> (Answer, Changes) {
    (Answer::of(200, &answer), changes)
}
