//! Seeds that once found something: each stays, with what it found.

use hapax_sim::run;

/// A seed, and what was wrong.
const FOUND: &[(u64, &str)] = &[
    (12, "two servers answered one Idempotency-Key: only a moved head was a conflict"),
    (62, "two servers gave out one fence: only a moved head was a conflict"),
    (103, "two servers gave out one fence: only a moved head was a conflict"),
    (14, "a stream that was made while a turn had looked and not loaded: its events got no verdict"),
];

#[test]
fn what_was_found_once_does_not_come_back() {
    for (seed, what) in FOUND {
        let report = run(*seed);
        assert!(report.violations.is_empty(), "hapax-sim --seed {seed} --explain ({what}): {:#?}", report.violations);
    }
}
