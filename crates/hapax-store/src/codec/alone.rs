//! Records that stand alone: what a store keeps in a row of its own, where no section's tables are at hand.
//!
//! Every record begins with its version, a `u8` = 1, and ends with its last field. The shapes are those of the sections
//! (see [`super`]), but names stand where they are used, as `text`, and a caller does too, without a table.
//!
//! | record | bytes |
//! |---|---|
//! | entry, but for offset, id, lane and document | hash 32, identity 32, `bits`, kind `u8`, source of the id `u8`, at `time`, contract, epoch, ordinal, attempt, offset − previous in lane, marks, states: each `n`; 7:seq `n`, 8:observed_at `Δat`, 0:caller, 1:digest 32 (from 1024 bytes of document on), 2:`list` of classes (counter `text`, class `u8`), 3:gap (4: large; from `n`, to `Δfrom`), 5:`list` of abandoned ranges, 6:refusal, basis |
//! | details of an attempt | `bits`, 0:caller, 6:refusal, basis |
//! | counter | `bits` and values as in a section; times are `Δ1970` |
//! | adjustment | id `text`, `amount`, reason `text`, at `time` |
//! | handler, lane of a handler, claim | as in a section |
//! | ordinals that need nothing more | low water `n`, `list` of islands: first `n`, last `Δfirst` |
//! | key | as in a section, but for its tenant |
//!
//! What is not in a record stands in columns beside it: the reader hands it in.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::BytesMut;
use hapax_core::audit::Attempt;
use hapax_core::claim::{Claim, Handler, HandlerLane, Ranges};
use hapax_core::counter::{Adjustment, Class, Counter};
use hapax_core::entry::{Basis, Caller, Entry, EntryKind, GapDetail};
use hapax_core::event::{Digest, IdSource, Identity, digest};
use hapax_core::refusal::Refusal;
use hapax_core::time::Time;
use hapax_core::words::{Marks, States};

use super::basis::{self, Beside};
use super::entry::{DIGESTED_FROM, read_range, write_range};
use super::fault::{Fault, Part, Undecodable};
use super::put::{Put, bits};
use super::take::Take;
use super::{EPOCH, caller, claim, counter, key, refusal};
use crate::seam::Key;

/// The version of every record, and its first byte.
const VERSION: u8 = 1;

const CALLER: u64 = 1;
const DIGEST: u64 = 1 << 1;
const CLASSES: u64 = 1 << 2;
const GAP: u64 = 1 << 3;
const GAP_LARGE: u64 = 1 << 4;
const ABANDONED: u64 = 1 << 5;
const REFUSAL: u64 = 1 << 6;
const SEQ: u64 = 1 << 7;
const OBSERVED: u64 = 1 << 8;
const OF_ENTRY: u64 = (1 << 9) - 1;
const OF_ATTEMPT: u64 = CALLER | REFUSAL;

const SOURCES: [IdSource; 3] = [IdSource::Given, IdSource::Derived, IdSource::Assigned];

/// What the columns beside some details say, as far as the details are written against it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) at: Time,
    /// When the source saw it; an attempt has none.
    pub(crate) observed_at: Option<Time>,
    pub(crate) epoch: u64,
    pub(crate) seq: Option<u64>,
}

impl Row {
    fn beside(&self) -> Beside {
        Beside { epoch: self.epoch, seq: self.seq, time: self.observed_at.unwrap_or(self.at) }
    }
}

/// What of an attempt has no column of its own.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AttemptDetails {
    pub(crate) caller: Caller,
    pub(crate) refusal: Option<Box<Refusal>>,
    pub(crate) basis: Basis,
}

/// But for its offset, id, lane and document.
pub(crate) fn write_entry(out: &mut BytesMut, entry: &Entry) {
    let Entry { at, observed_at, epoch, seq, caller, classes, gap, abandoned, refusal, basis, .. } = entry;
    let long = entry.document.len() >= DIGESTED_FROM;
    out.push(VERSION);
    out.extend_from_slice(&entry.hash);
    out.extend_from_slice(&entry.identity.0);
    out.number(bits([
        (*caller != Caller::default(), CALLER),
        (long, DIGEST),
        (!classes.is_empty(), CLASSES),
        (gap.is_some(), GAP),
        (gap.is_some_and(|gap| gap.large), GAP_LARGE),
        (!abandoned.is_empty(), ABANDONED),
        (refusal.is_some(), REFUSAL),
        (seq.is_some(), SEQ),
        (observed_at.is_some(), OBSERVED),
    ]));
    out.push(entry.kind as u8);
    out.push(match entry.id_source {
        IdSource::Given => 0,
        IdSource::Derived => 1,
        IdSource::Assigned => 2,
    });
    out.time(*at);
    let previous = entry.offset.wrapping_sub(entry.previous_in_lane);
    let numbers = [u64::from(entry.contract), *epoch, entry.ordinal, entry.attempt, previous];
    numbers.iter().for_each(|number| out.number(*number));
    out.number(u64::from(entry.marks.bits()));
    out.number(entry.states.bits());
    seq.iter().for_each(|seq| out.number(*seq));
    observed_at.iter().for_each(|time| out.time_from(*time, *at));
    write_caller(out, caller);
    if long {
        out.extend_from_slice(&entry.digest);
    }
    list(out, classes, |out, (name, class)| {
        out.text(name);
        out.push(*class as u8);
    });
    gap.iter().for_each(|gap| write_range(out, gap.from, gap.to));
    list(out, abandoned, |out, (from, to)| write_range(out, *from, *to));
    refusal.iter().for_each(|refusal| refusal::write(out, refusal, *at));
    let row = Row { at: *at, observed_at: *observed_at, epoch: *epoch, seq: *seq };
    basis::write(out, basis, row.beside());
}

