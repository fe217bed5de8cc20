//! A turn: everything that waits is judged together and committed once.
//!
//! ```text
//! prepare (what will be looked at) ▶ load ▶ decide, request by request ▶ commit ▶ answers
//! ```
//!
//! Requests are decided in the order given, each seeing what those before it did. An answer exists only after the commit
//! that it rests on; if the commit fails, there are no answers. If others commit to the same ledger, and a fact changed between
//! load and commit, the turn is taken again with new facts.
//!
//! Not here: threads, clocks, sockets. Time, randomness and the caller come in with the request.

mod apart;
mod ask;
mod decide;
mod prepare;
mod registry;

pub use ask::{Answer, Ask, Body, Call, CallAsk, ClaimAsk, CorrectionAsk, Request, RequestId, Submission};

use crate::begun::Begun;
use crate::seam::{Elsewhere, Loaded, Store, StoreError, StreamWrite, Write};
use decide::Working;

/// How often a turn is taken again before it gives up: with one writer it never has to be, with several a moved head is
/// rare, and three times in a row means that something else is wrong.
const TRIES_MAX: usize = 3;

/// Takes a turn: one answer per request, in their order. A contract is put in a turn of its own, because what follows it
/// must be read and loaded under it.
pub fn turn(store: &mut impl Store, requests: &mut [Request]) -> Result<Vec<Answer>, StoreError> {
    let mut answers = Vec::with_capacity(requests.len());
    for together in commits(requests) {
        let (more, begun) = begin(store, together)?;
        begun.wait()?;
        answers.extend(more);
    }
    Ok(answers)
}

/// The requests that are committed together. What was committed stands, whatever becomes of the rest.
pub fn commits(requests: &mut [Request]) -> impl Iterator<Item = &mut [Request]> {
    requests.chunk_by_mut(|one, next| !puts_contract(one) && !puts_contract(next))
}

fn puts_contract(request: &Request) -> bool {
    matches!(request.ask, Ask::PutContract { .. })
}

/// Takes a turn of requests that are committed together. The answers may leave once it is durable; until then the next turn
/// may be taken.
pub fn begin(store: &mut impl Store, requests: &mut [Request]) -> Result<(Vec<Answer>, Begun), StoreError> {
    for _ in 0..TRIES_MAX {
        match decide(store, requests).and_then(|decided| decided.begin(store)) {
            Err(StoreError::Conflict) if store.is_shared() => {}
            begun => return begun,
        }
    }
    Err(StoreError::Conflict)
}

/// What was decided about the requests of a turn, and is not committed yet. The answers may be written down meanwhile; none may leave.
#[derive(Debug)]
pub struct Decided {
    answers: Vec<Answer>,
    write: Write,
}

/// Decides a turn of requests that are committed together. [`StoreError::Conflict`] if what is to be looked at has changed meanwhile.
pub fn decide(store: &mut impl Store, requests: &mut [Request]) -> Result<Decided, StoreError> {
    let prepared = prepare::prepare(store.reader(), requests)?;
    let loaded = store.load(&prepared.needs)?;
    // Where servers share a clock, theirs do not count: leases and fences of several must agree.
    if let Some(now) = loaded.now {
        requests.iter_mut().for_each(|request| request.now = now);
    }
    if !prepared.is_current(&loaded) {
        store.let_go();
        return Err(StoreError::Conflict);
    }
    // It refers to the events, and they are to be nobody else's.
    drop(prepared);
    let mut working = Working::new(loaded, store.is_shared());
    let answers = requests.iter_mut().map(|request| working.answer(request)).collect();
    Ok(Decided { answers, write: Write { askers: requests.len(), ..working.into_write() } })
}

impl Decided {
    /// One answer per request, in their order.
    pub fn answers(&self) -> &[Answer] {
        &self.answers
    }

    /// Begins to commit it. After [`StoreError::Conflict`] everything is to be decided anew, and can be where the ledger
    /// [is shared](Store::is_shared).
    pub fn begin(self, store: &mut impl Store) -> Result<(Vec<Answer>, Begun), StoreError> {
        self.hand_to(store, |store, write| store.begin(write))
    }

    /// The same, while nobody but these requests waits for anything.
    pub fn begin_alone(
        self,
        store: &mut impl Store,
        elsewhere: Elsewhere<'_>,
    ) -> Result<(Vec<Answer>, Begun), StoreError> {
        self.hand_to(store, |store, write| store.begin_alone(write, elsewhere))
    }

    fn hand_to<S: Store>(
        self,
        store: &mut S,
        begin: impl FnOnce(&mut S, Write) -> Result<Begun, StoreError>,
    ) -> Result<(Vec<Answer>, Begun), StoreError> {
        let Self { answers, write } = self;
        let begun = if write.is_empty() {
            store.let_go();
            seen(store)
        } else if cfg!(feature = "planted") {
            apart::commit(store, write).map(|()| Begun::durable())
        } else {
            begin(store, write)
        };
        begun.map(|begun| (answers, begun))
    }
}

/// A turn that writes nothing rests on what was begun before it all the same.
fn seen(store: &mut impl Store) -> Result<Begun, StoreError> {
    store.settle().map(|()| Begun::durable())
}

impl Write {
    /// Is there nothing to write?
    pub fn is_empty(&self) -> bool {
        self.tenants.is_empty()
            && self.streams.is_empty()
            && self.handlers.is_empty()
            && self.states.is_empty()
            && self.handler_lanes.is_empty()
            && self.claims.is_empty()
            && self.requests.is_empty()
            && self.keys.is_empty()
    }
}

impl Working {
    /// What was decided, for the store.
    fn into_write(self) -> Write {
        let Self { loaded, before, versions, mut write, .. } = self;
        let Loaded { as_of, streams, .. } = loaded;
        write.rests_on = Some(as_of);
        for (key, stream) in streams {
            let first = before.get(&key).copied().unwrap_or_default();
            let version = versions.get(&key).cloned();
            let (after, changes) = stream.facts.into_changes();
            if after != first || version.is_some() || changes.is_any() {
                write.streams.push(StreamWrite { key, before: first, after, version, changes });
            }
        }
        // A map has no order of its own, and what is written must not depend on one.
        write.streams.sort_by(|one, other| one.key.cmp(&other.key));
        write
    }
}
