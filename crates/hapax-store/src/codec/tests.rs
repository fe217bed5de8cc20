//! The codec's promises: what is written is read back, any bytes give an answer, old bytes stay readable.
//!
//! `any` makes writes of every shape, `whole` is one with every kind of thing in it, `usual` is what the judge really
//! leads to.

pub(crate) mod any;
pub(crate) mod any_claim;
pub(crate) mod any_entry;
mod bad_bytes;
mod golden;
mod round_trip;
mod size;
pub(crate) mod usual;
mod whole;
mod whole_registry;

use super::{Sections, encode};
use crate::seam::Write;

/// The sections of a write.
pub(crate) fn encoded(write: &Write) -> Sections {
    let mut sections = Sections::default();
    encode(write, &mut sections);
    sections
}

/// Writes are compared by what they show of themselves, which is every field of every part.
fn assert_same(left: &Write, right: &Write) {
    assert_eq!(format!("{left:?}"), format!("{right:?}"));
}

/// The write without what expires.
fn lasting_part(write: &Write) -> Write {
    let mut write = write.clone();
    write.requests.clear();
    for stream in &mut write.streams {
        stream.changes.attempts.clear();
        stream.changes.nonces.clear();
        stream.changes.gaps.retain(|(_, change)| super::stream::is_lasting(change));
    }
    write
}
