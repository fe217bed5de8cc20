//! What a holder says: I live, it is done, it failed.
//!
//! What holds: only the claim's own fence is heard. A lease that ran out does not silence its holder as long as nobody
//! has taken over, and neither does being found dead for that reason; a failure that the holder reported itself does.
//! Each call can be repeated after a lost answer. Not here: what a person does with the dead (`letters`).

use super::backoff::delay;
use super::draft::Draft;
use super::{Changes, Claim, ClaimFault, ClaimState, Facts, Fence, Jitter, ResultText, Status};
use crate::planted;
use crate::time::Time;

/// Errors and reasons are cut here: a report must never be refused for its length.
const WORDS_BYTES_MAX: usize = 4 * 1024;

/// Sets the lease to `now` plus the handler's lease.
pub fn heartbeat(facts: &Facts<'_>, fence: Fence, now: Time) -> Result<(Status, Changes), ClaimFault> {
    let claim = held_under(facts, fence)?;
    match &claim.state {
        ClaimState::Held { .. } | ClaimState::Dead { expired: true, .. } => {
            let lease_until = now.plus(facts.handler.lease);
            if planted!(HeartbeatNotKept) {
                return Ok((Status::Claimed { lease_until }, Changes::default()));
            }
            let mut draft = Draft::new(facts);
            draft.put(Claim { state: ClaimState::Held { lease_until }, ..claim.clone() });
            Ok((Status::Claimed { lease_until }, draft.changes()))
        }
        ClaimState::Done { .. } => Err(ClaimFault::AlreadyDone),
        ClaimState::Failed { .. } | ClaimState::Dead { expired: false, .. } | ClaimState::Skipped { .. } => {
            Err(ClaimFault::LeaseLost)
        }
    }
}

/// Finishes the claim. Done again under the same fence is the same answer, and the first result stays.
pub fn done(facts: &Facts<'_>, fence: Fence, result: Option<ResultText>) -> Result<(Status, Changes), ClaimFault> {
    let claim = match held_under(facts, fence) {
        Ok(claim) => claim,
        // Only the mark is left of it, and no fence to compare; that it is done is true whoever asks.
        Err(ClaimFault::AlreadyDone) => return Ok((Status::Done, Changes::default())),
        Err(fault) => return Err(fault),
    };
    match &claim.state {
        ClaimState::Held { .. } | ClaimState::Dead { expired: true, .. } => {
            let mut draft = Draft::new(facts);
            draft.put(Claim { state: ClaimState::Done { result }, ..claim.clone() });
            Ok((Status::Done, draft.changes()))
        }
        ClaimState::Done { .. } => Ok((Status::Done, Changes::default())),
        ClaimState::Failed { .. } | ClaimState::Dead { expired: false, .. } | ClaimState::Skipped { .. } => {
            Err(ClaimFault::LeaseLost)
        }
    }
}

/// Gives the attempt up. The last one makes the claim dead.
pub fn failed(
    facts: &Facts<'_>,
    fence: Fence,
    error: &str,
    now: Time,
    jitter: Jitter,
) -> Result<(Status, Changes), ClaimFault> {
    let claim = held_under(facts, fence)?;
    match &claim.state {
        ClaimState::Held { .. } | ClaimState::Dead { expired: true, .. } => {
            let error = cut(error);
            let next_attempt_at = now.plus(delay(facts.handler.backoff, claim.attempt, jitter));
            let (state, status) = if claim.attempt >= facts.handler.attempts_max {
                (ClaimState::Dead { error, expired: false }, Status::Dead)
            } else {
                (ClaimState::Failed { error, next_attempt_at }, Status::Failed { next_attempt_at })
            };
            let mut draft = Draft::new(facts);
            draft.put(Claim { state, ..claim.clone() });
            Ok((status, draft.changes()))
        }
        ClaimState::Failed { next_attempt_at, .. } => {
            Ok((Status::Failed { next_attempt_at: *next_attempt_at }, Changes::default()))
        }
        ClaimState::Dead { expired: false, .. } => Ok((Status::Dead, Changes::default())),
        ClaimState::Done { .. } => Err(ClaimFault::AlreadyDone),
        ClaimState::Skipped { .. } => Err(ClaimFault::LeaseLost),
    }
}

/// The claim, if this is its fence. Where the low-water mark stands for it, it is done.
fn held_under<'a>(facts: &Facts<'a>, fence: Fence) -> Result<&'a Claim, ClaimFault> {
    match facts.claim {
        Some(claim) if claim.fence == fence || planted!(LeaseWithoutFence) => Ok(claim),
        Some(_) => Err(ClaimFault::LeaseLost),
        None if facts.ordinal.is_some_and(|ordinal| ordinal <= facts.state.passed.low_water()) => {
            Err(ClaimFault::AlreadyDone)
        }
        None => Err(ClaimFault::NotClaimed),
    }
}

/// At most [`WORDS_BYTES_MAX`] bytes, ending with a whole character.
pub(super) fn cut(words: &str) -> String {
    words[..words.floor_char_boundary(WORDS_BYTES_MAX)].to_owned()
}
