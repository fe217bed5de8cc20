//! Going through the state in pieces: each is taken under a lock that is held for about a millisecond at most.
//!
//! What holds: what was there when the first piece was taken, and was not changed since, is in exactly one piece; what was
//! changed since may be in one or in none, as it was at some moment between. A place in the walk is a key, never a
//! position, so that what comes and goes meanwhile moves nothing.

use std::ops::Bound;
use std::sync::Arc;

use hapax_core::claim::StateChange;
use hapax_core::counter::CounterKey;
use hapax_core::event::Identity;
use hapax_core::facts::Changes;
use hapax_core::lane::GapChange;

use crate::seam::{HandlerKey, StreamKey, StreamWrite, Write};
use crate::state::{Handling, State, Stream, Track};

/// Where the walk is. Streams are called by their numbers.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// Tenants and keys.
    Registry,
    Heads(usize),
    Lanes(usize, Option<Arc<str>>),
    Nonces(usize, u64),
    Counters(usize, Option<CounterKey>),
    Adjustments(usize, Option<CounterKey>),
    Requests(u64),
    Handlers(Option<HandlerKey>),
    HandlerLanes(HandlerKey, Option<Arc<str>>),
    Claims(HandlerKey, Option<Identity>),
    Done,
}

/// What one step of the walk found.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub(super) write: Write,
    /// Of the handlers in it, the events that need nothing more.
    pub(super) passed: Vec<(HandlerKey, Vec<(u64, u64)>)>,
    left: usize,
}

/// Takes the next piece, of about so many things.
pub(super) fn gather(state: &State, part: &mut Part, things: usize) -> Piece {
    let mut piece = Piece { left: things, ..Piece::default() };
    while piece.left > 0 && !matches!(part, Part::Done) {
        *part = piece.take(state, part);
    }
    piece
}

impl Piece {
    fn spend(&mut self, things: usize) {
        self.left = self.left.saturating_sub(things.max(1));
    }

    /// Takes some of a part, and says where to go on.
    fn take(&mut self, state: &State, part: &Part) -> Part {
        match part {
            Part::Registry => {
                self.write.tenants = state.tenants.iter().map(|(name, salt)| (Arc::clone(name), *salt)).collect();
                self.write.keys = state.keys.values().cloned().collect();
                self.spend(self.write.tenants.len() + self.write.keys.len());
                Part::Heads(0)
            }
            Part::Heads(number) => match self.stream(state, *number) {
                Some((key, stream)) => {
                    self.heads(key, stream);
                    Part::Heads(number + 1)
                }
                None => Part::Lanes(0, None),
            },
            Part::Lanes(number, after) => match self.stream(state, *number) {
                Some((key, stream)) => match self.lanes(key, stream, after.as_ref()) {
                    Some(last) => Part::Lanes(*number, Some(last)),
                    None => Part::Nonces(*number, 0),
                },
                None => Part::Requests(0),
            },
            Part::Nonces(number, place) => match self.stream(state, *number) {
                Some((key, stream)) if *place < stream.nonces.end() => {
                    let (some, next) = stream.nonces.from(*place, self.left);
                    self.spend((next - place) as usize);
                    let nonces = some.into_iter().map(|(nonce, at, ())| (*nonce, at)).collect();
                    self.changed(key, stream, Changes { nonces, ..Changes::default() });
                    Part::Nonces(*number, next)
                }
                Some(_) | None => Part::Counters(*number, None),
            },
            Part::Counters(number, after) => match self.stream(state, *number) {
                Some((key, stream)) => match self.counters(key, stream, after.as_ref()) {
                    Some(last) => Part::Counters(*number, Some(last)),
                    None => Part::Adjustments(*number, None),
                },
                None => Part::Adjustments(*number, None),
            },
            Part::Adjustments(number, after) => match self.stream(state, *number) {
                Some((key, stream)) => match self.adjustments(key, stream, after.as_ref()) {
                    Some(last) => Part::Adjustments(*number, Some(last)),
                    None => Part::Lanes(number + 1, None),
                },
                None => Part::Requests(0),
            },
            Part::Requests(place) if *place < state.requests.end() => {
                let (some, next) = state.requests.from(*place, self.left);
                self.write.requests.extend(some.into_iter().map(|(key, _, record)| (key.clone(), record.clone())));
                self.spend((next - place) as usize);
                Part::Requests(next)
            }
            Part::Requests(_) => Part::Handlers(None),
            Part::Handlers(after) => {
                let from = after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
                match state.handlers.range::<HandlerKey, _>((from, Bound::Unbounded)).next() {
                    Some((key, handling)) => {
                        self.handler(key, handling);
                        Part::HandlerLanes(key.clone(), None)
                    }
                    None => Part::Done,
                }
            }
            Part::HandlerLanes(key, after) => match self.handler_lanes(state, key, after.as_ref()) {
                Some(last) => Part::HandlerLanes(key.clone(), Some(last)),
                None => Part::Claims(key.clone(), None),
            },
            Part::Claims(key, after) => match self.claims(state, key, after.as_ref()) {
                Some(last) => Part::Claims(key.clone(), Some(last)),
                None => Part::Handlers(Some(key.clone())),
            },
            Part::Done => Part::Done,
        }
    }

