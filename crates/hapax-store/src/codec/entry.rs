//! An entry as a record: its fixed part first, what is there only sometimes after it, the document last.
//!
//! A record is read with nothing but the base of its stream and the tables of its section, never with the record
//! before it, so that any entry is found alone.
//!
//! Not written: the digest of a short document. It is the SHA-256 of bytes that stand in the same record; making it
//! again costs less than the room, up to [`DIGESTED_FROM`] bytes.

use std::sync::{Arc, LazyLock};

use hapax_core::counter::Class;
use hapax_core::entry::{Basis, Entry, EntryKind, GapDetail};
use hapax_core::event::{Digest, IdSource, Identity, digest};
use hapax_core::facts::Brought;
use hapax_core::refusal::Refusal;
use hapax_core::time::Time;
use hapax_core::words::{Marks, States};

use super::basis::{self, Beside};
use super::draft::Draft;
use super::fault::{Fault, Undecodable};
use super::id::{self, Id};
use super::put::{Put, bits};
use super::refusal;
use super::tables::Tables;
use super::take::Take;

const SEQ: u64 = 1;
const OBSERVED_AT: u64 = 1 << 1;
const ID_INSIDE: u64 = 1 << 2;
const AT: u64 = 1 << 3;
const CALLER: u64 = 1 << 4;
const MARKS: u64 = 1 << 5;
const DIGEST: u64 = 1 << 6;
const PLACE: u64 = 1 << 7;
const EPOCH: u64 = 1 << 8;
const CONTRACT: u64 = 1 << 9;
const CLASSES: u64 = 1 << 10;
const GAP: u64 = 1 << 11;
const GAP_LARGE: u64 = 1 << 12;
const ABANDONED: u64 = 1 << 13;
const REFUSAL: u64 = 1 << 14;
const KIND: u64 = 1 << 15;
const ID_SOURCE: u64 = 1 << 16;
const ALL: u64 = (1 << 17) - 1;

/// From this length on a document's digest is written: hashing a kibibyte takes half a microsecond, and of longer
/// documents 32 bytes are less than a thirtieth.
pub(super) const DIGESTED_FROM: usize = 1024;

/// Bytes of the hash that a record begins with.
pub(super) const HASH: usize = size_of::<Digest>();
/// Bytes of the identity that follows.
pub(super) const IDENTITY: usize = size_of::<Digest>();

/// What the entries of a stream are written against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Base {
    /// Before the first entry.
    pub(super) offset: u64,
    pub(super) events: u64,
    pub(super) attempts: u64,
    pub(super) at: Time,
    pub(super) contract: u32,
}

impl Base {
    /// Offset, ordinal and attempt of an entry if every entry of the commit is an event and no attempt lies between.
    fn place(&self, index: u64) -> [u64; 3] {
        [self.offset, self.events, self.attempts].map(|before| before.wrapping_add(1).wrapping_add(index))
    }
}

/// Writes the entry at this place among those of its stream.
pub(super) fn write<'w>(draft: &mut Draft<'w, '_>, base: &Base, index: u64, entry: &'w Entry) {
    let Entry { offset, hash, at, identity, lane, seq, observed_at, document, states, basis, .. } = entry;
    debug_assert_eq!(digest(document), entry.digest, "an entry's digest is that of its document");
    let id_at = id::find(document, &entry.id);
    let caller = draft.caller(&entry.caller);
    let flags = presence(base, index, entry) | bits([(id_at.is_some(), ID_INSIDE), (caller != 0, CALLER)]);
    let has = |flag: u64| flags & flag != 0;

    draft.out.extend_from_slice(hash);
    draft.out.extend_from_slice(&identity.0);
    draft.out.number(flags);
    if has(PLACE) {
        place(entry).iter().zip(base.place(index)).for_each(|(it, usual)| draft.out.apart(*it, usual));
    }
    draft.name(lane);
    let out = &mut *draft.out;
    seq.iter().for_each(|seq| out.number(*seq));
    if has(AT) {
        out.time_from(*at, base.at);
    }
    observed_at.iter().for_each(|time| out.time_from(*time, *at));
    id::write(out, &entry.id, id_at);
    if has(CALLER) {
        out.number(caller);
    }
    write_rare(draft, entry, flags);
    let out = &mut *draft.out;
    out.number(states.bits());
    out.number(offset.wrapping_sub(entry.previous_in_lane));
    basis::write(out, basis, Beside { epoch: entry.epoch, seq: *seq, time: observed_at.unwrap_or(*at) });
    out.extend_from_slice(document);
    draft.end_record();
}

