use super::*;

fn at(seconds: i64) -> Time {
    Time::from_nanos(1_767_261_600_000_000_000 + seconds * 1_000_000_000)
}

/// The sentence, the detail and the hint, as a receipt has them.
fn check(code: Code, why: Why, message: &str, detail: &str, hint: &str) {
    let refusal = Refusal::new(code, why);
    assert_eq!(refusal.message(), message);
    assert_eq!(serde_json::to_string(&refusal).expect("JSON"), detail, "{code}");
    assert_eq!(refusal.hint().unwrap_or_default(), hint, "{code}");
}

#[test]
fn a_refused_document_says_where_and_what_was_expected_and_found() {
    let hint = "Correct the document and send it again; nothing was used up.";
    check(
        Code::SchemaViolation,
        Why::Schema { pointer: "/seq".into(), expected: "a number".into(), found: "\"x\"".into() },
        "Schema violation: at /seq expected a number, found \"x\"",
        r#"{"pointer":"/seq","expected":"a number","found":"\"x\""}"#,
        hint,
    );
    check(
        Code::SchemaViolation,
        Why::Schema { pointer: String::new(), expected: "a JSON object".into(), found: "null".into() },
        "Schema violation: at the document expected a JSON object, found null",
        r#"{"pointer":"","expected":"a JSON object","found":"null"}"#,
        hint,
    );
    check(
        Code::LaneForbidden,
        Why::Lane,
        "Lane forbidden: the key does not cover the lane of this event",
        "{}",
        "Use a key that covers this lane.",
    );
}

