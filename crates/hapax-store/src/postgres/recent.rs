//! What this process knows of a stream because its own turn was the last to write it.
//!
//! Two things rest on it. A turn that has locked a stream need not read the lanes that the turn before it, of the same
//! process, has left: they are here. And a turn need not wait for the commit of the one before it to be judged: it rests on
//! what that one will leave, and is committed after it.
//!
//! What holds: whether it is true is never decided here. The row of a stream says which transaction wrote it last
//! (`xmin`) and where the stream ends, and every turn that writes anything of a stream writes its row. So what a turn has left
//! counts only for whoever has the row locked and finds that very [mark](Mark) there: after a turn of another server, or one that was
//! not committed, it is another one, and everything is read again. Turns of one process on one stream are in an order; each knows the one before
//! it. What is kept is bounded, and old after a minute, long before the numbers of transactions come round.
//!
//! Not here: reading, writing, the comparison itself.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hapax_core::facts::Head;
use hapax_core::lane::{Gaps, Lane};
use hapax_core::time::Time;

use super::rows::stream::StreamRow;
use crate::seam::{StreamKey, StreamWrite, Write};

/// A lane with more rows of gaps than this is not kept, and of the rows only what is needed is read.
pub(super) const GAPS_MAX: u64 = 64;
/// Lanes of one stream that are kept, at most, and streams.
const LANES_MAX: usize = 2_000;
const STREAMS_MAX: usize = 64;
/// After so many ticks, which come once a second, nothing of it counts any more.
const TICKS_MAX: u64 = 60;
/// So many turns of a stream trust nothing after one that found that another server had written.
const DOUBTS: u32 = 8;
/// It is not waited longer than this for the turn before: the database would have ended its transaction by then.
const PATIENCE: Duration = Duration::from_secs(2);

/// A lane with all its rows of gaps.
#[derive(Clone, Debug, Default)]
pub(super) struct Track {
    pub(super) lane: Lane,
    pub(super) gaps: Gaps,
}

impl Track {
    /// Is it whole, and small enough to be kept?
    fn is_whole(&self) -> bool {
        let total = self.lane.counts.total();
        total <= GAPS_MAX && self.gaps.iter().count() as u64 == total
    }
}

/// What a stream's row is known by: the transaction that wrote it, as the row shows it, and all that it says. The number alone is
/// not enough: what a database that crashed had not saved yet, it never heard of, and it gives those numbers once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) xid: u32,
    pub(super) version: u32,
    pub(super) head: Head,
    pub(super) lanes: u64,
    pub(super) gaps_open: u64,
}

impl Mark {
    /// This row, written by this transaction.
    pub(super) fn of(xid: u32, row: &StreamRow) -> Self {
        let StreamRow { key: _, version, head, lanes, gaps_open } = *row;
        Self { xid, version, head, lanes, gaps_open }
    }
}

/// A turn that is being written: what the next one rests on.
#[derive(Debug)]
pub(super) struct Ahead {
    pub(super) mark: Mark,
    /// That of the stream's row before it.
    pub(super) rests_on: Option<Mark>,
    /// The stream's row as it leaves it.
    pub(super) row: StreamRow,
    /// When it was taken, by the database's clock.
    pub(super) now: Option<Time>,
    pub(super) write: Arc<Write>,
}

impl Ahead {
    /// What it does in its only stream.
    pub(super) fn stream(&self) -> Option<&StreamWrite> {
        self.write.streams.first()
    }
}

/// May the next turn be judged before this is committed? Only what a submission leads to, in one stream.
pub(super) fn can_be_ahead(write: &Write) -> bool {
    let [stream] = &write.streams[..] else { return false };
    let changes = &stream.changes;
    let registry = write.handlers.is_empty() && write.states.is_empty() && write.handler_lanes.is_empty();
    stream.version.is_none()
        && changes.closed.is_empty()
        && changes.acknowledgements.is_empty()
        && changes.adjustments.is_empty()
        && registry
        && write.claims.is_empty()
        && write.keys.is_empty()
        && write.tenants.is_empty()
}

/// What is known of all streams.
#[derive(Debug, Default)]
pub(super) struct Recents(Mutex<HashMap<StreamKey, Arc<Recent>>>);

impl Recents {
    /// What is known of one.
    pub(super) fn of(&self, key: &StreamKey) -> Arc<Recent> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(recent) = all.get(key) {
            return Arc::clone(recent);
        }
        if all.len() >= STREAMS_MAX {
            // Those with a turn under way are shared with it.
            all.retain(|_, recent| Arc::strong_count(recent) > 1);
        }
        Arc::clone(all.entry(key.clone()).or_default())
    }
}

/// What is known of a stream.
#[derive(Debug, Default)]
pub(super) struct Recent {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Turns of this process, in their order.
    turns: VecDeque<(u64, Phase)>,
    next: u64,
    /// The last turn that was committed, as long as there is one after it.
    committed: Option<(u64, Arc<Ahead>)>,
    left: Option<Left>,
    doubts: u32,
}

#[derive(Debug)]
enum Phase {
    /// Loading or judging.
    Open,
    /// It has its locks, and what it leaves is certain unless it fails.
    Writing(Arc<Ahead>),
}

/// What a turn has left.
#[derive(Debug)]
struct Left {
    mark: Mark,
    tick: u64,
    tracks: HashMap<Arc<str>, Track>,
}

/// Which turns of this process are before one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// None.
    Nobody,
    /// This one, and all before it are committed, or never will be.
    One(u64),
    /// More, or it is not certain that it helps to look at them.
    Many,
}

