//! When what expires has expired: in the log by whole segments, in memory by the oldest first.
//!
//! | what | for how long |
//! |---|---|
//! | an attempt, a number that came after all | the contract's `audit.keep` |
//! | a nonce | the contract's `nonce.keep`, and [`SLACK`] |
//! | an answered request | 24 hours, and [`SLACK`] |
//!
//! What holds: a contract that is in force now decides, also about what an earlier one judged. Entries never expire.

use std::collections::BTreeMap;
use std::ops;
use std::sync::Arc;

use hapax_core::contract::Contract;
use hapax_core::duration::Bound;
use hapax_core::lane::GapChange;
use hapax_core::planted;
use hapax_core::time::Time;

use super::log::FrameNumber;
use crate::seam::{StreamWrite, Write};
use crate::state::State;

/// A wall clock that steps back by less than this changes no verdict: what a rule may still look at is still there.
const SLACK: i64 = 3_600 * 1_000_000_000;

/// How long an answered request is remembered.
const REQUEST_KEEP: i64 = 24 * 3_600 * 1_000_000_000;

/// Until when something must be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Until {
    /// Up to and including this.
    At(Time),
    /// For ever.
    Never,
}

impl Until {
    fn of(at: Time, keep: Bound, slack: i64) -> Self {
        match keep {
            Bound::None => Self::Never,
            Bound::Within(span) => {
                Self::At(Time::from_nanos(at.nanos().saturating_add(span.nanos()).saturating_add(slack)))
            }
        }
    }

    /// Is it over?
    pub(super) fn is_over(self, now: Time) -> bool {
        match self {
            Self::At(until) => now > until,
            Self::Never => false,
        }
    }
}

/// What expires of a commit, if anything does.
pub(super) fn expiring(state: &State, write: &Write) -> Option<Segment> {
    let requests = write.requests.iter().map(|(_, record)| request_until(record.at)).max();
    let streams = write.streams.iter().filter_map(|stream| {
        let (version, _) = state.streams.get(&stream.key)?.versions.last()?;
        stream_until(&version.contract, stream)
    });
    let attempts = write.streams.iter().map(|stream| stream.changes.attempts.len() as u64).sum();
    streams.chain(requests).max().map(|until| Segment { until, attempts })
}

fn stream_until(contract: &Contract, stream: &StreamWrite) -> Option<Until> {
    let changes = &stream.changes;
    let attempts = changes.attempts.iter().map(|attempt| attempt.at).max();
    let filled = changes.gaps.iter().filter_map(|(_, change)| match change {
        GapChange::Filled(_, at) => Some(*at),
        GapChange::Put(_) | GapChange::Remove(_) => None,
    });
    let audit = attempts.into_iter().chain(filled).max().map(|at| Until::of(at, contract.audit_keep, 0));
    let nonces = changes.nonces.iter().map(|(_, at)| *at).max();
    audit.into_iter().chain(nonces.map(|at| Until::of(at, contract.nonce.keep, SLACK))).max()
}

fn request_until(at: Time) -> Until {
    Until::At(Time::from_nanos(at.nanos().saturating_add(REQUEST_KEEP).saturating_add(SLACK)))
}

/// What expires in each segment of the log. Segments without anything that does are not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Expiries(BTreeMap<FrameNumber, Segment>);

/// What expires in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// When the last of it has.
    pub(super) until: Until,
    /// How many attempts are part of it.
    pub(super) attempts: u64,
}

impl Expiries {
    /// This is in the segment that begins with this frame, too.
    pub(super) fn note(&mut self, segment: FrameNumber, more: Segment) {
        let known = self.0.entry(segment).or_insert(Segment { attempts: 0, ..more });
        known.until =
            if planted!(CompactedTooEarly) { more.until.min(known.until) } else { more.until.max(known.until) };
        known.attempts += more.attempts;
    }

    /// The segment was compacted, and this is what is left.
    pub(super) fn replace(&mut self, segment: FrameNumber, left: Option<Segment>) {
        match left {
            Some(left) => _ = self.0.insert(segment, left),
            None => _ = self.0.remove(&segment),
        }
    }

    /// What expires in this segment.
    pub(super) fn of(&self, segment: FrameNumber) -> Option<Segment> {
        self.0.get(&segment).copied()
    }

    /// The first segment of which everything that expires has expired.
    pub(super) fn over(&self, now: Time) -> Option<FrameNumber> {
        self.0.iter().find(|(_, it)| it.until.is_over(now)).map(|(segment, _)| *segment)
    }

    /// How many attempts there are.
    pub(super) fn attempts(&self) -> u64 {
        self.0.values().map(|it| it.attempts).sum()
    }

    /// The greatest time stands for ever.
    pub(super) fn encode(&self) -> Vec<u8> {
        let row = |(segment, it): (&FrameNumber, &Segment)| {
            let nanos = match it.until {
                Until::At(time) => time.nanos(),
                Until::Never => i64::MAX,
            };
            [segment.0.to_le_bytes(), nanos.to_le_bytes(), it.attempts.to_le_bytes()]
        };
        self.0.iter().flat_map(row).flatten().collect()
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (words, rest) = bytes.as_chunks::<8>();
        let (rows, odd) = words.as_chunks::<3>();
        let row = |[segment, nanos, attempts]: &[[u8; 8]; 3]| {
            let until = match i64::from_le_bytes(*nanos) {
                i64::MAX => Until::Never,
                nanos => Until::At(Time::from_nanos(nanos)),
            };
            let attempts = u64::from_le_bytes(*attempts);
            (FrameNumber(u64::from_le_bytes(*segment)), Segment { until, attempts })
        };
        (rest.is_empty() && odd.is_empty()).then(|| Self(rows.iter().map(row).collect()))
    }
}

/// Forgets some of what has had its time in memory: about so many nonces and requests, the oldest first. Answers whether
/// there may be more.
pub(super) fn forget(state: &mut State, now: Time, max: usize) -> bool {
    let mut more = state.requests.forget(max, |at| request_until(at).is_over(now));
    for stream in state.streams.values_mut() {
        let Some((version, _)) = stream.versions.last() else { continue };
        let keep = version.contract.nonce.keep;
        more |= stream.nonces.forget(max, |at| Until::of(at, keep, SLACK).is_over(now));
        if more {
            break;
        }
    }
    more
}

/// Where a sweep through the lanes is: a stream's number and a lane's name.
#[derive(Clone, Debug, Default)]
pub(super) struct Sweep(usize, Option<Arc<str>>);

/// So many lanes are looked at under one lock: well below a millisecond.
const LANES: usize = 2_000;

/// Forgets numbers that came after all in some lanes, once the audit has. Answers where to go on.
pub(super) fn sweep(state: &mut State, now: Time, Sweep(number, after): Sweep) -> Option<Sweep> {
    let key = state.numbered.get(number)?.clone();
    let Some(stream) = state.streams.get_mut(&key) else { return Some(Sweep(number + 1, None)) };
    let Some((version, _)) = stream.versions.last() else { return Some(Sweep(number + 1, None)) };
    let keep = version.contract.audit_keep;
    let from = after.as_ref().map_or(ops::Bound::Unbounded, ops::Bound::Excluded);
    let mut last = None;
    for (name, track) in stream.lanes.range_mut::<Arc<str>, _>((from, ops::Bound::Unbounded)).take(LANES) {
        if !track.filled.is_empty() {
            track.filled.retain(|_, (_, at)| !Until::of(*at, keep, 0).is_over(now));
        }
        last = Some(Arc::clone(name));
    }
    Some(last.map_or(Sweep(number + 1, None), |last| Sweep(number, Some(last))))
}
