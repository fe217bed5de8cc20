//! Holding a claim while the work runs: a thread that says, again and again, that the holder lives.

use std::time::Duration;

use crate::{Claims, Entry, Error, Grant, Stop};

/// A claim that is held.
pub struct Claim {
    grant: Grant,
    claims: Claims,
    heartbeat: Duration,
    lost: Stop,
}

impl Claim {
    pub(crate) fn new(grant: Grant, claims: Claims, heartbeat: Duration) -> Claim {
        Claim { grant, claims, heartbeat, lost: Stop::new() }
    }

    /// To be shown to the target: it must refuse lower ones than the greatest it has seen.
    pub fn fence(&self) -> u64 {
        self.grant.fence
    }

    /// Which attempt it is, from 1.
    pub fn attempt(&self) -> u32 {
        self.grant.attempt
    }

    /// Set when another has the claim: what is still running should end without an effect.
    pub fn lost(&self) -> &Stop {
        &self.lost
    }

    /// Runs the work, and keeps the claim alive until it ends, however it ends.
    pub(crate) fn hold<T>(&self, entry: &Entry, work: impl FnOnce() -> T) -> T {
        let finished = Finished(Stop::new());
        std::thread::scope(|threads| {
            threads.spawn(|| self.beat(entry, &finished.0));
            let _finished = Finished(finished.0.clone());
            work()
        })
    }

    fn beat(&self, entry: &Entry, finished: &Stop) {
        while !finished.wait(self.heartbeat) {
            // A beat that is not heard is no reason to stop: until another takes over, the claim can still be finished.
            if let Err(Error::Problem(problem)) = self.claims.heartbeat(entry, self.fence(), finished)
                && matches!(problem.code.as_str(), "LEASE_LOST" | "ALREADY_DONE" | "NOT_CLAIMED")
            {
                self.lost.set();
                return;
            }
        }
    }
}

/// Tells the other thread also when the work panics; it would otherwise beat for ever.
struct Finished(Stop);

impl Drop for Finished {
    fn drop(&mut self) {
        self.0.set();
    }
}
