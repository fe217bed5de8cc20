//! What the ledger holds, read through the seam and turned into plain values at once.
//!
//! This is all that the auditor sees of a store. Nothing here judges anything.

use std::sync::Arc;

use hapax_core::entry::{Entry, EntryKind, SharedEntry};
use hapax_core::event::Identity;
use hapax_core::view::CounterView;
use hapax_store::seam::{AttemptFilter, CounterFilter, Read, StoreError};
use serde_json::Value;

use crate::door::{handler_key, stream_key};
use crate::plan::{Plan, TENANTS};

/// Everything.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) streams: Vec<StreamLedger>,
    pub(crate) handlers: Vec<HandlerLedger>,
    /// Every key, by tenant: its id and whether it was revoked.
    pub(crate) keys: Vec<Vec<(String, bool)>>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct StreamLedger {
    pub(crate) head: (u64, [u8; 32]),
    /// The mode of each version of the contract, the first first.
    pub(crate) modes: Vec<String>,
    pub(crate) entries: Vec<PlainEntry>,
    pub(crate) attempts: Vec<PlainAttempt>,
    /// As a client would get them.
    pub(crate) counters: Vec<Value>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlainEntry {
    pub(crate) offset: u64,
    pub(crate) hash: [u8; 32],
    pub(crate) kind: u8,
    pub(crate) at: i64,
    pub(crate) contract: u32,
    pub(crate) id: String,
    pub(crate) lane: String,
    pub(crate) epoch: u64,
    pub(crate) seq: Option<u64>,
    pub(crate) mark_bits: u16,
    pub(crate) would_reject: bool,
    pub(crate) classes: Vec<(String, u8)>,
    pub(crate) attempt: u64,
    pub(crate) document: Arc<[u8]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlainAttempt {
    pub(crate) number: u64,
    pub(crate) verdict: &'static str,
    pub(crate) document: Option<Arc<[u8]>>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct HandlerLedger {
    pub(crate) next_fence: u64,
    /// The claims that were asked for, each as a client would get it.
    pub(crate) claims: Vec<((String, Option<String>), Value)>,
}

/// Which claims to look at, for each handler: event and lane.
pub(crate) type Wanted = Vec<Vec<(String, Option<String>)>>;

/// Reads everything.
pub(crate) fn read(reader: &impl Read, plan: &Plan, wanted: &Wanted) -> Result<Ledger, StoreError> {
    let mut ledger = Ledger::default();
    for stream in 0..plan.streams.len() {
        ledger.streams.push(read_stream(reader, plan, stream)?);
    }
    for (handler, events) in wanted.iter().enumerate() {
        ledger.handlers.push(read_handler(reader, plan, handler, events)?);
    }
    for tenant in TENANTS {
        let keys = reader.keys(tenant)?;
        ledger.keys.push(keys.iter().map(|key| (key.id.to_string(), key.revoked_at.is_some())).collect());
    }
    Ok(ledger)
}

fn read_stream(reader: &impl Read, plan: &Plan, stream: usize) -> Result<StreamLedger, StoreError> {
    let key = stream_key(plan, stream);
    let head = reader.head(&key)?;
    let versions = reader.versions(&key)?;
    let entries = reader.entries(&key, 0, usize::MAX)?;
    let found = reader.attempts(&key, &AttemptFilter::default(), 0, usize::MAX)?.items;
    let attempts = found.iter().map(|attempt| PlainAttempt {
        number: attempt.number(),
        verdict: attempt.verdict().name(),
        document: attempt.document().map(Arc::from),
    });
    let mut counters = Vec::new();
    if plan.streams[stream].counts() {
        for (key, record) in reader.counters(&key, &CounterFilter::default(), None, usize::MAX)?.items {
            let view = CounterView {
                key: &key,
                counter: &record.counter,
                closed: record.closed,
                adjustments: &record.adjustments,
            };
            counters.push(serde_json::to_value(&view).unwrap_or_default());
        }
    }
    Ok(StreamLedger {
        head: (head.offset, head.hash),
        modes: versions.iter().map(|version| format!("{:?}", version.contract.mode).to_lowercase()).collect(),
        entries: entries.iter().map(|entry| plain(entry)).collect(),
        attempts: attempts.collect(),
        counters,
    })
}

/// An entry in plain values.
pub(crate) fn plain(entry: &Entry) -> PlainEntry {
    PlainEntry {
        offset: entry.offset,
        hash: entry.hash,
        kind: entry.kind as u8,
        at: entry.at.nanos(),
        contract: entry.contract,
        id: entry.id.to_string(),
        lane: entry.lane.to_string(),
        epoch: entry.epoch,
        seq: entry.seq,
        mark_bits: entry.marks.bits(),
        would_reject: entry.marks.has(hapax_core::words::Mark::WouldReject),
        classes: entry.classes.iter().map(|(name, class)| (name.to_string(), *class as u8)).collect(),
        attempt: entry.attempt,
        document: Arc::clone(&entry.document),
    }
}

fn read_handler(
    reader: &impl Read,
    plan: &Plan,
    handler: usize,
    events: &[(String, Option<String>)],
) -> Result<HandlerLedger, StoreError> {
    let key = handler_key(plan, handler);
    let Some((_, state)) = reader.handler(&key)? else { return Ok(HandlerLedger::default()) };
    let mut found = HandlerLedger { next_fence: state.next_fence.0, claims: Vec::new() };
    for (event, lane) in events {
        let identity = match plan.handlers[handler].stream {
            None => Some(Identity::of(None, event)),
            Some(stream) => {
                let entries = reader.entries_with_id(&stream_key(plan, stream), event)?;
                let mine = |entry: &&SharedEntry| {
                    entry.kind == EntryKind::Event && lane.as_ref().is_none_or(|lane| **lane == *entry.lane)
                };
                entries.iter().find(mine).map(|entry| entry.identity)
            }
        };
        let claim = identity.map(|identity| reader.claim(&key, &identity)).transpose()?.flatten();
        let claim = claim.map(|claim| serde_json::to_value(&claim).unwrap_or_default());
        found.claims.push(((event.clone(), lane.clone()), claim.unwrap_or_default()));
    }
    Ok(found)
}