    fn stream<'s>(&self, state: &'s State, number: usize) -> Option<(&'s StreamKey, &'s Stream)> {
        let key = state.numbered.get(number)?;
        state.streams.get(key).map(|stream| (key, stream))
    }

    fn changed(&mut self, key: &StreamKey, stream: &Stream, changes: Changes) {
        let (before, after) = (stream.head, stream.head);
        self.write.streams.push(StreamWrite { key: key.clone(), before, after, version: None, changes });
    }

    /// A stream has its number by where it stands among all, so this comes for each of them, in order.
    fn heads(&mut self, key: &StreamKey, stream: &Stream) {
        let closed = stream.closed.iter().cloned().collect();
        self.spend(1 + stream.closed.len() + stream.versions.len());
        self.changed(key, stream, Changes { closed, ..Changes::default() });
        for version in &stream.versions {
            self.changed(key, stream, Changes::default());
            if let Some(last) = self.write.streams.last_mut() {
                last.version = Some(version.clone());
            }
        }
    }

    fn lanes(&mut self, key: &StreamKey, stream: &Stream, after: Option<&Arc<str>>) -> Option<Arc<str>> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut changes = Changes::default();
        let mut last = None;
        for (name, track) in stream.lanes.range::<Arc<str>, _>((from, Bound::Unbounded)) {
            if self.left == 0 {
                break;
            }
            let Track { lane, gaps, filled } = track;
            let before = changes.gaps.len();
            changes.lanes.push((Arc::clone(name), lane.clone()));
            changes.gaps.extend(gaps.iter().map(|gap| (Arc::clone(name), GapChange::Put(*gap))));
            let filled = filled.values().map(|(gap, at)| (Arc::clone(name), GapChange::Filled(*gap, *at)));
            changes.gaps.extend(filled);
            self.spend(1 + changes.gaps.len() - before);
            last = Some(Arc::clone(name));
        }
        if last.is_some() {
            self.changed(key, stream, changes);
        }
        last
    }

    fn counters(&mut self, key: &StreamKey, stream: &Stream, after: Option<&CounterKey>) -> Option<CounterKey> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let some = stream.counters.range::<CounterKey, _>((from, Bound::Unbounded)).take(self.left);
        let counters: Vec<_> = some.map(|(key, counter)| (key.clone(), counter.clone())).collect();
        let last = counters.last().map(|(key, _)| key.clone())?;
        self.spend(counters.len());
        self.changed(key, stream, Changes { counters, ..Changes::default() });
        Some(last)
    }

    fn adjustments(&mut self, key: &StreamKey, stream: &Stream, after: Option<&CounterKey>) -> Option<CounterKey> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut adjustments = Vec::new();
        let mut last = None;
        for (counter, list) in stream.adjustments.range::<CounterKey, _>((from, Bound::Unbounded)) {
            if self.left == 0 {
                break;
            }
            adjustments.extend(list.iter().map(|adjustment| (counter.clone(), adjustment.clone())));
            self.spend(list.len());
            last = Some(counter.clone());
        }
        if last.is_some() {
            self.changed(key, stream, Changes { adjustments, ..Changes::default() });
        }
        last
    }

    fn handler(&mut self, key: &HandlerKey, handling: &Handling) {
        let state = &handling.state;
        self.write.handlers.push((key.clone(), handling.handler.clone()));
        let change = StateChange { next_fence: state.next_fence, dead: state.dead, passed: None };
        self.write.states.push((key.clone(), change));
        let below = (state.passed.low_water() > 0).then_some((1, state.passed.low_water()));
        let passed: Vec<_> = below.into_iter().chain(state.passed.islands()).collect();
        self.spend(1 + passed.len());
        if !passed.is_empty() {
            self.passed.push((key.clone(), passed));
        }
    }

    fn handler_lanes(&mut self, state: &State, key: &HandlerKey, after: Option<&Arc<str>>) -> Option<Arc<str>> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let lanes = &state.handlers.get(key)?.lanes;
        let some = lanes.range::<Arc<str>, _>((from, Bound::Unbounded)).take(self.left);
        let some: Vec<_> = some.map(|(name, lane)| ((key.clone(), Arc::clone(name)), lane.clone())).collect();
        let last = some.last().map(|((_, name), _)| Arc::clone(name))?;
        self.spend(some.len());
        self.write.handler_lanes.extend(some);
        Some(last)
    }

    fn claims(&mut self, state: &State, key: &HandlerKey, after: Option<&Identity>) -> Option<Identity> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let claims = &state.handlers.get(key)?.claims;
        let some = claims.range::<Identity, _>((from, Bound::Unbounded)).take(self.left);
        let some: Vec<_> = some.map(|(identity, claim)| ((key.clone(), *identity), claim.clone())).collect();
        let last = some.last().map(|((_, identity), _)| *identity)?;
        self.spend(some.len());
        self.write.claims.extend(some);
        Some(last)
    }
}
