//! Any bytes give a write or a named fault, and never a panic, a hang or a huge allocation.

use proptest::prelude::*;
use proptest::sample::Index;

use super::{any, encoded, whole};
use crate::codec::{FORMAT, Fault, Part, Sections, Undecodable, decode, entries, entry_at};

/// Reads everything that can be read, in every way.
fn read(lasting: &[u8], expiring: &[u8]) -> Result<(), Undecodable> {
    if let Ok(found) = entries(lasting) {
        for found in found.flatten() {
            assert!(found.range.end <= lasting.len());
        }
        _ = entry_at(lasting, 0);
    }
    let read = decode(lasting, Some(expiring));
    if let Err(fault) = &read {
        let length = match fault.part {
            Part::Lasting => lasting.len(),
            Part::Expiring => expiring.len(),
            Part::Alone => unreachable!("a section is no record"),
        };
        assert!(fault.at <= length, "{fault} lies outside of {length} bytes");
        assert!(!fault.to_string().is_empty());
    }
    read.map(|_| ())
}

/// What bad luck does to bytes.
#[derive(Clone, Debug)]
enum Harm {
    Set(Index, u8),
    Flip(Index, u8),
    Cut(Index),
    Insert(Index, u8),
    Remove(Index),
    /// A run of bytes that makes the longest of integers.
    Long(Index),
}

fn harm() -> impl Strategy<Value = Harm> {
    prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Harm::Set(at, byte)),
        (any::<Index>(), 0..8u8).prop_map(|(at, bit)| Harm::Flip(at, bit)),
        any::<Index>().prop_map(Harm::Cut),
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Harm::Insert(at, byte)),
        any::<Index>().prop_map(Harm::Remove),
        any::<Index>().prop_map(Harm::Long),
    ]
}

fn suffer(bytes: &mut Vec<u8>, harm: &Harm) {
    if bytes.is_empty() {
        return;
    }
    match harm {
        Harm::Set(at, byte) => *at.get_mut(bytes) = *byte,
        Harm::Flip(at, bit) => *at.get_mut(bytes) ^= 1 << bit,
        Harm::Cut(at) => bytes.truncate(at.index(bytes.len())),
        Harm::Insert(at, byte) => bytes.insert(at.index(bytes.len()), *byte),
        Harm::Remove(at) => _ = bytes.remove(at.index(bytes.len())),
        Harm::Long(at) => {
            let at = at.index(bytes.len());
            let length = bytes.len();
            bytes[at..length.min(at + 9)].fill(0xff);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_bytes_give_an_answer(mut lasting: Vec<u8>, mut expiring: Vec<u8>, is_known: bool) {
        if is_known {
            // Beyond the first byte and the place of the directory, which chance would hardly find.
            for bytes in [&mut lasting, &mut expiring] {
                bytes.splice(0..0, [FORMAT, 9, 0, 0, 0, 0, 0, 0, 0]);
            }
        }
        _ = read(&lasting, &expiring);
    }

    #[test]
    fn harmed_bytes_give_an_answer(
        write in any::write(),
        in_lasting in prop::collection::vec(harm(), 0..3),
        in_expiring in prop::collection::vec(harm(), 0..3),
    ) {
        let Sections { mut lasting, mut expiring } = encoded(&write);
        in_lasting.iter().for_each(|harm| suffer(&mut lasting, harm));
        in_expiring.iter().for_each(|harm| suffer(&mut expiring, harm));
        _ = read(&lasting, &expiring);
    }
}

#[test]
fn every_byte_of_a_whole_write_may_be_wrong() {
    let Sections { lasting, expiring } = encoded(&whole::write());
    for place in 0..lasting.len() {
        for wrong in [0, 1, 0x7f, 0x80, 0xff] {
            let mut harmed = lasting.clone();
            harmed[place] = wrong;
            _ = read(&harmed, &expiring);
        }
    }
    for place in 0..expiring.len() {
        for wrong in [0, 1, 0x7f, 0x80, 0xff] {
            let mut harmed = expiring.clone();
            harmed[place] = wrong;
            _ = read(&lasting, &harmed);
        }
    }
}

#[test]
fn a_section_that_was_cut_anywhere_is_refused() {
    let Sections { lasting, expiring } = encoded(&whole::write());
    for end in 0..lasting.len() {
        read(&lasting[..end], &expiring).expect_err("a part is missing");
    }
    // No bytes at all are nothing that expires.
    for end in 1..expiring.len() {
        read(&lasting, &expiring[..end]).expect_err("a part is missing");
    }
}

#[test]
fn bytes_after_the_end_are_refused() {
    let Sections { mut lasting, expiring } = encoded(&whole::write());
    let at = lasting.len();
    lasting.extend([0; 3]);
    let fault = read(&lasting, &expiring).unwrap_err();
    assert_eq!(fault, Undecodable { part: Part::Lasting, at, fault: Fault::Left(3) });
}

#[test]
fn another_version_is_named() {
    let Sections { mut lasting, expiring } = encoded(&whole::write());
    lasting[0] = 2;
    let fault = read(&lasting, &expiring).unwrap_err();
    assert_eq!(fault.to_string(), "byte 0 of the lasting section: format 2 is not known to this program");
}

#[test]
fn an_unknown_tag_is_named_with_its_place() {
    let mut sections = encoded(&whole::write());
    // The registry's presence bits are the first byte after the changes of an empty write.
    sections.lasting = encoded(&crate::seam::Write::default()).lasting;
    sections.lasting[9] = 0x40;
    let fault = read(&sections.lasting, &[]).unwrap_err();
    assert_eq!(fault.to_string(), "byte 9 of the lasting section: 64 is no changes of a registry of this format");
}

#[test]
fn a_huge_count_costs_nothing() {
    let mut lasting = encoded(&crate::seam::Write::default()).lasting;
    // Tenants, and as many of them as can be said.
    lasting.splice(9..10, [&[1][..], &[0xff; 9], &[1]].concat());
    lasting[1] += 10;
    let fault = read(&lasting, &[]).unwrap_err();
    assert_eq!(fault.fault, Fault::Ended);
}

#[test]
fn sections_of_two_commits_do_not_become_one() {
    let write = whole::write();
    let mut other = write.clone();
    other.streams[1].key.stream = "another".into();
    let fault = read(&encoded(&write).lasting, &encoded(&other).expiring).unwrap_err();
    assert_eq!((fault.part, fault.fault), (Part::Expiring, Fault::Reference("stream that lasts")));
}
