//! Who searches: each plays worlds from the same beginning until one shows that something is wrong.

use std::panic::{AssertUnwindSafe, catch_unwind};

use hapax_sim::run;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use super::expiry;
use super::play::agree::agree;
use super::play::world::{Clock, worlds};

/// An assertion of the code itself, which stays on in service and stops it before anything wrong is answered.
pub(crate) const ASSERTION: &str = "assertion";

/// The first world in which something is wrong.
pub(crate) struct Caught {
    /// The checks that saw it.
    pub(crate) by: Vec<&'static str>,
    /// What the first of them saw.
    pub(crate) what: String,
    /// So many worlds were played, this one included.
    pub(crate) worlds: u64,
    /// So many crashes happened in them.
    pub(crate) crashes: u64,
}

/// Worlds of the simulator, from seed 0 on.
pub(crate) fn in_worlds(max: u64) -> Option<Caught> {
    let mut crashes = 0;
    for seed in 0..max {
        let worlds = seed + 1;
        let report = match quietly(|| run(seed)) {
            Ok(report) => report,
            Err(words) => return Some(Caught { by: vec![ASSERTION], what: words, worlds, crashes }),
        };
        crashes += report.crashes;
        if let Some(first) = report.violations.first() {
            let mut by: Vec<&'static str> = report.violations.iter().map(|it| it.check.name()).collect();
            by.sort_unstable();
            by.dedup();
            return Some(Caught { by, what: format!("{}: {}", first.check.name(), first.what), worlds, crashes });
        }
    }
    None
}

/// Histories of the suite `model`: the same ones in every run. Nothing crashes in them.
pub(crate) fn in_models(max: u64) -> Option<Caught> {
    let mut runner = TestRunner::deterministic();
    let histories = worlds(Clock::MayStepBack);
    for number in 0..max {
        let world = histories.new_tree(&mut runner).expect("a world can be drawn").current();
        let (by, what) = match quietly(|| agree(&world)) {
            Ok(Ok(())) => continue,
            Ok(Err(difference)) => ("model", difference.to_string()),
            Err(words) => (ASSERTION, words),
        };
        return Some(Caught { by: vec![by], what, worlds: number + 1, crashes: 0 });
    }
    None
}

/// Histories in which something expires. The power is cut once in each.
pub(crate) fn in_expiries(max: u64) -> Option<Caught> {
    for seed in 0..max {
        let (by, what) = match quietly(|| expiry::play(seed)) {
            Ok(Ok(())) => continue,
            Ok(Err(what)) => ("expiry", what),
            Err(words) => (ASSERTION, words),
        };
        return Some(Caught { by: vec![by], what, worlds: seed + 1, crashes: seed + 1 });
    }
    None
}

/// The words of a panic, if there was one.
fn quietly<T>(does: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(does)).map_err(|panic| {
        let words = panic.downcast_ref::<String>().cloned();
        words.or_else(|| panic.downcast_ref::<&str>().map(|it| (*it).to_owned())).unwrap_or_default()
    })
}
