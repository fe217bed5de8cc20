//! The changes of one call while it is being decided.
//!
//! What holds: whatever follows from a claim's new state (the lane, the ordinals passed, the number of dead) follows
//! here and nowhere else, so no call can forget a part of it. Only what differs from the facts is reported as changed.
//! Not here: decisions.

use super::{Changes, Claim, ClaimState, Facts, Fence, HandlerLane, Order, Place, StateChange, Work};
use crate::time::Time;

pub(super) struct Draft<'a> {
    facts: &'a Facts<'a>,
    state: StateChange,
    lane: HandlerLane,
    claim: Option<Claim>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(facts: &'a Facts<'a>) -> Draft<'a> {
        let state = StateChange { next_fence: facts.state.next_fence, dead: facts.state.dead, passed: None };
        Draft { facts, state, lane: facts.lane.clone(), claim: None }
    }

    /// A fence that nobody had before. 64 bits last for 500 years at a thousand claims a microsecond, so they do not
    /// end.
    pub(super) fn fence(&mut self) -> Fence {
        let fence = self.state.next_fence;
        self.state.next_fence = Fence(fence.0.saturating_add(1));
        fence
    }

    /// Gives the claim a new state, and everything else that follows from it.
    pub(super) fn put(&mut self, claim: Claim) {
        let was_dead = self.facts.claim.is_some_and(Claim::is_dead);
        self.state.dead =
            self.state.dead.saturating_sub(u64::from(was_dead)).saturating_add(u64::from(claim.is_dead()));
        match claim.state {
            ClaimState::Done { .. } | ClaimState::Skipped { .. } => self.pass(claim.work.place),
            ClaimState::Held { .. } | ClaimState::Failed { .. } | ClaimState::Dead { .. } => {}
        }
        // A claim without a rank was made when the handler had no order; it is in nobody's way.
        if let Ok(Some(rank)) = claim.work.rank(self.facts.handler.order) {
            self.lane.follow(self.facts.handler.order, rank, &claim);
        }
        self.claim = Some(claim);
    }

    /// Counts an event as needing nothing more.
    pub(super) fn pass(&mut self, place: Place) {
        match place {
            Place::Ledger { ordinal, .. } if !self.facts.state.passed.contains(ordinal) => {
                self.state.passed = Some(ordinal);
            }
            Place::Ledger { .. } | Place::Registry => {}
        }
    }

    /// Lets a lane that is worked in order move past an event that was done before the lane was told: the handler had
    /// another order then. Without this such a lane would wait for ever.
    pub(super) fn catch_up(&mut self, work: &Work) {
        let same = self.facts.claim.is_none_or(|claim| claim.work == *work);
        if let (Order::InOrder, true, Ok(Some(rank))) = (self.facts.handler.order, same, work.rank(Order::InOrder)) {
            self.lane.advance(rank, work.place, &work.event_id);
        }
    }

    /// Forgets holders of the lane whose lease ran out; done only where the lane is written anyway.
    pub(super) fn sweep(&mut self, now: Time) {
        if self.facts.handler.order == Order::LatestOnly {
            self.lane.sweep(now);
        }
    }

    pub(super) fn changes(self) -> Changes {
        let before = self.facts.state;
        let same =
            self.state.next_fence == before.next_fence && self.state.dead == before.dead && self.state.passed.is_none();
        Changes {
            state: (!same).then_some(self.state),
            lane: (self.lane != *self.facts.lane).then_some(self.lane),
            claim: self.claim.filter(|claim| self.facts.claim != Some(claim)),
        }
    }
}
