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
    let receipt = Receipt::Accepted(entry().into());
    let shown = serde_json::to_string(&receipt).expect("JSON");
    let answer = crate::batch::Answer {
        receipts: vec![receipt],
        retry_order: vec![],
        refused: false,
        dry_run: false,
        brief: false,
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
    let accepted: Vec<_> = (1..=1000).map(|offset| Receipt::Accepted(one(offset).into())).collect();
    let known = attempt(Verdict::Duplicate, Code::DuplicateEventId, None);
    let known = Attempt { id: Some(Arc::clone(&id)), seq: Some(1_000_000), ..known };
    let again: Vec<_> = (1..=1000).map(|offset| other(known.clone(), Some(one(offset)), Vec::new())).collect();
    for receipts in [accepted, again] {
        let made = room(receipts.iter());
        let answer = crate::batch::Answer {
            receipts,
            retry_order: vec![],
            refused: false,
            dry_run: false,
            brief: false,
            durable: 0,
        };
        let written = answer.written(false);
        assert!(written.len() <= made, "{} of {made} bytes", written.len());
        assert!(written.len() > made * 3 / 4, "{} of {made} bytes", written.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// What is left out is what was accepted; what is shown is what a full answer shows, and where it stands in it.
    #[test]
    fn a_brief_answer_is_a_full_one_without_what_was_accepted(answer in any::answer()) {
        let full: serde_json::Value = serde_json::from_slice(&answer.written(false)).expect("JSON");
        let answer = crate::batch::Answer { brief: true, ..answer };
        let brief: serde_json::Value = serde_json::from_slice(&answer.written(false)).expect("JSON");
        let results = full["results"].as_array().expect("a list");
        let others = results.iter().enumerate().filter(|(_, receipt)| receipt["verdict"] != "accepted");
        let others: Vec<_> = others.map(|(index, receipt)| serde_json::json!({"index": index, "receipt": receipt})).collect();
        prop_assert_eq!(&brief["results"], &serde_json::Value::from(others));
        prop_assert_eq!(&brief["summary"], &full["summary"]);
        prop_assert_eq!(&brief["retry_order"], &full["retry_order"]);
        let offsets = results.iter().filter(|receipt| receipt["verdict"] == "accepted");
        let mut entries: Vec<_> = offsets.filter_map(|receipt| Some((receipt["offset"].as_u64()?, &receipt["hash"]))).collect();
        entries.sort_by_key(|(offset, _)| *offset);
        match (entries.first(), entries.last()) {
            (Some((first, _)), Some((last, _))) => {
                prop_assert_eq!(&brief["accepted"]["first"], &serde_json::json!(first));
                prop_assert_eq!(&brief["accepted"]["last"], &serde_json::json!(last));
                let hashes: Vec<_> = entries.iter().filter(|(offset, _)| offset == last).map(|(_, hash)| *hash).collect();
                prop_assert!(hashes.contains(&&brief["accepted"]["hash"]), "the hash is that of the last");
            }
            (_, _) => prop_assert!(brief.get("accepted").is_none()),
        }
    }
}
