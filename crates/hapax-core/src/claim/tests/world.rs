//! A store of one handler in memory, and the language of the tables.
//!
//! An event is its lane, its number and, after a colon, its epoch: `a1`, `a1:2`. Steps: `c a1` claims, `h a1 7` `d a1
//! 7` `f a1 7` are heartbeat, done and failed under fence 7, `retry a1`, `skip a1`, `+5s` lets time pass, `drop`
//! forgets what the low-water mark stands for. Answers: `got#7/1` is claimed with fence 7 as attempt 1; `busy(5)` is
//! in_progress.

use std::collections::{BTreeMap, HashMap};

use crate::claim::*;
use crate::duration::Span;
use crate::time::Time;

pub(super) struct World {
    pub(super) handler: Handler,
    pub(super) state: HandlerState,
    pub(super) lanes: HashMap<String, HandlerLane>,
    pub(super) claims: BTreeMap<String, Claim>,
    /// The stream, if there is one.
    pub(super) stream: Vec<Work>,
    pub(super) now: Time,
}

impl World {
    /// `settings` is the handler's declaration as JSON without braces; `stream` its events, or nothing.
    pub(super) fn new(settings: &str, stream: &str) -> World {
        let handler: Handler = serde_json::from_str(&format!(r#"{{"name":"h",{settings}}}"#)).expect("a handler");
        assert_eq!(handler.problems(), vec![]);
        let mut last = HashMap::new();
        let mut works = Vec::new();
        for (index, name) in stream.split_whitespace().enumerate() {
            let mut work = named(name);
            let offset = 10 * (index as u64 + 1);
            let previous_in_lane = last.insert(work.lane.clone(), offset).unwrap_or(0);
            work.place = Place::Ledger { ordinal: index as u64 + 1, offset, previous_in_lane };
            works.push(work);
        }
        let now = Time::from_nanos(1_767_261_600_000_000_000);
        let (state, lanes, claims) = (HandlerState::default(), HashMap::new(), BTreeMap::new());
        World { handler, state, lanes, claims, stream: works, now }
    }

    pub(super) fn work(&self, name: &str) -> Work {
        self.stream.iter().find(|work| work.event_id == name).cloned().unwrap_or_else(|| named(name))
    }

    fn with<A>(
        &mut self,
        work: &Work,
        call: impl FnOnce(&Facts<'_>) -> Result<(A, Changes), ClaimFault>,
    ) -> Result<A, ClaimFault> {
        let lane = work.lane.clone().unwrap_or_default();
        let ordinal = match work.place {
            Place::Registry => None,
            Place::Ledger { ordinal, .. } => Some(ordinal),
        };
        let known = self.lanes.entry(lane.clone()).or_default();
        let claim = self.claims.get(&work.event_id);
        let facts = Facts { handler: &self.handler, state: &self.state, lane: known, claim, ordinal };
        let (answer, changes) = call(&facts)?;
        if let Some(change) = changes.state {
            self.state.apply(change);
        }
        if let Some(lane_now) = changes.lane {
            self.lanes.insert(lane, lane_now);
        }
        if let Some(claim) = changes.claim {
            self.claims.insert(claim.work.event_id.clone(), claim);
        }
        Ok(answer)
    }

    pub(super) fn claim(&mut self, work: &Work) -> Result<Decision, ClaimFault> {
        let now = self.now;
        self.with(work, |facts| claim(facts, work, Some("w"), now))
    }

    pub(super) fn heartbeat(&mut self, work: &Work, fence: Fence) -> Result<Status, ClaimFault> {
        let now = self.now;
        self.with(work, |facts| heartbeat(facts, fence, now))
    }

    pub(super) fn done(&mut self, work: &Work, fence: Fence) -> Result<Status, ClaimFault> {
        let result = ResultText::parse(format!(r#"{{"by":{}}}"#, fence.0)).ok();
        self.with(work, |facts| done(facts, fence, result))
    }

    pub(super) fn done_silently(&mut self, work: &Work, fence: Fence) -> Result<Status, ClaimFault> {
        self.with(work, |facts| done(facts, fence, None))
    }

    pub(super) fn failed(&mut self, work: &Work, fence: Fence) -> Result<Status, ClaimFault> {
        let now = self.now;
        self.with(work, |facts| failed(facts, fence, "boom", now, Jitter::NONE))
    }

    pub(super) fn retry(&mut self, work: &Work) -> Result<Claim, ClaimFault> {
        let now = self.now;
        self.with(work, |facts| retry_dead(facts, now))
    }

    pub(super) fn skip(&mut self, work: &Work, reason: &str) -> Result<Claim, ClaimFault> {
        self.with(work, |facts| skip_dead(facts, reason))
    }

    pub(super) fn drop_forgettable(&mut self) {
        let low = self.state.passed.low_water();
        self.claims.retain(|_, claim| match claim.work.place {
            Place::Registry => true,
            Place::Ledger { ordinal, .. } => ordinal > low || !claim.is_forgettable(),
        });
    }

    fn step(&mut self, step: &str) -> Option<String> {
        let words: Vec<&str> = step.split_whitespace().collect();
        let work = words.get(1).map(|name| self.work(name));
        let fence = words.get(2).and_then(|fence| fence.parse().ok()).map(Fence);
        let said = match (words[0], work, fence) {
            ("c", Some(work), None) => self.claim(&work).map(|decision| decision_text(&decision)),
            ("h", Some(work), Some(fence)) => self.heartbeat(&work, fence).map(|status| self.status_text(status)),
            ("d", Some(work), Some(fence)) => self.done(&work, fence).map(|status| self.status_text(status)),
            ("D", Some(work), Some(fence)) => self.done_silently(&work, fence).map(|status| self.status_text(status)),
            ("f", Some(work), Some(fence)) => self.failed(&work, fence).map(|status| self.status_text(status)),
            ("retry", Some(work), None) => self.retry(&work).map(|claim| state_text(&claim)),
            ("skip", Some(work), None) => self.skip(&work, "known bad").map(|claim| state_text(&claim)),
            ("drop", None, None) => {
                self.drop_forgettable();
                return None;
            }
            (time, None, None) => {
                let span = Span::parse(time.strip_prefix('+').expect("a step")).expect("a duration");
                self.now = self.now.plus(span);
                return None;
            }
            _ => panic!("not a step: {step}"),
        };
        Some(said.unwrap_or_else(|fault| fault.code().to_owned()))
    }

    fn status_text(&self, status: Status) -> String {
        let from_now = |time: Time| time.since(self.now) / 1_000_000;
        match status {
            Status::Claimed { lease_until } => format!("lease({})", from_now(lease_until)),
            Status::Done => "done".to_owned(),
            Status::Failed { next_attempt_at } => format!("failed({})", from_now(next_attempt_at)),
            Status::Dead => "dead".to_owned(),
        }
    }
}

fn decision_text(decision: &Decision) -> String {
    match decision {
        Decision::Done { result: Some(result) } => format!("done={}", result.as_str()),
        Decision::Done { result: None } => "done".to_owned(),
        Decision::Dead => "dead".to_owned(),
        Decision::Stale => "stale".to_owned(),
        Decision::InProgress { retry_after_ms } => format!("busy({retry_after_ms})"),
        Decision::Waiting { retry_after_ms: Some(ms) } => format!("wait({ms})"),
        Decision::Waiting { retry_after_ms: None } => "wait".to_owned(),
        Decision::Claimed { fence, attempt, .. } => format!("got#{}/{attempt}", fence.0),
    }
}

fn state_text(claim: &Claim) -> String {
    let state = match &claim.state {
        ClaimState::Held { .. } => "held",
        ClaimState::Failed { .. } => "failed",
        ClaimState::Dead { .. } => "dead",
        ClaimState::Done { .. } => "done",
        ClaimState::Skipped { .. } => "skipped",
    };
    format!("{state}#{}/{}", claim.fence.0, claim.attempt)
}

/// `a12:3` is number 12 of epoch 3 in lane `a`; `b2'` is another event that says the same of itself; `x` has no number.
pub(super) fn named(name: &str) -> Work {
    let place = name.trim_end_matches('\'');
    let (lane, rest) = place.split_at(1);
    let (seq, epoch) = rest.split_once(':').unwrap_or((rest, "0"));
    Work {
        stream: None,
        event_id: name.to_owned(),
        lane: Some(lane.to_owned()),
        epoch: epoch.parse().expect("an epoch"),
        seq: seq.parse().ok(),
        place: Place::Registry,
    }
}

/// Runs steps, separated by commas, and compares all answers.
pub(super) fn tell(world: &mut World, steps: &str, expect: &str) {
    let said: Vec<String> = steps.split(',').filter_map(|step| world.step(step.trim())).collect();
    assert_eq!(said.join(" "), expect, "{steps}");
}

pub(super) fn check(settings: &str, steps: &str, expect: &str) {
    tell(&mut World::new(settings, ""), steps, expect);
}

pub(super) fn check_stream(settings: &str, stream: &str, steps: &str, expect: &str) {
    let settings = format!(r#"{settings},"stream":"s""#);
    tell(&mut World::new(&settings, stream), steps, expect);
}
