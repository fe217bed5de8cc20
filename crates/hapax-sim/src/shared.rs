//! Several servers on one store in memory: their turns overlap.
//!
//! While one server is between looking and loading, or between loading and committing, another takes a whole turn. So
//! everything that a turn rests on can change under it, and only the seam's promise keeps that from being written.

use std::sync::Arc;

use hapax_store::memory::Memory;
use hapax_store::seam::{Loaded, Store, StoreError, TurnNeeds, Write};

use crate::house::{Trouble, quietly, take};
use crate::plan::Plan;
use crate::words::{Asked, Told, What};

/// A turn that another server takes meanwhile.
#[derive(Debug)]
pub(crate) struct Meanwhile {
    /// Before the load, or else before the commit.
    pub(crate) at_load: bool,
    pub(crate) asked: Vec<Asked>,
}

/// What came of a turn: its requests, the answers up to the first error, and the error.
pub(crate) type Outcome = (Vec<Asked>, Vec<Told>, Option<Trouble>);

/// A store that others write to while a turn is under way.
pub(crate) struct Overtaken<'w> {
    memory: Memory,
    plan: &'w Plan,
    now: i64,
    meanwhile: Vec<Meanwhile>,
    outcomes: Vec<Outcome>,
}

impl<'w> Overtaken<'w> {
    /// Takes a turn with others in between. The outcomes are in the order of their commits; what a turn commits apart is
    /// told apart.
    pub(crate) fn turn(
        memory: &Memory,
        plan: &'w Plan,
        now: i64,
        asked: &[Asked],
        meanwhile: Vec<Meanwhile>,
    ) -> Vec<Outcome> {
        let mut store = Self { memory: memory.clone(), plan, now, meanwhile, outcomes: Vec::new() };
        let is_put = |asked: &Asked| matches!(asked.what, What::Put { .. });
        let mut failed = None;
        for together in asked.chunk_by(|one, next| !is_put(one) && !is_put(next)) {
            let mut answers = Vec::new();
            if failed.is_none() {
                failed = quietly(|| take(&mut store, plan, together, now, &mut answers)).err();
            }
            store.outcomes.push((together.to_vec(), answers, failed.clone()));
        }
        // What nobody got round to is taken afterwards.
        while !store.meanwhile.is_empty() {
            let at_load = store.meanwhile[0].at_load;
            store.let_another(at_load);
        }
        store.outcomes
    }

    fn let_another(&mut self, at_load: bool) {
        let Some(place) = self.meanwhile.iter().position(|it| it.at_load == at_load) else { return };
        let Meanwhile { asked, .. } = self.meanwhile.remove(place);
        let mut answers = Vec::new();
        let mut memory = self.memory.clone();
        let (plan, now) = (self.plan, self.now);
        let error = quietly(|| take(&mut memory, plan, &asked, now, &mut answers)).err();
        self.outcomes.push((asked, answers, error));
    }
}

impl Store for Overtaken<'_> {
    type Reader = Memory;

    fn reader(&self) -> &Memory {
        &self.memory
    }

    fn tenant(&mut self, name: &Arc<str>, salt: [u8; 32]) -> Result<[u8; 32], StoreError> {
        self.memory.tenant(name, salt)
    }

    fn load(&mut self, needs: &TurnNeeds) -> Result<Loaded, StoreError> {
        self.let_another(true);
        self.memory.load(needs)
    }

    fn commit(&mut self, write: Write) -> Result<(), StoreError> {
        self.let_another(false);
        self.memory.commit(write)
    }
}
