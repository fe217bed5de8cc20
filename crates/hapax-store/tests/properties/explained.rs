//! Every decision on record can be derived again, from what was kept of it alone.

use hapax_core::entry::EntryKind;
use hapax_core::explain::{explain_attempt, explain_entry};
use hapax_core::view::AttemptView;
use hapax_store::seam::{Read, Store};
use proptest::prelude::*;

use super::acts::stories;
use super::cases;
use super::play::stage::SALT;

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn every_recorded_decision_is_derived_again(story in stories()) {
        let stage = story.play();
        let versions = stage.store.reader().versions(&stage.stream).expect("versions");
        let version = |number: u32| versions.iter().find(|version| version.number == number).expect("its version");
        let entries = stage.entries();
        for attempt in stage.attempts() {
            let explanation = match &attempt {
                AttemptView::Accepted(entry) => {
                    prop_assert_eq!(entry.kind, EntryKind::Event);
                    explain_entry(entry, version(entry.contract), &SALT)
                }
                AttemptView::Other(attempt) => {
                    let original = attempt.basis.original.and_then(|offset| entries.get(offset as usize - 1));
                    explain_attempt(attempt, version(attempt.contract), original, &SALT)
                }
            };
            prop_assert!(explanation.agrees, "{:#?}\n{:#?}", attempt, explanation);
            prop_assert!(!explanation.rules.is_empty());
        }
    }

    #[test]
    fn every_attempt_is_on_record_once_and_in_order(story in stories()) {
        let stage = story.play();
        let head = stage.store.reader().head(&stage.stream).expect("a head");
        let entries = stage.entries();
        let manual = entries.iter().filter(|entry| entry.kind != EntryKind::Event).map(|entry| entry.attempt);
        let mut numbers: Vec<u64> = stage.attempts().iter().map(AttemptView::number).chain(manual).collect();
        numbers.sort_unstable();
        prop_assert_eq!(numbers, (1..=head.attempts).collect::<Vec<_>>());
        let events: Vec<u64> = entries.iter().map(|entry| entry.ordinal).filter(|ordinal| *ordinal > 0).collect();
        prop_assert_eq!(events, (1..=head.events).collect::<Vec<_>>());
    }
}
