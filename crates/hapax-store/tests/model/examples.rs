//! The seeds' scenarios in the default envelope, and the corners that the tables of section 3.3 name.

mod corners;
mod seeds;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::model::*;

const S: i64 = 1_000_000_000;
const MINUTE: i64 = 60 * S;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

fn at(text: &str) -> i64 {
    text.parse::<jiff::Timestamp>().expect("a test's time").as_nanosecond() as i64
}

/// Submits one event and says what became of it: verdict, code, marks, states.
fn one(model: &mut Model, now: &str, doc: Value) -> String {
    with(model, now, doc, Opts::default())
}

fn with(model: &mut Model, now: &str, doc: Value, opts: Opts) -> String {
    said(&model.submit(at(now), &[doc], opts)[0])
}

fn said(outcome: &Outcome) -> String {
    let list = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(",");
    let code = outcome.code.as_deref().unwrap_or("-");
    format!("{} {code} [{}] [{}]", outcome.verdict, list(&outcome.marks), list(&outcome.states))
}

/// Numbers of one lane, sent one by one; then the lane's open gaps, kept abandoned gaps, unlisted ranges and floor.
#[track_caller]
fn check(rules: &Rules, numbers: &str, expect: &[&str], lane: &str) {
    let mut model = Model::new(rules.clone());
    let mut found = Vec::new();
    for number in numbers.split_whitespace() {
        let (epoch, number) = number.split_once(':').unwrap_or(("0", number));
        let parse = |text: &str| text.parse::<u64>().expect("a test's number");
        let outcome =
            &model.submit(0, &[json!({ "lane": "a", "epoch": parse(epoch), "seq": parse(number) })], Opts::default())
                [0];
        let mut words: Vec<String> = outcome.marks.iter().cloned().collect();
        words.extend(outcome.code.clone());
        words.extend(outcome.states.get("GAP_ABANDONED").cloned());
        found.push(words.join(" "));
    }
    assert_eq!(found, expect);
    let view = model.lane("a");
    assert_eq!(format!("{:?} {:?} {:?} {:?}", view.open, view.abandoned, view.unlisted, view.floor), lane);
}

fn strict() -> Rules {
    let mut rules = Rules::default();
    rules.identity.same = Same::Reject;
    rules.identity.exclude = vec!["nonce".to_string()];
    rules.sequence =
        Sequence { source: Source::Producer, first: First::One, regression: Late::Reject, ..rules.sequence };
    rules.time = Time {
        required: true,
        future: Some(5 * MINUTE),
        past: Some(5 * MINUTE),
        regression: TimeRegression::Reject,
        ..rules.time
    };
    rules.nonce = Nonce { required: true, keep: Some(DAY) };
    rules
}

fn tolerant() -> Rules {
    let mut rules = Rules::default();
    rules.identity.required = true;
    rules.identity.same = Same::Reject;
    rules.sequence.source = Source::Producer;
    rules.time = Time { required: true, future: Some(5 * S), past: Some(30 * DAY), late: Some(HOUR), ..rules.time };
    rules
}

fn numbers_only() -> Rules {
    let mut rules = Rules::default();
    rules.sequence.source = Source::Producer;
    rules
}
