//! Dead letters: what a person does about a claim that was given up.
//!
//! What holds: both calls take a fence of their own, so whoever held the claim before is shut out from then on; a
//! retried event keeps its place in the lane, a skipped one lets the lane go on. Both can be repeated after a lost
//! answer. Not here: the list of the dead (the store's) and who may do this (the server's).

use super::calls::cut;
use super::draft::Draft;
use super::{Changes, Claim, ClaimFault, ClaimState, Facts};
use crate::time::Time;

/// Lets the claim be tried again at once, with all its attempts.
pub fn retry_dead(facts: &Facts<'_>, now: Time) -> Result<(Claim, Changes), ClaimFault> {
    let claim = facts.claim.ok_or(ClaimFault::NotClaimed)?;
    match &claim.state {
        ClaimState::Dead { error, .. } => {
            let mut draft = Draft::new(facts);
            let state = ClaimState::Failed { error: error.clone(), next_attempt_at: now };
            let retried = Claim { fence: draft.fence(), attempt: 0, state, ..claim.clone() };
            draft.put(retried.clone());
            Ok((retried, draft.changes()))
        }
        // No attempt since: the same wish once more.
        ClaimState::Failed { .. } if claim.attempt == 0 => Ok((claim.clone(), Changes::default())),
        ClaimState::Failed { .. } | ClaimState::Held { .. } | ClaimState::Done { .. } | ClaimState::Skipped { .. } => {
            Err(ClaimFault::NotDead)
        }
    }
}

/// Lets the event go, for a reason that is kept.
pub fn skip_dead(facts: &Facts<'_>, reason: &str) -> Result<(Claim, Changes), ClaimFault> {
    let claim = facts.claim.ok_or(ClaimFault::NotClaimed)?;
    if reason.trim().is_empty() {
        return Err(ClaimFault::ReasonRequired);
    }
    match &claim.state {
        ClaimState::Dead { .. } => {
            let mut draft = Draft::new(facts);
            let state = ClaimState::Skipped { reason: cut(reason) };
            let skipped = Claim { fence: draft.fence(), state, ..claim.clone() };
            draft.put(skipped.clone());
            Ok((skipped, draft.changes()))
        }
        ClaimState::Skipped { .. } => Ok((claim.clone(), Changes::default())),
        ClaimState::Failed { .. } | ClaimState::Held { .. } | ClaimState::Done { .. } => Err(ClaimFault::NotDead),
    }
}
