//! The one place here that asks what time it is: whoever measures must.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Now, on a clock that never goes back.
#[allow(clippy::disallowed_methods, reason = "this is the clock of the measurement")]
pub(super) fn now() -> Instant {
    Instant::now()
}

/// For how long processors have worked so far: for all of this process, and for this thread.
pub(super) fn worked() -> (Duration, Duration) {
    let read = |clock| {
        let time = clock_gettime(clock);
        // Neither is ever below zero.
        Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
    };
    (read(ClockId::ProcessCPUTime), read(ClockId::ThreadCPUTime))
}
