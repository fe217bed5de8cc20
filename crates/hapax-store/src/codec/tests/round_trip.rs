//! What is written is read back.

use hapax_core::entry::Entry;
use proptest::prelude::*;

use super::{any, assert_same, encoded, lasting_part};
use crate::codec::{Expiring, Fault, Lasting, Part, decode, decode_bare, entries, entry_at};
use crate::seam::Write;

proptest! {
    #[test]
    fn what_is_written_is_read_back(write in any::write()) {
        let sections = encoded(&write);
        let read = decode(&sections.lasting, Some(&sections.expiring)).expect("it was written");
        assert_same(&read, &write);
    }

    #[test]
    fn without_the_expiring_section_only_what_expires_is_missing(write in any::write()) {
        let sections = encoded(&write);
        let read = decode(&sections.lasting, None).expect("it was written");
        assert_same(&read, &lasting_part(&write));
    }

    #[test]
    fn what_was_read_is_written_with_the_same_bytes(write in any::write()) {
        let sections = encoded(&write);
        let read = decode(&sections.lasting, Some(&sections.expiring)).expect("it was written");
        prop_assert_eq!(encoded(&read), sections);
    }

    #[test]
    fn every_entry_is_found_alone(write in any::write()) {
        let sections = encoded(&write);
        let all = || write.streams.iter().enumerate();
        let all: Vec<_> = all().flat_map(|(at, stream)| stream.changes.entries.iter().map(move |it| (at, it))).collect();
        let found: Vec<_> = entries(&sections.lasting).expect("it was written").collect();
        prop_assert_eq!(found.len(), all.len());
        for ((index, found), (stream, entry)) in (0..).zip(found).zip(all) {
            let found = found.expect("it was written");
            prop_assert_eq!((found.index, found.stream), (index, stream));
            prop_assert_eq!((found.offset, found.identity, found.hash), (entry.offset, entry.identity, entry.hash));
            prop_assert!(sections.lasting[found.range].ends_with(&entry.document));
            prop_assert_eq!(&entry_at(&sections.lasting, index).expect("it was written"), &**entry);
        }
    }

    #[test]
    fn a_bare_read_lacks_nothing_but_documents_digests_and_ids(write in any::write()) {
        let sections = encoded(&write);
        let bare = decode_bare(&sections.lasting, Some(&sections.expiring)).expect("it was written");
        let mut expected = write.clone();
        let mut found = bare;
        for stream in expected.streams.iter_mut().chain(&mut found.streams) {
            for entry in &mut stream.changes.entries {
                *entry = Entry { document: [].into(), digest: [0; 32], id: "".into(), ..Entry::clone(entry) }.into();
            }
        }
        assert_same(&found, &expected);
    }

    #[test]
    fn every_attempt_is_found_alone_and_with_those_of_its_stream(write in any::write()) {
        let sections = encoded(&write);
        let opened = Expiring::open(&sections.expiring).expect("it was written");
        let all: Vec<_> = write.streams.iter().flat_map(|stream| &stream.changes.attempts).collect();
        let Some(opened) = opened else {
            prop_assert!(all.is_empty());
            return Ok(());
        };
        for (place, attempt) in (0..).zip(&all) {
            prop_assert_eq!(&opened.attempt(place).expect("it was written"), &***attempt);
        }
        prop_assert!(opened.attempt(all.len() as u64).is_err());
        for stream in &write.streams {
            let found: Vec<_> = opened.attempts_of(&stream.key).collect::<Result<_, _>>().expect("it was written");
            // A commit may name a stream twice; the first with anything that expires answers.
            let mine = write.streams.iter().filter(|other| other.key == stream.key);
            let written = mine.map(|other| other.changes.attempts.iter().map(|it| (**it).clone()).collect::<Vec<_>>());
            prop_assert!(written.into_iter().any(|attempts| attempts == found));
        }
    }

    #[test]
    fn the_streams_are_known_without_reading_them(write in any::write()) {
        let sections = encoded(&write);
        let opened = Lasting::open(&sections.lasting).expect("it was written");
        let found: Vec<_> = opened.streams().map(|(key, before, after)| (key.clone(), *before, *after)).collect();
        let written = write.streams.iter().map(|stream| (stream.key.clone(), stream.before, stream.after));
        prop_assert_eq!(found, written.collect::<Vec<_>>());
    }
}

#[test]
fn a_write_of_nothing_has_nothing_that_expires() {
    let sections = encoded(&Write::default());
    assert!(sections.expiring.is_empty());
    assert_same(&decode(&sections.lasting, Some(&sections.expiring)).unwrap(), &Write::default());
}

#[test]
fn buffers_can_be_used_again() {
    let mut sections = encoded(&super::whole::write());
    crate::codec::encode(&Write::default(), &mut sections);
    assert_eq!(sections, encoded(&Write::default()));
}

#[test]
fn an_entry_that_is_not_there_is_a_reference_to_nothing() {
    let sections = encoded(&super::whole::write());
    let count = Lasting::open(&sections.lasting).unwrap().count();
    let fault = entry_at(&sections.lasting, count).unwrap_err();
    assert_eq!((fault.part, fault.fault), (Part::Lasting, Fault::Reference("record")));
}
