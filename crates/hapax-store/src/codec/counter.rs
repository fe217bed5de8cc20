//! Counters as they are now, adjustments, and periods.

use hapax_core::counter::{Adjustment, Counter, CounterKey, Last, Tally};
use hapax_core::period::{Period, PeriodStart};
use hapax_core::time::Time;

use super::draft::Draft;
use super::fault::{Fault, Undecodable};
use super::put::{Put, bits};
use super::tables::Tables;
use super::take::Take;

const WATERMARK: u64 = 1;
const CLOSED: u64 = 1 << 1;
const CORRECTED: u64 = 1 << 2;
const ADJUSTED: u64 = 1 << 3;

const MIN: u64 = 1;
const MAX: u64 = 1 << 1;
const LAST: u64 = 1 << 2;

const HOUR: i64 = 3_600_000_000_000;

pub(super) fn write<'w>(draft: &mut Draft<'w, '_>, key: &'w CounterKey, counter: &Counter, base: Time) {
    write_key(draft, key);
    write_values(draft.out, counter, base);
}

pub(super) fn write_values(out: &mut impl Put, counter: &Counter, base: Time) {
    let Counter { folded, adjusted, corrected, watermark, closed } = counter;
    let has_adjusted = *adjusted != Tally::default();
    out.number(bits([
        (watermark.is_some(), WATERMARK),
        (*closed, CLOSED),
        (corrected.scaled() != 0, CORRECTED),
        (has_adjusted, ADJUSTED),
    ]));
    watermark.iter().for_each(|time| out.time_from(*time, base));
    if corrected.scaled() != 0 {
        out.amount(*corrected);
    }
    write_tally(out, folded, base);
    if has_adjusted {
        write_tally(out, adjusted, base);
    }
}

pub(super) fn read<'b>(
    take: &mut Take<'b>,
    tables: &Tables<'b>,
    base: Time,
) -> Result<(CounterKey, Counter), Undecodable> {
    Ok((read_key(take, tables)?, read_values(take, base)?))
}

pub(super) fn read_values(take: &mut Take<'_>, base: Time) -> Result<Counter, Undecodable> {
    let flags = take.bits("counter", WATERMARK | CLOSED | CORRECTED | ADJUSTED)?;
    Ok(Counter {
        watermark: take.when(flags & WATERMARK != 0, |take| take.time_from(base))?,
        closed: flags & CLOSED != 0,
        corrected: take.when(flags & CORRECTED != 0, Take::amount)?.unwrap_or_default(),
        folded: read_tally(take, base)?,
        adjusted: take.when(flags & ADJUSTED != 0, |take| read_tally(take, base))?.unwrap_or_default(),
    })
}

fn write_tally(out: &mut impl Put, tally: &Tally, base: Time) {
    let Tally { count, sum, min, max, last } = tally;
    out.number(bits([(min.is_some(), MIN), (max.is_some(), MAX), (last.is_some(), LAST)]));
    out.number(*count);
    out.amount(*sum);
    [min, max].into_iter().flatten().for_each(|amount| out.amount(*amount));
    if let Some(Last { ts, id, amount }) = last {
        out.time_from(*ts, base);
        out.text(id);
        out.amount(*amount);
    }
}

fn read_tally(take: &mut Take<'_>, base: Time) -> Result<Tally, Undecodable> {
    let flags = take.bits("tally", MIN | MAX | LAST)?;
    let last =
        |take: &mut Take<'_>| Ok(Last { ts: take.time_from(base)?, id: take.text()?.into(), amount: take.amount()? });
    Ok(Tally {
        count: take.number()?,
        sum: take.amount()?,
        min: take.when(flags & MIN != 0, Take::amount)?,
        max: take.when(flags & MAX != 0, Take::amount)?,
        last: take.when(flags & LAST != 0, last)?,
    })
}

fn write_key<'w>(draft: &mut Draft<'w, '_>, key: &'w CounterKey) {
    let CounterKey { name, key, period } = key;
    draft.name(name);
    draft.name(key);
    write_period(draft.out, *period);
}

fn read_key<'b>(take: &mut Take<'b>, tables: &Tables<'b>) -> Result<CounterKey, Undecodable> {
    Ok(CounterKey { name: tables.name(take)?, key: tables.name(take)?, period: read_period(take)? })
}

pub(super) fn write_adjustment<'w>(
    draft: &mut Draft<'w, '_>,
    key: &'w CounterKey,
    adjustment: &'w Adjustment,
    base: Time,
) {
    write_key(draft, key);
    let Adjustment { id, amount, reason, offset, at } = adjustment;
    draft.out.text(id);
    draft.out.amount(*amount);
    draft.name(reason);
    draft.out.number(*offset);
    draft.out.time_from(*at, base);
}

pub(super) fn read_adjustment<'b>(
    take: &mut Take<'b>,
    tables: &Tables<'b>,
    base: Time,
) -> Result<(CounterKey, Adjustment), Undecodable> {
    let key = read_key(take, tables)?;
    let adjustment = Adjustment {
        id: take.text()?.into(),
        amount: take.amount()?,
        reason: tables.name(take)?,
        offset: take.number()?,
        at: take.time_from(base)?,
    };
    Ok((key, adjustment))
}

/// The kind and the hour in which it begins. One that begins before the earliest time is written with that, and so is
/// the one that never begins: both hold it, so it finds them again.
pub(super) fn write_period(out: &mut impl Put, start: PeriodStart) {
    out.push(match start.period() {
        Period::Hour => 0,
        Period::Day => 1,
        Period::Week => 2,
        Period::Month => 3,
        Period::None => 4,
    });
    if start.period() != Period::None {
        out.signed(start.start().nanos() / HOUR);
    }
}

pub(super) fn read_period(take: &mut Take<'_>) -> Result<PeriodStart, Undecodable> {
    let period = match take.byte()? {
        0 => Period::Hour,
        1 => Period::Day,
        2 => Period::Week,
        3 => Period::Month,
        4 => return Ok(Period::None.of(Time::EARLIEST)),
        tag => return take.unknown("period", tag),
    };
    let (at, hour) = (take.at(), take.signed()?);
    let time = Time::from_nanos(hour.saturating_mul(HOUR));
    let start = period.of(time);
    let exact = start.start() == time && time.nanos() / HOUR == hour;
    if exact { Ok(start) } else { take.fault_at(at, Fault::Value("period")) }
}
