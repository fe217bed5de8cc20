//! Keys: who may do what. Only hashes stand here, never a key.

use std::sync::Arc;

use hapax_core::access::{Access, Patterns, Rates, Role};

use super::draft::Draft;
use super::fault::Undecodable;
use super::put::{Put, bits};
use super::tables::Tables;
use super::take::Take;
use crate::seam::Key;

const REVOKED: u64 = 1;
const NOTE: u64 = 1 << 1;
const RATE_REQUESTS: u64 = 1 << 2;
const RATE_EVENTS: u64 = 1 << 3;
const ALL: u64 = (1 << 4) - 1;

pub(super) fn write<'w>(draft: &mut Draft<'w, '_>, key: &'w Key) {
    draft.name(&key.tenant);
    write_rest(draft.out, key);
}

/// All but its tenant.
pub(super) fn write_rest(out: &mut impl Put, key: &Key) {
    let Key { id, tenant: _, hash, access, rates, note, created_at, revoked_at } = key;
    let Access { role, streams, lanes } = access;
    out.text(id);
    out.extend_from_slice(hash);
    out.push(*role as u8);
    for patterns in [streams, lanes] {
        out.number(patterns.iter().count() as u64);
        patterns.iter().for_each(|pattern| out.text(pattern));
    }
    out.number(bits([
        (revoked_at.is_some(), REVOKED),
        (note.is_some(), NOTE),
        (rates.requests.is_some(), RATE_REQUESTS),
        (rates.events.is_some(), RATE_EVENTS),
    ]));
    out.time(*created_at);
    revoked_at.iter().for_each(|at| out.time(*at));
    note.iter().for_each(|note| out.text(note));
    [rates.requests, rates.events].iter().flatten().for_each(|rate| out.number(u64::from(*rate)));
}

pub(super) fn read<'b>(take: &mut Take<'b>, tables: &Tables<'b>) -> Result<Key, Undecodable> {
    let tenant = tables.name(take)?;
    read_rest(take, tenant)
}

pub(super) fn read_rest(take: &mut Take<'_>, tenant: Arc<str>) -> Result<Key, Undecodable> {
    let id = Arc::from(take.text()?);
    let hash = take.array()?;
    let role = take.word(Role::ALL, "role of a key")?;
    let streams = Patterns::new(take.list(Take::text)?);
    let lanes = Patterns::new(take.list(Take::text)?);
    let flags = take.bits("key", ALL)?;
    let created_at = take.time()?;
    let revoked_at = take.when(flags & REVOKED != 0, Take::time)?;
    let note = take.when(flags & NOTE != 0, Take::text)?.map(Arc::from);
    let requests = take.when(flags & RATE_REQUESTS != 0, Take::short)?;
    let events = take.when(flags & RATE_EVENTS != 0, Take::short)?;
    let (access, rates) = (Access { role, streams, lanes }, Rates { requests, events });
    Ok(Key { id, tenant, hash, access, rates, note, created_at, revoked_at })
}
