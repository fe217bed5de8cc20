//! What order needs to know about a lane: how far it has come, and who stands in the way.
//!
//! What holds: under `latest_only`, `held` has the lane's holders (those whose lease ran out go when the next claim is
//! made); under `in_order` it has the lane's claims that are neither done nor skipped, which is at most one unless the
//! handler's order was changed. So it stays small. Not here: the claims themselves, and lanes of handlers without
//! order.

use std::collections::BTreeMap;

use super::{Claim, ClaimState, Fence, Order, Place};
use crate::planted;
use crate::time::Time;

/// At most so many holders in one lane under `latest_only`: a lane is one record, and no honest handler has this many
/// workers on one aggregate.
pub const HELD_MAX: usize = 256;

/// The place of an event in its lane: epoch first. Events of a ledger without numbers are ranked by offset.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Rank {
    /// A higher one begins to count afresh.
    pub epoch: u64,
    /// The number within the epoch.
    pub seq: u64,
}

/// What a handler knows about a lane.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HandlerLane {
    /// `latest_only`: the highest rank done. `in_order` in a bare registry: the last one done or skipped.
    pub last_done: Option<Rank>,
    /// `in_order` in a ledger: the offset of the lane's last event done or skipped; 0 before the first.
    pub position: u64,
    /// Who stands in the way, by rank. The fence is part of the key because two events may claim to have the same rank.
    pub held: BTreeMap<(Rank, Fence), HeldClaim>,
}

/// Someone who stands in the way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeldClaim {
    /// Whose claim it is.
    pub event_id: String,
    /// When that may change by itself: the end of the lease or of the backoff; `None` if it needs a person.
    pub until: Option<Time>,
}

/// How an event stands in a lane that is worked in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Standing {
    /// It is the lane's next.
    Next,
    /// Something before it is not done; when that may change by itself, if known.
    Waiting(Option<Time>),
    /// Another event claims to have the same number, and is not done.
    Taken,
    /// The lane is past it.
    Passed,
}

impl HandlerLane {
    /// Brings the lane in line with a claim of its that changed.
    pub(super) fn follow(&mut self, order: Order, rank: Rank, claim: &Claim) {
        use ClaimState::{Dead, Done, Failed, Held, Skipped};
        let before = std::mem::take(&mut self.held);
        self.held = before.into_iter().filter(|(_, held)| held.event_id != claim.work.event_id).collect();
        match (order, &claim.state) {
            (Order::None, Held { .. } | Failed { .. } | Dead { .. } | Done { .. } | Skipped { .. }) => {}
            (Order::LatestOnly | Order::InOrder, Held { lease_until }) => self.hold(rank, claim, Some(*lease_until)),
            (Order::LatestOnly, Failed { .. } | Dead { .. } | Skipped { .. }) => {}
            (Order::LatestOnly, Done { .. }) => self.last_done = self.last_done.max(Some(rank)),
            (Order::InOrder, Failed { .. }) if planted!(FailedIsPassed) => {
                self.advance(rank, claim.work.place, &claim.work.event_id)
            }
            (Order::InOrder, Failed { next_attempt_at, .. }) => self.hold(rank, claim, Some(*next_attempt_at)),
            (Order::InOrder, Dead { .. }) => self.hold(rank, claim, None),
            (Order::InOrder, Done { .. } | Skipped { .. }) => {
                self.advance(rank, claim.work.place, &claim.work.event_id)
            }
        }
    }

    /// Moves past an event that needs nothing more, if it is the lane's next. If it is not (the handler's order was
    /// changed while it was held), the lane moves when the event is asked for again in its turn.
    pub(super) fn advance(&mut self, rank: Rank, place: Place, event_id: &str) {
        if self.standing(rank, place, event_id) != Standing::Next {
            return;
        }
        match place {
            Place::Registry => self.last_done = Some(rank),
            Place::Ledger { offset, .. } => self.position = offset,
        }
    }

    /// How an event stands in a lane that is worked in order.
    pub(super) fn standing(&self, rank: Rank, place: Place, event_id: &str) -> Standing {
        let others = || self.held.iter().filter(|(_, held)| held.event_id != event_id);
        let waiting = || Standing::Waiting(others().filter_map(|(_, held)| held.until).max());
        match place {
            Place::Ledger { offset, .. } if offset <= self.position => Standing::Passed,
            Place::Ledger { previous_in_lane, .. } if previous_in_lane == self.position => Standing::Next,
            Place::Ledger { .. } => waiting(),
            Place::Registry if rank.seq == 0 || self.last_done.is_some_and(|last| rank <= last) => Standing::Passed,
            Place::Registry if others().any(|((taken, _), _)| *taken == rank) => Standing::Taken,
            // An epoch begins only when nothing undone is known, and once it has begun the one before is closed.
            Place::Registry if others().any(|((other, _), _)| *other < rank || other.epoch > rank.epoch) => waiting(),
            Place::Registry if rank.seq == self.number_after(rank.epoch) => Standing::Next,
            Place::Registry => waiting(),
        }
    }

    /// The end of the last lease of another event at or below this rank that has not run out. An equal rank counts: the
    /// second to finish would have to be stale, so the second does not begin.
    pub(super) fn rival(&self, rank: Rank, event_id: &str, now: Time) -> Option<Time> {
        let below = self.held.range(..=(rank, Fence(u64::MAX)));
        below
            .filter(|(_, held)| held.event_id != event_id && held.is_live(now))
            .filter_map(|(_, held)| held.until)
            .max()
    }

    /// When the first of too many holders may be gone, if there are too many.
    pub(super) fn crowded(&self, now: Time) -> Option<Time> {
        let live = || self.held.values().filter(|held| held.is_live(now));
        if live().count() < HELD_MAX { None } else { live().filter_map(|held| held.until).min() }
    }

    /// Forgets holders whose lease ran out.
    pub(super) fn sweep(&mut self, now: Time) {
        self.held.retain(|_, held| held.is_live(now));
    }

    fn hold(&mut self, rank: Rank, claim: &Claim, until: Option<Time>) {
        self.held.insert((rank, claim.fence), HeldClaim { event_id: claim.work.event_id.clone(), until });
    }

    /// The number that an epoch's next event has. No number follows the last one of all, so nothing is next then.
    fn number_after(&self, epoch: u64) -> u64 {
        match self.last_done {
            Some(last) if last.epoch == epoch => last.seq.checked_add(1).unwrap_or(0),
            Some(_) | None => 1,
        }
    }
}

impl HeldClaim {
    fn is_live(&self, now: Time) -> bool {
        self.until.is_some_and(|until| now <= until)
    }
}
