//! The section of what expires: attempts as records, then nonces, filled gaps and requests, then the directory.
//!
//! A commit of which nothing expires has no bytes here. Streams of which nothing expires have no row.

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

/// A stream in the directory.
struct Row {
    /// Its place among the streams of the commit.
    stream: usize,
    base: Base,
    /// How many attempts it has.
    attempts: u64,
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
    if section.is_empty() {
        return Ok(());
    }
    let (mut tables, mut directory) = Tables::open(section, Part::Expiring)?;
    tables.read_all()?;
    let tables = &tables;
    let start = directory.at();
    let rows = directory.list(|take| read_row(take, tables, &write.streams))?;
    directory.finish()?;
    let total = rows.iter().try_fold(0u64, |total, row| total.checked_add(row.attempts));
    if total != Some(tables.records()) {
        return directory.fault_at(start, Fault::Reference("stream of a record"));
    }
    let mut take = tables.changes()?;
    let mut first = 0;
    for row in rows {
        let places = first..first + row.attempts;
        first = places.end;
        let read =
            |(index, place)| attempt::read(&mut tables.open_record(place)?, tables, &row.base, index).map(Into::into);
        let attempts = (0..).zip(places).map(read).collect::<Result<Vec<_>, _>>()?;
        // A row of a stream that is not there was refused above.
        let Some(stream) = write.streams.get_mut(row.stream) else { continue };
        stream.changes.attempts.extend(attempts);
        read_stream(&mut take, tables, row.base.at, &mut stream.changes)?;
    }
    write.requests = take.list(|take| read_request(take, tables))?;
    take.finish()
}

fn read_row<'b>(take: &mut Take<'b>, tables: &Tables<'b>, streams: &[StreamWrite]) -> Result<Row, Undecodable> {
    let start = take.at();
    let stream = usize::try_from(take.number()?).unwrap_or(usize::MAX);
    let key = StreamKey { tenant: tables.name(take)?, stream: tables.name(take)? };
    // Sections of two commits must never become one.
    if streams.get(stream).is_none_or(|found| found.key != key) {
        return take.fault_at(start, Fault::Reference("stream that lasts"));
    }
    let base = Base { number: take.number()?, at: take.time()?, contract: take.short()? };
    Ok(Row { stream, base, attempts: take.number()? })
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
