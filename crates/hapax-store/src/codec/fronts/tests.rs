use std::sync::Arc;

use hapax_core::entry::SharedEntry;
use hapax_core::event::digest;
use proptest::prelude::*;

use super::*;
use crate::codec::tests::any;
use crate::codec::{Sections, encode_for};
use crate::seam::Write;

fn fronts(write: &Write) -> (Fronts, Vec<SharedEntry>) {
    let entries = write.streams.iter().flat_map(|stream| stream.changes.entries.iter().cloned()).collect();
    (encode_for(write, &mut Sections::default(), true).expect("fronts"), entries)
}

proptest! {
    #[test]
    fn an_entry_is_its_front_and_its_document(write in any::write()) {
        let (fronts, entries) = fronts(&write);
        let mut room = Vec::new();
        for (index, entry) in (0..).zip(&entries) {
            let brought = Brought { digest: &entry.digest, document: &entry.document, id: &entry.id, lane: &entry.lane };
            prop_assert!(fronts.has(index, &entry.digest));
            let found = fronts.entry(index, &entry.identity, brought, &mut room).expect("readable");
            prop_assert_eq!(&found, &**entry, "the {}th", index);
            // Under another contract the same document may be of another lane, and then the entry has its own.
            let elsewhere = Arc::from(format!("{}.", entry.lane));
            let found = fronts.entry(index, &entry.identity, Brought { lane: &elsewhere, ..brought }, &mut room);
            prop_assert_eq!(&found.expect("readable"), &**entry, "the {}th", index);
        }
    }

    #[test]
    fn another_document_is_not_taken_for_the_original(write in any::write()) {
        let (fronts, entries) = fronts(&write);
        for (index, entry) in (0..).zip(&entries) {
            let other = digest(&[&entry.document[..], b" "].concat());
            prop_assert!(!fronts.has(index, &other));
        }
        prop_assert!(!fronts.has(entries.len() as u64, &[0; 32]), "there are no more");
        prop_assert!(!fronts.has(u64::MAX, &[0; 32]));
    }
}
