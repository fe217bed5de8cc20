//! The seeds' own scenarios.

use super::*;

#[test]
fn s0_strict_order_per_producer() {
    let mut model = Model::new(strict());
    let now = "2026-01-01T10:00:00Z";
    let mut send = |lane: &str, seq: u64, time: &str, nonce: &str| {
        let doc = json!({ "lane": lane, "seq": seq, "time": time, "nonce": nonce });
        model.submit(at(now), &[doc], Opts::default()).remove(0)
    };
    let first = send("p1", 1, now, "a1");
    assert_eq!(said(&first), "accepted - [] [SEQUENCE_CONTINUOUS]");
    assert_eq!((first.seq, first.offset), (Some(1), Some(1)));
    assert_eq!(send("p1", 2, now, "a2").verdict, "accepted");
    assert_eq!(send("p1", 3, now, "a3").verdict, "accepted");
    assert_eq!(said(&send("p1", 2, now, "a4")), "rejected SEQUENCE_REGRESSION [] [SEQUENCE_REPEATED]");
    assert_eq!(send("p2", 1, "2026-01-01T09:59:59Z", "a1").offset, Some(4));
    let large = send("p2", 1005, now, "a2");
    assert_eq!(said(&large), "accepted - [HAS_GAPS] [SEQUENCE_GAP_DETECTED]");
    assert_eq!(large.gap, Some((2, 1004, 1003, true)));
    assert_eq!(said(&send("p2", 1006, now, "a3")), "accepted - [] [SEQUENCE_CONTINUOUS]");
    let code = |outcome: Outcome| outcome.code.expect("refused");
    assert_eq!(code(send("p1", 4, "2026-01-01T09:59:00Z", "a5")), "TIMESTAMP_REGRESSION");
    assert_eq!(code(send("p1", 4, "2026-01-01T09:54:59Z", "a5")), "TIMESTAMP_TOO_OLD");
    assert_eq!(code(send("p1", 4, "2026-01-01T10:05:00.000000001Z", "a5")), "TIMESTAMP_FUTURE_BEYOND_TOLERANCE");
    let lane = model.lane("p2");
    assert_eq!((lane.last_seq, lane.expected_seq, lane.open), (Some(1006), Some(1007), vec![(2, 1004)]));
}

#[test]
fn s0_a_nonce_is_good_for_one_event_and_a_refused_event_uses_up_nothing() {
    let mut model = Model::new(strict());
    let now = "2026-01-01T10:00:00Z";
    let mut send = |lane: &str, seq: u64, nonce: Option<&str>| {
        one(&mut model, now, json!({ "lane": lane, "seq": seq, "time": now, "nonce": nonce }))
    };
    assert_eq!(send("A", 1, Some("abc123")), "accepted - [] [SEQUENCE_CONTINUOUS]");
    assert_eq!(send("A", 2, Some("abc123")), "rejected DUPLICATE_NONCE [] [DUPLICATE_NONCE]");
    assert_eq!(send("A", 3, Some("def456")), "accepted - [HAS_GAPS] [SEQUENCE_GAP_DETECTED]");
    assert_eq!(send("A", 4, None), "rejected SCHEMA_VIOLATION [] [SCHEMA_VIOLATION]");
    assert_eq!(send("B", 1, Some("abc123")), "accepted - [] [SEQUENCE_CONTINUOUS]");
}