/// What of an entry stands beside its record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown<'s> {
    pub(crate) offset: u64,
    pub(crate) id: &'s str,
    pub(crate) lane: &'s str,
    pub(crate) document: &'s [u8],
}

pub(crate) fn read_entry(record: &[u8], shown: Shown<'_>) -> Result<Entry, Undecodable> {
    let Shown { offset, id, lane, document } = shown;
    let document: Arc<[u8]> = document.into();
    read(record, |take| {
        let (hash, identity) = (take.array()?, Identity(take.array()?));
        let flags = take.bits("entry", OF_ENTRY)?;
        let has = |flag: u64| flags & flag != 0;
        let (kind, id_source) = (take.word(EntryKind::ALL, "kind")?, take.word(&SOURCES, "source of an id")?);
        let at = take.time()?;
        let contract = take.short()?;
        let [epoch, ordinal, attempt, previous] = [take.number()?, take.number()?, take.number()?, take.number()?];
        let start = take.at();
        let marks = take.number()?;
        let marks = marks.try_into().ok().and_then(Marks::from_bits);
        let Some(marks) = marks else { return take.fault_at(start, Fault::Value("marks")) };
        let start = take.at();
        let Some(states) = States::from_bits(take.number()?) else {
            return take.fault_at(start, Fault::Value("states"));
        };
        let seq = take.when(has(SEQ), Take::number)?;
        let observed_at = take.when(has(OBSERVED), |take| take.time_from(at))?;
        let row = Row { at, observed_at, epoch, seq };
        let class = |take: &mut Take<'_>| Ok((Arc::from(take.text()?), take.word(Class::ALL, "class")?));
        let caller = take.when(has(CALLER), read_caller)?.unwrap_or_default();
        let sum: Option<Digest> = take.when(has(DIGEST), Take::array)?;
        Ok(Entry {
            offset,
            hash,
            kind,
            at,
            contract,
            id: id.into(),
            id_source,
            identity,
            lane: lane.into(),
            epoch,
            seq,
            observed_at,
            digest: sum.unwrap_or_else(|| digest(&document)),
            document: Arc::clone(&document),
            marks,
            states,
            classes: take.when(has(CLASSES), |take| take.list(class))?.unwrap_or_default(),
            gap: take.when(has(GAP), read_range)?.map(|(from, to)| GapDetail { from, to, large: has(GAP_LARGE) }),
            abandoned: take.when(has(ABANDONED), |take| take.list(read_range))?.unwrap_or_default(),
            refusal: take.when(has(REFUSAL), |take| refusal::read(take, at))?.map(Box::new),
            basis: basis::read(take, row.beside())?,
            ordinal,
            previous_in_lane: offset.wrapping_sub(previous),
            attempt,
            caller,
        })
    })
}

pub(crate) fn write_attempt(out: &mut BytesMut, attempt: &Attempt) {
    let Attempt { at, epoch, seq, caller, refusal, basis, .. } = attempt;
    out.push(VERSION);
    out.number(bits([(*caller != Caller::default(), CALLER), (refusal.is_some(), REFUSAL)]));
    write_caller(out, caller);
    refusal.iter().for_each(|refusal| refusal::write(out, refusal, *at));
    basis::write(out, basis, Row { at: *at, observed_at: None, epoch: *epoch, seq: *seq }.beside());
}

pub(crate) fn read_attempt(record: &[u8], row: Row) -> Result<AttemptDetails, Undecodable> {
    read(record, |take| {
        let flags = take.bits("attempt's details", OF_ATTEMPT)?;
        Ok(AttemptDetails {
            caller: take.when(flags & CALLER != 0, read_caller)?.unwrap_or_default(),
            refusal: take.when(flags & REFUSAL != 0, |take| refusal::read(take, row.at))?.map(Box::new),
            basis: basis::read(take, row.beside())?,
        })
    })
}

