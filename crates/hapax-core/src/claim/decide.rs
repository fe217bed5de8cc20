//! The table of decisions of SPEC 9, row by row: the first that applies, decides.
//!
//! What holds: the owner is never compared; a lease counts up to and including its last instant. A decision other than
//! `claimed` changes something only where it found something out: that the attempts are used up (`dead`), that an event
//! needs nothing more (`stale`), that a lane can move on (`done`). Not here: what the holder does next (`calls`).

use super::draft::Draft;
use super::lane::Standing;
use super::{Changes, Claim, ClaimFault, ClaimState, Decision, Facts, Fence, Order, Place, ResultText, Work};
use crate::planted;
use crate::time::Time;

/// Asks for an event.
pub fn claim(
    facts: &Facts<'_>,
    work: &Work,
    owner: Option<&str>,
    now: Time,
) -> Result<(Decision, Changes), ClaimFault> {
    let handler = facts.handler;
    let rank = work.rank(handler.order)?;
    let mut draft = Draft::new(facts);

    if let Some(result) = done_before(facts, work) {
        draft.catch_up(work);
        return Ok((Decision::Done { result }, draft.changes()));
    }
    if let Some(known) = facts.claim {
        if known.is_dead() {
            return Ok((Decision::Dead, draft.changes()));
        }
        same_place(known, work, handler.order)?;
        if known.is_used_up(handler.attempts_max, now) {
            draft.put(Claim { state: given_up(&known.state), ..known.clone() });
            return Ok((Decision::Dead, draft.changes()));
        }
    }
    let latest = rank.filter(|_| handler.order == Order::LatestOnly);
    if latest.is_some_and(|rank| facts.lane.last_done.is_some_and(|last| rank <= last)) {
        draft.pass(work.place);
        return Ok((Decision::Stale, draft.changes()));
    }
    if let Some(Claim { state: ClaimState::Held { lease_until }, .. }) = facts.claim
        && now <= *lease_until
        && !planted!(HeldIsFree)
    {
        return Ok((Decision::InProgress { retry_after_ms: ms_past(*lease_until, now) }, draft.changes()));
    }
    if let Some(rank) = rank.filter(|_| handler.order == Order::InOrder) {
        match facts.lane.standing(rank, work.place, &work.event_id) {
            Standing::Next => {}
            Standing::Waiting(until) => {
                // What has ended by itself already needs someone to claim it, and nobody knows when that will be.
                let retry_after_ms = until.filter(|until| now <= *until).map(|until| ms_past(until, now));
                return Ok((Decision::Waiting { retry_after_ms }, draft.changes()));
            }
            Standing::Taken => return Err(ClaimFault::PlaceTaken),
            Standing::Passed => return Err(ClaimFault::PlacePassed),
        }
    }
    if let Some(until) = latest.and_then(|rank| facts.lane.rival(rank, &work.event_id, now)) {
        return Ok((Decision::InProgress { retry_after_ms: ms_past(until, now) }, draft.changes()));
    }
    if let Some(Claim { state: ClaimState::Failed { next_attempt_at, .. }, .. }) = facts.claim
        && now < *next_attempt_at
    {
        let retry_after_ms = Some(ms_until(*next_attempt_at, now));
        return Ok((Decision::Waiting { retry_after_ms }, draft.changes()));
    }
    if let Some(until) = latest.and_then(|_| facts.lane.crowded(now)) {
        return Ok((Decision::InProgress { retry_after_ms: ms_past(until, now) }, draft.changes()));
    }

    let mut fence = draft.fence();
    if planted!(FencePerEvent) {
        fence = Fence(facts.claim.map_or(1, |known| known.fence.0 + 1));
    }
    let attempt = facts.claim.map_or(0, |known| known.attempt).saturating_add(1);
    let lease_until = now.plus(handler.lease);
    let (work, owner) = (work.clone(), owner.map(str::to_owned));
    draft.sweep(now);
    draft.put(Claim { work, owner, fence, attempt, state: ClaimState::Held { lease_until } });
    Ok((Decision::Claimed { fence, attempt, lease_until }, draft.changes()))
}

/// The first row: nothing is left to do, and this is what was stored about it. Where the record is gone, a mark below
/// which everything has passed stands for it. A skipped event answers the same: for a worker there is no difference.
fn done_before(facts: &Facts<'_>, work: &Work) -> Option<Option<ResultText>> {
    match (facts.claim.map(|known| &known.state), work.place) {
        (Some(ClaimState::Done { result }), _) => Some(result.clone()),
        (Some(ClaimState::Skipped { .. }), _) => Some(None),
        (Some(ClaimState::Held { .. } | ClaimState::Failed { .. } | ClaimState::Dead { .. }), _) => None,
        (None, Place::Registry) => None,
        (None, Place::Ledger { ordinal, offset, .. }) => {
            let in_order = facts.handler.order == Order::InOrder && offset <= facts.lane.position;
            (in_order || ordinal <= facts.state.passed.low_water()).then_some(None)
        }
    }
}

/// In a bare registry an event keeps the place it was first claimed with: the lane that was loaded is the one named
/// now, and the one where the claim stands would not be told.
fn same_place(known: &Claim, work: &Work, order: Order) -> Result<(), ClaimFault> {
    let had_one = order != Order::None && known.work.rank(order).is_ok();
    let same = (&known.work.lane, known.work.epoch, known.work.seq) == (&work.lane, work.epoch, work.seq);
    if had_one && !same { Err(ClaimFault::PlaceDiffers) } else { Ok(()) }
}

/// What a claim becomes when its attempts are found to be used up.
fn given_up(state: &ClaimState) -> ClaimState {
    match state {
        ClaimState::Failed { error, .. } => ClaimState::Dead { error: error.clone(), expired: false },
        ClaimState::Held { lease_until } => {
            ClaimState::Dead { error: format!("the lease of the last attempt ran out at {lease_until}"), expired: true }
        }
        ClaimState::Dead { .. } | ClaimState::Done { .. } | ClaimState::Skipped { .. } => state.clone(),
    }
}

/// Milliseconds until an instant is reached, rounded up: who comes back then does not come too early.
fn ms_until(until: Time, now: Time) -> u64 {
    let nanos = u128::try_from(until.since(now)).unwrap_or(0);
    u64::try_from(nanos.div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// Milliseconds until an instant is past, rounded up.
fn ms_past(until: Time, now: Time) -> u64 {
    let nanos = u128::try_from(until.since(now) + 1).unwrap_or(0);
    u64::try_from(nanos.div_ceil(1_000_000)).unwrap_or(u64::MAX)
}
