//! One commit as bytes: a [`Write`] as two sections, what lasts and what expires. This table *is* the format.
//!
//! Any bytes give a write or an [`Undecodable`] that says what is wrong and where; nothing panics, and nothing is
//! allocated for a length whose bytes are not there. Tags and bits are retired, never reused. A section of another
//! version is refused by name. Not here: frames, checksums, files.
//!
//! **Shapes.** `n`: LEB128 of 64 bits in its shortest form. `z`: zigzag, then `n`. `Δx`: the wrapping distance from `x`
//! as `z`. `time`: `i64` nanoseconds, little endian; `amount`: billionths, zigzag, LEB128 of 128 bits. `text`, `bytes`:
//! `n` length, bytes; texts are UTF-8. `name`, `caller`: `n`, a place in the section's table; caller 0 is the default
//! one, 1 the table's first. `bits`: `n`, presence bits; a field with a bit (written `0:seq` for bit 0) is there only if
//! it is set, an unknown bit is an error. `list`: `n` count, the items. `opt`: a byte 0 or 1, the value. A word of a
//! vocabulary is a byte, its place in the core's table.
//!
//! **Both sections**
//!
//! | part | bytes |
//! |---|---|
//! | version | `u8` = 1 |
//! | where the directory begins | `u64` little endian |
//! | records | one after another: entries in the lasting section, attempts in the other, by stream |
//! | changes | as below |
//! | directory | ends of records; ends of callers, callers; ends of names, names; `list` of stream rows |
//!
//! *Ends*: `n` count; if not 0: `u8` width 1 to 8, and for each where it ends, so many bytes little endian, counted from
//! the first one's beginning. So any record, caller or name is found without the others. A *caller* is
//! `bits` 0:key `name`, 1:request `text`, 2 forced. A *name* is its UTF-8 bytes.
//!
//! **Lasting: a stream row** is tenant `name`, stream `name`, `bits`, how many entries `n`, 0:`after.at` `time`, 2:`before.at`
//! `Δafter.at`, `before.hash` 32, 1:`after.hash` 32 (else it is that of the last entry, or `before.hash`), and for each of
//! offset, events, attempts: before `n`, after `Δ(before + entries)`; base contract `n`. The *base time* is `after.at`, or 1970.
//!
//! **Lasting: an entry** (the *usual* place of the i-th entry of its stream is `before` + 1 + i)
//!
//! | field | bytes |
//! |---|---|
//! | hash, identity | 32, 32 |
//! | presence | `bits` |
//! | 7: place | offset, ordinal, attempt, each `Δusual` |
//! | lane | `name` |
//! | 0: seq · 3: at · 1: observed_at | `n` · `Δbase time` · `Δat` |
//! | id | 2: place and length in the document, `n` `n`; otherwise `text` |
//! | 4: caller · 5: marks · 6: digest | `caller` · `n` · 32; the digest stands there from 1024 bytes of document on |
//! | 8: epoch · 9: contract | `n` · `n`; otherwise 0 and the base contract |
//! | 10: classes | `list` of counter `name`, class `u8` |
//! | 11: gap (12: large) · 13: abandoned | from `n`, to `Δfrom` · `list` of the same |
//! | 14: refusal · 15: kind · 16: source of the id | below · `u8` · `u8`: 1 derived, 2 assigned |
//! | states, previous in lane, basis | `n`, `n` offset − previous, below |
//! | document | all that is left of the record |
//!
//! *Basis*: `bits` 0:original `n`, 1:nonce used at `Δtime`, 2:lane, 3:`list` of counters, where *time* is observed_at, or at
//! (of an attempt: at). *Its lane*: `bits` 0:epoch `n` (else the event's), 1:highest `n`, 2 highest is seq − 1, 3:last_time
//! `Δtime`, 4 known, 5:floor `n`, 6 returned, 7:hit gap. *Its counter*: `bits` 0:watermark `Δtime`, 1 closed, 2:folded
//! `amount`, 3:other `amount`. *Gap*: kind `u8`, generation `n`, from `n`, to `Δfrom`, opened_at `Δtime`.
//!
//! *Refusal*: code `u8`, state `u8`, tag `u8`: 0 schema (pointer, expected, found: `text`), 1 format (reason `text`), 2 bounds
//! (observed, ingested: `Δat`; bound `text`), 3 regression (last, submitted: `Δat`), 4 nonce (`Δat`), 5 number (expected
//! `opt n`, got `n`, last seen `opt n`), 6 epoch (current, got: `n`), 7 current (`n`, expected `opt n`), 8 amount (counter,
//! reason: `text`), 9 lane, 10 batch (index `n`).
//!
//! **Lasting: changes.** For each stream `bits` and what they announce; times without a sign are `Δbase time`:
//!
//! | bit | what |
//! |---|---|
//! | 0 | version: number `n`, baseline `n`, contract `text` (its JSON), put at `time` |
//! | 1 | `list` of lanes: `bits`, last_offset `Δbefore.offset`, events `n`; unless bit 0 (the lane is as its entry at last_offset left it): name, epoch `n`, 6:highest `n`, 7:last_time, 8:last_arrival; then 1:counts 4 × `n`, 2:generation `n`, 3:floor `n`, 4:baseline `n`; 5 out of order |
//! | 2 | `list` of gap rows: `u8` 0 put (lane `name`, gap), 1 remove (lane `name`, generation `n`, from `n`) |
//! | 3 | `list` of counters: key, `bits` 0:watermark, 1 closed, 2:corrected `amount`, then folded tally, 3:adjusted tally |
//! | 4 | `list` of adjustments: key, id `text`, `amount`, reason `name`, offset `n`, at |
//! | 5 | `list` of closed periods: counter `name`, period |
//! | 6 | `list` of losses: lane `name`, from `n`, to `Δfrom`, reason `text`, at |
//!
//! *Counter's key*: name `name`, key `name`, period. *Period*: `u8` 0 hour, 1 day, 2 week, 3 month, each with `z` hours since
//! 1970; 4 none. *Tally*: `bits`, count `n`, sum `amount`, 0:min, 1:max `amount`, 2:last (ts, id `text`, `amount`).
//!
//! Then `bits` for what belongs to no stream; a *handler's key* is tenant `name`, handler `name`:
//!
//! | bit | `list` of |
//! |---|---|
//! | 0 | tenants: `name`, salt 32 |
//! | 1 | handlers: key, name `text`, stream `opt text`, order `u8` (0 none, 1 latest only, 2 in order), effect `u8` (0 transactional, 1 idempotent target, 2 fenced, 3 at least once), lease, heartbeat, backoff: `n` milliseconds, attempts_max `n` |
//! | 2 | states: key, next fence `n`, dead `n`, passed `opt n` |
//! | 3 | lanes of handlers: key, lane `name`, last done `opt` rank, position `n`, `list` of holders: rank, fence `n`, event `text`, until `opt time`. *Rank*: epoch `n`, seq `n` |
//! | 4 | claims: key, identity 32, `bits`, event `text`, 0:lane `text`, 1:epoch `n`, 2:seq `n`, 3:ledger (offset `n`, ordinal `Δoffset`, previous `Δoffset`), 4:owner `text`, 5:stream `text`, fence `n`, attempt `n`, state `u8`: 0 held (`time`), 1 failed (error `text`, next `time`), 2 dead (error `text`, expired `u8`), 3 done (result `opt text`), 4 skipped (reason `text`) |
//! | 5 | keys: tenant `name`, id `text`, hash 32, role `u8`, `list` of stream patterns `text`, `list` of lane patterns `text`, `bits`, created at `time`, 0:revoked at `time`, 1:note `text`, 2:requests a second `n`, 3:events a second `n` |
//!
//! **Expiring: a stream row** is its place among the lasting rows `n`, tenant `name`, stream `name`, number of the first attempt
//! `n`, base time `time`, base contract `n`, how many attempts `n`. A section of which nothing expires has no bytes at all.
//!
//! **Expiring: an attempt** is `bits`, verdict `u8`, code `u8`, 7:number `Δ(first + i)`, 0:id `text`, 1:lane `name`, 2:seq `n`, 8:at
//! `Δbase time`, 9:contract `n`, 10:epoch `n`, 5:`caller`, states `n`, 3:refusal, basis, then 4: the offset `n` of the entry with
//! the same document, otherwise the document; 6 rejected.
//!
//! **Expiring: changes.** For each row a `list` of nonces (32, used at `Δbase time`) and one of filled gaps (place among all changes
//! of gaps `n`, lane `name`, gap, filled at `Δbase time`); then a `list` of requests: tenant `name`, target `name`, key
//! `text`, fingerprint 32, status `n`, at `time`, body `bytes`.