#[test]
fn s1_marks_what_is_odd_and_refuses_what_is_impossible() {
    let mut model = Model::new(tolerant());
    let mut send = |id: &str, seq: u64, time: Value| {
        model
            .submit(
                at("2026-01-01T12:00:00Z"),
                &[json!({ "id": id, "lane": "c1", "seq": seq, "time": time })],
                Opts::default(),
            )
            .remove(0)
    };
    assert_eq!(said(&send("e1", 5, json!("2026-01-01T12:00:00Z"))), "accepted - [] [SEQUENCE_CONTINUOUS]");
    let gap = send("e2", 9, json!("2026-01-01T12:00:05Z"));
    assert_eq!(said(&gap), "accepted - [CLOCK_SKEW,HAS_GAPS] [CLOCK_SKEW_DETECTED,SEQUENCE_GAP_DETECTED]");
    assert_eq!(gap.gap, Some((6, 8, 3, false)));
    let code = |outcome: Outcome| outcome.code.expect("refused");
    assert_eq!(code(send("e3", 10, json!("2026-01-01T12:00:05.000000001Z"))), "TIMESTAMP_FUTURE_BEYOND_TOLERANCE");
    let late = send("e4", 7, json!("2026-01-01T10:59:59Z"));
    assert_eq!(said(&late), "accepted - [LATE_ARRIVAL,OUT_OF_ORDER] [EVENT_LATE_ARRIVAL,SEQUENCE_OUT_OF_ORDER]");
    assert_eq!(late.latency_ms, Some(3_601_000));
    assert_eq!(code(send("e5", 7, json!("2026-01-01T12:00:00Z"))), "SEQUENCE_CONFLICT");
    let again = send("e1", 5, json!("2026-01-01T12:00:00Z"));
    assert_eq!(said(&again), "duplicate DUPLICATE_EVENT_ID [] [EVENT_DUPLICATE_REJECTED]");
    assert_eq!(again.original_offset, Some(1));
    assert!(send("e6", 10, json!("2025-12-02T12:00:00Z")).marks.contains("LATE_ARRIVAL"));
    assert_eq!(code(send("e7", 11, json!("2025-12-02T11:59:59Z"))), "TIMESTAMP_TOO_OLD");
    let other = send("e8", 11, json!("2026-01-01T14:00:00+02:00"));
    assert_eq!(said(&other), "rejected TIMESTAMP_TIMEZONE_VIOLATION [] [TIMESTAMP_NON_UTC]");
    let never = send("e9", 11, json!("2026-02-30T12:00:00Z"));
    assert_eq!(said(&never), "rejected TIMESTAMP_PARSE_ERROR [] [TIMESTAMP_INVALID_FORMAT]");
    assert_eq!(said(&send("e10", 11, Value::Null)), "rejected TIMESTAMP_MISSING [] [TIMESTAMP_MISSING]");
    let last = send("e11", 11, json!("2026-01-01T12:00:00+00:00"));
    assert_eq!((said(&last).as_str(), last.offset), ("accepted - [] [SEQUENCE_CONTINUOUS]", Some(5)));
    let lane = model.lane("c1");
    assert_eq!((lane.last_seq, lane.open, lane.out_of_order), (Some(11), vec![(6, 6), (8, 8)], true));
}

#[test]
fn s2_commands_with_expected_numbers() {
    let mut rules = Rules::default();
    rules.identity.required = true;
    rules.sequence.source = Source::Server;
    rules.sequence.expected_required_for = Some(("kind".to_string(), vec!["update".to_string(), "delete".to_string()]));
    let mut model = Model::new(rules);
    let mut send = |doc: Value| model.submit(0, &[doc], Opts::default()).remove(0);
    let update = |id: &str, total: u64| json!({ "id": id, "lane": "order-1", "kind": "update", "expected_seq": 1, "total": total });
    assert_eq!(send(json!({ "id": "c1", "lane": "order-1", "kind": "create", "total": 10 })).seq, Some(1));
    assert_eq!(send(update("c2", 12)).seq, Some(2));
    let again = send(update("c2", 12));
    assert_eq!(
        (said(&again).as_str(), again.original_offset),
        ("duplicate DUPLICATE_EVENT_ID [] [DUPLICATE_EVENT_ID]", Some(2))
    );
    assert_eq!(said(&send(update("c3", 13))), "rejected SEQUENCE_CONFLICT [] [SEQUENCE_CONFLICT]");
    let unguarded = send(json!({ "id": "c3", "lane": "order-1", "kind": "delete" }));
    assert_eq!(unguarded.code.as_deref(), Some("EXPECTED_SEQ_REQUIRED"));
    assert_eq!(said(&send(update("c2", 99))), "conflict PAYLOAD_CONFLICT [] [PAYLOAD_CONFLICT]");
    assert_eq!(send(json!({ "id": "c4", "lane": "Order-1", "kind": "create" })).seq, Some(1));
}

