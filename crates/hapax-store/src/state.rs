//! The working state: what commits add up to, but for the ledger itself.
//!
//! What holds: [`State::apply`] is the only way in, in service and at a start alike. A commit may be applied again as
//! long as all that came after it are applied again too, in their order: every change is either a value as it is now, or
//! joins a set. So a picture of the state that was taken piece by piece while commits went on becomes right by applying
//! the commits since it was begun.
//!
//! What is *not* here: entries, identities and attempts. There are as many of them as of events, and stores differ in
//! where they keep them.

mod fading;
mod read;
mod stream;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hapax_core::claim::{Claim, ClaimState, Handler, HandlerLane, HandlerState};
use hapax_core::event::{Digest, Identity};
use hapax_core::planted;

use crate::seam::{
    Commits, HandlerKey, Key, Loaded, LoadedStream, RequestKey, RequestRecord, StreamKey, StreamWrite, TurnNeeds, Write,
};
pub(crate) use fading::Fading;
pub(crate) use read::{Keeper, scan};
pub(crate) use stream::{Stream, Track};

/// What commits add up to.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// How many were applied since the start.
    commits: Commits,
    pub(crate) tenants: BTreeMap<Arc<str>, [u8; 32]>,
    pub(crate) streams: BTreeMap<StreamKey, Stream>,
    /// The streams in the order of their first commits: a stream's number is its place here.
    pub(crate) numbered: Vec<StreamKey>,
    pub(crate) handlers: BTreeMap<HandlerKey, Handling>,
    pub(crate) requests: Fading<RequestKey, RequestRecord>,
    pub(crate) keys: BTreeMap<Digest, Key>,
}

/// A handler and all that was claimed for it.
#[derive(Debug)]
pub(crate) struct Handling {
    pub(crate) handler: Handler,
    pub(crate) state: HandlerState,
    pub(crate) lanes: BTreeMap<Arc<str>, HandlerLane>,
    pub(crate) claims: BTreeMap<Identity, Claim>,
    dead: BTreeSet<Identity>,
    held: u64,
}

impl State {
    /// Everything that a turn asks for but the entries of known ids.
    pub(crate) fn load(&self, needs: &TurnNeeds) -> Loaded {
        let mut loaded = Loaded { as_of: self.commits, ..Loaded::default() };
        for (key, wanted) in &needs.streams {
            if let Some(stream) = self.streams.get(key)
                && let Some(facts) = stream.facts(key, wanted)
            {
                loaded.streams.insert(key.clone(), LoadedStream { versions: stream.versions(), facts });
            }
        }
        for key in &needs.handlers {
            if let Some(handling) = self.handlers.get(key) {
                loaded.handlers.insert(key.clone(), (handling.handler.clone(), handling.state.clone()));
            }
        }
        for (key, lane) in &needs.handler_lanes {
            if let Some(found) = self.handlers.get(key).and_then(|handling| handling.lanes.get(lane)) {
                loaded.handler_lanes.insert((key.clone(), Arc::clone(lane)), found.clone());
            }
        }
        for (key, identity) in &needs.claims {
            if let Some(found) = self.handlers.get(key).and_then(|handling| handling.claims.get(identity)) {
                loaded.claims.insert((key.clone(), *identity), found.clone());
            }
        }
        for key in &needs.requests {
            if let Some(found) = self.requests.get(key) {
                loaded.requests.insert(key.clone(), found.clone());
            }
        }
        for tenant in &needs.keys {
            let mine = self.keys.values().filter(|key| key.tenant == *tenant);
            loaded.keys.extend(mine.cloned());
            loaded.needs_keys = self.keys.values().any(|key| key.revoked_at.is_none());
        }
        loaded
    }

    /// Has anything changed since the write's turn was loaded? Any commit counts, whatever it was about: a turn looks at
    /// heads, claims, handlers, requests and keys, also at those that are not there, and one number stands for all.
    pub(crate) fn is_old(&self, write: &Write) -> bool {
        if planted!(ConflictIgnored) {
            return false;
        }
        write.rests_on.is_some_and(|commits| commits != self.commits) || self.conflicts(write)
    }

    /// Does the write not continue the heads?
    pub(crate) fn conflicts(&self, write: &Write) -> bool {
        let moved =
            |stream: &StreamWrite| self.streams.get(&stream.key).map(|it| it.head).unwrap_or_default() != stream.before;
        write.streams.iter().any(moved)
    }

    /// The numbers of a write's streams, also of those that get theirs when it is applied.
    pub(crate) fn numbers(&self, write: &Write) -> Vec<u32> {
        let mut next = self.numbered.len();
        let mut number = |stream: &StreamWrite| match self.streams.get(&stream.key) {
            Some(known) => known.number,
            None => {
                next += 1;
                place_as_number(next - 1)
            }
        };
        write.streams.iter().map(&mut number).collect()
    }

    /// A stream, with the next number if it is new.
    pub(crate) fn stream(&mut self, key: &StreamKey) -> &mut Stream {
        let numbered = &mut self.numbered;
        self.streams.entry(key.clone()).or_insert_with(|| {
            numbered.push(key.clone());
            Stream::new(place_as_number(numbered.len() - 1))
        })
    }

    /// The only way into the state.
    pub(crate) fn apply(&mut self, write: &Write) {
        self.commits.0 += 1;
        for (name, salt) in &write.tenants {
            self.tenants.entry(Arc::clone(name)).or_insert(*salt);
        }
        for stream in &write.streams {
            self.stream(&stream.key).apply(stream);
        }
        for (key, handler) in &write.handlers {
            match self.handlers.get_mut(key) {
                Some(handling) => handling.handler = handler.clone(),
                None => _ = self.handlers.insert(key.clone(), Handling::new(handler.clone())),
            }
        }
        for (key, change) in &write.states {
            if let Some(handling) = self.handlers.get_mut(key) {
                handling.state.apply(*change);
            }
        }
        for ((key, name), lane) in &write.handler_lanes {
            if let Some(handling) = self.handlers.get_mut(key) {
                handling.lanes.insert(Arc::clone(name), lane.clone());
            }
        }
        for ((key, identity), claim) in &write.claims {
            if let Some(handling) = self.handlers.get_mut(key) {
                handling.put(*identity, claim.clone());
            }
        }
        for (key, record) in &write.requests {
            self.requests.insert(key.clone(), record.at, record.clone());
        }
        self.keys.extend(write.keys.iter().map(|key| (key.hash, key.clone())));
    }
}

fn place_as_number(place: usize) -> u32 {
    u32::try_from(place).expect("there are fewer than four billion streams")
}

impl Handling {
    fn new(handler: Handler) -> Self {
        Self {
            handler,
            state: HandlerState::default(),
            lanes: BTreeMap::new(),
            claims: BTreeMap::new(),
            dead: BTreeSet::new(),
            held: 0,
        }
    }

    fn put(&mut self, identity: Identity, claim: Claim) {
        if matches!(claim.state, ClaimState::Dead { .. }) {
            self.dead.insert(identity);
        } else {
            self.dead.remove(&identity);
        }
        let is_held = |claim: &Claim| matches!(claim.state, ClaimState::Held { .. });
        self.held += u64::from(is_held(&claim));
        let before = self.claims.insert(identity, claim);
        self.held -= u64::from(before.as_ref().is_some_and(is_held));
    }
}