mod fault;
mod put;
mod take;

mod draft;
mod tables;

mod attempt;
mod basis;
mod entry;
mod id;
mod refusal;

mod claim;
mod counter;
mod directory;
mod fronts;
mod key;
mod lane;
mod lasting;
mod row;
mod stream;

mod expiring;

pub(crate) mod alone;

pub use expiring::Expiring;
pub use fault::{Fault, Part, Undecodable};
pub use fronts::Fronts;
pub use lasting::{Found, Lasting};

use hapax_core::entry::Entry;
use hapax_core::time::Time;

use crate::seam::Write;

/// The version of both sections, and their first byte.
pub const FORMAT: u8 = 1;

/// Where the place of the directory stands.
const DIRECTORY_AT: usize = 1;
/// Where the records begin.
const RECORDS_AT: usize = DIRECTORY_AT + 8;
/// What times are written against where nothing better is known.
const EPOCH: Time = Time::from_nanos(0);

/// The presence bits of a caller.
mod caller {
    pub(super) const KEY: u64 = 1;
    pub(super) const REQUEST: u64 = 1 << 1;
    pub(super) const FORCED: u64 = 1 << 2;
}

/// The two sections of a commit. Kept and used again, so that a commit allocates nothing for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sections {
    /// What lasts.
    pub lasting: Vec<u8>,
    /// What expires; empty if nothing does.
    pub expiring: Vec<u8>,
}

