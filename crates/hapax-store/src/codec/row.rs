//! A stream in the directory of what lasts: its key, its heads, and which records are its entries.

use std::ops::Range;

use hapax_core::facts::Head;

use super::EPOCH;
use super::draft::Draft;
use super::entry::Base;
use super::fault::{Fault, Undecodable};
use super::put::{Put, bits};
use super::tables::Tables;
use super::take::Take;
use crate::seam::{StreamKey, StreamWrite};

const AFTER_AT: u64 = 1;
const AFTER_HASH: u64 = 1 << 1;
const BEFORE_AT: u64 = 1 << 2;

/// A stream in the directory.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) key: StreamKey,
    pub(super) before: Head,
    pub(super) after: Head,
    pub(super) base: Base,
    /// The place of its first entry in the section, and that after its last.
    pub(super) entries: Range<u64>,
}

/// What the entries of a stream are written against.
pub(super) fn base(stream: &StreamWrite) -> Base {
    let contract = stream.changes.entries.first().map_or(0, |entry| entry.contract);
    let Head { offset, events, attempts, .. } = stream.before;
    // Most of what a turn leads to happens at the time of its last entry.
    Base { offset, events, attempts, at: stream.after.at.unwrap_or(EPOCH), contract }
}

pub(super) fn write<'w>(draft: &mut Draft<'w, '_>, stream: &'w StreamWrite) {
    let StreamWrite { key, before, after, changes, version: _ } = stream;
    draft.name(&key.tenant);
    draft.name(&key.stream);
    let out = &mut *draft.out;
    let usual = changes.entries.last().map_or(before.hash, |entry| entry.hash);
    out.number(bits([
        (after.at.is_some(), AFTER_AT),
        (after.hash != usual, AFTER_HASH),
        (before.at.is_some(), BEFORE_AT),
    ]));
    let count = changes.entries.len() as u64;
    out.number(count);
    after.at.iter().for_each(|at| out.time(*at));
    before.at.iter().for_each(|at| out.time_from(*at, after.at.unwrap_or(EPOCH)));
    out.extend_from_slice(&before.hash);
    if after.hash != usual {
        out.extend_from_slice(&after.hash);
    }
    let pairs = [(before.offset, after.offset), (before.events, after.events), (before.attempts, after.attempts)];
    for (before, after) in pairs {
        out.number(before);
        out.apart(after, before.wrapping_add(count));
    }
    out.number(u64::from(base(stream).contract));
}

pub(super) fn read<'b>(take: &mut Take<'b>, tables: &Tables<'b>, first: u64) -> Result<Row, Undecodable> {
    let key = StreamKey { tenant: tables.name(take)?, stream: tables.name(take)? };
    let flags = take.bits("stream", AFTER_AT | AFTER_HASH | BEFORE_AT)?;
    let (place, count) = (take.at(), take.number()?);
    let end = match first.checked_add(count) {
        Some(end) if end <= tables.records() => end,
        _ => return take.fault_at(place, Fault::Reference("record")),
    };
    let mut after = Head { at: take.when(flags & AFTER_AT != 0, Take::time)?, ..Head::default() };
    let at = after.at.unwrap_or(EPOCH);
    let mut before = Head { at: take.when(flags & BEFORE_AT != 0, |take| take.time_from(at))?, ..Head::default() };
    before.hash = take.array()?;
    after.hash = match (flags & AFTER_HASH != 0, count) {
        (true, _) => take.array()?,
        (false, 0) => before.hash,
        (false, _) => tables.open_record(end - 1)?.array()?,
    };
    let mut pair = || -> Result<(u64, u64), Undecodable> {
        let before = take.number()?;
        Ok((before, take.apart(before.wrapping_add(count))?))
    };
    (before.offset, after.offset) = pair()?;
    (before.events, after.events) = pair()?;
    (before.attempts, after.attempts) = pair()?;
    let Head { offset, events, attempts, .. } = before;
    let base = Base { offset, events, attempts, at, contract: take.short()? };
    Ok(Row { key, before, after, base, entries: first..end })
}