fn place(entry: &Entry) -> [u64; 3] {
    [entry.offset, entry.ordinal, entry.attempt]
}

/// The bits of all that an entry says about itself.
fn presence(base: &Base, index: u64, entry: &Entry) -> u64 {
    bits([
        (entry.seq.is_some(), SEQ),
        (entry.observed_at.is_some(), OBSERVED_AT),
        (entry.at != base.at, AT),
        (!entry.marks.is_empty(), MARKS),
        (entry.document.len() >= DIGESTED_FROM, DIGEST),
        (place(entry) != base.place(index), PLACE),
        (entry.epoch != 0, EPOCH),
        (entry.contract != base.contract, CONTRACT),
        (!entry.classes.is_empty(), CLASSES),
        (entry.gap.is_some(), GAP),
        (entry.gap.is_some_and(|gap| gap.large), GAP_LARGE),
        (!entry.abandoned.is_empty(), ABANDONED),
        (entry.refusal.is_some(), REFUSAL),
        (entry.kind != EntryKind::Event, KIND),
        (entry.id_source != IdSource::Given, ID_SOURCE),
    ])
}

/// Writes what most entries do not have.
fn write_rare<'w>(draft: &mut Draft<'w, '_>, entry: &'w Entry, flags: u64) {
    let has = |flag: u64| flags & flag != 0;
    let out = &mut *draft.out;
    if has(MARKS) {
        out.number(u64::from(entry.marks.bits()));
    }
    if has(DIGEST) {
        out.extend_from_slice(&entry.digest);
    }
    if has(EPOCH) {
        out.number(entry.epoch);
    }
    if has(CONTRACT) {
        out.number(u64::from(entry.contract));
    }
    draft.list(&entry.classes, |draft, (name, class)| {
        draft.name(name);
        draft.out.push(*class as u8);
    });
    entry.gap.iter().for_each(|gap| write_range(draft.out, gap.from, gap.to));
    draft.list(&entry.abandoned, |draft, (from, to)| write_range(draft.out, *from, *to));
    let out = &mut *draft.out;
    entry.refusal.iter().for_each(|refusal| refusal::write(out, refusal, entry.at));
    if has(KIND) {
        out.push(entry.kind as u8);
    }
    if has(ID_SOURCE) {
        out.push(id_source_tag(entry.id_source));
    }
}

pub(super) fn write_range(out: &mut impl Put, from: u64, to: u64) {
    out.number(from);
    out.apart(to, from);
}

/// The few things of an entry that are found without reading it.
pub(super) struct Glance {
    pub(super) hash: Digest,
    pub(super) identity: Identity,
    pub(super) offset: u64,
    ordinal: u64,
    attempt: u64,
    flags: u64,
}

/// Reads the beginning of a record.
pub(super) fn glance(take: &mut Take<'_>, base: &Base, index: u64) -> Result<Glance, Undecodable> {
    let hash = take.array()?;
    let identity = Identity(take.array()?);
    let flags = take.bits("entry", ALL)?;
    let mut place = base.place(index);
    if flags & PLACE != 0 {
        for it in &mut place {
            *it = take.apart(*it)?;
        }
    }
    let [offset, ordinal, attempt] = place;
    Ok(Glance { hash, identity, offset, ordinal, attempt, flags })
}

/// How much of an entry is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Much<'d> {
    /// All of it.
    Whole,
    /// All of it, out of a record without its document: that is this one. It was read under the same rules, so its id is the entry's.
    Brought(Brought<'d>),
    /// All but its document, the digest of that, and its id: what other parts of a commit refer to.
    Bare,
}

/// Stands for a document that nobody wants.
static NO_DOCUMENT: LazyLock<Arc<[u8]>> = LazyLock::new(|| Arc::from([]));
static NO_ID: LazyLock<Arc<str>> = LazyLock::new(|| Arc::from(""));