#[test]
fn a_refused_time_says_what_it_was_compared_with() {
    let format = "Send a time such as 2026-01-31T12:00:00.5Z: RFC 3339, at most nine digits of a second.";
    let reason = || Why::Format { reason: "why".into() };
    check(Code::TimestampMissing, reason(), "Timestamp missing: why", r#"{"reason":"why"}"#, format);
    check(Code::TimestampParseError, reason(), "Timestamp not readable: why", r#"{"reason":"why"}"#, format);
    check(
        Code::TimestampTimezoneViolation,
        reason(),
        "Timestamp not in UTC: why",
        r#"{"reason":"why"}"#,
        "Send the time in UTC, ending in Z.",
    );
    let bounds = || Why::Bounds { observed: at(600), ingested: at(0), bound: "time.future = 5m".into() };
    let detail =
        r#"{"observed_at":"2026-01-01T10:10:00Z","ingested_at":"2026-01-01T10:00:00Z","bound":"time.future = 5m"}"#;
    let message = "Timestamp out of tolerance: 2026-01-01T10:10:00Z is 600s ahead of our clock, time.future = 5m";
    let old = "An old time never becomes acceptable; an admin may force it where the contract allows that.";
    check(Code::TimestampFutureBeyondTolerance, bounds(), message, detail, "Check the clock of the sender.");
    check(Code::TimestampTooOld, bounds(), message, detail, old);
    check(
        Code::TimestampRegression,
        Why::Regression { last: at(1), submitted: at(0) },
        "Timestamp regression: 2026-01-01T10:00:00Z is before 2026-01-01T10:00:01Z, the latest of the lane",
        r#"{"last_accepted":"2026-01-01T10:00:01Z","submitted":"2026-01-01T10:00:00Z"}"#,
        old,
    );
    check(
        Code::DuplicateNonce,
        Why::Nonce { used_at: at(0) },
        "Duplicate nonce: it was used at 2026-01-01T10:00:00Z",
        r#"{"used_at":"2026-01-01T10:00:00Z"}"#,
        "Give each event a nonce of its own; a retry keeps the event's id.",
    );
}

#[test]
fn a_refused_number_begins_with_the_words_of_the_design_behind_its_preset() {
    let number = || Why::Number { expected: Some(4), got: 2, last_seen: Some(3) };
    let detail = r#"{"expected":4,"got":2,"last_seen":3}"#;
    let next = "Give the event the next number; a restarted producer raises its epoch.";
    check(Code::SequenceRegression, number(), "Sequence number regression: expected 4, got 2", detail, next);
    check(
        Code::SequenceGap,
        Why::Number { expected: Some(1), got: 3, last_seen: None },
        "Sequence number gap: expected 1, got 3",
        r#"{"expected":1,"got":3,"last_seen":null}"#,
        "Send the missing numbers first.",
    );
    check(
        Code::SequenceConflict,
        number(),
        "Sequence number already used by another event: expected 4, got 2",
        detail,
        next,
    );
    check(
        Code::StaleSequence,
        number(),
        "Sequence number is old, and ignored as the contract says: expected 4, got 2",
        detail,
        "",
    );
    check(
        Code::SequenceConflict,
        Why::Number { expected: None, got: 2, last_seen: Some(u64::MAX) },
        "Sequence number already used by another event: expected none any more, got 2",
        r#"{"expected":null,"got":2,"last_seen":18446744073709551615}"#,
        next,
    );
    check(
        Code::EpochFenced,
        Why::Epoch { current: 3, got: 2 },
        "Epoch fenced: the lane is in epoch 3, got 2 from an earlier incarnation",
        r#"{"expected":3,"got":2,"last_seen":3}"#,
        "This incarnation of the producer was replaced; stop it.",
    );
    check(
        Code::SequenceConflict,
        Why::Current { current: 5, expected: Some(4) },
        "Sequence conflict: expected_seq is 4, but the lane is at 5",
        r#"{"current_seq":5,"expected_seq":4}"#,
        "Read the lane's state again, decide anew, and send with its current number.",
    );
    check(
        Code::ExpectedSeqRequired,
        Why::Current { current: 5, expected: None },
        "Expected sequence required: this event must say which number it builds on; the lane is at 5",
        r#"{"current_seq":5}"#,
        "Send the lane's current number as the expected one.",
    );
}

#[test]
fn the_rest_says_what_it_was_about() {
    check(
        Code::AmountInvalid,
        Why::Amount { counter: "usage".into(), reason: "there is none at /q".into() },
        "Amount invalid for counter usage: there is none at /q",
        r#"{"counter":"usage","reason":"there is none at /q"}"#,
        "Send a number with at most 19 digits before and 9 after the point.",
    );
    let again = "Correct what was refused and send these in retry_order.";
    check(
        Code::BatchStopped,
        Why::Batch { index: 2 },
        "Not evaluated: event 2, counted from 0, of the same lane was refused for its order",
        r#"{"because_of":2}"#,
        again,
    );
    check(
        Code::BatchRefused,
        Why::Batch { index: 0 },
        "Not evaluated: event 0, counted from 0, was refused, and the batch is atomic",
        r#"{"because_of":0}"#,
        again,
    );
}

#[test]
fn every_code_has_the_status_and_the_state_of_the_specification() {
    let rows: Vec<String> = Code::ALL
        .iter()
        .map(|code| {
            let (status, state) = code.row();
            format!("{code} {status} {state} {}", if code.is_ordering() { "stops its lane" } else { "-" })
        })
        .collect();
    assert_eq!(
        rows,
        [
            "DUPLICATE_EVENT_ID 200 DUPLICATE_EVENT_ID -",
            "PAYLOAD_CONFLICT 409 PAYLOAD_CONFLICT -",
            "STALE_SEQUENCE 200 SEQUENCE_OUT_OF_ORDER -",
            "SCHEMA_VIOLATION 400 SCHEMA_VIOLATION -",
            "TIMESTAMP_MISSING 400 TIMESTAMP_MISSING -",
            "TIMESTAMP_PARSE_ERROR 400 TIMESTAMP_INVALID_FORMAT -",
            "TIMESTAMP_TIMEZONE_VIOLATION 400 TIMESTAMP_NON_UTC -",
            "TIMESTAMP_FUTURE_BEYOND_TOLERANCE 422 TIMESTAMP_FUTURE_BEYOND_TOLERANCE -",
            "TIMESTAMP_TOO_OLD 422 TIMESTAMP_TOO_OLD -",
            "TIMESTAMP_REGRESSION 422 TIMESTAMP_REGRESSION stops its lane",
            "DUPLICATE_NONCE 409 DUPLICATE_NONCE -",
            "SEQUENCE_REGRESSION 422 SEQUENCE_OUT_OF_ORDER stops its lane",
            "SEQUENCE_GAP 422 SEQUENCE_GAP_DETECTED stops its lane",
            "EPOCH_FENCED 422 EPOCH_FENCED stops its lane",
            "SEQUENCE_CONFLICT 409 SEQUENCE_CONFLICT stops its lane",
            "EXPECTED_SEQ_REQUIRED 428 EXPECTED_SEQ_REQUIRED -",
            "AMOUNT_INVALID 422 AMOUNT_INVALID -",
            "LANE_FORBIDDEN 403 LANE_FORBIDDEN -",
            "BATCH_STOPPED 200 BATCH_STOPPED -",
            "BATCH_REFUSED 422 BATCH_REFUSED -",
        ]
    );
}
