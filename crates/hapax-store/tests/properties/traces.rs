//! What must leave no trace leaves none: a dry run, and an atomic batch that was refused.

use hapax_store::memory::Memory;
use hapax_store::seam::{Read, Store};
use proptest::prelude::*;
use serde_json::Value;

use super::cases;
use super::play::model::to_toml;
use super::play::stage::{Answered, Stage};
use super::play::world::{Clock, World, worlds};

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn a_dry_run_changes_nothing_of_what_comes_later(mut world in worlds(Clock::MayStepBack)) {
        for request in world.requests.iter_mut().step_by(3) {
            request.opts.dry_run = true;
        }
        let (mut with, mut without) = twins(&world);
        for request in &world.requests {
            let before = format!("{:?}", with.store);
            let answered = with.submit(request.now_ns, &request.docs, request.opts);
            if request.opts.dry_run {
                prop_assert_eq!(format!("{:?}", with.store), before);
                prop_assert!(answered.receipts.iter().all(|receipt| receipt["dry_run"] == true));
                without.skip(request.docs.len());
            } else {
                prop_assert_eq!(answered, without.submit(request.now_ns, &request.docs, request.opts));
            }
        }
        prop_assert_eq!(with.entries(), without.entries());
        prop_assert_eq!(format!("{:?}", with.attempts()), format!("{:?}", without.attempts()));
    }

    #[test]
    fn a_dry_run_says_what_the_real_one_then_says(mut world in worlds(Clock::MayStepBack)) {
        let mut stage = Stage::new(&to_toml(&world.rules));
        for request in &mut world.requests {
            request.opts.dry_run = true;
            let tried = stage.submit(request.now_ns, &request.docs, request.opts);
            stage.back(request.docs.len());
            request.opts.dry_run = false;
            let done = stage.submit(request.now_ns, &request.docs, request.opts);
            let bare = |answered: &Answered| answered.receipts.iter().map(unwritten).collect::<Vec<_>>();
            prop_assert_eq!(bare(&tried), bare(&done));
            prop_assert_eq!(tried.retry_order, done.retry_order);
        }
    }

    #[test]
    fn a_refused_atomic_batch_leaves_attempts_and_nothing_else(mut world in worlds(Clock::MayStepBack)) {
        for request in world.requests.iter_mut().step_by(2) {
            request.opts.atomic = true;
        }
        let (mut with, mut without) = twins(&world);
        for request in &world.requests {
            let before = with.entries().len();
            let answered = with.submit(request.now_ns, &request.docs, request.opts);
            let fine = |receipt: &Value| receipt["verdict"] == "accepted" || receipt["verdict"] == "duplicate";
            if request.opts.atomic && !answered.receipts.iter().all(fine) {
                prop_assert_eq!(answered.status, if request.opts.dry_run { 200 } else { 422 });
                prop_assert!(!answered.receipts.iter().any(fine));
                prop_assert_eq!(with.entries().len(), before);
                without.skip(request.docs.len());
            } else {
                let twin = without.submit(request.now_ns, &request.docs, request.opts);
                let bare = |answered: &Answered| answered.receipts.iter().map(nameless).collect::<Vec<_>>();
                prop_assert_eq!(bare(&answered), bare(&twin));
            }
        }
        let hashes = |stage: &Stage<Memory>| stage.entries().iter().map(|entry| entry.hash).collect::<Vec<_>>();
        prop_assert_eq!(hashes(&with), hashes(&without));
        let counters = |stage: &Stage<Memory>| format!("{:?}", stage.store.reader().counters(&stage.stream, &Default::default(), None, usize::MAX));
        prop_assert_eq!(counters(&with), counters(&without));
        for entry in with.entries() {
            let lane = |stage: &Stage<Memory>| format!("{:?}", stage.store.reader().lane(&stage.stream, &entry.lane));
            prop_assert_eq!(lane(&with), lane(&without));
        }
    }
}

fn twins(world: &World) -> (Stage<Memory>, Stage<Memory>) {
    let contract = to_toml(&world.rules);
    (Stage::new(&contract), Stage::new(&contract))
}

/// A receipt without the attempt's number, which counts refused ones too.
fn nameless(receipt: &Value) -> Value {
    without(receipt, &["attempt"])
}

/// A receipt without what only a real run can have.
fn unwritten(receipt: &Value) -> Value {
    let mut receipt = without(receipt, &["attempt", "offset", "hash", "dry_run"]);
    if let Some(original) = receipt.get_mut("original") {
        *original = without(original, &["offset", "hash", "dry_run"]);
    }
    receipt
}

fn without(receipt: &Value, names: &[&str]) -> Value {
    let mut members = receipt.as_object().cloned().unwrap_or_default();
    members.retain(|name, _| !names.contains(&name.as_str()));
    Value::Object(members)
}
