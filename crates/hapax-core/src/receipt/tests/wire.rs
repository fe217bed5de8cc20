//! The bytes on the wire are those that a serializer would write.

use proptest::prelude::*;

use super::plain::{Batch, Plain};
use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn every_answer_is_written_as_a_serializer_would(answer in any::answer()) {
        let expected = serde_json::to_string(&Batch(&answer)).expect("JSON");
        prop_assert_eq!(String::from_utf8(answer.written(false)).expect("text"), expected);
        let dry = answer.dry_run.then_some(answer.durable);
        for receipt in &answer.receipts {
            let expected = serde_json::to_string(&Plain::of(receipt, dry)).expect("JSON");
            let shown = match dry {
                Some(durable) => serde_json::to_string(&receipt.dry(durable)),
                None => serde_json::to_string(receipt),
            };
            prop_assert_eq!(shown.expect("JSON"), expected);
        }
    }
}

#[test]
fn one_event_is_answered_with_its_receipt_and_a_batch_of_one_with_a_list() {
    let receipt = Receipt::Accepted(Arc::new(entry()));
    let shown = serde_json::to_string(&receipt).expect("JSON");
    let answer = crate::batch::Answer {
        receipts: vec![receipt],
        retry_order: vec![],
        refused: false,
        dry_run: false,
        durable: 40,
    };
    let written = |single| String::from_utf8(answer.written(single)).expect("text");
    assert_eq!(written(true), shown);
    let summary = r#""summary":{"accepted":1,"duplicate":0,"conflict":0,"stale":0,"rejected":0,"not_evaluated":0}"#;
    assert_eq!(written(false), format!(r#"{{"results":[{shown}],{summary},"retry_order":[]}}"#));
}

#[test]
fn the_receipts_of_a_full_batch_fit_into_the_room_that_was_made() {
    let id: Arc<str> = Arc::from("9e3779b9-7000-7000-8000-000000000001");
    let states = States::NONE.with(State::SequenceContinuous);
    let one = |offset| Entry { offset, id: Arc::clone(&id), states, seq: Some(1_000_000), ..entry() };
    let accepted: Vec<_> = (1..=1000).map(|offset| Receipt::Accepted(Arc::new(one(offset)))).collect();
    let known = attempt(Verdict::Duplicate, Code::DuplicateEventId, None);
    let known = Attempt { id: Some(Arc::clone(&id)), seq: Some(1_000_000), ..known };
    let again: Vec<_> = (1..=1000).map(|offset| other(known.clone(), Some(one(offset)), Vec::new())).collect();
    for receipts in [accepted, again] {
        let made = receipts.iter().map(room).sum::<usize>();
        let answer = crate::batch::Answer { receipts, retry_order: vec![], refused: false, dry_run: false, durable: 0 };
        let written = answer.written(false);
        assert!(written.len() <= made, "{} of {made} bytes", written.len());
        assert!(written.len() > made * 3 / 4, "{} of {made} bytes", written.len());
    }
}
