//! The one place that asks what time it is.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hapax_core::time::Time;

/// Now, on a clock that never goes back.
#[allow(clippy::disallowed_methods, reason = "this is the clock of the benchmark")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The time of day, for the documents.
#[allow(clippy::disallowed_methods, reason = "this is the clock of the benchmark")]
pub(crate) fn time_of_day() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    Time::from_nanos(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}
