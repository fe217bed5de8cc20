//! A turn that is held before its commit: it has loaded and judged, and what it would write can be looked at, or
//! committed later, when the world has moved on.

use std::sync::Arc;

use hapax_store::seam::{Loaded, Store, StoreError, TurnNeeds, Write};
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
    type Reader = S::Reader;

    fn reader(&self) -> &S::Reader {
        self.store.reader()
    }

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
    type Reader = S::Reader;

    fn reader(&self) -> &S::Reader {
        self.0.store.reader()
    }

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

/// A store in which another server takes its turns just before this one's load.
pub(crate) struct Early<'s, S> {
    pub(crate) store: &'s mut S,
    pub(crate) meanwhile: Vec<Request>,
}

impl<S: Store> Store for Early<'_, S> {
    type Reader = S::Reader;

    fn reader(&self) -> &S::Reader {
        self.store.reader()
    }

    fn tenant(&mut self, name: &Arc<str>, salt: [u8; 32]) -> Result<[u8; 32], StoreError> {
        self.store.tenant(name, salt)
    }

    fn load(&mut self, needs: &TurnNeeds) -> Result<Loaded, StoreError> {
        for request in std::mem::take(&mut self.meanwhile) {
            turn(self.store, &mut [request])?;
        }
        self.store.load(needs)
    }

    fn commit(&mut self, write: Write) -> Result<(), StoreError> {
        self.store.commit(write)
    }
}
