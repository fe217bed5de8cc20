//! The corners that the tables name.

use super::*;

#[test]
fn a_number_inside_an_open_gap_fills_it() {
    check(&numbers_only(), "1 5 3", &["", "HAS_GAPS", "OUT_OF_ORDER"], "[(2, 2), (4, 4)] [] [(0, 0)] None");
    check(
        &numbers_only(),
        "1 5 2 4 3",
        &["", "HAS_GAPS", "OUT_OF_ORDER", "OUT_OF_ORDER", "OUT_OF_ORDER"],
        "[] [] [(0, 0)] None",
    );
    check(&numbers_only(), "4 1 1", &["", "OUT_OF_ORDER", "SEQUENCE_CONFLICT"], "[] [] [(0, 0), (2, 3)] None");
}

#[test]
fn the_oldest_gap_is_abandoned_then_forgotten_and_the_floor_rises() {
    let mut rules = numbers_only();
    rules.sequence.first = First::Zero;
    rules.sequence.gaps_open_max = 1;
    let gap = "HAS_GAPS";
    check(&rules, "0 2 4", &["", gap, "HAS_GAPS GAP_ABANDONED"], "[(3, 3)] [(1, 1)] [] None");
    let third = ["", gap, "HAS_GAPS GAP_ABANDONED", "HAS_GAPS GAP_ABANDONED"];
    check(&rules, "0 2 4 6", &third, "[(5, 5)] [(3, 3)] [] Some(1)");
    let below = [&third[..], &["OUT_OF_ORDER SEQUENCE_UNPROVEN", "OUT_OF_ORDER", "SEQUENCE_CONFLICT"]].concat();
    check(&rules, "0 2 4 6 1 3 2", &below, "[(5, 5)] [] [] Some(1)");
}

#[test]
fn a_split_can_abandon_a_gap_too() {
    let mut rules = numbers_only();
    rules.sequence.first = First::One;
    rules.sequence.gaps_open_max = 1;
    check(&rules, "5 3", &["HAS_GAPS", "OUT_OF_ORDER GAP_ABANDONED"], "[(4, 4)] [(1, 2)] [] None");
    let all = ["HAS_GAPS", "OUT_OF_ORDER GAP_ABANDONED", "SCHEMA_VIOLATION"];
    check(&rules, "5 3 0", &all, "[(4, 4)] [(1, 2)] [] None");
}

#[test]
fn the_unlisted_ranges_are_bounded_too() {
    let mut rules = numbers_only();
    rules.sequence.gaps_open_max = 1;
    let found = ["", "OUT_OF_ORDER", "OUT_OF_ORDER SEQUENCE_UNPROVEN", "SEQUENCE_CONFLICT"];
    check(&rules, "9 5 2 5", &found, "[] [] [(6, 8)] Some(4)");
}

#[test]
fn a_higher_epoch_begins_anew_and_a_lower_one_is_fenced() {
    let mut rules = numbers_only();
    rules.sequence.first = First::One;
    let found = ["", "HAS_GAPS", "HAS_GAPS GAP_ABANDONED", "EPOCH_FENCED", "OUT_OF_ORDER"];
    check(&rules, "1 3 1:2 0:2 1:1", &found, "[] [] [] None");
}

#[test]
fn the_last_number_is_the_last() {
    let top = u64::MAX;
    let numbers = format!("{} {top} {top}", top - 2);
    check(
        &numbers_only(),
        &numbers,
        &["", "HAS_GAPS", "SEQUENCE_CONFLICT"],
        &format!("[({0}, {0})] [] [(0, {1})] None", top - 1, top - 3),
    );
}

#[test]
fn shadow_refuses_nothing_and_moves_no_lane() {
    let mut model = Model::new(Rules { mode: Mode::Shadow, ..strict() });
    let now = "2026-01-01T10:00:00Z";
    let mut send = |seq: u64, time: &str, nonce: Option<&str>| {
        one(&mut model, now, json!({ "lane": "p1", "seq": seq, "time": time, "nonce": nonce }))
    };
    assert_eq!(send(1, now, Some("a")), "accepted - [] [SEQUENCE_CONTINUOUS]");
    let skewed = send(1, "2026-01-01T10:00:01Z", Some("b"));
    assert_eq!(
        skewed,
        "accepted SEQUENCE_REGRESSION [CLOCK_SKEW,WOULD_REJECT] [CLOCK_SKEW_DETECTED,SEQUENCE_REPEATED]"
    );
    assert_eq!(send(2, now, Some("b")), "accepted - [] [SEQUENCE_CONTINUOUS]");
    assert_eq!(send(3, now, None), "accepted SCHEMA_VIOLATION [WOULD_REJECT] [SCHEMA_VIOLATION]");
    assert_eq!(send(3, now, Some("c")), "accepted - [] [SEQUENCE_CONTINUOUS]");
}

