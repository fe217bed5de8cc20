//! The seam between the rules and whatever keeps their results.
//!
//! Keys stay composite, and every one begins with its tenant: nothing of one tenant can be reached with the key of another.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use hapax_core::access::{Access, Rates};
use hapax_core::claim::{Claim, Handler, HandlerLane, HandlerState, StateChange};
use hapax_core::contract::Version;
use hapax_core::counter::{Adjustment, Counter, CounterKey};
use hapax_core::entry::SharedEntry;
use hapax_core::event::{Digest, Identity};
use hapax_core::facts::{Changes, Facts, Head, Needs};
use hapax_core::lane::{Gap, Gaps, Lane};
use hapax_core::period::PeriodStart;
use hapax_core::time::Time;
use hapax_core::view::AttemptView;
use serde::Serialize;

use crate::begun::Begun;

/// A stream of a tenant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamKey {
    /// Whose.
    pub tenant: Arc<str>,
    /// Its name.
    pub stream: Arc<str>,
}

/// A handler of a tenant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HandlerKey {
    /// Whose.
    pub tenant: Arc<str>,
    /// Its name.
    pub handler: Arc<str>,
}

/// A request that carries a key of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestKey {
    /// Whose.
    pub tenant: Arc<str>,
    /// Method and path.
    pub target: Arc<str>,
    /// The `Idempotency-Key`.
    pub key: Arc<str>,
}

/// What a request was answered, kept in the commit of its effects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestRecord {
    /// What the request was.
    pub fingerprint: Digest,
    /// The status of the answer.
    pub status: u16,
    /// The body, byte for byte.
    pub body: Arc<[u8]>,
    /// When.
    pub at: Time,
}

/// Everything that a turn will look at.
#[derive(Clone, Debug, Default)]
pub struct TurnNeeds {
    /// Of streams.
    pub streams: BTreeMap<StreamKey, StreamNeeds>,
    /// Handlers, with their states.
    pub handlers: Vec<HandlerKey>,
    /// Lanes of handlers.
    pub handler_lanes: Vec<(HandlerKey, Arc<str>)>,
    /// Claims.
    pub claims: Vec<(HandlerKey, Identity)>,
    /// Requests that may have been answered before.
    pub requests: Vec<RequestKey>,
    /// Tenants of which all keys are needed.
    pub keys: Vec<Arc<str>>,
}

/// What a turn will look at in one stream.
#[derive(Clone, Debug, Default)]
pub struct StreamNeeds {
    /// For judging.
    pub needs: Needs,
    /// Lanes of which every gap is needed.
    pub whole_lanes: Vec<Arc<str>>,
    /// Will it be written to, and not only be looked at? Then nobody else may meanwhile.
    pub writes: bool,
}

/// How many commits a store has taken: what was loaded at one number is old as soon as there is another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Commits(pub u64);

/// What a store found. What is missing does not exist.
#[derive(Debug, Default)]
pub struct Loaded {
    /// After how many commits.
    pub as_of: Commits,
    /// What time it is, where several servers share one clock and theirs do not count.
    pub now: Option<Time>,
    /// Streams.
    pub streams: HashMap<StreamKey, LoadedStream>,
    /// Handlers.
    pub handlers: HashMap<HandlerKey, (Handler, HandlerState)>,
    /// Lanes of handlers.
    pub handler_lanes: HashMap<(HandlerKey, Arc<str>), HandlerLane>,
    /// Claims.
    pub claims: HashMap<(HandlerKey, Identity), Claim>,
    /// Requests that were answered before.
    pub requests: HashMap<RequestKey, RequestRecord>,
    /// Keys of the tenants that were asked for.
    pub keys: Vec<Key>,
    /// Is there any key that is not revoked? Known only if keys were asked for.
    pub needs_keys: bool,
}

/// One stream as a store found it.
#[derive(Debug)]
pub struct LoadedStream {
    /// Every version of its contract, oldest first.
    pub versions: Vec<Version>,
    /// What was asked for.
    pub facts: Facts,
}

/// What a turn led to. All of it is written, or nothing.
#[derive(Clone, Debug, Default)]
pub struct Write {
    /// The commits that its turn had seen: with one more since, it rests on old facts. None if it rests on nothing.
    pub rests_on: Option<Commits>,
    /// Tenants that were made, with their salts.
    pub tenants: Vec<(Arc<str>, [u8; 32])>,
    /// Streams that changed.
    pub streams: Vec<StreamWrite>,
    /// Handlers that were put.
    pub handlers: Vec<(HandlerKey, Handler)>,
    /// States of handlers that changed, in order.
    pub states: Vec<(HandlerKey, StateChange)>,
    /// Lanes of handlers as they are now.
    pub handler_lanes: Vec<((HandlerKey, Arc<str>), HandlerLane)>,
    /// Claims as they are now.
    pub claims: Vec<((HandlerKey, Identity), Claim)>,
    /// Requests that are answered now.
    pub requests: Vec<(RequestKey, RequestRecord)>,
    /// Keys as they are now: made or revoked.
    pub keys: Vec<Key>,
    /// How many requests wait for it. That may decide who writes it, and never what is written.
    pub askers: usize,
}

