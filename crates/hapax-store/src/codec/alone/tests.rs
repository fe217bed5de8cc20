//! What is written alone is read back alone, and any bytes give an answer.

use std::fmt::Debug;

use bytes::BytesMut;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::codec::tests::{any, any_claim, any_entry, usual};

fn shown(entry: &Entry) -> Shown<'_> {
    Shown { offset: entry.offset, id: &entry.id, lane: &entry.lane, document: &entry.document }
}

fn entry_bytes(entry: &Entry) -> BytesMut {
    let mut out = BytesMut::new();
    write_entry(&mut out, entry);
    out
}

fn attempt_bytes(attempt: &Attempt) -> BytesMut {
    let mut out = BytesMut::new();
    write_attempt(&mut out, attempt);
    out
}

/// Cut short, lengthened, or of another version, it is refused and never something else.
fn is_refused_when_spoiled<T: Debug>(record: &[u8], read: impl Fn(&[u8]) -> Result<T, Undecodable>) {
    for length in 0..record.len() {
        let fault = read(&record[..length]).expect_err("a record that is cut short is none");
        assert_eq!(fault.part, Part::Alone);
    }
    read(&[record, &[0]].concat()).expect_err("nothing follows a record");
    let other = [&[VERSION + 1], &record[1..]].concat();
    assert_eq!(read(&other).expect_err("another version is not read").fault, Fault::Version(VERSION + 1));
}

fn ranges() -> impl Strategy<Value = Ranges> {
    (any::number(), vec((any::number(), 0..5u64), 0..4)).prop_map(|(low_water, islands)| {
        // The very last ordinal is never reached: a mark there would have no next.
        let low_water = low_water.min(u64::MAX - 100);
        Ranges::new(low_water, islands.into_iter().map(|(first, length)| (first, first.saturating_add(length))))
    })
}

proptest! {
    #[test]
    fn an_entrys_details_are_read_back(entry in any_entry::entry()) {
        let record = entry_bytes(&entry);
        // What stands there only for long documents is made again for others.
        let entry = match entry.document.len() {
            ..1024 => Entry { digest: hapax_core::event::digest(&entry.document), ..entry },
            _ => entry,
        };
        let again = read_entry(&record, shown(&entry)).expect("it was written");
        prop_assert_eq!(again, entry);
    }

    #[test]
    fn an_attempts_details_are_read_back(attempt in any_entry::attempt()) {
        let record = attempt_bytes(&attempt);
        let row = Row { at: attempt.at, observed_at: None, epoch: attempt.epoch, seq: attempt.seq };
        let AttemptDetails { caller, refusal, basis } = read_attempt(&record, row).expect("it was written");
        prop_assert_eq!(Attempt { caller, refusal, basis, ..attempt.clone() }, attempt);
    }

    #[test]
    fn records_are_read_back(
        counter in any::counter(),
        adjustment in any::adjustment(),
        handler in any_claim::handler(),
        lane in any_claim::lane(),
        claim in any_claim::claim(),
        key in any::key(),
        ranges in ranges(),
    ) {
        prop_assert_eq!(read_counter(&write_counter(&counter)), Ok(counter));
        prop_assert_eq!(read_adjustment(&write_adjustment(&adjustment), adjustment.offset), Ok(adjustment));
        prop_assert_eq!(read_handler(&write_handler(&handler)), Ok(handler));
        prop_assert_eq!(read_handler_lane(&write_handler_lane(&lane)), Ok(lane));
        prop_assert_eq!(read_claim(&write_claim(&claim)), Ok(claim));
        prop_assert_eq!(read_key(&write_key(&key), Arc::clone(&key.tenant)), Ok(key));
        prop_assert_eq!(read_ranges(&write_ranges(&ranges)), Ok(ranges));
    }

    #[test]
    fn a_spoiled_record_is_refused(
        entry in any_entry::entry(),
        attempt in any_entry::attempt(),
        counter in any::counter(),
        claim in any_claim::claim(),
        key in any::key(),
        ranges in ranges(),
    ) {
        is_refused_when_spoiled(&entry_bytes(&entry), |record| read_entry(record, shown(&entry)));
        let row = Row { at: attempt.at, observed_at: None, epoch: attempt.epoch, seq: attempt.seq };
        is_refused_when_spoiled(&attempt_bytes(&attempt), |record| read_attempt(record, row));
        is_refused_when_spoiled(&write_counter(&counter), read_counter);
        is_refused_when_spoiled(&write_claim(&claim), read_claim);
        is_refused_when_spoiled(&write_key(&key), |record| read_key(record, Arc::from("a")));
        is_refused_when_spoiled(&write_ranges(&ranges), read_ranges);
    }

    #[test]
    fn any_bytes_give_an_answer(mut bytes in vec(any::<u8>(), 0..80), versioned in any::<bool>()) {
        if let (true, Some(first)) = (versioned, bytes.first_mut()) {
            *first = VERSION;
        }
        let row = Row { at: Time::from_nanos(0), observed_at: None, epoch: 0, seq: None };
        let _ = (read_entry(&bytes, Shown { offset: 1, id: "", lane: "", document: b"" }), read_attempt(&bytes, row), read_counter(&bytes), read_adjustment(&bytes, 1));
        let _ = (read_handler(&bytes), read_handler_lane(&bytes), read_claim(&bytes), read_ranges(&bytes));
        let _ = read_key(&bytes, Arc::from("a"));
    }
}

#[test]
fn a_usual_entry_has_a_short_record() {
    let write = usual::write(1, 1);
    let record = entry_bytes(&write.streams[0].changes.entries[0]);
    assert!(record.len() <= 120, "{record:?}");
}

#[test]
fn ranges_that_touch_or_lie_below_the_mark_are_refused() {
    // Low water 5, one island.
    for (first, last) in [(6, 7), (3, 4), (9, 8)] {
        let record = [VERSION, 5, 1, first, if last >= first { (last - first) * 2 } else { 1 }];
        assert_eq!(read_ranges(&record).expect_err("it is no set").fault, Fault::Value("set of ordinals"));
    }
    assert_eq!(read_ranges(&[VERSION, 5, 1, 7, 2]), Ok(Ranges::new(5, [(7, 8)])));
}
