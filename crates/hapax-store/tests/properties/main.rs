//! What holds for every history, whatever the rules: no second opinion is needed to see that it does not.
//!
//! The contracts and histories are those of the suite `model`. `PROPTEST_CASES` raises the number of cases.

/// The worlds, and the stage that they are played on. Each suite uses a part of it.
#[path = "../model"]
#[allow(dead_code, unused_imports)]
mod play {
    pub(crate) mod model;
    pub(crate) mod stage;
    pub(crate) mod world;
}

mod acts;
mod boundaries;
mod chain;
mod claims;
mod counters;
mod explained;
mod keys;
mod panics;
mod traces;

use proptest::test_runner::Config;

/// So many cases, unless the environment says otherwise.
fn cases(count: u32) -> Config {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(count);
    Config { cases, failure_persistence: None, ..Config::default() }
}