/// What a turn led to in one stream.
#[derive(Clone, Debug)]
pub struct StreamWrite {
    /// Which.
    pub key: StreamKey,
    /// The head that the turn began with: if it is another one by now, the turn rests on old facts.
    pub before: Head,
    /// The head afterwards.
    pub after: Head,
    /// A new version of the contract, and when it was put.
    pub version: Option<(Version, Time)>,
    /// What was judged.
    pub changes: Changes,
}

/// Why a store cannot do what it is asked, by what the caller does about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// A fact has changed since it was loaded: load and judge again.
    Conflict,
    /// The store contradicts itself: stop, and say where.
    Corrupt(String),
    /// The disk is nearly full, and nothing was written: refuse, and try again when there is room.
    Full,
    /// A write or a sync has failed, and nobody knows what of it lasted: stop. Recovery is a restart.
    Stopped(String),
    /// It cannot be reached or is not ours, and nothing was written: try again later.
    Unreachable(String),
    /// A commit broke off, and what became of it cannot be read yet: whoever asked sends it again.
    Unknown(String),
}

impl std::fmt::Display for StoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Conflict => f.write_str("a fact has changed since it was loaded"),
            Self::Corrupt(what) => write!(f, "the store contradicts itself: {what}"),
            Self::Full => f.write_str("the disk is nearly full"),
            Self::Stopped(what) => write!(f, "the store has stopped: {what}"),
            Self::Unreachable(what) => write!(f, "the store cannot be used: {what}"),
            Self::Unknown(what) => write!(f, "nobody knows whether it was written: {what}"),
        }
    }
}

impl std::error::Error for StoreError {}

/// Lets something be done on another processor, if somebody there has time; answers whether it is.
pub type Elsewhere<'e> = &'e dyn Fn(Box<dyn FnOnce() + Send>) -> bool;

/// A keeper of the ledger. Two calls a turn and no more: read the facts, write the changes.
///
/// What every implementation promises; each line is a test in `tests/promises`, run against every store.
/// 1. `commit` is all or nothing.
/// 2. `commit` returns [`StoreError::Conflict`] if anything that it rests on has changed since `load` (heads, contracts,
///    claims, handlers, answered requests, keys), and writes nothing. A store may keep others from changing it instead:
///    then `load` waits for them, and lets go of what was loaded before.
/// 3. `load` sees every commit that returned `Ok` before it was called, and every one that was begun; a reader sees
///    nothing that is not durable.
/// 4. Nothing that one tenant wrote is found with the key of another.
/// 5. A tenant's salt is made once and never changes.
pub trait Store {
    /// What reads beside the turns, in any thread.
    type Reader: Read + Clone + Send + Sync + 'static;

    /// For reading what was committed. A reader outlives nothing and blocks nobody for long.
    fn reader(&self) -> &Self::Reader;

    /// Makes a tenant, with this salt if it is new. Answers with its salt.
    fn tenant(&mut self, name: &Arc<str>, salt: [u8; 32]) -> Result<[u8; 32], StoreError>;

    /// Reads all that a turn needs.
    fn load(&mut self, needs: &TurnNeeds) -> Result<Loaded, StoreError>;

    /// Writes all that a turn led to.
    fn commit(&mut self, write: Write) -> Result<(), StoreError>;

    /// Begins to write all that a turn led to. The next turn may be loaded and judged before it is durable, but nothing is
    /// answered before that. An error means that nothing was begun.
    fn begin(&mut self, write: Write) -> Result<Begun, StoreError> {
        self.commit(write).map(|()| Begun::durable())
    }

    /// The same, while nobody else wants anything of this store or of its machine: how soon it is durable is all that counts. A part of it may
    /// be done elsewhere meanwhile.
    fn begin_alone(&mut self, write: Write, _elsewhere: Elsewhere<'_>) -> Result<Begun, StoreError> {
        self.begin(write)
    }

    /// Waits for all that was begun.
    fn settle(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Nothing will be committed of what was loaded: whoever waits for it may go on.
    fn let_go(&mut self) {}

    /// Does a turn wait for nobody: is what it needs mostly in memory, and what it [begins](Self::begin) written beside, or in a moment?
    /// Then it may be taken by whoever has other things to do.
    fn is_at_hand(&self) -> bool {
        false
    }

    /// May others commit to the same ledger? Then a turn may have to be taken again, and its requests stay as they are until it is over.
    fn is_shared(&self) -> bool {
        true
    }
}

/// Reading, outside a turn: what is shown is what was committed.
pub trait Read {
    /// Every tenant.
    fn tenants(&self) -> Result<Vec<Arc<str>>, StoreError>;

