//! Entries: a row of `blocks` for some that were accepted together, and a row of `lookups` for each of them.
//!
//! What holds: a block has the entries from its first offset to its last, and no other block has any of them. Ids, lanes and
//! documents are arrays that people can read; the rest of each entry is a record of its own, so that one that is spoiled
//! spoils no other.

use bytes::{BufMut as _, BytesMut};
use hapax_core::entry::{Entry, EntryKind, SharedEntry};
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
pub(in crate::postgres) fn write(out: &mut BytesMut, key: &StreamKey, entries: &[SharedEntry]) {
    let mut rest = entries;
    while !rest.is_empty() {
        let (block, more) = rest.split_at(block_length(rest));
        write_block(out, key, block);
        rest = more;
    }
}

/// How many entries each block has.
#[cfg(test)]
pub(super) fn block_lengths(entries: &[SharedEntry]) -> Vec<usize> {
    let mut rest = entries;
    std::iter::from_fn(|| {
        let length = (!rest.is_empty()).then(|| block_length(rest))?;
        rest = &rest[length..];
        Some(length)
    })
    .collect()
}

/// How many of the first entries share a block.
fn block_length(entries: &[SharedEntry]) -> usize {
    let mut bytes = 0;
    let fits = |entry: &&SharedEntry| {
        bytes += entry.document.len() + entry.id.len() + entry.lane.len() + RECORD_BYTES;
        bytes <= BLOCK_BYTES_MAX
    };
    entries.iter().take(BLOCK_ENTRIES_MAX).take_while(fits).count().max(1)
}

/// About how many bytes an entry takes in a COPY: memory that grows while it is written is copied again and again.
pub(in crate::postgres) fn room(entry: &Entry) -> usize {
    entry.document.len() + entry.id.len() + entry.lane.len() + RECORD_BYTES + 64
}

/// About how many bytes a lookup takes in a COPY.
pub(in crate::postgres) fn room_of_lookup(key: &StreamKey) -> usize {
    key.tenant.len() + key.stream.len() + 48
}

fn write_block(out: &mut BytesMut, key: &StreamKey, block: &[SharedEntry]) {
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
fn array(out: &mut BytesMut, kind: u32, block: &[SharedEntry], write: impl Fn(&mut BytesMut, &Entry)) {
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

/// What entries are found by, and where each stands: their identities, and where ids are unique within lanes only, their ids as
/// well.
pub(in crate::postgres) fn lookups(
    key: &StreamKey,
    by_lane: bool,
    entries: &[SharedEntry],
    mut each: impl FnMut(i64, u64),
) {
    let mask = Mask::of(key);
    for entry in entries {
        each(mask.lookup(&entry.identity), entry.offset);
        if by_lane && entry.kind == EntryKind::Event {
            each(mask.lookup(&Identity::of(None, &entry.id)), entry.offset);
        }
    }
}

/// Appends what entries are found by.
pub(in crate::postgres) fn write_lookups(out: &mut BytesMut, key: &StreamKey, by_lane: bool, entries: &[SharedEntry]) {
    lookups(key, by_lane, entries, |lookup, offset| {
        out.row(5);
        out.int8(lookup);
        out.own(offset);
        out.int2(0);
        out.raw(key.tenant.as_bytes());
        out.raw(key.stream.as_bytes());
    });
}

/// What [`read`] expects.
pub(in crate::postgres) const COLUMNS: &str = "t.last, t.first, t.ids, t.lanes, t.documents, t.records";

/// Reads the entries of a block after an offset, at most so many.
pub(in crate::postgres) fn read(row: &Row, after: u64, max: usize) -> Result<Vec<SharedEntry>, StoreError> {
    let mut cells = Cells::new(row, "blocks");
    let (last, first) = (cells.own()?, cells.own()?);
    let (ids, lanes) = (cells.next::<Vec<&str>>()?, cells.next::<Vec<&str>>()?);
    let (documents, records) = (cells.next::<Vec<&[u8]>>()?, cells.next::<Vec<&[u8]>>()?);
    let count = last.checked_sub(first).and_then(|more| more.checked_add(1));
    let lengths = [ids.len(), lanes.len(), documents.len(), records.len()];
    if lengths.iter().any(|length| Some(*length as u64) != count) {
        return Err(cells.corrupt(&format!("block {first} to {last} has {lengths:?} ids, lanes, documents, records")));
    }
    let wanted = (first..=last).enumerate().filter(|(_, offset)| *offset > after).take(max);
    let read_one = |(place, offset): (usize, u64)| {
        read_entry(
            &cells,
            records[place],
            Shown { offset, id: ids[place], lane: lanes[place], document: documents[place] },
        )
    };
    wanted.map(read_one).collect()
}

/// What [`read_found`] expects, of a lookup `l` and its block `t`.
pub(in crate::postgres) const FOUND: &str = r#"l."offset", t.ids[(l."offset" - t.first + 1)::int4],
    t.lanes[(l."offset" - t.first + 1)::int4], t.documents[(l."offset" - t.first + 1)::int4],
    t.records[(l."offset" - t.first + 1)::int4]"#;

/// Reads an entry that was found by its lookup.
pub(in crate::postgres) fn read_found(row: &Row) -> Result<SharedEntry, StoreError> {
    let mut cells = Cells::new(row, "blocks");
    let offset = cells.own()?;
    let (id, lane, document) = (cells.next::<&str>()?, cells.next::<&str>()?, cells.next::<&[u8]>()?);
    let record = cells.next::<&[u8]>()?;
    read_entry(&cells, record, Shown { offset, id, lane, document })
}

fn read_entry(cells: &Cells<'_>, record: &[u8], shown: Shown<'_>) -> Result<SharedEntry, StoreError> {
    let offset = shown.offset;
    let entry = alone::read_entry(record, shown);
    entry.map(SharedEntry::from).map_err(|fault| cells.corrupt(&format!("entry {offset}: {fault}")))
}

/// The offset of a block's last entry.
pub(in crate::postgres) fn last(row: &Row) -> Result<u64, StoreError> {
    Cells::new(row, "blocks").own()
}
