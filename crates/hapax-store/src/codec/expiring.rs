//! The section of what expires: attempts as records, then nonces, filled gaps and requests, then the directory.
//!
//! A commit of which nothing expires has no bytes here. Streams of which nothing expires have no row.

use std::ops::Range;

use hapax_core::audit::Attempt;
use hapax_core::event::NonceKey;
use hapax_core::facts::Changes;
use hapax_core::lane::GapChange;
use hapax_core::time::Time;

use super::attempt::{self, Base};
use super::basis::{read_gap, write_gap};
use super::draft::Draft;
use super::fault::{Fault, Part, Undecodable};
use super::put::Put;
use super::stream::is_lasting;
use super::tables::Tables;
use super::take::Take;
use super::{EPOCH, FORMAT};
use crate::seam::{RequestKey, RequestRecord, StreamKey, StreamWrite, Write};

/// What expires of a commit, found but not yet read.
#[derive(Clone, Debug)]
pub struct Expiring<'b> {
    tables: Tables<'b>,
    streams: Vec<Row>,
}

/// A stream in the directory.
#[derive(Clone, Debug)]
struct Row {
    /// Where the row stands.
    at: usize,
    /// Its place among the streams of the commit.
    stream: usize,
    key: StreamKey,
    base: Base,
    /// The place of its first attempt in the section, and that after its last.
    attempts: Range<u64>,
}

impl<'b> Expiring<'b> {
    /// Finds what stands where; nothing if the section has no bytes. Costs as much as the commit has streams.
    pub fn open(section: &'b [u8]) -> Result<Option<Self>, Undecodable> {
        if section.is_empty() {
            return Ok(None);
        }
        let (tables, mut take) = Tables::open(section, Part::Expiring)?;
        let mut first = 0;
        let start = take.at();
        let streams = take.list(|take| {
            let row = read_row(take, &tables, first)?;
            first = row.attempts.end;
            Ok(row)
        })?;
        take.finish()?;
        if first != tables.records() {
            return take.fault_at(start, Fault::Reference("stream of a record"));
        }
        Ok(Some(Self { tables, streams }))
    }

    /// The attempts of a stream, in the order in which they were written.
    pub fn attempts_of(&self, key: &StreamKey) -> impl Iterator<Item = Result<Attempt, Undecodable>> {
        let row = self.streams.iter().find(|row| row.key == *key);
        row.into_iter().flat_map(|row| row.attempts.clone().map(|place| self.read(row, place)))
    }

    /// The attempt at a place among all attempts of the commit.
    pub fn attempt(&self, place: u64) -> Result<Attempt, Undecodable> {
        let missing = || Undecodable { part: Part::Expiring, at: 0, fault: Fault::Reference("record") };
        let row = self.streams.iter().find(|row| row.attempts.contains(&place)).ok_or_else(missing)?;
        self.read(row, place)
    }

    fn read(&self, row: &Row, place: u64) -> Result<Attempt, Undecodable> {
        attempt::read(&mut self.tables.open_record(place)?, &self.tables, &row.base, place - row.attempts.start)
    }
}

pub(super) fn write(write: &Write, out: &mut Vec<u8>) {
    let any = |stream: &StreamWrite| {
        let Changes { attempts, nonces, gaps, .. } = &stream.changes;
        !attempts.is_empty() || !nonces.is_empty() || gaps.iter().any(|(_, change)| !is_lasting(change))
    };
    let streams = || write.streams.iter().enumerate().filter(|(_, stream)| any(stream));
    out.clear();
    if streams().next().is_none() && write.requests.is_empty() {
        return;
    }
    let records = streams().map(|(_, stream)| stream.changes.attempts.len()).sum();
    let mut draft = Draft::begin(out, FORMAT, records, 8);
    for (_, stream) in streams() {
        let base = base(stream);
        for (index, attempt) in (0..).zip(&stream.changes.attempts) {
            attempt::write(&mut draft, &base, index, attempt);
        }
    }
    streams().for_each(|(_, stream)| write_stream(&mut draft, &stream.changes, base(stream).at));
    draft.counted(&write.requests, write_request);

    draft.directory(streams().flat_map(|(_, stream)| [&*stream.key.tenant, &*stream.key.stream]));
    draft.out.number(streams().count() as u64);
    for (place, stream) in streams() {
        draft.out.number(place as u64);
        draft.name(&stream.key.tenant);
        draft.name(&stream.key.stream);
        let Base { number, at, contract } = base(stream);
        draft.out.number(number);
        draft.out.time(at);
        draft.out.number(u64::from(contract));
        draft.out.number(stream.changes.attempts.len() as u64);
    }
}

fn base(stream: &StreamWrite) -> Base {
    let first: Option<&Attempt> = stream.changes.attempts.first().map(|attempt| &**attempt);
    let (number, contract) = first.map_or((0, 0), |attempt| (attempt.number, attempt.contract));
    Base { number, contract, at: first.map(|attempt| attempt.at).or(stream.after.at).unwrap_or(EPOCH) }
}

