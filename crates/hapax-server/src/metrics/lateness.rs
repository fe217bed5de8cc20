//! How late events come, as a histogram that takes those of a whole request at once.
//!
//! The library's own is locked for each value. A request has up to thousands, and the requests of all connections would
//! meet at that lock for each of their events.

use std::sync::{Arc, Mutex, PoisonError};

use hapax_core::time::Time;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

/// The upper bounds, in milliseconds: from a tenth of a second to a week.
const BOUNDS_MS: [u64; 8] = [100, 1_000, 10_000, 60_000, 600_000, 3_600_000, 86_400_000, 604_800_000];

/// The lateness of all events.
#[derive(Clone, Debug, Default)]
pub(super) struct Lateness(Arc<Mutex<Spread>>);

/// The lateness of some events.
#[derive(Debug, Default)]
pub(super) struct Spread {
    /// 128 bits, because a clock that is centuries off would use up 64.
    sum_ms: u128,
    /// Those up to each bound, and those beyond the last.
    counts: [u64; BOUNDS_MS.len() + 1],
}

impl Spread {
    /// Counts an event. One that came before it was observed is not late.
    pub(super) fn add(&mut self, observed: Time, ingested: Time) {
        let late_ms = if ingested > observed { ingested.nanos().abs_diff(observed.nanos()) / 1_000_000 } else { 0 };
        self.sum_ms += u128::from(late_ms);
        self.counts[BOUNDS_MS.iter().filter(|bound| late_ms > **bound).count()] += 1;
    }
}

impl Lateness {
    /// Counts the events of a request.
    pub(super) fn add(&self, some: &Spread) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.sum_ms += some.sum_ms;
        all.counts.iter_mut().zip(some.counts).for_each(|(all, some)| *all += some);
    }
}

impl EncodeMetric for Lateness {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), std::fmt::Error> {
        let (sum_ms, counts) = {
            let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            (all.sum_ms, all.counts)
        };
        let bounds = BOUNDS_MS.iter().map(|bound| *bound as f64 / 1_000.0).chain([f64::INFINITY]);
        let buckets: Vec<_> = bounds.zip(counts).collect();
        encoder.encode_histogram::<NoLabelSet>(sum_ms as f64 / 1_000.0, counts.iter().sum(), &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;
    use prometheus_client::metrics::histogram::Histogram;
    use prometheus_client::registry::Registry;

    use super::*;

    fn shown(metric: impl prometheus_client::registry::Metric) -> String {
        let mut registry = Registry::default();
        registry.register("lateness", "How late", metric);
        let mut text = String::new();
        encode(&mut text, &registry).expect("a string takes everything");
        text
    }

    #[test]
    fn it_shows_what_the_histogram_of_the_library_would() {
        let theirs = Histogram::new([0.1, 1.0, 10.0, 60.0, 600.0, 3600.0, 86_400.0, 604_800.0]);
        let ours = Lateness::default();
        assert_eq!(shown(ours.clone()), shown(theirs.clone()));
        let around = |bound: u64| [bound - 1, bound, bound + 1];
        for late_ms in BOUNDS_MS.into_iter().flat_map(around).chain([0, 1, 1 << 33]) {
            theirs.observe(late_ms as f64 / 1_000.0);
            let mut some = Spread::default();
            some.add(Time::from_nanos(0), Time::from_nanos(late_ms as i64 * 1_000_000 + 999_999));
            ours.add(&some);
        }
        theirs.observe(0.0);
        let mut early = Spread::default();
        early.add(Time::LATEST, Time::EARLIEST);
        ours.add(&early);
        assert_eq!(shown(ours), shown(theirs));
    }

    #[test]
    fn the_widest_distance_of_two_times_is_counted_in_full() {
        let mut some = Spread::default();
        some.add(Time::EARLIEST, Time::LATEST);
        assert_eq!(some.sum_ms, Time::LATEST.since(Time::EARLIEST).unsigned_abs() / 1_000_000);
        assert_eq!(some.counts, [0, 0, 0, 0, 0, 0, 0, 0, 1]);
    }
}