    /// A tenant's salt.
    fn salt(&self, tenant: &str) -> Result<Option<[u8; 32]>, StoreError>;

    /// A tenant's streams by name, after this one.
    fn streams(&self, tenant: &str, after: &str, limit: usize) -> Result<Page<StreamRecord, Arc<str>>, StoreError>;

    /// A stream.
    fn stream(&self, stream: &StreamKey) -> Result<Option<StreamRecord>, StoreError>;

    /// Every version of a stream's contract, oldest first; empty if there is no such stream.
    fn versions(&self, stream: &StreamKey) -> Result<Vec<Version>, StoreError>;

    /// The version in force; nothing if there is no such stream.
    fn version(&self, stream: &StreamKey) -> Result<Option<Version>, StoreError> {
        Ok(self.versions(stream)?.pop())
    }

    /// Where a stream's ledger ends.
    fn head(&self, stream: &StreamKey) -> Result<Head, StoreError>;

    /// The entries after an offset, at most so many.
    fn entries(&self, stream: &StreamKey, after: u64, limit: usize) -> Result<Vec<SharedEntry>, StoreError>;

    /// The entry of an identity. Entries never change, so this may be asked before a turn begins.
    fn entry(&self, stream: &StreamKey, identity: &Identity) -> Result<Option<SharedEntry>, StoreError>;

    /// The entries with an id, in whatever lanes: more than one only where ids are unique within lanes.
    fn entries_with_id(&self, stream: &StreamKey, id: &str) -> Result<Vec<SharedEntry>, StoreError>;

    /// A lane.
    fn lane(&self, stream: &StreamKey, lane: &str) -> Result<Option<LaneRecord>, StoreError>;

    /// Lanes by name, after this one; with open gaps only, if so asked.
    fn lanes(
        &self,
        stream: &StreamKey,
        open_gaps: bool,
        after: &str,
        limit: usize,
    ) -> Result<Named<LaneRecord>, StoreError>;

    /// A counter with its adjustments; nothing was counted if it is not there.
    fn counter(&self, stream: &StreamKey, key: &CounterKey) -> Result<CounterRecord, StoreError>;

    /// Counters in the order of their keys, after this one.
    fn counters(
        &self,
        stream: &StreamKey,
        filter: &CounterFilter,
        after: Option<&CounterKey>,
        limit: usize,
    ) -> Result<Page<(CounterKey, CounterRecord), CounterKey>, StoreError>;

    /// Attempts, accepted ones included, oldest first, after this number. With an id all of them are found; without
    /// one at most [`SCAN_MAX`] are looked at.
    fn attempts(
        &self,
        stream: &StreamKey,
        filter: &AttemptFilter,
        after: u64,
        limit: usize,
    ) -> Result<Page<AttemptView, u64>, StoreError>;

    /// A handler and its state.
    fn handler(&self, handler: &HandlerKey) -> Result<Option<(Handler, HandlerState)>, StoreError>;

    /// A tenant's handlers by name, after this one.
    fn handlers(&self, tenant: &str, after: &str, limit: usize) -> Result<Named<(Handler, HandlerState)>, StoreError>;

    /// A claim.
    fn claim(&self, handler: &HandlerKey, identity: &Identity) -> Result<Option<Claim>, StoreError>;

    /// A handler's dead letters, in the order of their identities, after this one.
    fn dead(
        &self,
        handler: &HandlerKey,
        after: Option<&Identity>,
        limit: usize,
    ) -> Result<Page<Claim, Identity>, StoreError>;

    /// The key with this hash, revoked or not.
    fn key(&self, hash: &Digest) -> Result<Option<Key>, StoreError>;

    /// Every key of a tenant, revoked ones included, oldest first.
    fn keys(&self, tenant: &str) -> Result<Vec<Key>, StoreError>;

    /// Was there ever a key? Then everybody needs one, also if all are revoked by now.
    fn needs_keys(&self) -> Result<bool, StoreError>;

    /// What an operator watches.
    fn figures(&self) -> Result<Figures, StoreError>;

