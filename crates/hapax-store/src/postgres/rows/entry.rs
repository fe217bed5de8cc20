//! Entries: a row of `blocks` for some that were accepted together, and a row of `lookups` for each of them.
//!
//! What holds: a block has the entries from its first offset to its last, and no other block has any of them. Ids, lanes and
//! documents are arrays that people can read; the rest of each entry is a record of its own, so that one that is spoiled
//! spoils no other.

use std::sync::Arc;

use bytes::{BufMut as _, BytesMut};
use hapax_core::entry::{Entry, EntryKind};
use hapax_core::event::{Identity, digest};
use tokio_postgres::Row;

use super::cells::Cells;
use super::copy::Fields;
use crate::codec::alone::{self, Shown};
use crate::seam::{StoreError, StreamKey};

/// Takes blocks as [`write`] makes them.
pub(in crate::postgres) const COPY: &str = "COPY blocks (last, first, attempt, partition, tenant, stream, ids, lanes, documents, records) FROM STDIN WITH (FORMAT binary)";

/// Takes lookups as [`write_lookups`] makes them.
pub(in crate::postgres) const COPY_LOOKUPS: &str =
    r#"COPY lookups (lookup, "offset", partition, tenant, stream) FROM STDIN WITH (FORMAT binary)"#;

/// A block has at most so many entries: reading one of them costs reading all.
const BLOCK_ENTRIES_MAX: usize = 16;
/// And it stays on one page, unless a single entry is larger than that.
const BLOCK_BYTES_MAX: usize = 7 << 10;
/// What a record takes besides id, lane and document, about.
const RECORD_BYTES: usize = 160;

/// The types of the elements of arrays.
const TEXT: u32 = 25;
const BYTEA: u32 = 17;

/// What the lookups of a stream differ by from those of another: the same id in many streams is not found in all of them.
#[derive(Clone, Copy, Debug)]
pub(in crate::postgres) struct Mask(u64);

impl Mask {
    /// That of a stream.
    pub(in crate::postgres) fn of(key: &StreamKey) -> Self {
        let StreamKey { tenant, stream } = key;
        Self(eight(&digest(&[tenant.as_bytes(), b"\0", stream.as_bytes()].concat())))
    }

    /// What an identity is found by. Its first bytes are the id's alone, which many lanes may share.
    pub(in crate::postgres) fn lookup(self, identity: &Identity) -> i64 {
        (eight(&identity.0[Identity::SHARED..]) ^ self.0).cast_signed()
    }
}

fn eight(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).fold(0, |all, byte| all << 8 | u64::from(*byte))
}

/// Appends the blocks of entries that follow each other. This is the hot path: nothing is allocated but room in the buffer.
pub(in crate::postgres) fn write(out: &mut BytesMut, key: &StreamKey, entries: &[Arc<Entry>]) {
    let mut rest = entries;
    while !rest.is_empty() {
        let (block, more) = rest.split_at(block_length(rest));
        write_block(out, key, block);
        rest = more;
    }
}

/// How many entries each block has.
#[cfg(test)]
pub(super) fn block_lengths(entries: &[Arc<Entry>]) -> Vec<usize> {
    let mut rest = entries;
    std::iter::from_fn(|| {
        let length = (!rest.is_empty()).then(|| block_length(rest))?;
        rest = &rest[length..];
        Some(length)
    })
    .collect()
}

/// How many of the first entries share a block.
fn block_length(entries: &[Arc<Entry>]) -> usize {
    let mut bytes = 0;
    let fits = |entry: &&Arc<Entry>| {
        bytes += entry.document.len() + entry.id.len() + entry.lane.len() + RECORD_BYTES;
        bytes <= BLOCK_BYTES_MAX
    };
    entries.iter().take(BLOCK_ENTRIES_MAX).take_while(fits).count().max(1)
}

fn write_block(out: &mut BytesMut, key: &StreamKey, block: &[Arc<Entry>]) {
    let (Some(first), Some(last)) = (block.first(), block.last()) else { return };
    out.row(10);
    out.own(last.offset);
    out.own(first.offset);
    out.own(last.attempt);
    out.int2(0);
    out.raw(key.tenant.as_bytes());
    out.raw(key.stream.as_bytes());
    array(out, TEXT, block, |out, entry| out.raw(entry.id.as_bytes()));
    array(out, TEXT, block, |out, entry| out.raw(entry.lane.as_bytes()));
    array(out, BYTEA, block, |out, entry| out.raw(&entry.document));
    array(out, BYTEA, block, |out, entry| out.measured(|out| alone::write_entry(out, entry)));
}

