//! Any contract, any documents: a verdict for each, never a panic, and a ledger that adds up.
//!
//! The input is a contract and documents, separated by lines of `---`. A contract that is refused ends the run.

use std::sync::Arc;

use hapax_core::batch::{Terms, submit};
use hapax_core::chain::Verifier;
use hapax_core::contract::{Contract, Version};
use hapax_core::counter::Recount;
use hapax_core::event::{Door, Events, read};
use hapax_core::explain::{explain_attempt, explain_entry};
use hapax_core::facts::{Facts, Head};
use hapax_core::receipt::Receipt;
use hapax_core::time::Time;

const SALT: [u8; 32] = [7; 32];

/// Checks it.
pub fn check(input: &[u8]) {
    let mut parts = split(input);
    let Some(contract) = parts.next().and_then(|text| std::str::from_utf8(text).ok()) else { return };
    let Ok(checked) = Contract::from_toml(contract) else { return };
    let documents: Vec<Arc<[u8]>> = parts.take(16).map(Arc::from).collect();
    judged(checked.contract, &documents);
}

/// Judges documents by a contract, and checks all that their receipts and the ledger say of each other.
pub(crate) fn judged(contract: Contract, documents: &[Arc<[u8]>]) {
    let version = Version::first(contract);
    let now = Time::from_nanos(1_767_225_600_000_000_000);
    let mut facts = Facts::new(Arc::from("fuzz"), version.clone(), Head::default());
    let events: Vec<_> = documents
        .iter()
        .enumerate()
        .map(|(index, document)| {
            let door = Door { salt: &SALT, now, spare: index as u128, event_bytes_max: 1 << 20, covers: &|_| true };
            read(Arc::clone(document), &version, &door)
        })
        .collect();
    let answer = submit(&mut facts, Events::Lent(&events), now, &Terms::default());
    assert_eq!(answer.receipts.len(), documents.len(), "one verdict for each");

    for receipt in &answer.receipts {
        let shown = serde_json::to_vec(receipt).expect("a receipt is JSON");
        hapax_core::json::parse(&shown).expect("of the sort that we read");
        match receipt {
            Receipt::Accepted(entry) => {
                assert!(explain_entry(entry, &version, &SALT).agrees, "derived again, it is the same");
            }
            Receipt::Other { attempt, original, .. } => {
                let explained = explain_attempt(attempt, &version, original.as_ref(), &SALT);
                assert!(explained.agrees, "derived again, it is the same: {explained:?}");
            }
        }
    }
    let mut verifier = Verifier::new("fuzz");
    let mut recount = Recount::default();
    for entry in &facts.changes().entries {
        verifier.next(entry).expect("the chain holds");
        recount.add(entry, &version);
    }
    let (_, changes) = facts.into_changes();
    let list =
        |key: &_| changes.adjustments.iter().filter(|(other, _)| other == key).map(|(_, it)| it.clone()).collect();
    let differences = recount.differences(changes.counters.iter().map(|(key, counter)| (key, counter)), list);
    assert!(differences.is_empty(), "{differences:?}");
}

fn split(input: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(input);
    std::iter::from_fn(move || {
        let here = rest?;
        match here.windows(5).position(|window| window == b"\n---\n") {
            Some(at) => {
                rest = Some(&here[at + 5..]);
                Some(&here[..at])
            }
            None => {
                rest = None;
                Some(here)
            }
        }
    })
}
