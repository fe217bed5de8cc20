//! A turn that is held before its commit: it has loaded and judged, and what it would write can be looked at, or
//! committed later, when the world has moved on.
//!
//! The world moves by whole turns on the same store. A store that holds locks from a load to its commit lets go of them at
//! the next load, so this works for those too; two such stores on one ledger are in `tests/postgres`.

use std::sync::Arc;

use hapax_store::seam::{Loaded, Store, StoreError, TurnNeeds, Write};
use hapax_store::turn::{Request, turn};

/// Takes a turn up to its commit.
pub(crate) fn held<S: Store>(store: &mut S, mut requests: Vec<Request>) -> Write {
    let mut held = Held { store, write: Write::default() };
    turn(&mut held, &mut requests).expect("a turn");
    held.write
}

/// A store whose commits wait.
struct Held<'s, S> {
    store: &'s mut S,
    write: Write,
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
        self.store.load(needs)
    }

    fn commit(&mut self, write: Write) -> Result<(), StoreError> {
        self.write = write;
        Ok(())
    }

    fn let_go(&mut self) {
        self.store.let_go();
    }
}

/// A store in which another server takes its turns between this one's first load and its commit.
pub(crate) struct Overtaken<'s, S> {
    pub(crate) store: &'s mut S,
    pub(crate) meanwhile: Vec<Request>,
    /// What the commits of the turn came to.
    pub(crate) commits: Vec<Result<(), StoreError>>,
}

impl<S: Store> Store for Overtaken<'_, S> {
    type Reader = S::Reader;

    fn reader(&self) -> &S::Reader {
        self.store.reader()
    }

    fn tenant(&mut self, name: &Arc<str>, salt: [u8; 32]) -> Result<[u8; 32], StoreError> {
        self.store.tenant(name, salt)
    }

    fn load(&mut self, needs: &TurnNeeds) -> Result<Loaded, StoreError> {
        let loaded = self.store.load(needs);
        for request in std::mem::take(&mut self.meanwhile) {
            turn(self.store, &mut [request])?;
        }
        loaded
    }

    fn commit(&mut self, write: Write) -> Result<(), StoreError> {
        let committed = self.store.commit(write);
        self.commits.push(committed.clone());
        committed
    }

    fn let_go(&mut self) {
        self.store.let_go();
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

    fn let_go(&mut self) {
        self.store.let_go();
    }
}
