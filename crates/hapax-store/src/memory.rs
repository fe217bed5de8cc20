//! The store that keeps everything in memory: for tests and scenarios, and the plainest reading of the seam.
//!
//! It loses all with the process. What it promises besides durability is what every store promises.

mod read;
mod stream;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use hapax_core::claim::{Claim, Handler, HandlerLane, HandlerState};
use hapax_core::event::Identity;

use crate::seam::{
    HandlerKey, Loaded, LoadedStream, RequestKey, RequestRecord, Store, StoreError, StreamKey, StreamWrite, TurnNeeds,
    Write,
};
use stream::Stream;

/// A ledger in memory.
#[derive(Debug, Default)]
pub struct Memory {
    tenants: HashMap<Arc<str>, [u8; 32]>,
    streams: HashMap<StreamKey, Stream>,
    handlers: HashMap<HandlerKey, Handling>,
    requests: HashMap<RequestKey, RequestRecord>,
}

#[derive(Debug)]
struct Handling {
    handler: Handler,
    state: HandlerState,
    lanes: BTreeMap<Arc<str>, HandlerLane>,
    claims: HashMap<Identity, Claim>,
}

impl Memory {
    /// An empty ledger.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Store for Memory {
    fn tenant(&mut self, name: &Arc<str>, salt: [u8; 32]) -> Result<[u8; 32], StoreError> {
        Ok(*self.tenants.entry(Arc::clone(name)).or_insert(salt))
    }

    fn load(&mut self, needs: &TurnNeeds) -> Result<Loaded, StoreError> {
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
        Ok(loaded)
    }

    fn commit(&mut self, write: Write) -> Result<(), StoreError> {
        if self.conflicts(&write) {
            return Err(StoreError::Conflict);
        }
        self.apply(write);
        Ok(())
    }
}

impl Memory {
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
                handling.claims.insert(identity, claim);
            }
        }
        self.requests.extend(write.requests);
    }
}

impl Handling {
    fn new(handler: Handler) -> Self {
        Self { handler, state: HandlerState::default(), lanes: BTreeMap::new(), claims: HashMap::new() }
    }
}
