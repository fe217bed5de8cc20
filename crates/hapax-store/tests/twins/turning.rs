//! Several servers on one ledger, one of them with two writers, that take turns in a circle: as one store.
//!
//! So each turn meets what another left, or the same server the turn before the last.

use std::sync::Arc;

use hapax_store::postgres::{Address, Options, Postgres, PostgresReader};
use hapax_store::seam::{Loaded, Store, StoreError, TurnNeeds, Write};

/// The stores, and whose turn it is.
pub(crate) struct Turning {
    stores: Vec<Postgres>,
    turns: usize,
}

/// Whose turn it is: the same twice, its other writer, another server.
const ORDER: [usize; 6] = [0, 0, 1, 2, 2, 0];

impl Turning {
    pub(crate) fn on(address: &Address, options: &Options) -> Self {
        let first = Postgres::open(address, options.clone()).expect("an empty schema");
        let other = Postgres::open(address, options.clone()).expect("a ledger");
        Self { stores: vec![first.another(), first, other], turns: 0 }
    }

    /// The one whose turn it is.
    pub(crate) fn now(&mut self) -> &mut Postgres {
        &mut self.stores[ORDER[self.turns % ORDER.len()]]
    }

    /// The first of them.
    pub(crate) fn first(&self) -> &Postgres {
        &self.stores[0]
    }
}

impl Store for Turning {
    type Reader = PostgresReader;

    fn reader(&self) -> &PostgresReader {
        self.stores[ORDER[self.turns % ORDER.len()]].reader()
    }

    fn tenant(&mut self, name: &Arc<str>, salt: [u8; 32]) -> Result<[u8; 32], StoreError> {
        self.now().tenant(name, salt)
    }

    fn load(&mut self, needs: &TurnNeeds) -> Result<Loaded, StoreError> {
        self.now().load(needs)
    }

    fn commit(&mut self, write: Write) -> Result<(), StoreError> {
        let committed = self.now().commit(write);
        self.turns += usize::from(committed.is_ok());
        committed
    }

    fn settle(&mut self) -> Result<(), StoreError> {
        self.now().settle()
    }

    fn let_go(&mut self) {
        self.now().let_go();
    }
}
