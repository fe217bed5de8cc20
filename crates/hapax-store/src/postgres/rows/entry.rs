//! Entries: a row of `entries` each.

use std::sync::Arc;

use bytes::BytesMut;
use hapax_core::entry::{Entry, EntryKind};
use hapax_core::event::{IdSource, Identity, digest};
use hapax_core::words::{Marks, States};
use tokio_postgres::Row;

use super::cells::Cells;
use super::copy::Fields;
use crate::codec::alone;
use crate::seam::{StoreError, StreamKey};

/// Takes rows as [`write`] makes them.
pub(in crate::postgres) const COPY: &str = r#"COPY entries ("offset", at, observed_at, ordinal, attempt, previous_in_lane, marks, states, lookup, contract, partition, kind, id_source, by_lane, tenant, stream, id, lane, epoch, seq, hash, identity, details, document) FROM STDIN WITH (FORMAT binary)"#;

const FIELDS: i16 = 24;
const SOURCES: [IdSource; 3] = [IdSource::Given, IdSource::Derived, IdSource::Assigned];

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

/// Appends a row. This is the hot path: nothing is allocated but room in the buffer.
pub(in crate::postgres) fn write(out: &mut BytesMut, key: &StreamKey, mask: Mask, by_lane: bool, entry: &Entry) {
    out.row(FIELDS);
    out.own(entry.offset);
    out.time(entry.at);
    out.maybe(entry.observed_at, BytesMut::time);
    out.own(entry.ordinal);
    out.own(entry.attempt);
    out.own(entry.previous_in_lane);
    out.int8(i64::from(entry.marks.bits()));
    out.int8(entry.states.bits().cast_signed());
    out.int8(mask.lookup(&entry.identity));
    out.int4(entry.contract);
    out.int2(0);
    out.int2(entry.kind as u8);
    out.int2(match entry.id_source {
        IdSource::Given => 0,
        IdSource::Derived => 1,
        IdSource::Assigned => 2,
    });
    out.flag(by_lane);
    out.raw(key.tenant.as_bytes());
    out.raw(key.stream.as_bytes());
    out.raw(entry.id.as_bytes());
    out.raw(entry.lane.as_bytes());
    out.whole(entry.epoch);
    out.maybe(entry.seq, BytesMut::whole);
    out.raw(&entry.hash);
    out.raw(&entry.identity.0);
    out.measured(|out| alone::write_entry(out, entry));
    out.raw(&entry.document);
}

/// What [`read`] expects.
pub(in crate::postgres) const COLUMNS: &str = r#"t."offset", t.at, t.observed_at, t.ordinal, t.attempt, t.previous_in_lane, t.marks, t.states, t.contract, t.kind, t.id_source, t.id, t.lane, t.epoch, t.seq, t.hash, t.identity, t.document, t.details"#;

/// Reads a row.
pub(in crate::postgres) fn read(row: &Row) -> Result<Entry, StoreError> {
    let mut cells = Cells::new(row, "entries");
    let offset = cells.own()?;
    let at = cells.time()?;
    let observed_at = cells.maybe_time()?;
    let (ordinal, attempt, previous_in_lane) = (cells.own()?, cells.own()?, cells.own()?);
    let marks = cells.bits(|bits| Marks::from_bits(bits.try_into().ok()?))?;
    let states = cells.bits(States::from_bits)?;
    let contract = cells.short()?;
    let kind = cells.word(EntryKind::ALL)?;
    let id_source = cells.word(&SOURCES)?;
    let (id, lane) = (cells.text()?, cells.text()?);
    let (epoch, seq) = (cells.whole()?, cells.maybe_whole()?);
    let (hash, identity) = (cells.fixed()?, Identity(cells.fixed()?));
    let document: Arc<[u8]> = cells.next::<&[u8]>()?.into();
    let details = cells.record(|record| alone::read_entry(record, alone::Row { at, observed_at, epoch, seq }))?;
    let alone::EntryDetails { caller, digest: sum, classes, gap, abandoned, refusal, basis } = details;
    let digest = sum.unwrap_or_else(|| digest(&document));
    Ok(Entry {
        offset,
        hash,
        kind,
        at,
        contract,
        id,
        id_source,
        identity,
        lane,
        epoch,
        seq,
        observed_at,
        document,
        digest,
        marks,
        states,
        gap,
        abandoned,
        refusal,
        classes,
        basis,
        ordinal,
        previous_in_lane,
        attempt,
        caller,
    })
}
