//! Worlds from seeds: the same seed is the same world, the worlds are as bad as they claim, and every promise holds in them.
//!
//! `HAPAX_SIM_WORLDS` says how many worlds are played; without it a few hundred are.

use hapax_sim::{run, run_traced};

fn worlds(usual: u64) -> u64 {
    std::env::var("HAPAX_SIM_WORLDS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
fn the_same_seed_gives_the_same_trace_byte_for_byte() {
    for seed in 1..=24 {
        let (one, first) = run_traced(seed);
        let (other, second) = run_traced(seed);
        if first != second {
            let differs = first.lines().zip(second.lines()).find(|(one, other)| one != other);
            panic!("seed {seed} told two stories: {differs:#?}");
        }
        assert_eq!(one, other, "seed {seed}");
        assert_eq!(run(seed), one, "seed {seed}, without the text");
    }
}

#[test]
fn in_some_hundred_worlds_every_promise_holds() {
    let mut crashes = 0;
    for seed in 1..=worlds(300) {
        let report = run(seed);
        crashes += report.crashes;
        assert!(report.violations.is_empty(), "hapax-sim --seed {seed} --explain: {:#?}", report.violations);
    }
    assert!(crashes > worlds(300) * 20, "{crashes} crashes are too few to prove anything");
}

/// What must happen somewhere, or the worlds are kinder than they say.
const HAPPENINGS: [&str; 40] = [
    "\"verdict\":\"accepted\"",
    "\"verdict\":\"duplicate\"",
    "\"verdict\":\"conflict\"",
    "\"verdict\":\"rejected\"",
    "\"verdict\":\"not_evaluated\"",
    "REENCODED",
    "IDEMPOTENCY_MISMATCH",
    "IDEMPOTENCY_KEY_REUSED",
    "200 again ",
    "\"dry_run\":true",
    "BATCH_REFUSED",
    "WOULD_REJECT",
    "SEQUENCE_CONFLICT",
    "EXPECTED_SEQ_REQUIRED",
    "SEQUENCE_REGRESSION",
    "HAS_GAPS",
    "OUT_OF_ORDER",
    "DUPLICATE_NONCE",
    "LATE_ARRIVAL",
    "CLOCK_SKEW",
    "TIMESTAMP_TOO_OLD",
    "ADJUSTMENT",
    "\"kind\":\"adjustment\"",
    "\"kind\":\"close\"",
    "\"decision\":\"claimed\"",
    "\"decision\":\"done\"",
    "\"decision\":\"stale\"",
    "\"decision\":\"waiting\"",
    "\"decision\":\"in_progress\"",
    "\"decision\":\"dead\"",
    "\"state\":\"skipped\"",
    "\"state\":\"failed\"",
    "LEASE_LOST",
    "ALREADY_DONE",
    "\"state\":\"acknowledged\"",
    "\"revoked_at\":\"2026",
    "DISK_LOW",
    "STORE_STOPPED",
    "STORE_UNREACHABLE",
    "waits",
];

#[test]
fn the_worlds_are_as_bad_as_they_claim() {
    let mut missing = HAPPENINGS.to_vec();
    let mut kinds = vec!["creating", "recovering", "turn", "upkeep", "closing", "idle", "stopped"];
    let mut conflicts = 0;
    for seed in 1..=150 {
        let (report, text) = run_traced(seed);
        missing.retain(|word| !text.contains(word));
        kinds.retain(|kind| !report.crashes_by.contains_key(kind));
        conflicts += report.conflicts;
    }
    assert!(missing.is_empty(), "this never happened: {missing:?}");
    assert!(kinds.is_empty(), "nothing was ever hit while {kinds:?}");
    assert!(conflicts > 0, "no server was ever quicker than another");
}
