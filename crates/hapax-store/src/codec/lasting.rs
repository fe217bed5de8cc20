//! The section of what lasts, opened: any entry alone, or everything.

use std::ops::Range;
use std::sync::Arc;

use hapax_core::entry::Entry;
use hapax_core::event::{Digest, Identity};
use hapax_core::facts::Head;

use super::draft::Draft;
use super::entry::Much;
use super::fault::{Fault, Part, Undecodable};
use super::put::{Put, bits};
use super::row::{self, Row};
use super::tables::Tables;
use super::take::Take;
use super::{FORMAT, claim, entry, key, stream};
use crate::seam::{StreamKey, Write};

const TENANTS: u64 = 1;
const HANDLERS: u64 = 1 << 1;
const STATES: u64 = 1 << 2;
const HANDLER_LANES: u64 = 1 << 3;
const CLAIMS: u64 = 1 << 4;
const KEYS: u64 = 1 << 5;
const ALL: u64 = (1 << 6) - 1;

/// What lasts of a commit, found but not yet read.
#[derive(Clone, Debug)]
pub struct Lasting<'b> {
    pub(super) tables: Tables<'b>,
    pub(super) streams: Vec<Row>,
}

/// Where an entry stands, and what is known of it without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its place among all entries of the commit.
    pub index: u64,
    /// The place of its stream among those of the commit.
    pub stream: usize,
    /// Its bytes in the section.
    pub range: Range<usize>,
    /// Its offset in the ledger.
    pub offset: u64,
    /// What its id is looked up by.
    pub identity: Identity,
    /// Its hash.
    pub hash: Digest,
}

impl<'b> Lasting<'b> {
    /// Finds what stands where. Costs as much as the commit has streams, not entries.
    pub fn open(section: &'b [u8]) -> Result<Self, Undecodable> {
        let (tables, mut take) = Tables::open(section, Part::Lasting)?;
        let mut first = 0;
        let start = take.at();
        let streams = take.list(|take| {
            let row = row::read(take, &tables, first)?;
            first = row.entries.end;
            Ok(row)
        })?;
        take.finish()?;
        if first != tables.records() {
            return take.fault_at(start, Fault::Reference("stream of a record"));
        }
        Ok(Self { tables, streams })
    }

    /// The streams of the commit, with their heads before and after it.
    pub fn streams(&self) -> impl Iterator<Item = (&StreamKey, &Head, &Head)> {
        self.streams.iter().map(|row| (&row.key, &row.before, &row.after))
    }

    /// How many entries there are.
    pub fn count(&self) -> u64 {
        self.tables.records()
    }

    /// Where the entry at a place stands.
    pub fn find(&self, index: u64) -> Result<Found, Undecodable> {
        let range = self.tables.record(index)?;
        let (stream, row) = self.row(index)?;
        let mut take = self.tables.open_record(index)?;
        let glance = entry::glance(&mut take, &row.base, index - row.entries.start)?;
        let entry::Glance { offset, identity, hash, .. } = glance;
        Ok(Found { index, stream, range, offset, identity, hash })
    }

    /// The entry at a place.
    pub fn entry(&self, index: u64) -> Result<Entry, Undecodable> {
        let (_, row) = self.row(index)?;
        let mut take = self.tables.open_record(index)?;
        entry::read(&mut take, &self.tables, &row.base, index - row.entries.start, Much::Whole)
    }

    /// The places of all entries of the stream that has the entry at this place.
    pub fn siblings(&self, index: u64) -> Result<Range<u64>, Undecodable> {
        self.row(index).map(|(_, row)| row.entries.clone())
    }

    /// The places of a stream's entries; none if it has none here.
    pub fn entries_of(&self, key: &StreamKey) -> Range<u64> {
        self.streams.iter().find(|row| row.key == *key).map(|row| row.entries.clone()).unwrap_or_default()
    }

    fn row(&self, index: u64) -> Result<(usize, &Row), Undecodable> {
        let place = self.streams.partition_point(|row| row.entries.end <= index);
        let missing = || Undecodable { part: Part::Lasting, at: 0, fault: Fault::Reference("record") };
        self.streams.get(place).map(|row| (place, row)).ok_or_else(missing)
    }

    /// The stream of an entry, by its place alone.
    pub fn stream_of(&self, index: u64) -> Option<usize> {
        self.row(index).ok().map(|(place, _)| place)
    }

    /// Everything that lasts.
    pub fn read(self) -> Result<Write, Undecodable> {
        self.read_much(Much::Whole)
    }

    /// Everything that lasts but the documents of the entries, their digests and ids.
    pub fn read_bare(self) -> Result<Write, Undecodable> {
        self.read_much(Much::Bare)
    }