/// A turn's place among those of this process on a stream. It is given up with this.
#[derive(Debug)]
pub(super) struct Ticket {
    recent: Arc<Recent>,
    number: u64,
    before: Before,
}

impl Recent {
    /// A turn on this stream begins.
    pub(super) fn join(self: &Arc<Self>) -> Ticket {
        let mut state = self.lock();
        state.doubts = state.doubts.saturating_sub(1);
        let before = match (state.turns.back(), state.turns.len()) {
            (None, _) => Before::Nobody,
            (Some((number, _)), 1) if state.doubts == 0 => Before::One(*number),
            (Some(_), _) => Before::Many,
        };
        let number = state.next;
        state.next += 1;
        state.turns.push_back((number, Phase::Open));
        Ticket { recent: Arc::clone(self), number, before }
    }

    /// Nothing in here panics half way.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ticket {
    pub(super) fn before(&self) -> Before {
        self.before
    }

    /// Has no other server written to the stream lately?
    pub(super) fn is_undisputed(&self) -> bool {
        self.recent.lock().doubts == 0
    }

    /// Waits until the turn before is being written. Nothing if it never will be, or is not what one can rest on.
    pub(super) fn wait_for(&self, number: u64) -> Option<Arc<Ahead>> {
        let state = self.recent.lock();
        let is_open = |state: &mut State| state.turns.iter().any(|(it, phase)| *it == number && phase.is_open());
        let (state, _) =
            self.recent.changed.wait_timeout_while(state, PATIENCE, is_open).unwrap_or_else(PoisonError::into_inner);
        let writing = state.turns.iter().find_map(|(it, phase)| match phase {
            Phase::Writing(ahead) if *it == number => Some(Arc::clone(ahead)),
            Phase::Writing(_) | Phase::Open => None,
        });
        let committed = state.committed.as_ref().filter(|(it, _)| *it == number);
        writing.or_else(|| committed.map(|(_, ahead)| Arc::clone(ahead)))
    }

    /// Those of these lanes that need not be read, if what was left is still true.
    pub(super) fn has(&self, tick: u64, lanes: impl Iterator<Item = Arc<str>>) -> Vec<Arc<str>> {
        let state = self.recent.lock();
        match &state.left {
            Some(left) if state.doubts == 0 && tick - left.tick <= TICKS_MAX => {
                lanes.filter(|name| left.tracks.contains_key(name)).collect()
            }
            Some(_) | None => Vec::new(),
        }
    }

    /// These lanes as the turn with this mark has left them, if that was the last.
    pub(super) fn take(&self, mark: Mark, lanes: &[Arc<str>]) -> Option<Vec<(Arc<str>, Track)>> {
        let state = self.recent.lock();
        let left = state.left.as_ref().filter(|left| left.mark == mark)?;
        lanes.iter().map(|name| Some((Arc::clone(name), left.tracks.get(name)?.clone()))).collect()
    }

    /// Another server has written: what was left is old, and may be again soon.
    pub(super) fn doubt(&self) {
        let mut state = self.recent.lock();
        state.left = None;
        state.doubts = DOUBTS;
    }

    /// This turn has its locks, and leaves these lanes. What the turn before has left, and this one has not changed, stays
    /// true, if this one rests on it.
    pub(super) fn writing(&self, ahead: Ahead, tick: u64, tracks: HashMap<Arc<str>, Track>) {
        let mut state = self.recent.lock();
        let mut kept = match state.left.take() {
            Some(left) if ahead.rests_on == Some(left.mark) => left.tracks,
            Some(_) | None => HashMap::new(),
        };
        for (name, track) in tracks {
            match track.is_whole() && (kept.len() < LANES_MAX || kept.contains_key(&name)) {
                true => _ = kept.insert(name, track),
                false => _ = kept.remove(&name),
            }
        }
        state.left = Some(Left { mark: ahead.mark, tick, tracks: kept });
        if let Some((_, phase)) = state.turns.iter_mut().find(|(number, _)| *number == self.number) {
            *phase = Phase::Writing(Arc::new(ahead));
        }
        drop(state);
        self.recent.changed.notify_all();
    }

    /// This turn was committed.
    pub(super) fn committed(self) {
        let mut state = self.recent.lock();
        let mine = state.turns.iter().find(|(number, _)| *number == self.number);
        if let Some((number, Phase::Writing(ahead))) = mine {
            state.committed = Some((*number, Arc::clone(ahead)));
        }
    }
}

impl Phase {
    fn is_open(&self) -> bool {
        matches!(self, Self::Open)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut state = self.recent.lock();
        state.turns.retain(|(number, _)| *number != self.number);
        if state.turns.is_empty() {
            // Nobody is left who could rest on it.
            state.committed = None;
        }
        drop(state);
        self.recent.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_a_database_gives_twice_makes_no_mark() {
        let key = StreamKey { tenant: Arc::from("t"), stream: Arc::from("s") };
        let row = StreamRow { key, version: 1, head: Head::default(), lanes: 1, gaps_open: 0 };
        let mut changed: [StreamRow; 5] = std::array::from_fn(|_| row.clone());
        changed[0].version = 2;
        changed[1].head.hash[31] = 1;
        changed[2].head.attempts = 1;
        changed[3].lanes = 2;
        changed[4].gaps_open = 1;
        assert_eq!(Mark::of(7, &row), Mark::of(7, &row.clone()));
        assert_ne!(Mark::of(7, &row), Mark::of(8, &row));
        for other in &changed {
            assert_ne!(Mark::of(7, &row), Mark::of(7, other), "{other:?}");
        }
    }
}