fn write_stream<'w>(draft: &mut Draft<'w, '_>, changes: &'w Changes, at: Time) {
    draft.counted(&changes.nonces, |draft, (NonceKey(nonce), used_at)| {
        draft.out.extend_from_slice(nonce);
        draft.out.time_from(*used_at, at);
    });
    let filled = changes.gaps.iter().enumerate().filter(|(_, (_, change))| !is_lasting(change));
    draft.out.number(filled.clone().count() as u64);
    for (place, (name, change)) in filled {
        if let GapChange::Filled(gap, when) = change {
            // The place says where among the changes that last it stood, so that their order is that of the turn again.
            draft.out.number(place as u64);
            draft.name(name);
            write_gap(draft.out, gap, at);
            draft.out.time_from(*when, at);
        }
    }
}

fn write_request<'w>(draft: &mut Draft<'w, '_>, (key, record): &'w (RequestKey, RequestRecord)) {
    let RequestKey { tenant, target, key } = key;
    let RequestRecord { fingerprint, status, body, at } = record;
    draft.name(tenant);
    draft.name(target);
    draft.out.text(key);
    draft.out.extend_from_slice(fingerprint);
    draft.out.number(u64::from(*status));
    draft.out.time(*at);
    draft.out.bytes(body);
}

/// Reads what expires into what lasts of the same commit.
pub(super) fn read_into(section: &[u8], write: &mut Write) -> Result<(), Undecodable> {
    let Some(mut opened) = Expiring::open(section)? else { return Ok(()) };
    opened.tables.read_all()?;
    let tables = &opened.tables;
    let mut take = tables.changes()?;
    for row in &opened.streams {
        // Sections of two commits must never become one.
        let Some(stream) = write.streams.get_mut(row.stream).filter(|found| found.key == row.key) else {
            return take.fault_at(row.at, Fault::Reference("stream that lasts"));
        };
        let attempts = row.attempts.clone().map(|place| opened.read(row, place).map(Into::into));
        stream.changes.attempts.extend(attempts.collect::<Result<Vec<_>, _>>()?);
        read_stream(&mut take, tables, row.base.at, &mut stream.changes)?;
    }
    write.requests = take.list(|take| read_request(take, tables))?;
    take.finish()
}

fn read_row<'b>(take: &mut Take<'b>, tables: &Tables<'b>, first: u64) -> Result<Row, Undecodable> {
    let at = take.at();
    let stream = usize::try_from(take.number()?).unwrap_or(usize::MAX);
    let key = StreamKey { tenant: tables.name(take)?, stream: tables.name(take)? };
    let base = Base { number: take.number()?, at: take.time()?, contract: take.short()? };
    let (place, count) = (take.at(), take.number()?);
    match first.checked_add(count) {
        Some(end) if end <= tables.records() => Ok(Row { at, stream, key, base, attempts: first..end }),
        _ => take.fault_at(place, Fault::Reference("record")),
    }
}

fn read_stream<'b>(
    take: &mut Take<'b>,
    tables: &Tables<'b>,
    at: Time,
    changes: &mut Changes,
) -> Result<(), Undecodable> {
    changes.nonces.extend(take.list(|take| Ok((NonceKey(take.array()?), take.time_from(at)?)))?);
    let filled = take.list(|take| {
        let (start, place) = (take.at(), take.number()?);
        Ok((start, place, tables.name(take)?, GapChange::Filled(read_gap(take, at)?, take.time_from(at)?)))
    })?;
    if filled.is_empty() {
        return Ok(());
    }
    let mut lasting = std::mem::take(&mut changes.gaps).into_iter();
    for (start, place, name, change) in filled {
        while (changes.gaps.len() as u64) < place {
            match lasting.next() {
                Some(change) => changes.gaps.push(change),
                None => return take.fault_at(start, Fault::Reference("place among the gaps")),
            }
        }
        if changes.gaps.len() as u64 != place {
            return take.fault_at(start, Fault::Reference("place among the gaps"));
        }
        changes.gaps.push((name, change));
    }
    changes.gaps.extend(lasting);
    Ok(())
}

fn read_request<'b>(take: &mut Take<'b>, tables: &Tables<'b>) -> Result<(RequestKey, RequestRecord), Undecodable> {
    let key = RequestKey { tenant: tables.name(take)?, target: tables.name(take)?, key: take.text()?.into() };
    let fingerprint = take.array()?;
    let (start, status) = (take.at(), take.number()?);
    let Ok(status) = u16::try_from(status) else { return take.fault_at(start, Fault::Value("status")) };
    Ok((key, RequestRecord { fingerprint, status, at: take.time()?, body: take.bytes()?.into() }))
}