#[test]
fn s3_watermark_lateness_and_adjustments_that_are_counted_once() {
    let usage = Usage {
        key: vec!["customer".to_string()],
        amount: "quantity".to_string(),
        period: Period::Month,
        lateness: 48 * HOUR,
    };
    let mut model = Model::new(Rules { usage: Some(usage), ..Rules::default() });
    let mut send = |id: &str, quantity: Value, time: &str| {
        let doc = json!({ "id": id, "customer": "cus_1", "quantity": quantity, "time": time });
        one(&mut model, "2025-09-20T00:00:00Z", doc)
    };
    assert_eq!(send("1", json!(10), "2025-09-01T00:00:00Z"), "accepted - [] []");
    assert_eq!(send("1", json!(10.0), "2025-09-01T00:00:00Z"), "duplicate DUPLICATE_EVENT_ID [] [REENCODED]");
    assert_eq!(send("2", json!(2), "2025-09-01T00:00:00Z"), "accepted - [] []");
    assert_eq!(send("3", json!("1.5"), "2025-09-10T00:00:00Z"), "accepted - [] []");
    assert_eq!(send("4", json!(3), "2025-09-08T00:00:00Z"), "accepted - [] []");
    assert_eq!(send("5", json!(5), "2025-09-07T23:59:59Z"), "accepted - [ADJUSTMENT] []");
    assert_eq!(send("6", json!("five"), "2025-09-10T00:00:00Z"), "rejected AMOUNT_INVALID [] [AMOUNT_INVALID]");
    let late = send("7", json!(1), "2025-09-20T01:00:00.001Z");
    assert_eq!(late, "rejected TIMESTAMP_FUTURE_BEYOND_TOLERANCE [] [TIMESTAMP_FUTURE_BEYOND_TOLERANCE]");

    let view = model.counter(&[json!("cus_1")], "2025-09");
    let totals = |count: u64, sum: &str| Totals {
        count,
        sum: sum.to_string(),
        min: Some("1.5".to_string()),
        max: Some("10".to_string()),
        last: Some("1.5".to_string()),
        last_certain: true,
    };
    assert_eq!((view.folded, view.effective), (totals(4, "16.5"), totals(5, "21.5")));
    assert_eq!(view.watermark, Some(at("2025-09-10T00:00:00Z")));
    assert_eq!(view.adjustments, [("5".to_string(), 5)]);
}

fn measurements() -> Rules {
    let mut rules = Rules::default();
    rules.identity.required = true;
    rules.identity.scope = Scope::Lane;
    rules.time = Time {
        required: true,
        future: Some(5 * MINUTE),
        regression: TimeRegression::Reject,
        grace: 5 * MINUTE,
        ..rules.time
    };
    rules.batch.order = Order::Time;
    rules.override_allowed = true;
    rules
}

#[test]
fn s4_one_from_the_past_is_forced_by_an_admin() {
    let mut model = Model::new(measurements());
    let now = "2025-09-15T10:00:00Z";
    let doc =
        |id: &str, weight: f64, time: &str| json!({ "id": id, "lane": "user123", "weight": weight, "time": time });
    assert_eq!(one(&mut model, now, doc("m456", 70.25, now)), "accepted - [] []");
    assert_eq!(one(&mut model, now, doc("m456", 70.25, now)), "duplicate DUPLICATE_EVENT_ID [] [DUPLICATE_EVENT_ID]");
    assert_eq!(one(&mut model, now, doc("m456", 71.0, now)), "conflict PAYLOAD_CONFLICT [] [PAYLOAD_CONFLICT]");
    assert_eq!(one(&mut model, now, doc("m457", 70.0, now)), "accepted - [] []");
    assert_eq!(one(&mut model, now, doc("m458", 70.0, "2025-09-15T09:55:00Z")), "accepted - [] []");
    let old = doc("m459", 70.0, "2025-09-15T09:00:00Z");
    assert_eq!(one(&mut model, now, old.clone()), "rejected TIMESTAMP_REGRESSION [] [TIMESTAMP_REGRESSION]");
    let forced = with(&mut model, now, old, Opts { override_: true, ..Opts::default() });
    assert_eq!(forced, "accepted - [OVERRIDE] [TIMESTAMP_REGRESSION]");
    assert_eq!(model.lane("user123").last_time, Some(at(now)));
}

#[test]
fn s4_a_batch_is_judged_in_the_order_of_time_and_answered_in_the_order_sent() {
    let mut model = Model::new(measurements());
    let doc = |id: &str, hour: &str| json!({ "id": id, "lane": "user9", "time": format!("2025-09-16T{hour}:00Z") });
    let batch = [doc("b3", "09:30"), doc("b1", "08:00"), doc("b1", "08:00"), doc("b2", "09:00")];
    let outcomes = model.submit(at("2025-09-16T10:00:00Z"), &batch, Opts::default());
    let found: Vec<_> =
        outcomes.iter().map(|outcome| (outcome.verdict, outcome.offset, outcome.original_offset)).collect();
    let expect = [
        ("accepted", Some(3), None),
        ("accepted", Some(1), None),
        ("duplicate", None, Some(1)),
        ("accepted", Some(2), None),
    ];
    assert_eq!(found, expect);
}