    fn read_much(mut self, much: Much<'_>) -> Result<Write, Undecodable> {
        self.tables.read_all()?;
        let tables = &self.tables;
        let mut take = tables.changes()?;
        let streams = self.streams.iter().map(|row| stream::read(&mut take, tables, row, much));
        let mut write = Write { streams: streams.collect::<Result<_, _>>()?, ..Write::default() };
        read_registry(&mut take, tables, &mut write)?;
        take.finish()?;
        Ok(write)
    }
}

/// Writes what lasts of a commit. Answers where the record of each entry ends, counted from the first.
pub(super) fn write(write: &Write, out: &mut Vec<u8>) -> Vec<u64> {
    let entries = || write.streams.iter().flat_map(|stream| &stream.changes.entries);
    let lanes: usize = write.streams.iter().map(|stream| stream.changes.lanes.len()).sum();
    let (count, documents) =
        entries().fold((0, 0), |(count, length), entry| (count + 1, length + entry.document.len()));
    out.clear();
    // A commit of usual events fits at once; an unusual one grows the buffer once or twice.
    out.reserve(256 + documents + count * 112 + lanes * 40);
    let mut draft = Draft::begin(out, FORMAT, count, lanes + 8);
    for stream in &write.streams {
        let base = row::base(stream);
        for (index, entry) in (0..).zip(&stream.changes.entries) {
            entry::write(&mut draft, &base, index, entry);
        }
    }
    write.streams.iter().for_each(|stream| stream::write(&mut draft, stream));
    write_registry(&mut draft, write);
    draft.directory(write.streams.iter().flat_map(|stream| [&*stream.key.tenant, &*stream.key.stream]));
    draft.out.number(write.streams.len() as u64);
    write.streams.iter().for_each(|stream| row::write(&mut draft, stream));
    draft.ends
}

/// What belongs to no stream: tenants, handlers and what they did.
fn write_registry<'w>(draft: &mut Draft<'w, '_>, write: &'w Write) {
    let Write {
        rests_on: _,
        tenants,
        streams: _,
        handlers,
        states,
        handler_lanes,
        claims,
        requests: _,
        keys,
        askers: _,
    } = write;
    draft.out.number(bits([
        (!tenants.is_empty(), TENANTS),
        (!handlers.is_empty(), HANDLERS),
        (!states.is_empty(), STATES),
        (!handler_lanes.is_empty(), HANDLER_LANES),
        (!claims.is_empty(), CLAIMS),
        (!keys.is_empty(), KEYS),
    ]));
    draft.list(tenants, |draft, (name, salt)| {
        draft.name(name);
        draft.out.extend_from_slice(salt);
    });
    draft.list(handlers, |draft, (key, handler)| {
        claim::write_key(draft, key);
        claim::write_handler(draft.out, handler);
    });
    draft.list(states, |draft, (key, change)| {
        claim::write_key(draft, key);
        claim::write_state(draft.out, change);
    });
    draft.list(handler_lanes, |draft, ((key, name), lane)| {
        claim::write_key(draft, key);
        draft.name(name);
        claim::write_lane(draft.out, lane);
    });
    draft.list(claims, |draft, ((key, identity), claim)| {
        claim::write_key(draft, key);
        draft.out.extend_from_slice(&identity.0);
        claim::write(draft.out, claim);
    });
    draft.list(keys, key::write);
}

fn read_registry<'b>(take: &mut Take<'b>, tables: &Tables<'b>, write: &mut Write) -> Result<(), Undecodable> {
    let flags = take.bits("changes of a registry", ALL)?;
    let has = |flag: u64| flags & flag != 0;
    let key = |take: &mut Take<'b>| claim::read_key(take, tables);
    let name = |take: &mut Take<'b>| -> Result<Arc<str>, Undecodable> { tables.name(take) };
    if has(TENANTS) {
        write.tenants = take.list(|take| Ok((name(take)?, take.array()?)))?;
    }
    if has(HANDLERS) {
        write.handlers = take.list(|take| Ok((key(take)?, claim::read_handler(take)?)))?;
    }
    if has(STATES) {
        write.states = take.list(|take| Ok((key(take)?, claim::read_state(take)?)))?;
    }
    if has(HANDLER_LANES) {
        write.handler_lanes = take.list(|take| Ok(((key(take)?, name(take)?), claim::read_lane(take)?)))?;
    }
    if has(CLAIMS) {
        write.claims = take.list(|take| Ok(((key(take)?, Identity(take.array()?)), claim::read(take)?)))?;
    }
    if has(KEYS) {
        write.keys = take.list(|take| key::read(take, tables))?;
    }
    Ok(())
}
