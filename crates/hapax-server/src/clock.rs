//! The one place where time and randomness come from.
//!
//! The wall clock may step back; order never depends on it, but operators want to know.

use std::cell::RefCell;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hapax_core::time::Time;

/// A step back of less than this is the clock being disciplined, not a jump.
const STEP: Duration = Duration::from_millis(100);

/// The clock of a process.
#[derive(Debug)]
pub struct Clock {
    /// The latest time that was handed out, in nanoseconds since 1970.
    latest: AtomicI64,
    steps_back: AtomicU64,
    made: Stopwatch,
}

impl Default for Clock {
    fn default() -> Self {
        Self { latest: AtomicI64::new(i64::MIN), steps_back: AtomicU64::new(0), made: Stopwatch::start() }
    }
}

impl Clock {
    /// The wall clock, now.
    pub fn now(&self) -> Time {
        let time = wall();
        let before = self.latest.fetch_max(time.nanos(), Ordering::Relaxed);
        let back = before.saturating_sub(time.nanos());
        if before != i64::MIN && back > STEP.as_nanos() as i64 {
            // Reported once per step: from here on the lower time is the latest.
            self.latest.store(time.nanos(), Ordering::Relaxed);
            self.steps_back.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(state = "CLOCK_STEPPED_BACK", back_ms = back / 1_000_000, "the wall clock stepped back");
        }
        time
    }

    /// How long the clock has run. It never steps back, and says nothing about the time of day: for limits of rate alone.
    pub fn elapsed(&self) -> Duration {
        self.made.0.elapsed()
    }

    /// How often it stepped back.
    pub fn steps_back(&self) -> u64 {
        self.steps_back.load(Ordering::Relaxed)
    }
}

/// Whole seconds of the wall clock, for the date of an answer.
pub(crate) fn seconds() -> u64 {
    (wall().nanos() / 1_000_000_000).unsigned_abs()
}

#[allow(clippy::disallowed_methods, reason = "this is the clock")]
fn wall() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_nanos(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

/// For measuring how long something took; never for deciding anything.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts.
    #[allow(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// How long ago that was, in seconds.
    pub fn seconds(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

thread_local! {
    /// Random bytes that were not handed out yet, and how many those are.
    static SPARE: RefCell<([u8; SPARE_BYTES], usize)> = const { RefCell::new(([0; SPARE_BYTES], 0)) };
}

/// So many are asked for at once: asking costs as much as a dozen events.
const SPARE_BYTES: usize = 1024;

/// Random bits for a request, in case an id must be assigned. Asked for ahead, and handed out once.
pub fn spare() -> u128 {
    SPARE.with_borrow_mut(|(bytes, left)| {
        if *left < size_of::<u128>() {
            *bytes = random();
            *left = SPARE_BYTES;
        }
        *left -= size_of::<u128>();
        let mut own = [0; size_of::<u128>()];
        own.copy_from_slice(&bytes[*left..*left + size_of::<u128>()]);
        u128::from_le_bytes(own)
    })
}

/// Random bytes from the system. Without them there are no keys, salts or ids, so a system that has none ends the
/// process.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system gives random bytes");
    bytes
}
