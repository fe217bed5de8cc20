//! What may not change once a stream holds entries: everything that says which events are the same, where they belong,
//! and what was counted. A change there would make the ledger contradict itself.

use super::{Contract, CounterRules, Different, Same};
use crate::duration::Bound;
use crate::source::{Place, Problem};

/// The changes from what has been in force that the stream's entries forbid. `history` is every version so far, oldest
/// first: a counter that was dropped and comes back must be the counter that it was.
pub fn forbidden_changes(history: &[&Contract], new: &Contract) -> Vec<Problem> {
    let Some(old) = history.last() else { return Vec::new() };
    let mut problems = Vec::new();
    let mut forbid = |key: &str, same: bool| {
        if !same {
            let why = "cannot change once the stream holds entries; a new stream can have it".to_owned();
            problems.push(Problem { key: key.to_owned(), why, at: Place::default() });
        }
    };
    let (before, after) = (&old.identity, &new.identity);
    forbid("identity.required", before.required == after.required);
    forbid("identity.derive", before.derive == after.derive);
    forbid("identity.keep", before.keep == after.keep);
    forbid("identity.scope", before.scope == after.scope);
    forbid("identity.payload", before.payload == after.payload);
    let _: (Same, Different) = (after.same, after.different); // These two only choose the answer, and may change.
    forbid("envelope.id", old.envelope.id == new.envelope.id);
    forbid("envelope.lane", old.envelope.lane == new.envelope.lane);
    // An id that is forgotten is guarded by the age of its event, so nobody may move the field that shows it.
    forbid("envelope.time", before.keep == Bound::None || old.envelope.time == new.envelope.time);
    forbid("sequence.source", old.sequence.source == new.sequence.source);
    for counter in &new.counters {
        let Some(was) = history.iter().rev().find_map(|contract| counter_named(contract, &counter.name)) else {
            continue;
        };
        let key = |field: &str| format!("counters.{}.{field}", counter.name);
        forbid(&key("key"), was.key == counter.key);
        forbid(&key("amount"), was.amount == counter.amount);
        forbid(&key("period"), was.period == counter.period);
        forbid(&key("when"), was.when == counter.when);
    }
    problems
}

fn counter_named<'c>(contract: &'c Contract, name: &str) -> Option<&'c CounterRules> {
    contract.counters.iter().find(|counter| counter.name == name)
}
