//! The real turn against the model, in random worlds.

use proptest::prelude::*;
use proptest::test_runner::Config;

use super::agree::agree;
use super::world::{Clock, worlds};

/// Enough that each rule is met hundreds of times, few enough for a minute together with all other suites.
const CASES: u32 = 150;

fn config() -> Config {
    // `PROPTEST_CASES` wins, where it is set.
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(CASES);
    Config { cases, failure_persistence: None, ..Config::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_turn_answers_as_the_model_does_while_the_clock_goes_forward(world in worlds(Clock::Forward)) {
        agree(&world)?;
    }

    #[test]
    fn the_turn_answers_as_the_model_does_when_the_clock_steps_back(world in worlds(Clock::MayStepBack)) {
        agree(&world)?;
    }
}
