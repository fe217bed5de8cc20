//! Reading a snapshot back: its commits are applied to an empty state, like those of the log.

use std::io;
use std::sync::Arc;

use hapax_core::claim::Ranges;
use hapax_core::planted;
use sha2::{Digest, Sha256};

use super::pieces::{HEADER, Head, Header, Kind, PIECE};
use super::{UNFINISHED, all, name, path};
use crate::codec::decode;
use crate::embedded::disk::{Disk, DiskFile};
use crate::embedded::expiry::Expiries;
use crate::embedded::log::{FrameNumber, Log};
use crate::embedded::reader::Live;
use crate::seam::{HandlerKey, StoreError};
use crate::state::State;

/// What a snapshot gave.
#[derive(Debug)]
pub(in crate::embedded) struct Loaded {
    /// The state, of various moments; `applied` is the frame that it was begun with.
    pub(in crate::embedded) live: Live,
    /// The last frame that any piece shows: from here on the heads are right.
    pub(in crate::embedded) shows: FrameNumber,
    /// What expires in the log, as of that frame.
    pub(in crate::embedded) expiries: Expiries,
    /// Its size.
    pub(in crate::embedded) bytes: u64,
}

/// The newest snapshot of this log; nothing if there is none that can be used. Only reading the log can fail for good.
pub(in crate::embedded) fn load<D: Disk>(disk: &D, log: &Log<D>) -> Result<Option<Loaded>, StoreError> {
    let reading = |error: io::Error| StoreError::Unreachable(format!("reading the index failed: {error}"));
    if !disk.list("").map_err(reading)?.iter().any(|it| it == super::DIR) {
        return Ok(None);
    }
    // What was never finished; if it can not be removed it is in nobody's way.
    let _ = disk.remove(&path(UNFINISHED));
    let mut frames = all(disk).map_err(reading)?;
    let Some(newest) = frames.pop() else { return Ok(None) };
    let Ok(Some((header, loaded))) = read(disk, log, newest) else { return Ok(None) };
    if loaded.shows > log.last() {
        return Ok(None);
    }
    let digest = match log.read(newest)? {
        Some(frame) => Sha256::digest(&frame.lasting).into(),
        None => [0; 32],
    };
    if digest != header.digest {
        return Ok(None);
    }
    for older in frames {
        let _ = disk.remove(&path(&name(older)));
    }
    Ok(Some(loaded))
}

fn read<D: Disk>(disk: &D, log: &Log<D>, frame: FrameNumber) -> io::Result<Option<(Header, Loaded)>> {
    let file = disk.open(&path(&name(frame)))?;
    let size = file.size()?;
    if size < HEADER as u64 {
        return Ok(None);
    }
    let mut head = [0; HEADER];
    file.read_at(0, &mut head)?;
    let Ok(header) = Header::decode(&head, log.id(), frame) else { return Ok(None) };
    let live = Live { applied: frame, ..Live::default() };
    let mut loaded = Loaded { live, shows: frame, expiries: Expiries::default(), bytes: size };
    let (mut at, mut place) = (HEADER as u64, 0);
    let mut parts = Vec::new();
    loop {
        let mut head = [0; PIECE];
        if size - at < PIECE as u64 {
            return Ok(None);
        }
        file.read_at(at, &mut head)?;
        at += PIECE as u64;
        let Some(head) = Head::decode(&head) else { return Ok(None) };
        let length = u64::from(head.first) + u64::from(head.second);
        // Nothing is allocated for bytes that are not there.
        if size - at < length {
            return Ok(None);
        }
        parts.clear();
        parts.resize(length as usize, 0);
        file.read_at(at, &mut parts)?;
        at += length;
        if !head.matches(&header, place, &parts) {
            return Ok(None);
        }
        place += 1;
        let (first, second) = parts.split_at(head.first as usize);
        let taken = match head.kind {
            Kind::Commit => take_commit(&mut loaded.live.state, first, second),
            Kind::Passed => take_passed(&mut loaded.live.state, first),
            Kind::Segments => Expiries::decode(first).map(|it| loaded.expiries = it),
            Kind::End => {
                let whole = take_end(&mut loaded, first).is_some() && at == size;
                return Ok(whole.then_some((header, loaded)));
            }
        };
        if taken.is_none() {
            return Ok(None);
        }
    }
}

fn take_commit(state: &mut State, lasting: &[u8], expiring: &[u8]) -> Option<()> {
    let write = decode(lasting, (!expiring.is_empty()).then_some(expiring)).ok()?;
    state.apply(&write);
    Some(())
}

/// Of each handler: tenant, name, first and last of what is passed.
type Passed = Vec<(String, String, Vec<(u64, u64)>)>;

fn take_passed(state: &mut State, text: &[u8]) -> Option<()> {
    let rows: Passed = serde_json::from_slice(text).ok()?;
    for (tenant, handler, ranges) in rows {
        let key = HandlerKey { tenant: Arc::from(tenant), handler: Arc::from(handler) };
        let handling = state.handlers.get_mut(&key)?;
        handling.state.passed = Ranges::new(0, ranges);
    }
    Some(())
}

fn take_end(loaded: &mut Loaded, bytes: &[u8]) -> Option<()> {
    loaded.shows = FrameNumber(u64::from_le_bytes(bytes.try_into().ok()?));
    if planted!(SnapshotAhead) {
        loaded.live.applied = loaded.shows;
    }
    Some(())
}
