use super::*;
use crate::audit::Submitted;
use crate::counter::Class;
use crate::entry::{Basis, Caller, EntryKind, GapDetail};
use crate::event::{IdSource, Identity, digest};
use crate::patch::OpKind;
use crate::refusal::{Refusal, Why};
use crate::time::Time;
use crate::words::{Marks, States};

mod any;
mod plain;
mod wire;

fn entry() -> Entry {
    let document: Arc<[u8]> = Arc::from(br#"{"id":"e-1"}"#.as_slice());
    Entry {
        offset: 41,
        hash: [0xab; 32],
        kind: EntryKind::Event,
        at: Time::from_nanos(1_767_261_600_123_456_789),
        contract: 1,
        id: Arc::from("e-1"),
        id_source: IdSource::Given,
        identity: Identity::of(None, "e-1"),
        lane: Arc::from("a"),
        epoch: 0,
        seq: None,
        observed_at: None,
        digest: digest(&document),
        document,
        marks: Marks::NONE,
        states: States::NONE,
        gap: None,
        abandoned: Vec::new(),
        refusal: None,
        classes: Vec::new(),
        basis: Basis::default(),
        ordinal: 41,
        previous_in_lane: 0,
        attempt: 50,
        caller: Caller::default(),
    }
}

fn attempt(verdict: Verdict, code: Code, refusal: Option<Refusal>) -> Attempt {
    Attempt {
        number: 51,
        at: Time::from_nanos(1_767_261_601_000_000_000),
        contract: 2,
        id: Some(Arc::from("e-1")),
        lane: Some(Arc::from("a")),
        epoch: 0,
        seq: None,
        verdict,
        code,
        states: States::NONE.with(refusal.as_ref().map_or(code.row().1, |refusal| refusal.state)),
        refusal: refusal.map(Box::new),
        document: Submitted::SameAs(41),
        basis: Basis::default(),
        rejected: false,
        caller: Caller::default(),
    }
}

fn other(attempt: Attempt, original: Option<Entry>, diff: Vec<Op>) -> Receipt {
    Receipt::Other { attempt: Arc::new(attempt), original: original.map(SharedEntry::from), diff }
}

fn check(receipt: &Receipt, status: u16, expect: &str) {
    assert_eq!(serde_json::to_string(receipt).expect("JSON"), expect);
    assert_eq!(receipt.status(), status, "{expect}");
}

const HASH: &str = "abababababababababababababababababababababababababababababababab";

/// The receipt of [`entry`], with something in its middle and at its end.
fn accepted(middle: &str, marks: &str, states: &str, end: &str) -> String {
    format!(
        r#"{{"verdict":"accepted","id":"e-1",{middle}"offset":41,"hash":"{HASH}","ingested_at":"2026-01-01T10:00:00.123456789Z","contract":1,"marks":[{marks}],"states":[{states}]{end}}}"#
    )
}

#[test]
fn an_accepted_event_always_has_marks_and_states() {
    check(&Receipt::Accepted(SharedEntry::from(entry())), 201, &accepted(r#""lane":"a","#, "", "", ""));
}

#[test]
fn a_receipt_says_who_chose_the_id_unless_the_sender_did() {
    for (id_source, said) in [(IdSource::Derived, "derived"), (IdSource::Assigned, "assigned")] {
        let receipt = Receipt::Accepted(SharedEntry::from(Entry { id_source, ..entry() }));
        check(&receipt, 201, &accepted(&format!(r#""identity":"{said}","lane":"a","#), "", "", ""));
    }
}

#[test]
fn a_numbered_event_has_its_epoch_and_a_gap_its_size() {
    let gap = Some(GapDetail { from: 2, to: 1004, large: true });
    let marks = Marks::NONE.with(Mark::HasGaps);
    let states = States::NONE.with(State::SequenceGapDetected);
    check(
        &Receipt::Accepted(SharedEntry::from(Entry { seq: Some(1005), epoch: 3, gap, marks, states, ..entry() })),
        201,
        &accepted(
            r#""lane":"a","seq":1005,"epoch":3,"#,
            r#""HAS_GAPS""#,
            r#""SEQUENCE_GAP_DETECTED""#,
            r#","detail":{"gap":{"from":2,"to":1004,"size":1003,"large":true}}"#,
        ),
    );
    assert_eq!(GapDetail { from: 0, to: u64::MAX - 1, large: true }.size(), u64::MAX);
}

#[test]
fn lateness_abandoned_gaps_and_counters_are_details() {
    let late = Entry {
        observed_at: Some(Time::from_nanos(1_767_261_600_000_000_000)),
        marks: Marks::NONE.with(Mark::LateArrival).with(Mark::Adjustment),
        states: States::NONE.with(State::EventLateArrival).with(State::GapAbandoned),
        abandoned: vec![(1, 1), (3, 5)],
        classes: vec![(Arc::from("a"), Class::Folded), (Arc::from("b"), Class::Late), (Arc::from("c"), Class::Closed)],
        ..entry()
    };
    check(
        &Receipt::Accepted(SharedEntry::from(late)),
        201,
        &accepted(
            r#""lane":"a","#,
            r#""LATE_ARRIVAL","ADJUSTMENT""#,
            r#""GAP_ABANDONED","EVENT_LATE_ARRIVAL""#,
            r#","detail":{"latency_ms":123,"abandoned":[{"from":1,"to":1},{"from":3,"to":5}],"counters":{"a":"folded","b":"adjustment","c":"adjustment"}}"#,
        ),
    );
}

#[test]
fn each_detail_is_enough_to_have_one() {
    fn check(entry: Entry, expect: &str) {
        let receipt = serde_json::to_value(Receipt::Accepted(SharedEntry::from(entry))).expect("JSON");
        assert_eq!(receipt.get("detail").map(ToString::to_string).unwrap_or_default(), expect);
    }
    check(entry(), "");
    check(Entry { abandoned: vec![(1, 2)], ..entry() }, r#"{"abandoned":[{"from":1,"to":2}]}"#);
    check(Entry { classes: vec![(Arc::from("c"), Class::Folded)], ..entry() }, r#"{"counters":{"c":"folded"}}"#);
    check(
        Entry { gap: Some(GapDetail { from: 1, to: 1, large: false }), ..entry() },
        r#"{"gap":{"from":1,"large":false,"size":1,"to":1}}"#,
    );
    let late = Entry { observed_at: Some(Time::from_nanos(0)), marks: Marks::NONE.with(Mark::LateArrival), ..entry() };
    check(late, r#"{"latency_ms":1767261600123}"#);
    let nonce = Refusal::new(Code::TimestampRegression, Why::Nonce { used_at: Time::from_nanos(0) });
    check(Entry { refusal: Some(Box::new(nonce)), ..entry() }, r#"{"used_at":"1970-01-01T00:00:00Z"}"#);
}

#[test]
fn what_enforce_would_have_refused_says_so_and_what_an_admin_lifted_only_why() {
    let refusal = Refusal::new(Code::SequenceRegression, Why::Number { expected: Some(4), got: 2, last_seen: Some(3) });
    let refusal = Some(Box::new(refusal));
    let marked = |mark| {
        let marks = Marks::NONE.with(mark);
        Receipt::Accepted(SharedEntry::from(Entry { refusal: refusal.clone(), marks, ..entry() }))
    };
    let detail = r#","detail":{"expected":4,"got":2,"last_seen":3}"#;
    let would = marked(Mark::WouldReject);
    let said = r#","code":"SEQUENCE_REGRESSION","message":"Sequence number regression: expected 4, got 2""#;
    check(&would, 201, &accepted(r#""lane":"a","#, r#""WOULD_REJECT""#, "", &format!("{said}{detail}")));
    assert_eq!(would.code(), Some(Code::SequenceRegression));
    let lifted = marked(Mark::Override);
    check(&lifted, 201, &accepted(r#""lane":"a","#, r#""OVERRIDE""#, "", detail));
    assert_eq!(lifted.code(), None);
}

#[test]
fn a_duplicate_carries_the_original_receipt_whole() {
    let original = accepted(r#""lane":"a","#, "", "", "");
    let place = r#""id":"e-1","lane":"a","ingested_at":"2026-01-01T10:00:01Z","contract":2"#;
    let message = r#""message":"Duplicate event id: e-1 was accepted before""#;
    let duplicate = attempt(Verdict::Duplicate, Code::DuplicateEventId, None);
    check(
        &other(duplicate.clone(), Some(entry()), Vec::new()),
        200,
        &format!(
            r#"{{"verdict":"duplicate","code":"DUPLICATE_EVENT_ID",{message},{place},"states":["DUPLICATE_EVENT_ID"],"attempt":51,"original":{original}}}"#
        ),
    );
    let states = States::NONE.with(State::EventDuplicateRejected).with(State::Reencoded);
    check(
        &other(Attempt { rejected: true, states, ..duplicate.clone() }, Some(entry()), Vec::new()),
        409,
        &format!(
            r#"{{"verdict":"duplicate","code":"DUPLICATE_EVENT_ID",{message},{place},"states":["EVENT_DUPLICATE_REJECTED","REENCODED"],"attempt":51,"original":{original}}}"#
        ),
    );
    let states = States::NONE.with(State::IdempotencyMismatch);
    let warned = Attempt { states, ..duplicate };
    assert_eq!(
        message_of(&warned),
        "Duplicate event id: e-1 was accepted before, with a different payload that stands"
    );
}

fn message_of(attempt: &Attempt) -> String {
    message(attempt)
}

#[test]
fn a_conflict_says_what_differs_unless_the_caller_may_not_see_the_original() {
    let conflict = || attempt(Verdict::Conflict, Code::PayloadConflict, None);
    let begin = r#"{"verdict":"conflict","code":"PAYLOAD_CONFLICT","message":"Payload conflict: e-1 already exists with a different payload","id":"e-1","lane":"a","ingested_at":"2026-01-01T10:00:01Z","contract":2,"states":["PAYLOAD_CONFLICT"],"attempt":51,"hint":"Send it under an id of its own, or drop it: the original stands.""#;
    let original = accepted(r#""lane":"a","#, "", "", "");
    let value = serde_json::value::RawValue::from_string("1.0".to_owned()).ok();
    let diff = vec![
        Op { op: OpKind::Add, path: "/a".to_owned(), value },
        Op { op: OpKind::Remove, path: "/b".to_owned(), value: None },
    ];
    check(
        &other(conflict(), Some(entry()), diff),
        409,
        &format!(
            r#"{begin},"original":{original},"diff":[{{"op":"add","path":"/a","value":1.0}},{{"op":"remove","path":"/b"}}]}}"#
        ),
    );
    check(&other(conflict(), None, Vec::new()), 409, &format!("{begin}}}"));
}

#[test]
fn a_refusal_says_all_that_could_be_read_of_the_event() {
    let refusal = Refusal::new(Code::DuplicateNonce, Why::Nonce { used_at: Time::from_nanos(0) });
    let refused = attempt(Verdict::Rejected, Code::DuplicateNonce, Some(refusal));
    let end = r#""contract":2,"states":["DUPLICATE_NONCE"],"detail":{"used_at":"1970-01-01T00:00:00Z"},"attempt":51,"hint":"Give each event a nonce of its own; a retry keeps the event's id."}"#;
    let begin = r#"{"verdict":"rejected","code":"DUPLICATE_NONCE","message":"Duplicate nonce: it was used at 1970-01-01T00:00:00Z","#;
    check(
        &other(Attempt { seq: Some(3), epoch: 1, ..refused.clone() }, None, Vec::new()),
        409,
        &format!(r#"{begin}"id":"e-1","lane":"a","seq":3,"epoch":1,"ingested_at":"2026-01-01T10:00:01Z",{end}"#),
    );
    check(
        &other(Attempt { id: None, lane: None, ..refused }, None, Vec::new()),
        409,
        &format!(r#"{begin}"ingested_at":"2026-01-01T10:00:01Z",{end}"#),
    );
}

#[test]
fn what_is_ignored_or_not_evaluated_is_no_error_of_its_own() {
    let stale = Refusal::new(Code::StaleSequence, Why::Number { expected: Some(4), got: 2, last_seen: Some(3) });
    let stale = other(attempt(Verdict::Stale, Code::StaleSequence, Some(stale)), None, Vec::new());
    assert_eq!((stale.status(), stale.verdict(), stale.code()), (200, Verdict::Stale, Some(Code::StaleSequence)));
    assert!(!serde_json::to_string(&stale).expect("JSON").contains("hint"), "there is nothing to do");
    let stopped = Refusal::new(Code::BatchStopped, Why::Batch { index: 1 });
    check(
        &other(attempt(Verdict::NotEvaluated, Code::BatchStopped, Some(stopped)), None, Vec::new()),
        200,
        r#"{"verdict":"not_evaluated","code":"BATCH_STOPPED","message":"Not evaluated: event 1, counted from 0, of the same lane was refused for its order","id":"e-1","lane":"a","ingested_at":"2026-01-01T10:00:01Z","contract":2,"states":["BATCH_STOPPED"],"detail":{"because_of":1},"attempt":51,"hint":"Correct what was refused and send these in retry_order."}"#,
    );
}

#[test]
fn a_dry_run_has_nothing_that_was_never_written() {
    let dry = |receipt: Receipt, durable| serde_json::to_string(&receipt.dry(durable)).expect("JSON");
    assert_eq!(
        dry(Receipt::Accepted(SharedEntry::from(entry())), 0),
        r#"{"dry_run":true,"verdict":"accepted","id":"e-1","lane":"a","ingested_at":"2026-01-01T10:00:00.123456789Z","contract":1,"marks":[],"states":[]}"#
    );
    let duplicate = || other(attempt(Verdict::Duplicate, Code::DuplicateEventId, None), Some(entry()), Vec::new());
    let known = dry(duplicate(), 41);
    assert!(!known.contains("\"attempt\""), "{known}");
    assert!(known.contains(r#""original":{"verdict":"accepted","id":"e-1","lane":"a","offset":41"#), "{known}");
    // An original that is itself only tried has no offset either.
    let tried = dry(duplicate(), 40);
    assert!(
        tried.contains(r#""original":{"dry_run":true,"verdict":"accepted","id":"e-1","lane":"a","ingested_at""#),
        "{tried}"
    );
}