#[test]
fn an_atomic_batch_is_written_whole_or_not_at_all() {
    let mut rules = numbers_only();
    rules.batch.stop_on = StopOn::Ordering;
    let mut model = Model::new(rules);
    let doc = |lane: &str, seq: Value| json!({ "lane": lane, "seq": seq });
    let batch = [doc("a", json!(1)), doc("a", json!(1)), doc("a", json!(2)), doc("b", json!(1)), doc("a", json!(0.5))];
    let verdicts = |outcomes: Vec<Outcome>| outcomes.into_iter().filter_map(|outcome| outcome.code).collect::<Vec<_>>();
    let refused = model.submit(0, &batch, Opts { atomic: true, ..Opts::default() });
    assert_eq!(
        verdicts(refused),
        ["BATCH_REFUSED", "SEQUENCE_CONFLICT", "BATCH_REFUSED", "BATCH_REFUSED", "BATCH_REFUSED"]
    );
    assert_eq!(model.retry_order(), [0, 2, 3, 4]);
    assert!(model.entries().is_empty());
    let stopped = model.submit(0, &batch, Opts::default());
    assert_eq!(verdicts(stopped), ["SEQUENCE_CONFLICT", "BATCH_STOPPED", "BATCH_STOPPED"]);
    assert_eq!(model.retry_order(), [2, 4]);
    assert_eq!(model.entries().len(), 2);
}

#[test]
fn times_are_read_strictly() {
    use crate::model::time::{Reading, read};
    let noon = at("2026-01-01T12:00:00Z");
    for text in ["2026-01-01T12:00:00Z", "2026-01-01t12:00:00z", "2026-01-01T12:00:00.000+00:00"] {
        assert_eq!(read(text, true), Reading::At(noon), "{text}");
    }
    assert_eq!(read("2026-01-01T14:00:00+02:00", false), Reading::At(noon));
    for text in ["2026-01-01T12:00:00", "2026-01-01T12:00:00-00:00"] {
        assert_eq!(read(text, false), Reading::NotUtc(None), "{text}");
    }
    assert_eq!(read("2261-12-31T23:59:59.999999999Z", true), Reading::At(at("2261-12-31T23:59:59.999999999Z")));
    for text in [
        "2026-01-01 12:00:00Z",
        "2026-01-01T12:00:60Z",
        "2026-01-01T24:00:00Z",
        "2026-02-30T12:00:00+02:00",
        "1677-12-31T23:59:59Z",
        "2262-01-01T00:00:00Z",
        "2026-01-01T12:00:00.1234567890Z",
        "2026-01-01T12:00:00.Z",
        "2026-01-01T12:00:00+00",
        "é",
        "",
    ] {
        assert_eq!(read(text, true), Reading::Unparsable, "{text}");
    }
}

#[test]
fn amounts_are_exact() {
    use crate::model::number::{amount, shortest};
    let text = |value: Value| amount(Some(&value)).map(shortest);
    let fine = |value: Value, expect: &str| assert_eq!(text(value).as_deref(), Some(expect));
    fine(json!(1.0), "1");
    fine(json!("1e2"), "100");
    fine(json!("-0"), "0");
    fine(json!("0e999999999999999999999999999999999999999999"), "0");
    fine(json!("-9999999999999999999.999999999"), "-9999999999999999999.999999999");
    fine(json!("5E-9"), "0.000000005");
    fine(json!(0.1), "0.1");
    for bad in [
        json!("1e19"),
        json!("1e-10"),
        json!("+1"),
        json!("01"),
        json!(".5"),
        json!("1."),
        json!(" 1"),
        json!(null),
        json!(""),
    ] {
        assert_eq!(text(bad.clone()), None, "{bad}");
    }
}

/// The hole that [`readings::IDENTITY_KEPT_FROM_LATER_TIME`] would close: promise 2 under a lifted bound.
#[test]
fn an_event_from_the_future_can_outlive_its_identity_when_an_override_lifts_the_past() {
    let mut rules = Rules { override_allowed: true, ..Rules::default() };
    rules.identity.keep = Some(15 * S);
    rules.time = Time { required: true, future: Some(5 * S), past: Some(10 * S), ..rules.time };
    let mut model = Model::new(rules);
    let doc = json!({ "id": "e1", "time": "2026-01-01T12:00:05Z" });
    assert_eq!(one(&mut model, "2026-01-01T12:00:00Z", doc.clone()), "accepted - [CLOCK_SKEW] [CLOCK_SKEW_DETECTED]");
    let force = Opts { override_: true, ..Opts::default() };
    let again = model.submit(at("2026-01-01T12:00:15.000000001Z"), &[doc], force);
    assert_eq!(again[0].verdict == "accepted", !readings::IDENTITY_KEPT_FROM_LATER_TIME);
}
