//! Seeds that once found something: each stays, with what it found.

use hapax_sim::run;

/// A seed, and what was wrong.
const FOUND: &[(u64, &str)] = &[];

#[test]
fn what_was_found_once_does_not_come_back() {
    for (seed, what) in FOUND {
        let report = run(*seed);
        assert!(report.violations.is_empty(), "hapax-sim --seed {seed} --explain ({what}): {:#?}", report.violations);
    }
}
