//! The registry of effects: who may act on an event for a handler, and what became of it (SPEC 9).
//!
//! A pure state machine. [`Facts`] and a call go in; an answer and the [`Changes`] that make it true come out, or a
//! [`ClaimFault`] that changes nothing. What holds, whatever the order of calls, crashes and clock readings:
//!
//! 1. A claim has at most one holder whose lease has not run out.
//! 2. Fences grow over the whole handler. The fence alone says who holds; the owner is a note for people.
//! 3. A claim is done under one fence and stays done.
//! 4. `in_order`: a lane's events are done or skipped in the lane's order, none left out.
//! 5. `latest_only`: nothing starts at or below a number that is done.
//!
//! Not here: the clock and the jitter (they come as data), the storing, the HTTP. A store loads the facts of one
//! (handler, event), and commits the changes only if no fact has changed since.
//!
//! Read in this order: [`Handler`], [`Claim`], `lane` (what order needs), `draft` (what follows from a claim's change),
//! `decide` (the table of decisions), `calls`, `letters` (the dead ones).

mod answer;
mod backoff;
mod calls;
mod decide;
mod draft;
mod fault;
mod handler;
mod lane;
mod letters;
mod ranges;
mod state;

use serde::{Serialize, Serializer};

use crate::time::Time;

pub use answer::{Decision, RESULT_BYTES_MAX, ResultText, Status};
pub use backoff::{BACKOFF_MAX, Jitter};
pub use calls::{done, failed, heartbeat};
pub use decide::claim;
pub use fault::ClaimFault;
pub use handler::{Effect, Handler, Order, Problem};
pub use lane::{HELD_MAX, HandlerLane, HeldClaim, Rank};
pub use letters::{retry_dead, skip_dead};
pub use ranges::Ranges;
pub use state::{HandlerState, StateChange};

/// A number that a handler gives out once. A target that keeps the greatest it has seen shuts every earlier holder out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(transparent)]
pub struct Fence(pub u64);

/// What is to be done: an event, and where it stands.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Work {
    /// The event's identity within the handler's stream.
    pub event_id: String,
    /// Whose event it is, in a bare registry that was told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    /// The scope of order.
    pub lane: Option<String>,
    /// Absent is 0.
    pub epoch: u64,
    /// The number in the lane, if it has one.
    pub seq: Option<u64>,
    /// Whose word lane and number are.
    #[serde(skip)]
    pub place: Place,
}

/// Where the order of the work comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The handler has no stream: lane, epoch and number are the caller's word, and `in_order` begins with 1.
    Registry,
    /// The handler reads a stream: order is the lane's order in the ledger, whatever the numbers say.
    Ledger {
        /// Which event of the stream this is, from 1. Not the offset: adjustments and closings have offsets too.
        ordinal: u64,
        /// Where its entry stands.
        offset: u64,
        /// The offset of the lane's event before this one, 0 if it is the first.
        previous_in_lane: u64,
    },
}

/// What one handler knows about one event.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Claim {
    /// The event and its place.
    #[serde(flatten)]
    pub work: Work,
    /// Who claimed it last, in its own words.
    pub owner: Option<String>,
    /// The fence of the last claim, or of the person who retried or skipped it.
    pub fence: Fence,
    /// Which attempt this is or was, from 1; 0 after a person's retry.
    pub attempt: u32,
    /// What became of it.
    #[serde(flatten)]
    pub state: ClaimState,
}

/// What became of a claim.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ClaimState {
    /// Someone works on it, up to and including `lease_until`; afterwards anyone may take it over.
    Held {
        /// The last instant of the lease.
        lease_until: Time,
    },
    /// An attempt failed; another may begin at `next_attempt_at`.
    Failed {
        /// The worker's words.
        error: String,
        /// The first instant of the next attempt.
        next_attempt_at: Time,
    },
    /// Given up; needs a person.
    Dead {
        /// The worker's words, or that its lease ran out.
        error: String,
        /// It was given up because the last lease ran out: whoever held that may still be at work, and finish.
        #[serde(skip)]
        expired: bool,
    },
    /// Final.
    Done {
        /// What the worker wants those to be told who ask again.
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<ResultText>,
    },
    /// A person let it go.
    Skipped {
        /// The person's words.
        reason: String,
    },
}

/// What a decision rests on. Where nothing is stored yet, `state` and `lane` are their defaults.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The handler as declared.
    pub handler: &'a Handler,
    /// What counts for the whole handler.
    pub state: &'a HandlerState,
    /// The lane of the work, or of the claim. With `order = "none"` it is neither read nor changed.
    pub lane: &'a HandlerLane,
    /// What is known about the event.
    pub claim: Option<&'a Claim>,
    /// Which event of the stream it is, where the handler has a stream. Calls need it where the claim is gone because
    /// the low-water mark stands for it; [`claim`] has it from the [`Work`].
    pub ordinal: Option<u64>,
}

/// What must be written for the answer to be true: the new values of what changed, and nothing else.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Changes {
    /// Small on purpose: the ranges of what has passed may be long, and one ordinal says how they changed.
    pub state: Option<StateChange>,
    /// The lane, whole.
    pub lane: Option<HandlerLane>,
    /// The claim, whole.
    pub claim: Option<Claim>,
}

impl Changes {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        *self == Changes::default()
    }
}

impl Claim {
    /// Whether the low-water mark can stand for it: nothing about it is left to tell. One that is still failed, held or
    /// dead keeps its record even where it was passed as stale, because its holder may call.
    pub fn is_forgettable(&self) -> bool {
        match &self.state {
            ClaimState::Done { result } => result.is_none(),
            ClaimState::Skipped { .. } => true,
            ClaimState::Held { .. } | ClaimState::Failed { .. } | ClaimState::Dead { .. } => false,
        }
    }

    /// Whether it was given up.
    pub fn is_dead(&self) -> bool {
        matches!(self.state, ClaimState::Dead { .. })
    }

    /// Whether its next attempt would be one too many. A lease that ran out is an attempt used.
    fn is_used_up(&self, attempts_max: u32, now: Time) -> bool {
        let over = match self.state {
            ClaimState::Held { lease_until } => now > lease_until,
            ClaimState::Failed { .. } => true,
            ClaimState::Dead { .. } | ClaimState::Done { .. } | ClaimState::Skipped { .. } => false,
        };
        over && self.attempt >= attempts_max
    }
}

impl Work {
    /// Its rank among the lane's events; `None` if the handler has no order. A bare registry has only the caller's word
    /// for it, so there the words must be there.
    fn rank(&self, order: Order) -> Result<Option<Rank>, ClaimFault> {
        if order == Order::None {
            return Ok(None);
        }
        match (self.place, &self.lane, self.seq) {
            (Place::Registry, None, _) => Err(ClaimFault::LaneRequired),
            (Place::Registry, Some(_), None) => Err(ClaimFault::SeqRequired),
            (Place::Registry | Place::Ledger { .. }, _, Some(seq)) => Ok(Some(Rank { epoch: self.epoch, seq })),
            (Place::Ledger { offset, .. }, _, None) => Ok(Some(Rank { epoch: 0, seq: offset })),
        }
    }
}

/// As the result's own JSON, not as a string that contains it.
impl Serialize for ResultText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.raw().serialize(serializer)
    }
}

#[cfg(test)]
mod tests;
