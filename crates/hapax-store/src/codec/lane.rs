//! Lanes as they are now, the rows of their gaps, and losses that people recorded.

use std::sync::Arc;

use hapax_core::entry::SharedEntry;
use hapax_core::facts::Acknowledgement;
use hapax_core::lane::{GapChange, GapCounts, Lane};
use hapax_core::time::Time;

use super::basis::{read_gap, write_gap};
use super::draft::Draft;
use super::fault::{Fault, Undecodable};
use super::put::{Put, bits};
use super::tables::Tables;
use super::take::Take;

const LEFT: u64 = 1;
const COUNTS: u64 = 1 << 1;
const GENERATION: u64 = 1 << 2;
const FLOOR: u64 = 1 << 3;
const BASELINE: u64 = 1 << 4;
const OUT_OF_ORDER: u64 = 1 << 5;
const HIGHEST: u64 = 1 << 6;
const LAST_TIME: u64 = 1 << 7;
const LAST_ARRIVAL: u64 = 1 << 8;
const ALL: u64 = (1 << 9) - 1;

/// What the lanes of a stream are written against.
#[derive(Clone, Copy)]
pub(super) struct Beside<'e> {
    /// The entries of the same commit.
    pub(super) entries: &'e [SharedEntry],
    /// Before the first of them.
    pub(super) before: u64,
    pub(super) at: Time,
}

/// What a lane is like after an event, if the event came as expected: most lanes of a commit are as their last entry
/// says, and then nothing of this is written again.
#[derive(PartialEq)]
struct Left<'e> {
    name: &'e str,
    epoch: u64,
    highest: Option<u64>,
    last_time: Option<Time>,
    last_arrival: Option<Time>,
}

impl<'e> Left<'e> {
    fn by(beside: Beside<'e>, offset: u64) -> Option<(Self, &'e Arc<str>)> {
        let index = offset.checked_sub(beside.before)?.checked_sub(1)?;
        let entry = beside.entries.get(usize::try_from(index).ok()?)?;
        let basis = entry.basis.lane.as_ref();
        let reached = entry.observed_at.map(|observed| observed.min(entry.at));
        let left = Self {
            name: &entry.lane,
            epoch: entry.epoch,
            highest: basis.and_then(|lane| lane.highest).max(entry.seq),
            last_time: basis.and_then(|lane| lane.last_time).max(reached),
            last_arrival: Some(entry.at),
        };
        Some((left, &entry.lane))
    }
}

pub(super) fn write<'w>(draft: &mut Draft<'w, '_>, name: &'w str, lane: &Lane, beside: Beside<'_>) {
    let Lane { baseline, epoch, generation, highest, floor, last_time, last_arrival, .. } = lane;
    let Lane { last_offset, events, out_of_order, counts, .. } = lane;
    let now = Left { name, epoch: *epoch, highest: *highest, last_time: *last_time, last_arrival: *last_arrival };
    let as_left = Left::by(beside, *last_offset).is_some_and(|(left, _)| left == now);
    draft.out.number(bits([
        (as_left, LEFT),
        (*counts != GapCounts::default(), COUNTS),
        (*generation != 0, GENERATION),
        (floor.is_some(), FLOOR),
        (*baseline != 0, BASELINE),
        (*out_of_order, OUT_OF_ORDER),
        (!as_left && highest.is_some(), HIGHEST),
        (!as_left && last_time.is_some(), LAST_TIME),
        (!as_left && last_arrival.is_some(), LAST_ARRIVAL),
    ]));
    draft.out.apart(*last_offset, beside.before);
    draft.out.number(*events);
    if !as_left {
        draft.name(name);
        draft.out.number(*epoch);
        highest.iter().for_each(|highest| draft.out.number(*highest));
        last_time.iter().for_each(|time| draft.out.time_from(*time, beside.at));
        last_arrival.iter().for_each(|time| draft.out.time_from(*time, beside.at));
    }
    let out = &mut *draft.out;
    if *counts != GapCounts::default() {
        let GapCounts { open, acknowledged, abandoned, unlisted } = counts;
        [open, acknowledged, abandoned, unlisted].iter().for_each(|count| out.number(**count));
    }
    if *generation != 0 {
        out.number(u64::from(*generation));
    }
    floor.iter().for_each(|floor| out.number(*floor));
    if *baseline != 0 {
        out.number(u64::from(*baseline));
    }
}

