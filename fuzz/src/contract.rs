//! Any text as a contract, in TOML and in JSON: refused with reasons that have a place in it, or whole. A whole one is told
//! in words, is the same after it was shown or kept, may be put in place of itself, and judges without a panic.
//!
//! The events that it judges are made to its measure: what it looks for is where it looks.

use std::sync::Arc;

use hapax_core::contract::{Contract, Version, forbidden_changes, in_words, to_json};
use hapax_core::pointer::Pointer;
use hapax_core::source::Problem;
use serde_json::{Map, Value, json};

use super::judge::judged;

/// Checks it.
pub fn check(input: &[u8]) {
    let from_toml = std::str::from_utf8(input).ok().map(Contract::from_toml);
    for read in from_toml.into_iter().chain([Contract::from_json(input)]) {
        match read {
            Ok(checked) => {
                named(&checked.warnings, input);
                whole(checked.contract);
            }
            Err(problems) => {
                assert!(!problems.is_empty(), "what is refused is refused for a reason");
                named(&problems, input);
            }
        }
    }
}

/// Each problem says what, and points into the text.
fn named(problems: &[Problem], input: &[u8]) {
    let lines = input.iter().filter(|byte| **byte == b'\n').count() + 1;
    for problem in problems {
        assert!(!problem.why.is_empty() && !problem.to_string().is_empty(), "a problem has words");
        assert!(problem.at.line as usize <= lines, "line {} of {lines}", problem.at.line);
    }
}

fn whole(contract: Contract) {
    let shown = to_json(&contract);
    let again = Contract::from_json(shown.as_bytes()).expect("a shown contract reads back");
    assert_eq!(again.contract, contract, "and is the same");
    assert_eq!(to_json(&again.contract), shown, "and is shown the same");
    assert_eq!(Contract::from_kept(shown.as_bytes()).expect("a kept contract reads back"), contract, "also when kept");
    let words = in_words(&contract);
    assert!(!words.is_empty() && words.iter().all(|line| !line.is_empty()), "told in words");
    assert!(forbidden_changes(&[&contract], &contract).is_empty(), "a contract may replace itself");
    assert_eq!(Version::first(contract.clone()).next(contract.clone()).number, 2);
    let documents: Vec<Arc<[u8]>> = events(&contract).iter().map(|it| it.to_string().into_bytes().into()).collect();
    judged(contract, &documents);
}

/// Events with something in every place that the contract looks at: two in order, one that repeats, one that is late.
fn events(contract: &Contract) -> Vec<Value> {
    let draw = |id: &str, seq: u64, time: &str| {
        let mut event = json!({});
        let it = &contract.envelope;
        for counter in &contract.counters {
            put(&mut event, Some(&counter.amount), &json!(seq));
            counter.key.iter().for_each(|pointer| put(&mut event, Some(pointer), &json!("k")));
        }
        put(&mut event, it.expected.as_ref(), &json!(seq - 1));
        put(&mut event, it.epoch.as_ref(), &json!(0));
        put(&mut event, it.nonce.as_ref(), &json!(format!("n{seq}{time}")));
        put(&mut event, it.time.as_ref(), &json!(time));
        put(&mut event, it.seq.as_ref(), &json!(seq));
        it.lane.iter().for_each(|pointer| put(&mut event, Some(pointer), &json!("lane")));
        put(&mut event, it.id.as_ref(), &json!(id));
        event
    };
    let now = "2026-01-01T00:00:00Z";
    let late = "2025-12-31T23:59:58Z";
    vec![draw("a", 1, now), draw("b", 5, now), draw("a", 1, now), draw("c", 3, late), draw("a", 9, now), json!([])]
}

/// Puts a value where a pointer points, through objects that are made on the way.
fn put(event: &mut Value, pointer: Option<&Pointer>, value: &Value) {
    let Some(pointer) = pointer else { return };
    let mut place = event;
    for token in pointer.tokens() {
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        place = &mut place[token.as_str()];
    }
    *place = value.clone();
}
