//! How long to wait after a failure.
//!
//! What holds: the first delay is the handler's `backoff`, each further one doubles up to five minutes (or stays at
//! `backoff`, if that is longer), and jitter only lengthens, by at most a tenth. Not here: randomness; it comes as a
//! number.

use crate::duration::Span;

/// Where doubling ends.
pub const BACKOFF_MAX: Span = Span::from_secs(300);

/// How much a delay is lengthened, so that those who failed together do not come back together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Jitter(u16);

impl Jitter {
    /// No lengthening.
    pub const NONE: Jitter = Jitter(0);

    /// In thousandths of the delay; more than 100 count as 100.
    pub fn thousandths(thousandths: u16) -> Jitter {
        Jitter(thousandths.min(100))
    }
}

/// The delay after a failed attempt, counted from 1. Jitter is rounded down to the millisecond, so it never exceeds a
/// tenth.
pub(super) fn delay(backoff: Span, attempt: u32, jitter: Jitter) -> Span {
    let first = backoff.millis();
    let ceiling = BACKOFF_MAX.millis().max(first);
    // 2^20 ms is more than the ceiling, so no larger power matters.
    let doubled = first.saturating_mul(1 << attempt.saturating_sub(1).min(20)).min(ceiling);
    Span::from_millis(
        doubled.saturating_add(doubled / 1_000 * u64::from(jitter.0) + doubled % 1_000 * u64::from(jitter.0) / 1_000),
    )
}