pub(super) fn read<'b>(
    take: &mut Take<'b>,
    tables: &Tables<'b>,
    beside: Beside<'_>,
) -> Result<(Arc<str>, Lane), Undecodable> {
    let start = take.at();
    let flags = take.bits("lane", ALL)?;
    let has = |flag: u64| flags & flag != 0;
    let mut lane = Lane { last_offset: take.apart(beside.before)?, events: take.number()?, ..Lane::default() };
    let name = if has(LEFT) {
        let Some((left, name)) = Left::by(beside, lane.last_offset) else {
            return take.fault_at(start, Fault::Reference("entry"));
        };
        (lane.epoch, lane.highest) = (left.epoch, left.highest);
        (lane.last_time, lane.last_arrival) = (left.last_time, left.last_arrival);
        Arc::clone(name)
    } else {
        let name = tables.name(take)?;
        lane.epoch = take.number()?;
        lane.highest = take.when(has(HIGHEST), Take::number)?;
        lane.last_time = take.when(has(LAST_TIME), |take| take.time_from(beside.at))?;
        lane.last_arrival = take.when(has(LAST_ARRIVAL), |take| take.time_from(beside.at))?;
        name
    };
    if has(COUNTS) {
        let [open, acknowledged, abandoned, unlisted] =
            [take.number()?, take.number()?, take.number()?, take.number()?];
        lane.counts = GapCounts { open, acknowledged, abandoned, unlisted };
    }
    lane.generation = take.when(has(GENERATION), Take::short)?.unwrap_or_default();
    lane.floor = take.when(has(FLOOR), Take::number)?;
    lane.baseline = take.when(has(BASELINE), Take::short)?.unwrap_or_default();
    lane.out_of_order = has(OUT_OF_ORDER);
    Ok((name, lane))
}

/// Writes a change of rows, if it lasts. That a gap was filled is kept as long as the audit.
pub(super) fn write_change<'w>(draft: &mut Draft<'w, '_>, name: &'w str, change: &GapChange, at: Time) {
    match change {
        GapChange::Put(gap) => {
            draft.out.push(0);
            draft.name(name);
            write_gap(draft.out, gap, at);
        }
        GapChange::Remove((generation, from)) => {
            draft.out.push(1);
            draft.name(name);
            draft.out.number(u64::from(*generation));
            draft.out.number(*from);
        }
        GapChange::Filled(..) => {}
    }
}

pub(super) fn read_change<'b>(
    take: &mut Take<'b>,
    tables: &Tables<'b>,
    at: Time,
) -> Result<(Arc<str>, GapChange), Undecodable> {
    match take.byte()? {
        0 => Ok((tables.name(take)?, GapChange::Put(read_gap(take, at)?))),
        1 => Ok((tables.name(take)?, GapChange::Remove((take.short()?, take.number()?)))),
        tag => take.unknown("change of a gap", tag),
    }
}

pub(super) fn write_loss<'w>(draft: &mut Draft<'w, '_>, loss: &'w Acknowledgement, base: Time) {
    let Acknowledgement { lane, from, to, reason, at } = loss;
    draft.name(lane);
    draft.out.number(*from);
    draft.out.apart(*to, *from);
    draft.out.text(reason);
    draft.out.time_from(*at, base);
}

pub(super) fn read_loss<'b>(
    take: &mut Take<'b>,
    tables: &Tables<'b>,
    base: Time,
) -> Result<Acknowledgement, Undecodable> {
    let lane = tables.name(take)?;
    let from = take.number()?;
    let to = take.apart(from)?;
    Ok(Acknowledgement { lane, from, to, reason: take.text()?.into(), at: take.time_from(base)? })
}
