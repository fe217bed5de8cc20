//! What a decision compared, and the gaps that are part of it.

use hapax_core::entry::{Basis, CounterBasis, LaneBasis};
use hapax_core::lane::{Gap, GapKind};
use hapax_core::time::Time;

use super::fault::Undecodable;
use super::put::{Put, bits};
use super::take::Take;

const ORIGINAL: u64 = 1;
const NONCE: u64 = 1 << 1;
const LANE: u64 = 1 << 2;
const COUNTERS: u64 = 1 << 3;

const EPOCH: u64 = 1;
const HIGHEST: u64 = 1 << 1;
const HIGHEST_BEFORE: u64 = 1 << 2;
const LAST_TIME: u64 = 1 << 3;
const KNOWN: u64 = 1 << 4;
const FLOOR: u64 = 1 << 5;
const RETURNED: u64 = 1 << 6;
const HIT: u64 = 1 << 7;

const WATERMARK: u64 = 1;
const CLOSED: u64 = 1 << 1;
const FOLDED: u64 = 1 << 2;
const OTHER: u64 = 1 << 3;

/// What of the event itself the basis is written against: mostly it is close.
#[derive(Clone, Copy)]
pub(super) struct Beside {
    pub(super) epoch: u64,
    pub(super) seq: Option<u64>,
    /// The event's own time, or ours.
    pub(super) time: Time,
}

pub(super) fn write(out: &mut impl Put, basis: &Basis, beside: Beside) {
    let Basis { original, nonce_used_at, lane, counters } = basis;
    out.number(bits([
        (original.is_some(), ORIGINAL),
        (nonce_used_at.is_some(), NONCE),
        (lane.is_some(), LANE),
        (!counters.is_empty(), COUNTERS),
    ]));
    original.iter().for_each(|offset| out.number(*offset));
    nonce_used_at.iter().for_each(|time| out.time_from(*time, beside.time));
    lane.iter().for_each(|lane| write_lane(out, lane, beside));
    if !counters.is_empty() {
        out.number(counters.len() as u64);
        counters.iter().for_each(|counter| write_counter(out, counter, beside.time));
    }
}

pub(super) fn read(take: &mut Take<'_>, beside: Beside) -> Result<Basis, Undecodable> {
    let flags = take.bits("basis", ORIGINAL | NONCE | LANE | COUNTERS)?;
    Ok(Basis {
        original: take.when(flags & ORIGINAL != 0, Take::number)?,
        nonce_used_at: take.when(flags & NONCE != 0, |take| take.time_from(beside.time))?,
        lane: take.when(flags & LANE != 0, |take| read_lane(take, beside))?,
        counters: take
            .when(flags & COUNTERS != 0, |take| take.list(|take| read_counter(take, beside.time)))?
            .unwrap_or_default(),
    })
}

/// The number before the event's own: what the highest is when nothing is amiss.
fn before(seq: Option<u64>) -> Option<u64> {
    seq.and_then(|seq| seq.checked_sub(1))
}

fn write_lane(out: &mut impl Put, basis: &LaneBasis, beside: Beside) {
    let LaneBasis { epoch, highest, floor, last_time, returned, known, hit } = basis;
    let usual = highest.is_some() && *highest == before(beside.seq);
    out.number(bits([
        (*epoch != beside.epoch, EPOCH),
        (highest.is_some() && !usual, HIGHEST),
        (usual, HIGHEST_BEFORE),
        (last_time.is_some(), LAST_TIME),
        (*known, KNOWN),
        (floor.is_some(), FLOOR),
        (*returned, RETURNED),
        (hit.is_some(), HIT),
    ]));
    if *epoch != beside.epoch {
        out.number(*epoch);
    }
    highest.filter(|_| !usual).iter().for_each(|highest| out.number(*highest));
    last_time.iter().for_each(|time| out.time_from(*time, beside.time));
    floor.iter().for_each(|floor| out.number(*floor));
    hit.iter().for_each(|gap| write_gap(out, gap, beside.time));
}

fn read_lane(take: &mut Take<'_>, beside: Beside) -> Result<LaneBasis, Undecodable> {
    let known = EPOCH | HIGHEST | HIGHEST_BEFORE | LAST_TIME | KNOWN | FLOOR | RETURNED | HIT;
    let flags = take.bits("lane's basis", known)?;
    let epoch = take.when(flags & EPOCH != 0, Take::number)?.unwrap_or(beside.epoch);
    let highest = take.when(flags & HIGHEST != 0, Take::number)?;
    Ok(LaneBasis {
        epoch,
        highest: if flags & HIGHEST_BEFORE != 0 { before(beside.seq) } else { highest },
        last_time: take.when(flags & LAST_TIME != 0, |take| take.time_from(beside.time))?,
        floor: take.when(flags & FLOOR != 0, Take::number)?,
        returned: flags & RETURNED != 0,
        known: flags & KNOWN != 0,
        hit: take.when(flags & HIT != 0, |take| read_gap(take, beside.time))?.map(Box::new),
    })
}

pub(super) fn write_gap(out: &mut impl Put, gap: &Gap, base: Time) {
    let Gap { generation, from, to, kind, opened_at } = gap;
    out.push(*kind as u8);
    out.number(u64::from(*generation));
    out.number(*from);
    out.apart(*to, *from);
    out.time_from(*opened_at, base);
}

pub(super) fn read_gap(take: &mut Take<'_>, base: Time) -> Result<Gap, Undecodable> {
    let kind = take.word(GapKind::ALL, "kind of gap")?;
    let generation = take.short()?;
    let from = take.number()?;
    Ok(Gap { generation, from, to: take.apart(from)?, kind, opened_at: take.time_from(base)? })
}

fn write_counter(out: &mut impl Put, basis: &CounterBasis, base: Time) {
    let CounterBasis { watermark, closed, folded, other } = basis;
    out.number(bits([
        (watermark.is_some(), WATERMARK),
        (*closed, CLOSED),
        (folded.scaled() != 0, FOLDED),
        (other.scaled() != 0, OTHER),
    ]));
    watermark.iter().for_each(|time| out.time_from(*time, base));
    [folded, other].iter().filter(|amount| amount.scaled() != 0).for_each(|amount| out.amount(**amount));
}

fn read_counter(take: &mut Take<'_>, base: Time) -> Result<CounterBasis, Undecodable> {
    let flags = take.bits("counter's basis", WATERMARK | CLOSED | FOLDED | OTHER)?;
    Ok(CounterBasis {
        watermark: take.when(flags & WATERMARK != 0, |take| take.time_from(base))?,
        closed: flags & CLOSED != 0,
        folded: take.when(flags & FOLDED != 0, Take::amount)?.unwrap_or_default(),
        other: take.when(flags & OTHER != 0, Take::amount)?.unwrap_or_default(),
    })
}
