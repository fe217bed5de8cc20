//! How long requests took: in the middle, at the slow end, and at worst.

use std::time::Duration;

use serde::Serialize;

/// Of the requests of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct Latency {
    pub(super) requests: usize,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
    pub(super) max_ms: f64,
}

impl Latency {
    pub(super) fn of(waits: impl Iterator<Item = Duration>) -> Latency {
        let mut waits: Vec<_> = waits.collect();
        waits.sort_unstable();
        // The smallest that so many percent of all do not exceed.
        let percentile = |percent: usize| {
            let place = (waits.len() * percent).div_ceil(100).max(1) - 1;
            waits.get(place).map_or(0.0, |wait| (wait.as_secs_f64() * 1e6).round() / 1e3)
        };
        Latency { requests: waits.len(), p50_ms: percentile(50), p99_ms: percentile(99), max_ms: percentile(100) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let waits = |many: u64| Latency::of((1..=many).rev().map(Duration::from_millis));
        let shown = |it: Latency| (it.requests, it.p50_ms, it.p99_ms, it.max_ms);
        assert_eq!(shown(waits(0)), (0, 0.0, 0.0, 0.0));
        assert_eq!(shown(waits(1)), (1, 1.0, 1.0, 1.0));
        assert_eq!(shown(waits(200)), (200, 100.0, 198.0, 200.0));
    }
}
