//! Nothing that comes from outside makes the ledger panic: contracts and documents of any bytes, and ones that are
//! almost right, which come further.

use std::sync::Arc;

use hapax_core::contract::{Contract, PRESETS, in_words};
use hapax_store::seam::{AttemptFilter, Read, Store};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

use super::cases;
use super::play::model::Opts;
use super::play::stage::Stage;
use super::play::world::BEGINNING_NS;

/// A small thing that goes wrong with some bytes.
#[derive(Debug, Clone)]
enum Slip {
    Flip(Index, u8),
    Remove(Index),
    Insert(Index, u8),
    Repeat(Index, usize),
    Cut(Index),
    /// Another number, word or sign in place of some letters.
    Replace(Index, &'static str),
}

fn slip() -> impl Strategy<Value = Slip> {
    let words = vec![
        "\"",
        "{",
        "}",
        "[",
        "]",
        "=",
        "\n",
        "null",
        "true",
        "0",
        "-1",
        "1.0",
        "18446744073709551615",
        "1e400",
        "\\u0000",
        "\\ud800",
        "\"none\"",
        "\"forever\"",
        "\"106751d\"",
        "\"0ms\"",
        "\"/\"",
        "\"/~2\"",
        "é",
        "9999-12-31T23:59:59Z",
    ];
    prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, with)| Slip::Flip(at, with)),
        any::<Index>().prop_map(Slip::Remove),
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Slip::Insert(at, byte)),
        (any::<Index>(), 1_usize..40).prop_map(|(at, length)| Slip::Repeat(at, length)),
        any::<Index>().prop_map(Slip::Cut),
        (any::<Index>(), select(words)).prop_map(|(at, with)| Slip::Replace(at, with)),
    ]
}

fn slipped(text: &[u8], slips: &[Slip]) -> Vec<u8> {
    let mut bytes = text.to_vec();
    for slip in slips.iter().filter(|_| !text.is_empty()) {
        let place = |at: &Index| at.index(bytes.len().max(1)).min(bytes.len());
        match slip {
            Slip::Flip(at, with) => {
                let at = place(at);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= with;
                }
            }
            Slip::Remove(at) => {
                let at = place(at);
                bytes.drain(at..(at + 1).min(bytes.len()));
            }
            Slip::Insert(at, byte) => bytes.insert(place(at), *byte),
            Slip::Repeat(at, length) => {
                let at = place(at);
                let part = bytes[at..(at + length).min(bytes.len())].to_vec();
                bytes.splice(at..at, part);
            }
            Slip::Cut(at) => bytes.truncate(place(at)),
            Slip::Replace(at, with) => {
                let at = place(at);
                bytes.splice(at..(at + 4).min(bytes.len()), with.bytes());
            }
        }
    }
    bytes
}

/// A document with the fields of every preset.
fn document(count: u64) -> Value {
    let time = "2026-01-31T23:59:50Z";
    json!({
        "id": format!("e{count}"), "event_id": format!("e{count}"), "measurement_id": format!("m{count}"), "source": "s",
        "lane": "a", "producer_id": "p", "component_instance_id": 7, "aggregate_id": "g", "user_id": "u",
        "seq": count, "sequence": count, "epoch": 0, "expected_seq": count, "nonce": format!("n{count}"),
        "time": time, "timestamp": time, "observed_at": time, "occurred_at": time, "ts": time, "kind": "update",
        "tenantId": "t", "metric": "requests", "customerRef": "c", "resourceId": null, "quantity": "1.50",
        "weight": 70.004, "unit": "lb", "nested": { "deep": [1, [2, { "x": "\u{e9}" }]] },
    })
}

/// Sends documents to a stream, and looks at everything that can be looked at afterwards.
fn survives(contract: &str, documents: &[Vec<u8>], opts: Opts) -> Result<(), TestCaseError> {
    let mut stage = Stage::new(contract);
    for now in [BEGINNING_NS, i64::MIN, i64::MAX] {
        let sent: Vec<Arc<[u8]>> = documents.iter().map(|document| document.as_slice().into()).collect();
        let count = sent.len();
        let request = stage.submission(now, sent, Opts { atomic: true, ..opts });
        let answer = &stage.take(vec![request])[0];
        let body: Value = serde_json::from_slice(&answer.body).expect("an answer is JSON");
        if !answer.problem {
            prop_assert_eq!(body["results"].as_array().map(Vec::len), Some(count), "{}", body);
        }
        for document in documents {
            let request = stage.submission(now, vec![document.as_slice().into()], opts);
            let answer = &stage.take(vec![request])[0];
            let body: Value = serde_json::from_slice(&answer.body).expect("an answer is JSON");
            prop_assert!(answer.problem || body["verdict"].is_string(), "{}", body);
        }
    }
    for attempt in
        stage.store.reader().attempts(&stage.stream, &AttemptFilter::default(), 0, usize::MAX).expect("attempts").items
    {
        serde_json::to_vec(&attempt).expect("an attempt can be shown");
    }
    Ok(())
}

fn opts() -> impl Strategy<Value = Opts> {
    (any::<bool>(), any::<bool>()).prop_map(|(dry_run, override_)| Opts { atomic: false, dry_run, override_ })
}

fn documents() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let slips = prop::collection::vec(slip(), 0..4);
    let almost = (0_u64..4, slips)
        .prop_map(|(count, slips)| slipped(&serde_json::to_vec(&document(count)).expect("a document"), &slips));
    let any = prop::collection::vec(any::<u8>(), 0..64);
    prop::collection::vec(prop_oneof![6 => almost, 1 => any], 1..6)
}

proptest! {
    #![proptest_config(cases(250))]

    #[test]
    fn any_bytes_are_a_contract_or_have_named_problems(bytes in prop::collection::vec(any::<u8>(), 0..256), text in "\\PC{0,128}") {
        let texts = [String::from_utf8_lossy(&bytes).into_owned(), text];
        for text in &texts {
            prop_assert!(Contract::from_toml(text).is_ok_and(|_| true) || Contract::from_toml(text).is_err_and(|it| !it.is_empty()));
        }
        prop_assert!(Contract::from_json(&bytes).map_or_else(|it| !it.is_empty(), |_| true));
    }

    #[test]
    fn a_preset_with_slips_is_refused_or_judges_without_panic(
        preset in select(PRESETS.to_vec()),
        slips in prop::collection::vec(slip(), 1..4),
        documents in documents(),
        opts in opts(),
    ) {
        let text = String::from_utf8_lossy(&slipped(preset.toml.as_bytes(), &slips)).into_owned();
        match Contract::from_toml(&text) {
            Err(problems) => prop_assert!(!problems.is_empty()),
            Ok(checked) => {
                prop_assert!(!in_words(&checked.contract).is_empty());
                survives(&text, &documents, opts)?;
            }
        }
    }

    #[test]
    fn a_document_with_slips_gets_a_verdict(
        preset in select(PRESETS.to_vec()),
        rest in select(vec!["", "\n[override]\nallowed = true\n"]),
        mode in select(vec!["enforce", "shadow", "off"]),
        documents in documents(),
        opts in opts(),
    ) {
        let written = format!("preset = \"{}\"\nmode = \"{mode}\"\n{rest}", preset.name);
        survives(&written, &documents, opts)?;
    }
}