/// An array of one dimension without nulls, from 1.
fn array(out: &mut BytesMut, kind: u32, block: &[Arc<Entry>], write: impl Fn(&mut BytesMut, &Entry)) {
    out.measured(|out| {
        out.put_i32(1);
        out.put_i32(0);
        out.put_u32(kind);
        // A block is small.
        out.put_i32(block.len() as i32);
        out.put_i32(1);
        block.iter().for_each(|entry| write(out, entry));
    });
}

/// Appends what entries are found by: their identities, and where ids are unique within lanes only, their ids as well.
pub(in crate::postgres) fn write_lookups(out: &mut BytesMut, key: &StreamKey, by_lane: bool, entries: &[Arc<Entry>]) {
    let mask = Mask::of(key);
    let mut write = |identity: &Identity, offset: u64| {
        out.row(5);
        out.int8(mask.lookup(identity));
        out.own(offset);
        out.int2(0);
        out.raw(key.tenant.as_bytes());
        out.raw(key.stream.as_bytes());
    };
    for entry in entries {
        write(&entry.identity, entry.offset);
        if by_lane && entry.kind == EntryKind::Event {
            write(&Identity::of(None, &entry.id), entry.offset);
        }
    }
}

/// What [`read`] expects.
pub(in crate::postgres) const COLUMNS: &str = "t.last, t.first, t.ids, t.lanes, t.documents, t.records";

/// Which entries of a block are wanted.
pub(in crate::postgres) enum Wanted<'w> {
    /// Those after an offset, at most so many.
    After(u64, usize),
    /// These.
    Offsets(&'w [i64]),
}

/// Reads the entries of a block that are wanted.
pub(in crate::postgres) fn read(row: &Row, wanted: &Wanted<'_>) -> Result<Vec<Arc<Entry>>, StoreError> {
    let mut cells = Cells::new(row, "blocks");
    let (last, first) = (cells.own()?, cells.own()?);
    let (ids, lanes) = (cells.next::<Vec<&str>>()?, cells.next::<Vec<&str>>()?);
    let (documents, records) = (cells.next::<Vec<&[u8]>>()?, cells.next::<Vec<&[u8]>>()?);
    let count = last.checked_sub(first).and_then(|more| more.checked_add(1));
    let lengths = [ids.len(), lanes.len(), documents.len(), records.len()];
    if lengths.iter().any(|length| Some(*length as u64) != count) {
        return Err(cells.corrupt(&format!("block {first} to {last} has {lengths:?} ids, lanes, documents, records")));
    }
    let (is_wanted, max): (&dyn Fn(u64) -> bool, usize) = match wanted {
        Wanted::After(after, max) => (&|offset| offset > *after, *max),
        Wanted::Offsets(offsets) => (&|offset| offsets.contains(&super::own(offset)), usize::MAX),
    };
    let mut found = Vec::new();
    for (place, offset) in (first..=last).enumerate().filter(|(_, offset)| is_wanted(*offset)).take(max) {
        let shown = Shown { offset, id: ids[place], lane: lanes[place], document: documents[place] };
        let entry = alone::read_entry(records[place], shown);
        let entry = entry.map_err(|fault| cells.corrupt(&format!("entry {offset}: {fault}")))?;
        found.push(Arc::new(entry));
    }
    Ok(found)
}

/// Reads the entries of a block that were found by their lookups, which stand behind [`COLUMNS`].
pub(in crate::postgres) fn read_found(row: &Row) -> Result<Vec<Arc<Entry>>, StoreError> {
    let mut cells = Cells::at(row, "lookups", 6);
    read(row, &Wanted::Offsets(&cells.next::<Vec<i64>>()?))
}

/// The offset of a block's last entry.
pub(in crate::postgres) fn last(row: &Row) -> Result<u64, StoreError> {
    Cells::new(row, "blocks").own()
}
