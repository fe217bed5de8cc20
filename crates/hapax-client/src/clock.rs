//! The one place that asks what time it is. Everything else gets instants as values.

use std::time::Instant;

/// Now, on a clock that never goes back.
#[allow(clippy::disallowed_methods, reason = "this is the clock of the client")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
