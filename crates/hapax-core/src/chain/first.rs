//! The hash of an entry as it was made at first, in one step. Nothing is chained so any more; what was still holds.
//!
//! What is hashed, in this order (integers big endian, texts with their length as `u32` before them):
//!
//! | part | bytes |
//! |---|---|
//! | `hapax.entry.v1` | 14 |
//! | hash of the entry before, zeros for the first | 32 |
//! | SHA-256 of the document | 32 |
//! | kind, offset, contract, `ingested_at`, epoch | `u8`, `u64`, `u32`, `i64`, `u64` |
//! | number | `u8` whether there is one, `u64` |
//! | marks | `u16` bits |
//! | stream, lane, id | texts |
//! | counters | `u16` how many, then each name as a text and its class as `u8` |

use super::{counters, text};
use crate::entry::Entry;
use crate::event::{Digest, Input};

/// The hash of an entry, after the one before it.
pub(super) fn entry_hash(stream: &str, previous: &Digest, entry: &Entry) -> Digest {
    let mut input = Input::new();
    input.put(b"hapax.entry.v1");
    input.put(previous);
    input.put(&entry.digest);
    input.put(&[entry.kind as u8]);
    input.put(&entry.offset.to_be_bytes());
    input.put(&entry.contract.to_be_bytes());
    input.put(&entry.at.nanos().to_be_bytes());
    input.put(&entry.epoch.to_be_bytes());
    input.put(&[u8::from(entry.seq.is_some())]);
    input.put(&entry.seq.unwrap_or(0).to_be_bytes());
    input.put(&entry.marks.bits().to_be_bytes());
    [stream, &entry.lane, &entry.id].iter().for_each(|it| text(&mut input, it));
    counters(&mut input, entry);
    input.digest()
}
