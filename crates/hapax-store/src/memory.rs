//! The store that keeps everything in memory: for tests and scenarios, and the plainest reading of the seam.
//!
//! It loses all with the process. What it promises besides durability is what every store promises.

mod read;
mod stream;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use hapax_core::claim::{Claim, ClaimState, Handler, HandlerLane, HandlerState};
use hapax_core::event::{Digest, Identity};

use crate::seam::{
    HandlerKey, Key, Loaded, LoadedStream, RequestKey, RequestRecord, Store, StoreError, StreamKey, StreamWrite,
    TurnNeeds, Write,
};
use stream::Stream;

/// A ledger in memory. A clone is the same ledger, for reading in other threads.
#[derive(Clone, Debug, Default)]
pub struct Memory(Arc<RwLock<State>>);

/// What frames or commits add up to.
#[derive(Debug, Default)]
pub(crate) struct State {
    tenants: HashMap<Arc<str>, [u8; 32]>,
    streams: BTreeMap<StreamKey, Stream>,
    handlers: BTreeMap<HandlerKey, Handling>,
    requests: HashMap<RequestKey, RequestRecord>,
    keys: HashMap<Digest, Key>,
}

#[derive(Debug)]
struct Handling {
    handler: Handler,
    state: HandlerState,
    lanes: BTreeMap<Arc<str>, HandlerLane>,
    claims: HashMap<Identity, Claim>,
    dead: BTreeSet<Identity>,
    held: u64,
}

impl Memory {
    /// An empty ledger.
    pub fn new() -> Self {
        Self::default()
    }

    /// A panic while the state moves is a bug that ends the process, so nobody reads a half of it.
    pub(crate) fn state(&self) -> RwLockReadGuard<'_, State> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn state_mut(&self) -> RwLockWriteGuard<'_, State> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Memory {
    type Reader = Self;

    fn reader(&self) -> &Self {
        self
    }

    fn tenant(&mut self, name: &Arc<str>, salt: [u8; 32]) -> Result<[u8; 32], StoreError> {
        Ok(*self.state_mut().tenants.entry(Arc::clone(name)).or_insert(salt))
    }

    fn load(&mut self, needs: &TurnNeeds) -> Result<Loaded, StoreError> {
        Ok(self.state().load(needs))
    }

    fn commit(&mut self, write: Write) -> Result<(), StoreError> {
        let mut state = self.state_mut();
        if state.conflicts(&write) {
            return Err(StoreError::Conflict);
        }
        state.apply(write);
        Ok(())
    }
}

impl State {
    pub(crate) fn load(&self, needs: &TurnNeeds) -> Loaded {
        let mut loaded = Loaded::default();
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

    /// Has a head moved since the write's turn was loaded?
    pub(crate) fn conflicts(&self, write: &Write) -> bool {
        let moved =
            |stream: &StreamWrite| self.streams.get(&stream.key).map(|it| it.head).unwrap_or_default() != stream.before;
        write.streams.iter().any(moved)
    }

    /// The only way into the state.
    pub(crate) fn apply(&mut self, write: Write) {
        for (name, salt) in write.tenants {
            self.tenants.entry(name).or_insert(salt);
        }
        for stream in write.streams {
            self.streams.entry(stream.key.clone()).or_default().apply(stream);
        }
        for (key, handler) in write.handlers {
            match self.handlers.get_mut(&key) {
                Some(handling) => handling.handler = handler,
                None => _ = self.handlers.insert(key, Handling::new(handler)),
            }
        }
        for (key, change) in write.states {
            if let Some(handling) = self.handlers.get_mut(&key) {
                handling.state.apply(change);
            }
        }
        for ((key, name), lane) in write.handler_lanes {
            if let Some(handling) = self.handlers.get_mut(&key) {
                handling.lanes.insert(name, lane);
            }
        }
        for ((key, identity), claim) in write.claims {
            if let Some(handling) = self.handlers.get_mut(&key) {
                handling.put(identity, claim);
            }
        }
        self.requests.extend(write.requests);
        self.keys.extend(write.keys.into_iter().map(|key| (key.hash, key)));
    }
}

impl Handling {
    fn new(handler: Handler) -> Self {
        Self {
            handler,
            state: HandlerState::default(),
            lanes: BTreeMap::new(),
            claims: HashMap::new(),
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
