//! Any bytes as the two sections of a commit: a write or a fault that lies inside them, and no more memory than they are
//! worth. A write that was read is the same after it was written and read again, and an entry that is read alone is the one
//! that is read with all others.
//!
//! The input is how long the lasting section is (`u16`, little endian), and both sections.

use hapax_core::event::digest;
use hapax_store::embedded::codec::{Part, Sections, decode, decode_bare, encode, entries, entry_at};

use crate::allocations::at_most;

/// So many bytes of memory are enough for each byte of a section, and for the sections without any: a list begins with
/// room for a thousand items, and an item of a few bytes may become a hundred times as large.
const EACH_BYTES_MAX: usize = 1 << 10;
const FIRST_BYTES_MAX: usize = 1 << 20;

pub(super) fn check(input: &[u8]) {
    let Some((length, rest)) = input.split_first_chunk() else { return };
    let (lasting, expiring) = rest.split_at(usize::from(u16::from_le_bytes(*length)).min(rest.len()));
    let enough = FIRST_BYTES_MAX + EACH_BYTES_MAX * input.len();
    let has_expiring = (!expiring.is_empty()).then_some(expiring);
    let bare = at_most(enough, || decode_bare(lasting, has_expiring));
    let write = match at_most(enough, || decode(lasting, has_expiring)) {
        Ok(write) => write,
        Err(fault) => {
            let length = match fault.part {
                Part::Lasting => lasting.len(),
                Part::Expiring => expiring.len(),
                Part::Alone => panic!("{fault}: a commit holds no record that stands alone"),
            };
            assert!(fault.at <= length, "{fault} lies outside of {length} bytes");
            if let Ok(found) = entries(lasting) {
                found.take(16).flatten().for_each(|found| _ = entry_at(lasting, found.index));
            }
            return;
        }
    };
    let bare = bare.expect("what is read whole is read bare");
    assert_eq!(bare.streams.len(), write.streams.len());

    let mut whole = write.streams.iter().flat_map(|stream| &stream.changes.entries);
    for found in entries(lasting).expect("it was read").map(|found| found.expect("it was read")) {
        assert!(found.range.end <= lasting.len());
        let entry = entry_at(lasting, found.index).expect("it was read");
        assert_eq!(Some(&entry), whole.next().map(|it| &**it), "an entry alone is the one among others");
        assert_eq!((found.offset, found.identity, found.hash), (entry.offset, entry.identity, entry.hash));
    }
    assert!(whole.next().is_none());

    // The digest of a long document is believed until somebody proves the ledger, and is never written anew.
    let mut entries = write.streams.iter().flat_map(|stream| &stream.changes.entries);
    if entries.any(|entry| entry.digest != digest(&entry.document)) {
        return;
    }
    let mut written = Sections::default();
    encode(&write, &mut written);
    let again = decode(&written.lasting, Some(&written.expiring)).expect("what was written is read");
    assert_eq!(format!("{again:?}"), format!("{write:?}"), "and is the same");
    let mut twice = Sections::default();
    encode(&again, &mut twice);
    assert_eq!(twice, written, "with the same bytes");
}
