//! How long to be patient with a server: how often, and how long between.
//!
//! What holds: a delay is never shorter than the server asked for, up to [`AFTER_MAX`]; chance only lengthens it. Not
//! here: which answers are worth another try (`client`).

use std::time::Duration;

/// A server that asks for more patience than this is asked again all the same.
const AFTER_MAX: Duration = Duration::from_secs(60);

/// How often a call is tried, and how long it waits between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// The most tries, the first included.
    pub tries_max: u32,
    /// The first delay; it doubles.
    pub first: Duration,
    /// It doubles up to this.
    pub longest: Duration,
}

impl Retry {
    /// About half a minute: long enough for a restart, short enough for a person.
    pub const PATIENT: Retry =
        Retry { tries_max: 8, first: Duration::from_millis(200), longest: Duration::from_secs(10) };
    /// For questions that a person waits for: a server that is not there is told at once.
    pub const BRIEF: Retry = Retry { tries_max: 3, first: Duration::from_millis(100), longest: Duration::from_secs(1) };
    /// Until somebody stops it.
    pub const FOR_EVER: Retry = Retry { tries_max: u32::MAX, longest: Duration::from_secs(15), ..Retry::PATIENT };
    /// Once.
    pub const NEVER: Retry = Retry { tries_max: 1, ..Retry::BRIEF };

    /// How long to wait after this many tries, or nothing if that is enough.
    pub(crate) fn delay(&self, tries: u32, after: Option<Duration>, dice: u64) -> Option<Duration> {
        if tries >= self.tries_max {
            return None;
        }
        let doubled = self.first.saturating_mul(1_u32.checked_shl(tries.saturating_sub(1)).unwrap_or(u32::MAX));
        let asked = after.unwrap_or_default().min(AFTER_MAX);
        let delay = doubled.min(self.longest).max(asked);
        // Many clients that were cut off at once must not come back at once.
        let quarter = u64::try_from(delay.as_millis() / 4).unwrap_or(u64::MAX);
        Some(delay + Duration::from_millis(dice % (quarter + 1)))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Retry;

    const RETRY: Retry = Retry { tries_max: 4, first: Duration::from_millis(100), longest: Duration::from_millis(300) };

    fn delays(after: Option<Duration>, dice: u64) -> Vec<Option<u128>> {
        (1..=4).map(|tries| RETRY.delay(tries, after, dice).map(|delay| delay.as_millis())).collect()
    }

    #[test]
    fn a_delay_doubles_up_to_the_longest_and_then_it_is_enough() {
        assert_eq!(delays(None, 0), [Some(100), Some(200), Some(300), None]);
    }

    #[test]
    fn chance_only_lengthens_by_up_to_a_quarter() {
        assert_eq!(delays(None, 25), [Some(125), Some(225), Some(325), None]);
        assert_eq!(delays(None, 26)[0], Some(100));
    }

    #[test]
    fn what_the_server_asks_for_is_kept_within_reason() {
        assert_eq!(delays(Some(Duration::from_secs(2)), 0)[0], Some(2_000));
        assert_eq!(delays(Some(Duration::from_secs(86_400)), 0)[0], Some(60_000));
    }

    #[test]
    fn for_ever_does_not_overflow() {
        assert_eq!(Retry::FOR_EVER.delay(4_000_000_000, None, 0), Some(Duration::from_secs(15)));
    }
}
