//! The one place here that asks what time it is: whoever measures must.

use std::fs::{read_dir, read_to_string};
use std::path::Path;
use std::time::{Duration, Instant};

/// Now, on a clock that never goes back.
#[allow(clippy::disallowed_methods, reason = "this is the clock of the measurement")]
pub(super) fn now() -> Instant {
    Instant::now()
}

/// For how long a processor has worked for this thread so far; zero where the system does not say.
pub(super) fn worked_here() -> Duration {
    worked_for(Path::new("/proc/thread-self"))
}

/// For how long processors have worked for all threads that there are.
pub(super) fn worked() -> Duration {
    let threads = read_dir("/proc/self/task").into_iter().flatten().flatten();
    threads.map(|thread| worked_for(&thread.path())).sum()
}

fn worked_for(thread: &Path) -> Duration {
    let stat = read_to_string(thread.join("schedstat")).unwrap_or_default();
    Duration::from_nanos(stat.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or_default())
}
