//! What counts for a whole handler: its fences, how far it has come, how many of its claims are dead.
//!
//! What holds: `next_fence` only grows; `passed` has the ordinals of the stream's events that are done, skipped or were
//! found stale. Not here: lanes, single claims.

use super::{Fence, Ranges};

/// What counts for a whole handler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HandlerState {
    /// The fence that the next claim gets.
    pub next_fence: Fence,
    /// The events that need nothing more. Empty for a bare registry, which has no ordinals.
    pub passed: Ranges,
    /// How many claims are dead.
    pub dead: u64,
}

/// How a call changed it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StateChange {
    /// The new value.
    pub next_fence: Fence,
    /// The new value.
    pub dead: u64,
    /// The ordinal that joined `passed`, if one did.
    pub passed: Option<u64>,
}

impl Default for HandlerState {
    fn default() -> HandlerState {
        HandlerState { next_fence: Fence(1), passed: Ranges::default(), dead: 0 }
    }
}

impl HandlerState {
    /// The only way a state changes, in service and in recovery alike.
    pub fn apply(&mut self, change: StateChange) {
        self.next_fence = change.next_fence;
        self.dead = change.dead;
        if let Some(ordinal) = change.passed {
            self.passed.insert(ordinal);
        }
    }

    /// How many of the stream's events still need something.
    pub fn lag(&self, events_in_stream: u64) -> u64 {
        events_in_stream.saturating_sub(self.passed.count())
    }
}
