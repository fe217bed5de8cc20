//! What changed in a stream besides its entries, as far as it lasts.

use hapax_core::contract::{Contract, Version, to_json};
use hapax_core::entry::SharedEntry;
use hapax_core::facts::Changes;
use hapax_core::lane::GapChange;
use hapax_core::time::Time;

use super::draft::Draft;
use super::entry::Much;
use super::fault::{Fault, Undecodable};
use super::lane::{self, Beside};
use super::put::{Put, bits};
use super::row::{Row, base};
use super::tables::Tables;
use super::take::Take;
use super::{counter, entry};
use crate::seam::StreamWrite;

const VERSION: u64 = 1;
const LANES: u64 = 1 << 1;
const GAPS: u64 = 1 << 2;
const COUNTERS: u64 = 1 << 3;
const ADJUSTMENTS: u64 = 1 << 4;
const CLOSED: u64 = 1 << 5;
const LOSSES: u64 = 1 << 6;
const ALL: u64 = (1 << 7) - 1;

pub(super) fn write<'w>(draft: &mut Draft<'w, '_>, stream: &'w StreamWrite) {
    let StreamWrite { key: _, before, after: _, version, changes } = stream;
    let Changes { entries, attempts: _, lanes, gaps, nonces: _, counters, adjustments, closed, acknowledgements } =
        changes;
    let at = base(stream).at;
    let rows = gaps.iter().filter(|(_, change)| is_lasting(change)).count();
    draft.out.number(bits([
        (version.is_some(), VERSION),
        (!lanes.is_empty(), LANES),
        (rows > 0, GAPS),
        (!counters.is_empty(), COUNTERS),
        (!adjustments.is_empty(), ADJUSTMENTS),
        (!closed.is_empty(), CLOSED),
        (!acknowledgements.is_empty(), LOSSES),
    ]));
    version.iter().for_each(|(version, at)| write_version(draft.out, version, *at));
    let beside = Beside { entries, before: before.offset, at };
    draft.list(lanes, |draft, (name, lane)| lane::write(draft, name, lane, beside));
    if rows > 0 {
        draft.out.number(rows as u64);
        gaps.iter().for_each(|(name, change)| lane::write_change(draft, name, change, at));
    }
    draft.list(counters, |draft, (key, counter)| counter::write(draft, key, counter, at));
    draft.list(adjustments, |draft, (key, adjustment)| counter::write_adjustment(draft, key, adjustment, at));
    draft.list(closed, |draft, (name, period)| {
        draft.name(name);
        counter::write_period(draft.out, *period);
    });
    draft.list(acknowledgements, |draft, loss| lane::write_loss(draft, loss, at));
}

/// Reads the entries of a stream, and what else changed in it.
pub(super) fn read<'b>(
    take: &mut Take<'b>,
    tables: &Tables<'b>,
    row: &Row,
    much: Much<'_>,
) -> Result<StreamWrite, Undecodable> {
    let entries = read_entries(tables, row, much)?;
    let flags = take.bits("changes of a stream", ALL)?;
    let has = |flag: u64| flags & flag != 0;
    let at = row.base.at;
    let version = take.when(has(VERSION), read_version)?;
    let beside = Beside { entries: &entries, before: row.before.offset, at };
    let lanes = take.when(has(LANES), |take| take.list(|take| lane::read(take, tables, beside)))?;
    let gaps = take.when(has(GAPS), |take| take.list(|take| lane::read_change(take, tables, at)))?;
    let counters = take.when(has(COUNTERS), |take| take.list(|take| counter::read(take, tables, at)))?;
    let adjustments =
        take.when(has(ADJUSTMENTS), |take| take.list(|take| counter::read_adjustment(take, tables, at)))?;
    let closing = |take: &mut Take<'b>| Ok((tables.name(take)?, counter::read_period(take)?));
    let closed = take.when(has(CLOSED), |take| take.list(closing))?;
    let losses = take.when(has(LOSSES), |take| take.list(|take| lane::read_loss(take, tables, at)))?;
    let changes = Changes {
        entries,
        lanes: lanes.unwrap_or_default(),
        gaps: gaps.unwrap_or_default(),
        counters: counters.unwrap_or_default(),
        adjustments: adjustments.unwrap_or_default(),
        closed: closed.unwrap_or_default(),
        acknowledgements: losses.unwrap_or_default(),
        // These expire, and stand in the other section.
        attempts: Vec::new(),
        nonces: Vec::new(),
    };
    Ok(StreamWrite { key: row.key.clone(), before: row.before, after: row.after, version, changes })
}

fn read_entries(tables: &Tables<'_>, row: &Row, much: Much<'_>) -> Result<Vec<SharedEntry>, Undecodable> {
    let read = |(index, place)| {
        entry::read(&mut tables.open_record(place)?, tables, &row.base, index, much).map(SharedEntry::from)
    };
    (0..).zip(row.entries.clone()).map(read).collect()
}

/// That numbers came after all is kept as long as the audit.
pub(super) const fn is_lasting(change: &GapChange) -> bool {
    match change {
        GapChange::Put(_) | GapChange::Remove(_) => true,
        GapChange::Filled(..) => false,
    }
}

/// The contract as its own JSON: it is put rarely, and that form is the one that must be readable for ever anyway.
fn write_version(out: &mut Vec<u8>, version: &Version, at: Time) {
    let Version { number, baseline, contract } = version;
    out.number(u64::from(*number));
    out.number(u64::from(*baseline));
    out.text(&to_json(contract));
    out.time(at);
}

fn read_version(take: &mut Take<'_>) -> Result<(Version, Time), Undecodable> {
    let (number, baseline) = (take.short()?, take.short()?);
    let (start, text) = (take.at(), take.text()?);
    match Contract::from_kept(text.as_bytes()) {
        Ok(contract) => Ok((Version { number, baseline, contract: contract.into() }, take.time()?)),
        Err(problems) => {
            let why = problems.first().map(|problem| format!("{}: {}", problem.key, problem.why));
            take.fault_at(start, Fault::Contract(why.unwrap_or_default()))
        }
    }
}