    /// Can it be reached? Asked by those who send requests elsewhere if not.
    fn ready(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Calls this whenever another server may have committed something, and every now and then in any case: a hint for
    /// those who wait for more.
    fn wake(&self, _: Wake) {}
}

/// Wakes those who wait for more.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// How many records a filter without an index may look at before it comes back short.
pub const SCAN_MAX: usize = 10_000;

/// Some of a list, and where the rest begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T, N> {
    /// Found.
    pub items: Vec<T>,
    /// Ask again with this; nothing if that was all.
    pub next: Option<N>,
}

impl<T, N> Default for Page<T, N> {
    fn default() -> Self {
        Self { items: Vec::new(), next: None }
    }
}

/// Some of what has names, in their order.
pub type Named<T> = Page<(Arc<str>, T), Arc<str>>;

/// A stream as a whole.
#[derive(Clone, Debug)]
pub struct StreamRecord {
    /// Its name.
    pub name: Arc<str>,
    /// Every version of its contract and when it was put, oldest first.
    pub versions: Vec<(Version, Time)>,
    /// Where its ledger ends.
    pub head: Head,
    /// How many lanes it has.
    pub lanes: u64,
}

/// What lets a caller in. The key itself is nowhere; only its hash is, and that is never shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Key {
    /// What it is called in lists and in the audit.
    pub id: Arc<str>,
    /// Whose.
    pub tenant: Arc<str>,
    /// SHA-256 of the key.
    #[serde(skip)]
    pub hash: Digest,
    /// What it may do, and where.
    #[serde(flatten)]
    pub access: Access,
    /// How much of it in a second.
    #[serde(flatten)]
    pub rates: Rates,
    /// A note for people.
    pub note: Option<Arc<str>>,
    /// When it was made.
    pub created_at: Time,
    /// When it was revoked.
    pub revoked_at: Option<Time>,
}

/// What an operator watches: how much there is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Bytes of the log on disk; 0 if there is none.
    pub log_bytes: u64,
    /// Bytes of the index on disk; 0 if there is none.
    pub index_bytes: u64,
    /// Bytes that are free on the disk, if there is one.
    pub free_bytes: Option<u64>,
    /// Attempts on record that were not accepted.
    pub attempts: u64,
    /// Of each stream.
    pub streams: Vec<StreamFigures>,
    /// Of each handler.
    pub handlers: Vec<(HandlerKey, HandlerFigures)>,
}

/// How much there is of one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamFigures {
    /// Which.
    pub key: StreamKey,
    /// Where it ends.
    pub head: Head,
    /// Its lanes.
    pub lanes: u64,
    /// Open gaps of all of them.
    pub gaps_open: u64,
}

/// How much there is of one handler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HandlerFigures {
    /// Events that still need something.
    pub lag: u64,
    /// Dead letters.
    pub dead: u64,
    /// Claims that somebody holds.
    pub held: u64,
}

/// A lane with all that stands beside its record.
#[derive(Clone, Debug, Default)]
pub struct LaneRecord {
    /// The record.
    pub lane: Lane,
    /// All rows.
    pub gaps: Gaps,
    /// Numbers that came after all, and when.
    pub filled: Vec<(Gap, Time)>,
}

/// A counter with all that stands beside it.
#[derive(Clone, Debug, Default)]
pub struct CounterRecord {
    /// Its values.
    pub counter: Counter,
    /// Its adjustments, in the order of the ledger.
    pub adjustments: Vec<Adjustment>,
    /// Is its period closed, for this key or every one?
    pub closed: bool,
}

/// Which attempts.
#[derive(Clone, Debug, Default)]
pub struct AttemptFilter {
    /// Of this lane.
    pub lane: Option<String>,
    /// With this id.
    pub id: Option<String>,
    /// With this verdict.
    pub verdict: Option<String>,
    /// With this code.
    pub code: Option<String>,
    /// Not before.
    pub from: Option<Time>,
    /// Before.
    pub to: Option<Time>,
}

/// Which counters.
#[derive(Clone, Debug, Default)]
pub struct CounterFilter {
    /// With this name.
    pub name: Option<Arc<str>>,
    /// With this key, as a JSON array.
    pub key: Option<Arc<str>>,
    /// Of this period.
    pub period: Option<PeriodStart>,
}

impl CounterFilter {
    /// Is this one of them?
    pub fn takes(&self, key: &CounterKey) -> bool {
        self.name.as_ref().is_none_or(|name| *name == key.name)
            && self.key.as_ref().is_none_or(|wanted| *wanted == key.key)
            && self.period.is_none_or(|period| period == key.period)
    }
}

impl AttemptFilter {
    /// Is this one of them?
    pub fn takes(&self, attempt: &AttemptView) -> bool {
        let same = |wanted: &Option<String>, found: Option<&str>| wanted.as_deref().is_none_or(|it| found == Some(it));
        same(&self.lane, attempt.lane())
            && same(&self.id, attempt.id())
            && same(&self.verdict, Some(attempt.verdict().name()))
            && same(&self.code, attempt.code())
            && self.from.is_none_or(|from| attempt.at() >= from)
            && self.to.is_none_or(|to| attempt.at() < to)
    }
}