/// Writes a commit, over whatever the sections held.
pub fn encode(write: &Write, sections: &mut Sections) {
    encode_for(write, sections, false);
}

/// The same. Answers with the fronts of its entries, if they are wanted.
pub fn encode_for(write: &Write, sections: &mut Sections, fronts: bool) -> Option<Fronts> {
    let ends = lasting::write(write, &mut sections.lasting);
    expiring::write(write, &mut sections.expiring);
    // A section that was just written is readable; if it were not, whoever reads the frame is told.
    fronts.then(|| Fronts::of(&sections.lasting, &ends, write)).and_then(Result::ok)
}

/// Writes only what expires of a commit: what is left of it after a while.
pub fn encode_expiring(write: &Write, section: &mut Vec<u8>) {
    expiring::write(write, section);
}

/// Reads a commit. Without the second section only what expires is missing.
pub fn decode(lasting: &[u8], expiring: Option<&[u8]>) -> Result<Write, Undecodable> {
    let mut write = Lasting::open(lasting)?.read()?;
    expiring.map_or(Ok(()), |expiring| expiring::read_into(expiring, &mut write))?;
    Ok(write)
}

/// The same but for the documents of the entries, their digests and ids: what a start needs, which is most of what it
/// would cost to read.
pub fn decode_bare(lasting: &[u8], expiring: Option<&[u8]>) -> Result<Write, Undecodable> {
    let mut write = Lasting::open(lasting)?.read_bare()?;
    expiring.map_or(Ok(()), |expiring| expiring::read_into(expiring, &mut write))?;
    Ok(write)
}

/// The entries of a commit and where they stand, in the order of their streams and offsets.
pub fn entries(lasting: &[u8]) -> Result<impl Iterator<Item = Result<Found, Undecodable>>, Undecodable> {
    let opened = Lasting::open(lasting)?;
    Ok((0..opened.count()).map(move |index| opened.find(index)))
}

/// The entry at a place among all entries of a commit.
pub fn entry_at(lasting: &[u8], index: u64) -> Result<Entry, Undecodable> {
    Lasting::open(lasting)?.entry(index)
}

#[cfg(test)]
pub(crate) mod tests;