pub(crate) fn write_counter(counter: &Counter) -> Vec<u8> {
    record(|out| counter::write_values(out, counter, EPOCH))
}

pub(crate) fn read_counter(record: &[u8]) -> Result<Counter, Undecodable> {
    read(record, |take| counter::read_values(take, EPOCH))
}

/// But for its offset.
pub(crate) fn write_adjustment(adjustment: &Adjustment) -> Vec<u8> {
    let Adjustment { id, amount, reason, offset: _, at } = adjustment;
    record(|out| {
        out.text(id);
        out.amount(*amount);
        out.text(reason);
        out.time(*at);
    })
}

pub(crate) fn read_adjustment(record: &[u8], offset: u64) -> Result<Adjustment, Undecodable> {
    read(record, |take| {
        let (id, amount, reason) = (take.text()?.into(), take.amount()?, take.text()?.into());
        Ok(Adjustment { id, amount, reason, offset, at: take.time()? })
    })
}

pub(crate) fn write_handler(handler: &Handler) -> Vec<u8> {
    record(|out| claim::write_handler(out, handler))
}

pub(crate) fn read_handler(record: &[u8]) -> Result<Handler, Undecodable> {
    read(record, claim::read_handler)
}

pub(crate) fn write_handler_lane(lane: &HandlerLane) -> Vec<u8> {
    record(|out| claim::write_lane(out, lane))
}

pub(crate) fn read_handler_lane(record: &[u8]) -> Result<HandlerLane, Undecodable> {
    read(record, claim::read_lane)
}

pub(crate) fn write_claim(claim: &Claim) -> Vec<u8> {
    record(|out| claim::write(out, claim))
}

pub(crate) fn read_claim(record: &[u8]) -> Result<Claim, Undecodable> {
    read(record, claim::read)
}

pub(crate) fn write_ranges(ranges: &Ranges) -> Vec<u8> {
    record(|out| {
        out.number(ranges.low_water());
        out.number(ranges.islands().count() as u64);
        ranges.islands().for_each(|(first, last)| write_range(out, first, last));
    })
}

/// One set has one spelling, so that ranges which touch, overlap or lie below the mark are none.
pub(crate) fn read_ranges(record: &[u8]) -> Result<Ranges, Undecodable> {
    read(record, |take| {
        let low_water = take.number()?;
        let start = take.at();
        let islands = take.list(read_range)?;
        let ranges = Ranges::new(low_water, islands.iter().copied());
        let same = ranges.low_water() == low_water && ranges.islands().eq(islands);
        if same { Ok(ranges) } else { take.fault_at(start, Fault::Value("set of ordinals")) }
    })
}

/// But for its tenant.
pub(crate) fn write_key(key: &Key) -> Vec<u8> {
    record(|out| key::write_rest(out, key))
}

pub(crate) fn read_key(record: &[u8], tenant: Arc<str>) -> Result<Key, Undecodable> {
    read(record, |take| key::read_rest(take, tenant))
}

fn record(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    out.push(VERSION);
    write(&mut out);
    out
}

/// Reads a record from its version to its end.
fn read<'b, T>(record: &'b [u8], read: impl FnOnce(&mut Take<'b>) -> Result<T, Undecodable>) -> Result<T, Undecodable> {
    let mut take = Take::new(record, 0..record.len(), Part::Alone)?;
    let version = take.byte()?;
    if version != VERSION {
        return take.fault_at(0, Fault::Version(version));
    }
    let found = read(&mut take)?;
    take.finish()?;
    Ok(found)
}

/// How many there are, and each; nothing if there are none, which a presence bit says.
fn list<P: Put, T>(out: &mut P, items: &[T], mut write: impl FnMut(&mut P, &T)) {
    if !items.is_empty() {
        out.number(items.len() as u64);
        items.iter().for_each(|item| write(out, item));
    }
}

/// Nothing for the default one, which a presence bit says.
fn write_caller(out: &mut impl Put, caller: &Caller) {
    if *caller == Caller::default() {
        return;
    }
    let Caller { key, request, forced } = caller;
    out.number(bits([(key.is_some(), caller::KEY), (request.is_some(), caller::REQUEST), (*forced, caller::FORCED)]));
    [key, request].into_iter().flatten().for_each(|text| out.text(text));
}

fn read_caller(take: &mut Take<'_>) -> Result<Caller, Undecodable> {
    let flags = take.bits("caller", caller::KEY | caller::REQUEST | caller::FORCED)?;
    let key = take.when(flags & caller::KEY != 0, Take::text)?.map(Arc::from);
    let request = take.when(flags & caller::REQUEST != 0, Take::text)?.map(Arc::from);
    Ok(Caller { key, request, forced: flags & caller::FORCED != 0 })
}