/// Reads a record to its end.
pub(super) fn read<'b>(
    take: &mut Take<'b>,
    tables: &Tables<'b>,
    base: &Base,
    index: u64,
    much: Much<'_>,
) -> Result<Entry, Undecodable> {
    let Glance { hash, identity, offset, ordinal, attempt, flags } = glance(take, base, index)?;
    let has = |flag: u64| flags & flag != 0;
    let lane = match much {
        Much::Whole | Much::Bare => tables.name(take)?,
        Much::Brought(Brought { lane, .. }) => tables.name_like(take, lane)?,
    };
    let seq = take.when(has(SEQ), Take::number)?;
    let at = take.when(has(AT), |take| take.time_from(base.at))?.unwrap_or(base.at);
    let observed_at = take.when(has(OBSERVED_AT), |take| take.time_from(at))?;
    let id = Id::read(take, has(ID_INSIDE))?;
    let caller = take.when(has(CALLER), |take| tables.caller(take))?.unwrap_or_default();
    let marks = take.when(has(MARKS), read_marks)?.unwrap_or_default();
    let sum = take.when(has(DIGEST), Take::array)?;
    let epoch = take.when(has(EPOCH), Take::number)?.unwrap_or_default();
    let contract = take.when(has(CONTRACT), Take::short)?.unwrap_or(base.contract);
    let class = |take: &mut Take<'b>| Ok((tables.name(take)?, take.word(Class::ALL, "class")?));
    let classes = take.when(has(CLASSES), |take| take.list(class))?.unwrap_or_default();
    let gap = take.when(has(GAP), read_range)?.map(|(from, to)| GapDetail { from, to, large: has(GAP_LARGE) });
    let abandoned = take.when(has(ABANDONED), |take| take.list(read_range))?.unwrap_or_default();
    let refusal: Option<Box<Refusal>> = take.when(has(REFUSAL), |take| refusal::read(take, at))?.map(Box::new);
    let kind = take.when(has(KIND), |take| take.word(EntryKind::ALL, "kind of entry"))?.unwrap_or(EntryKind::Event);
    let id_source = take.when(has(ID_SOURCE), read_id_source)?.unwrap_or_default();
    let states = read_states(take)?;
    let previous_in_lane = offset.wrapping_sub(take.number()?);
    let basis: Basis = basis::read(take, Beside { epoch, seq, time: observed_at.unwrap_or(at) })?;
    let rest = take.rest();
    let (id, digest, document) = match much {
        Much::Whole => (id.of(take, rest)?, sum.unwrap_or_else(|| digest(rest)), rest.into()),
        Much::Brought(Brought { digest, document, id: like, .. }) => {
            (id.like(take, document, like)?, *digest, Arc::clone(document))
        }
        Much::Bare => (Arc::clone(&NO_ID), sum.unwrap_or_default(), Arc::clone(&NO_DOCUMENT)),
    };
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

pub(super) fn read_range(take: &mut Take<'_>) -> Result<(u64, u64), Undecodable> {
    let from = take.number()?;
    Ok((from, take.apart(from)?))
}

fn read_marks(take: &mut Take<'_>) -> Result<Marks, Undecodable> {
    let (start, tag) = (take.at(), take.number()?);
    match u16::try_from(tag).ok().and_then(Marks::from_bits) {
        Some(marks) => Ok(marks),
        None => take.fault_at(start, Fault::Tag { of: "set of marks", tag }),
    }
}

pub(super) fn read_states(take: &mut Take<'_>) -> Result<States, Undecodable> {
    let (start, tag) = (take.at(), take.number()?);
    match States::from_bits(tag) {
        Some(states) => Ok(states),
        None => take.fault_at(start, Fault::Tag { of: "set of states", tag }),
    }
}

const fn id_source_tag(source: IdSource) -> u8 {
    match source {
        IdSource::Given => 0,
        IdSource::Derived => 1,
        IdSource::Assigned => 2,
    }
}

fn read_id_source(take: &mut Take<'_>) -> Result<IdSource, Undecodable> {
    match take.byte()? {
        0 => Ok(IdSource::Given),
        1 => Ok(IdSource::Derived),
        2 => Ok(IdSource::Assigned),
        tag => take.unknown("source of an id", tag),
    }
}
