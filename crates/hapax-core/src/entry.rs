//! An entry: an accepted event as it stands in the ledger, with what its checks compared.
//!
//! It is written once and never changed. Its receipt and its explanation are made from it, so both are the same for ever.
//! Manual corrections and closings of periods are entries of their own kinds, in the same chain.

mod shared;

pub use shared::SharedEntry;

use std::sync::Arc;

use crate::amount::Amount;
use crate::counter::{Class, Counter};
use crate::event::{Digest, IdSource, Identity};
use crate::lane::{Gap, Lane, Place};
use crate::refusal::Refusal;
use crate::time::Time;
use crate::words::{Marks, States, vocabulary};
use serde::{Serialize, Serializer};

vocabulary! {
    /// What an entry is. Its number stands in the entry's hash.
    EntryKind {
        /// An event that a producer sent.
        Event = "event",
        /// A manual correction of a counter.
        Correction = "adjustment",
        /// A period that was closed.
        Close = "close",
    }
}

/// An entry of the ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its place, from 1.
    pub offset: u64,
    /// The hash that ties it to the entry before.
    pub hash: Digest,
    /// What it is.
    pub kind: EntryKind,
    /// When it was received.
    pub at: Time,
    /// The version of the contract that judged it.
    pub contract: u32,
    /// Its id.
    pub id: Arc<str>,
    /// Who chose the id.
    pub id_source: IdSource,
    /// What the id is looked up by.
    pub identity: Identity,
    /// Its lane; empty for what is no event.
    pub lane: Arc<str>,
    /// The producer's incarnation.
    pub epoch: u64,
    /// Its number.
    pub seq: Option<u64>,
    /// When the source saw it.
    pub observed_at: Option<Time>,
    /// The document as sent.
    pub document: Arc<[u8]>,
    /// The document's SHA-256.
    pub digest: Digest,
    /// What was remarked.
    pub marks: Marks,
    /// What was met.
    pub states: States,
    /// The gap before it.
    pub gap: Option<GapDetail>,
    /// The gaps that the lane stopped waiting for.
    pub abandoned: Vec<(u64, u64)>,
    /// The refusal that an admin lifted, or that `enforce` would have given.
    pub refusal: Option<Box<Refusal>>,
    /// What each counter that applies took it as.
    pub classes: Vec<(Arc<str>, Class)>,
    /// What the checks compared.
    pub basis: Basis,
    /// It is the n-th event of the stream; 0 for what is no event.
    pub ordinal: u64,
    /// The offset of the lane's event before it; 0 if there is none.
    pub previous_in_lane: u64,
    /// Its number among all attempts.
    pub attempt: u64,
    /// Who sent it.
    pub caller: Caller,
}

/// Who sent a request, as the audit remembers it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// The id of the key; none where no keys are needed.
    pub key: Option<Arc<str>>,
    /// The request.
    pub request: Option<Arc<str>>,
    /// Did it carry an admin's override?
    pub forced: bool,
}

/// The missing numbers before an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GapDetail {
    /// The first.
    pub from: u64,
    /// The last.
    pub to: u64,
    /// More than the contract's `gap_large`?
    pub large: bool,
}

impl GapDetail {
    /// How many are missing.
    pub const fn size(&self) -> u64 {
        // A gap never holds all 2^64 numbers: one above it was received.
        self.to - self.from + 1
    }
}

/// The few values that a decision compared, so that it can be derived again without the history before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Basis {
    /// The offset of the original of a known id.
    pub original: Option<u64>,
    /// When the nonce was used.
    pub nonce_used_at: Option<Time>,
    /// The lane before the event, as far as checks look at it.
    pub lane: Option<LaneBasis>,
    /// The counters before the event, in the order of its classes.
    pub counters: Vec<CounterBasis>,
}

/// A lane as a decision saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneBasis {
    /// Its epoch.
    pub epoch: u64,
    /// Its highest number.
    pub highest: Option<u64>,
    /// Its floor.
    pub floor: Option<u64>,
    /// Its latest time.
    pub last_time: Option<Time>,
    /// Did it have to begin with a new baseline, and had it events before?
    pub returned: bool,
    /// Was it there at all?
    pub known: bool,
    /// The missing numbers that the event's number fell into.
    pub hit: Option<Box<Gap>>,
}

/// A counter as a decision saw it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterBasis {
    /// Its watermark.
    pub watermark: Option<Time>,
    /// Was the period closed?
    pub closed: bool,
    /// The sum of what was folded.
    pub folded: Amount,
    /// The sum of everything else.
    pub other: Amount,
}

impl CounterBasis {
    /// What a decision sees of a counter.
    pub fn of(counter: &Counter, closed: bool) -> Self {
        Self {
            watermark: counter.watermark,
            closed: closed || counter.closed,
            folded: counter.folded.sum,
            // Both are part of an effective sum that fits, so together they do.
            other: counter.adjusted.sum.checked_add(counter.corrected).unwrap_or_default(),
        }
    }
}

impl Basis {
    /// Keeps what checks see of a lane.
    pub(crate) fn lane(&mut self, lane: &Lane, baseline: u32) {
        self.lane = Some(LaneBasis {
            epoch: lane.epoch,
            highest: lane.highest,
            floor: lane.floor,
            last_time: lane.last_time,
            returned: lane.baseline != baseline && lane.events > 0,
            known: lane.events > 0,
            hit: None,
        });
    }

    /// Keeps the missing numbers that a number fell into.
    pub(crate) fn placed(&mut self, place: &Place) {
        if let (Some(lane), Place::Late(gap)) = (&mut self.lane, place) {
            lane.hit = Some(Box::new(*gap));
        }
    }
}
