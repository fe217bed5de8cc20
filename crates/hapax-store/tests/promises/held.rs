//! A turn that is held before its commit: it has loaded and judged, and what it would write can be looked at, or
//! committed later, when the world has moved on.

use std::sync::Arc;

use hapax_core::claim::{Handler, HandlerState};
use hapax_core::contract::Version;
use hapax_core::counter::CounterKey;
use hapax_core::entry::Entry;
use hapax_core::event::Identity;
use hapax_core::facts::Head;
use hapax_core::view::AttemptView;
use hapax_store::seam::{
    AttemptFilter, CounterRecord, HandlerKey, LaneRecord, Loaded, Read, Store, StoreError, StreamKey, TurnNeeds, Write,
};
use hapax_store::turn::{Request, turn};

/// Takes a turn up to its commit.
pub(crate) fn held<S: Store>(store: &mut S, mut requests: Vec<Request>) -> Write {
    let mut held = Held { store, write: Write::default(), meanwhile: None };
    turn(&mut held, &mut requests).expect("a turn");
    held.write
}

/// A store whose commits wait, or that something else is written to just before the first of them.
pub(crate) struct Held<'s, S> {
    pub(crate) store: &'s mut S,
    pub(crate) write: Write,
    /// What another server commits between this turn's load and its commit.
    pub(crate) meanwhile: Option<Write>,
}

impl<S: Store> Store for Held<'_, S> {
    fn tenant(&mut self, name: &Arc<str>, salt: [u8; 32]) -> Result<[u8; 32], StoreError> {
        self.store.tenant(name, salt)
    }

    fn load(&mut self, needs: &TurnNeeds) -> Result<Loaded, StoreError> {
        let loaded = self.store.load(needs);
        if let Some(write) = self.meanwhile.take() {
            self.store.commit(write)?;
        }
        loaded
    }

    fn commit(&mut self, write: Write) -> Result<(), StoreError> {
        self.write = write;
        Ok(())
    }
}

/// A store that something else is written to just before the first commit of a turn.
pub(crate) struct Overtaken<'s, S>(pub(crate) Held<'s, S>);

impl<S: Store> Store for Overtaken<'_, S> {
    fn tenant(&mut self, name: &Arc<str>, salt: [u8; 32]) -> Result<[u8; 32], StoreError> {
        self.0.tenant(name, salt)
    }

    fn load(&mut self, needs: &TurnNeeds) -> Result<Loaded, StoreError> {
        self.0.load(needs)
    }

    fn commit(&mut self, write: Write) -> Result<(), StoreError> {
        self.0.store.commit(write)
    }
}

/// Reading goes through to the store.
macro_rules! reads_through {
    ($type:ty, $($way:tt)+) => {
        impl<S: Store> Read for $type {
            fn versions(&self, stream: &StreamKey) -> Result<Vec<Version>, StoreError> {
                self.$($way)+.versions(stream)
            }
            fn head(&self, stream: &StreamKey) -> Result<Head, StoreError> {
                self.$($way)+.head(stream)
            }
            fn salt(&self, tenant: &str) -> Result<Option<[u8; 32]>, StoreError> {
                self.$($way)+.salt(tenant)
            }
            fn entries(&self, stream: &StreamKey, after: u64, limit: usize) -> Result<Vec<Arc<Entry>>, StoreError> {
                self.$($way)+.entries(stream, after, limit)
            }
            fn entry(&self, stream: &StreamKey, identity: &Identity) -> Result<Option<Arc<Entry>>, StoreError> {
                self.$($way)+.entry(stream, identity)
            }
            fn entries_with_id(&self, stream: &StreamKey, id: &str) -> Result<Vec<Arc<Entry>>, StoreError> {
                self.$($way)+.entries_with_id(stream, id)
            }
            fn lane(&self, stream: &StreamKey, lane: &str) -> Result<Option<LaneRecord>, StoreError> {
                self.$($way)+.lane(stream, lane)
            }
            fn counter(&self, stream: &StreamKey, key: &CounterKey) -> Result<CounterRecord, StoreError> {
                self.$($way)+.counter(stream, key)
            }
            fn counters(&self, stream: &StreamKey) -> Result<Vec<(CounterKey, CounterRecord)>, StoreError> {
                self.$($way)+.counters(stream)
            }
            fn attempts(&self, stream: &StreamKey, filter: &AttemptFilter) -> Result<Vec<AttemptView>, StoreError> {
                self.$($way)+.attempts(stream, filter)
            }
            fn handler(&self, handler: &HandlerKey) -> Result<Option<(Handler, HandlerState)>, StoreError> {
                self.$($way)+.handler(handler)
            }
        }
    };
}

reads_through!(Held<'_, S>, store);
reads_through!(Overtaken<'_, S>, 0.store);
