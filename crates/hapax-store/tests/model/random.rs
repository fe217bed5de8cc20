//! The model against itself: random histories keep the promises that need no second opinion, and meet every rule.

use std::collections::{BTreeMap, BTreeSet};

use hapax_core::contract::Contract;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

use super::model::{Different, Model, Opts, Order, StopOn, to_toml};
use super::world::{Clock, World, rules, worlds};

proptest! {
    #![proptest_config(Config { cases: 60, failure_persistence: None, ..Config::default() })]

    #[test]
    fn a_history_leaves_contiguous_offsets_and_every_event_has_an_answer(world in worlds(Clock::MayStepBack)) {
        let mut model = Model::new(world.rules.clone());
        for request in &world.requests {
            let before = model.entries().len();
            let outcomes = model.submit(request.now_ns, &request.docs, request.opts);
            prop_assert_eq!(outcomes.len(), request.docs.len());
            let mut offsets: Vec<u64> = outcomes.iter().filter_map(|outcome| outcome.offset).collect();
            offsets.sort_unstable();
            let written: Vec<u64> = (before as u64 + 1..=model.entries().len() as u64).collect();
            prop_assert_eq!(offsets, written);
            for outcome in &outcomes {
                prop_assert_eq!(outcome.code.is_some(), outcome.verdict != "accepted" || outcome.marks.contains("WOULD_REJECT"));
                prop_assert!(outcome.verdict == "accepted" || (outcome.marks.is_empty() && !outcome.states.is_empty()));
            }
        }
        for lane in model.lanes() {
            let view = model.lane(&lane);
            let max = world.rules.sequence.gaps_open_max;
            prop_assert!(view.open.len() <= max && view.abandoned.len() <= max && view.unlisted.len() <= max);
        }
        for (key, period) in model.counters() {
            model.counter(&key, &period);
        }
    }

    #[test]
    fn an_id_that_is_kept_for_ever_is_accepted_once(world in worlds(Clock::MayStepBack)) {
        prop_assume!(world.rules.identity.keep.is_none());
        let model = played(&world);
        let mut seen = BTreeSet::new();
        for entry in model.entries() {
            let Some(id) = &entry.id else { continue };
            let lane = if format!("{:?}", world.rules.identity.scope) == "Lane" { entry.lane.clone() } else { String::new() };
            prop_assert!(seen.insert((lane, id.clone())));
        }
    }

    #[test]
    fn verdicts_do_not_depend_on_how_events_are_cut_into_requests(mut world in worlds(Clock::MayStepBack)) {
        world.rules.batch.order = Order::AsSent;
        world.rules.batch.stop_on = StopOn::Never;
        let (mut whole, mut cut) = (Model::new(world.rules.clone()), Model::new(world.rules.clone()));
        for request in &world.requests {
            let opts = Opts { override_: request.opts.override_, ..Opts::default() };
            let together = whole.submit(request.now_ns, &request.docs, opts);
            let alone: Vec<_> =
                request.docs.iter().flat_map(|doc| cut.submit(request.now_ns, std::slice::from_ref(doc), opts)).collect();
            prop_assert_eq!(together, alone);
        }
    }

    #[test]
    fn a_contract_passes_the_check_of_the_real_one(rules in rules()) {
        let text = to_toml(&rules);
        let checked = Contract::from_toml(&text);
        prop_assert!(checked.is_ok(), "{:#?}\n{}", checked.err(), text);
        let reach = rules.time.past.zip(rules.time.future).map(|(past, future)| past + future);
        if let Some(keep) = rules.identity.keep {
            prop_assert!(rules.time.required && reach.is_some_and(|reach| keep >= reach));
        }
        if let (true, Some(keep)) = (rules.nonce.required, rules.nonce.keep) {
            prop_assert!(reach.is_some_and(|reach| keep >= reach));
        }
        if let (Some(late), Some(past)) = (rules.time.late, rules.time.past) {
            prop_assert!(late <= past);
        }
        prop_assert!(rules.usage.is_none() || !rules.identity.exclude.contains(&"amount".to_string()));
    }
}

fn played(world: &World) -> Model {
    let mut model = Model::new(world.rules.clone());
    for request in &world.requests {
        model.submit(request.now_ns, &request.docs, request.opts);
    }
    model
}

/// A strategy that never meets a rule tests nothing of it.
#[test]
fn random_worlds_meet_every_verdict_code_mark_and_state() {
    let mut runner = TestRunner::deterministic();
    let strategy = worlds(Clock::MayStepBack);
    let mut met: BTreeMap<String, usize> = BTreeMap::new();
    for _ in 0..400 {
        let world = strategy.new_tree(&mut runner).expect("a world").current();
        let mut model = Model::new(world.rules.clone());
        for request in &world.requests {
            for outcome in model.submit(request.now_ns, &request.docs, request.opts) {
                let mut words: BTreeSet<String> = &outcome.marks | &outcome.states;
                words.insert(outcome.verdict.to_string());
                words.extend(outcome.code);
                words.extend(outcome.class);
                words.extend(outcome.gap.filter(|gap| gap.3).map(|_| "large".to_string()));
                for word in words {
                    *met.entry(word).or_default() += 1;
                }
            }
        }
        let floors = model.lanes().iter().filter(|lane| model.lane(lane).floor.is_some()).count();
        *met.entry("floor".to_string()).or_default() += floors;
        if world.rules.identity.different == Different::Warn {
            *met.entry("warn".to_string()).or_default() += 1;
        }
    }
    let expected = "accepted duplicate conflict stale rejected not_evaluated folded adjustment large floor \
        SCHEMA_VIOLATION DUPLICATE_EVENT_ID PAYLOAD_CONFLICT STALE_SEQUENCE TIMESTAMP_MISSING TIMESTAMP_PARSE_ERROR \
        TIMESTAMP_TIMEZONE_VIOLATION TIMESTAMP_FUTURE_BEYOND_TOLERANCE TIMESTAMP_TOO_OLD TIMESTAMP_REGRESSION DUPLICATE_NONCE \
        SEQUENCE_REGRESSION SEQUENCE_GAP EPOCH_FENCED SEQUENCE_CONFLICT EXPECTED_SEQ_REQUIRED AMOUNT_INVALID BATCH_STOPPED \
        BATCH_REFUSED HAS_GAPS OUT_OF_ORDER SEQUENCE_REPEATED SEQUENCE_UNPROVEN CLOCK_SKEW LATE_ARRIVAL OVERRIDE WOULD_REJECT \
        ADJUSTMENT SEQUENCE_CONTINUOUS SEQUENCE_GAP_DETECTED SEQUENCE_OUT_OF_ORDER GAP_ABANDONED CLOCK_SKEW_DETECTED \
        EVENT_LATE_ARRIVAL EVENT_DUPLICATE_REJECTED REENCODED IDEMPOTENCY_MISMATCH TIMESTAMP_INVALID_FORMAT TIMESTAMP_NON_UTC";
    for word in expected.split_whitespace() {
        assert!(met.get(word).is_some_and(|count| *count >= 10), "{word} is hardly ever met: {met:#?}");
    }
}
