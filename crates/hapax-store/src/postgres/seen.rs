//! Which ids are certainly new, so that the database need not be asked for them: most of a turn's reading would be that.
//!
//! A [filter] in memory has what entries are found by: of those that were there before the first turn of this process, read once,
//! and of those that it has written since. For each stream it is known up to which head that is all of them.
//!
//! What holds: whether it is all of them is never decided here. The hash of a head stands for every entry before it, so an id
//! that is not in the filter counts as new only for whoever finds the very head up to which the filter is whole, in the
//! stream's locked row or in the turn that it rests on. If another server has written, it is another head, and what was left out is
//! asked for; after [`MISSES_MAX`] of those everything is asked at once, as if there were no filter, and for that stream it stays
//! so until this process begins anew. What is in the filter and in no ledger, of a turn that failed, costs a question.
//!
//! Bounded: beyond [`IDS_MAX`] nothing is kept at all.
//!
//! [filter]: crate::filter

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use deadpool_postgres::{Object, Pool};
use futures_util::TryStreamExt as _;
use hapax_core::chain::GENESIS;
use hapax_core::event::Digest;
use tokio_postgres::binary_copy::BinaryCopyOutStream;
use tokio_postgres::types::Type;
use tokio_postgres::{Error, Row};

use super::rows;
use crate::filter::Filter;
use crate::seam::{StreamKey, StreamWrite};

/// With more ids than this in the database there is no filter: 40 MB, and reading them takes some seconds.
const IDS_MAX: u64 = 32_000_000;
/// The first part of the filter is for so many; each further one for twice as many as the one before.
const IDS_FIRST: u64 = 1 << 18;
/// Streams whose heads are kept, at most.
const STREAMS_MAX: usize = 10_000;
/// Turns that are told of before the one that they rest on: two writers may be as late.
const EARLY_MAX: usize = 4;
/// A head that was not the one expected so often in a row will not be the next time: it costs a round trip each time.
const MISSES_MAX: u32 = 3;

/// What a process has seen of all ids.
#[derive(Debug)]
pub(super) struct Seen {
    state: Mutex<State>,
    /// Whoever has this begins to read; the others wait for it.
    beginning: Mutex<()>,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    ids: Ids,
    heads: HashMap<StreamKey, Covered>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nobody needed it yet.
    Unread,
    /// What was there at the beginning is being read.
    Reading,
    /// It was.
    Whole,
    /// It cannot be read, or it is too much.
    Never,
}

/// Up to which head of a stream all ids are there.
#[derive(Debug)]
struct Covered {
    hash: Digest,
    /// Turns behind it of which one before is not told yet: their heads before and after.
    early: Vec<(Digest, Digest)>,
    /// How often in a row the stream had another head.
    misses: u32,
}

/// Filters, each for twice as many as the one before.
#[derive(Debug)]
struct Ids {
    filters: Vec<Filter>,
    /// How many more the last one is for.
    room: u64,
    count: u64,
    seed: u64,
}

/// What is asked of a stream's ids.
#[derive(Debug)]
pub(super) struct Asked {
    /// These may be there.
    pub(super) lookups: Vec<i64>,
    /// These are not, if the stream has this head.
    pub(super) spared: Vec<i64>,
    head: Digest,
}

impl Asked {
    /// Every one.
    pub(super) fn all(lookups: Vec<i64>) -> Self {
        Self { lookups, spared: Vec::new(), head: GENESIS }
    }

    /// Is everything known that is needed of a stream with this head?
    pub(super) fn is_enough_at(&self, head: &Digest) -> bool {
        self.spared.is_empty() || self.head == *head
    }
}

impl Seen {
    /// Nothing; the seed is any number that no sender knows.
    pub(super) fn new(seed: u64) -> Self {
        let ids = Ids { filters: Vec::new(), room: 0, count: 0, seed };
        let state = State { phase: Phase::Unread, ids, heads: HashMap::new() };
        Self { state: Mutex::new(state), beginning: Mutex::default() }
    }

    /// Nothing in here panics half way.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For whoever is to begin, if nobody has.
    pub(super) fn to_begin(&self) -> Option<MutexGuard<'_, ()>> {
        let is_unread = || self.lock().phase == Phase::Unread;
        let only = is_unread().then(|| self.beginning.lock().unwrap_or_else(PoisonError::into_inner))?;
        is_unread().then_some(only)
    }

    /// Is the filter whole by now?
    pub(super) fn is_whole(&self) -> bool {
        self.lock().phase == Phase::Whole
    }

    /// What is to be asked of these.
    pub(super) fn split(&self, key: &StreamKey, lookups: Vec<i64>) -> Asked {
        let state = self.lock();
        if state.phase != Phase::Whole {
            return Asked::all(lookups);
        }
        let covered = state.heads.get(key);
        if covered.is_some_and(|covered| covered.misses >= MISSES_MAX) {
            return Asked::all(lookups);
        }
        // A stream that nothing is known of is known up to its beginning.
        let head = covered.map_or(GENESIS, |covered| covered.hash);
        let (lookups, spared) = lookups.into_iter().partition(|lookup| state.ids.perhaps(*lookup));
        Asked { lookups, spared, head }
    }

    /// The stream had another head than the one up to which the filter is whole.
    pub(super) fn missed(&self, key: &StreamKey) {
        if let Some(covered) = self.lock().covered(key) {
            covered.misses += 1;
        }
    }

    /// A turn of this process was committed.
    pub(super) fn tell(&self, write: &StreamWrite, by_lane: bool) {
        let entries = &write.changes.entries;
        let mut state = self.lock();
        if entries.is_empty() || matches!(state.phase, Phase::Unread | Phase::Never) {
            return;
        }
        rows::entry::lookups(&write.key, by_lane, entries, |lookup, _| state.ids.add(lookup));
        if state.ids.count > IDS_MAX {
            return state.give_up();
        }
        if let Some(covered) = state.covered(&write.key) {
            covered.follow(write.before.hash, write.after.hash);
        }
    }
}

impl Covered {
    fn up_to(hash: Digest) -> Self {
        Self { hash, early: Vec::new(), misses: 0 }
    }

    /// All ids of a turn from one head to another are there, too.
    fn follow(&mut self, before: Digest, after: Digest) {
        self.early.push((before, after));
        while let Some(next) = self.early.iter().position(|(before, _)| *before == self.hash) {
            self.hash = self.early.remove(next).1;
            self.misses = 0;
        }
        if self.early.len() > EARLY_MAX {
            self.early.remove(0);
        }
    }
}

impl State {
    /// Up to where a stream is covered; a new one up to its beginning, if there is room for one more.
    fn covered(&mut self, key: &StreamKey) -> Option<&mut Covered> {
        if !self.heads.contains_key(key) && self.heads.len() >= STREAMS_MAX {
            return None;
        }
        Some(self.heads.entry(key.clone()).or_insert_with(|| Covered::up_to(GENESIS)))
    }

    fn give_up(&mut self) {
        self.phase = Phase::Never;
        self.ids.filters = Vec::new();
        self.heads = HashMap::new();
    }
}

impl Ids {
    fn add(&mut self, lookup: i64) {
        if self.room == 0 {
            self.room = IDS_FIRST << self.filters.len();
            self.filters.push(Filter::new(self.room, self.seed));
        }
        if let Some(filter) = self.filters.last_mut() {
            filter.add(lookup.cast_unsigned());
        }
        self.room -= 1;
        self.count += 1;
    }

    fn perhaps(&self, lookup: i64) -> bool {
        self.filters.iter().any(|filter| filter.perhaps(lookup.cast_unsigned()))
    }
}

/// Begins to read what is there, heads and ids as of one moment, which is now; on a connection of its own, so that nobody who reads
/// waits for it. Nothing if it cannot be read now, or is too much.
pub(super) async fn begin(seen: Arc<Seen>, connections: Pool) -> Option<impl Future<Output = ()> + use<>> {
    let client = connections.get().await.ok()?;
    let heads = read_heads(&client).await.ok()?;
    let mut state = seen.lock();
    if heads.len() > STREAMS_MAX {
        state.give_up();
        return None;
    }
    (state.phase, state.heads) = (Phase::Reading, heads);
    drop(state);
    Some(async move {
        let whole = read_ids(&seen, &client).await;
        drop((client, connections));
        let mut state = seen.lock();
        match whole {
            Ok(true) if state.phase == Phase::Reading => state.phase = Phase::Whole,
            Ok(_) | Err(_) => state.give_up(),
        }
    })
}

/// Both are read in one transaction, which sees one moment, for as long as it takes.
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = 0";
const HEADS: &str = "SELECT t.tenant, t.stream, t.head_hash FROM streams t WHERE t.partition = 0 AND t.head_offset > 0";

async fn read_heads(client: &Object) -> Result<HashMap<StreamKey, Covered>, Error> {
    client.batch_execute(BEGIN).await?;
    let read = |row: &Row| {
        let key =
            StreamKey { tenant: Arc::from(row.try_get::<_, &str>(0)?), stream: Arc::from(row.try_get::<_, &str>(1)?) };
        let hash = row.try_get::<_, rows::Fixed<32>>(2)?.0;
        Ok((key, Covered::up_to(hash)))
    };
    client.query(HEADS, &[]).await?.iter().map(read).collect()
}

/// Reads what all entries are found by. False if it is too much.
async fn read_ids(seen: &Seen, client: &Object) -> Result<bool, Error> {
    let sql = format!("COPY (SELECT t.lookup FROM lookups t LIMIT {}) TO STDOUT WITH (FORMAT binary)", IDS_MAX + 1);
    let rows = BinaryCopyOutStream::new(client.copy_out(&sql).await?, &[Type::INT8]);
    let mut some = std::pin::pin!(rows.try_chunks(1_000));
    while let Some(rows) = some.try_next().await.map_err(|error| error.1)? {
        let mut state = seen.lock();
        if state.phase == Phase::Never {
            return Ok(false);
        }
        for row in rows {
            let lookup = row.try_get::<i64>(0)?;
            state.ids.add(lookup);
        }
    }
    Ok(seen.lock().ids.count <= IDS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_followed_in_whatever_order_turns_are_told() {
        let head = |number: u8| [number; 32];
        let mut covered = Covered::up_to(head(1));
        covered.follow(head(2), head(3));
        assert_eq!(covered.hash, head(1), "one between is not there yet");
        covered.follow(head(1), head(2));
        assert_eq!(covered.hash, head(3));
        // Another server wrote 4; nothing that rests on it is whole.
        for number in 5..15 {
            covered.follow(head(number), head(number + 1));
            assert!(covered.hash == head(3) && covered.early.len() <= EARLY_MAX);
        }
    }

    #[test]
    fn what_was_added_may_be_there_however_many_there_are() {
        let mut ids = Ids { filters: Vec::new(), room: 0, count: 0, seed: 7 };
        let id = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15).cast_signed();
        let many = 3 * IDS_FIRST + 1;
        (0..many).for_each(|number| ids.add(id(number)));
        assert_eq!((ids.filters.len(), ids.count), (3, many));
        assert!((0..many).all(|number| ids.perhaps(id(number))));
        let wrong = (many..2 * many).filter(|number| ids.perhaps(id(*number))).count() as u64;
        assert!(wrong < many / 20, "{wrong} of {many} seem to be there");
    }

    #[test]
    fn until_all_was_read_everything_is_asked() {
        let (seen, key) = (Seen::new(1), StreamKey { tenant: Arc::from("t"), stream: Arc::from("s") });
        assert_eq!(seen.split(&key, vec![1, 2]).lookups, [1, 2]);
        seen.lock().phase = Phase::Whole;
        seen.lock().ids.add(1);
        let asked = seen.split(&key, vec![1, 2]);
        assert_eq!((&asked.lookups[..], &asked.spared[..]), (&[1][..], &[2][..]));
        assert!(asked.is_enough_at(&GENESIS) && !asked.is_enough_at(&[1; 32]));
        for miss in 1..=MISSES_MAX {
            seen.missed(&key);
            assert_eq!(seen.split(&key, vec![2]).lookups.len(), usize::from(miss == MISSES_MAX), "{miss}");
        }
        // It was only that a turn of this process was late to tell.
        seen.lock().covered(&key).expect("there is room").follow(GENESIS, [1; 32]);
        assert!(seen.split(&key, vec![2]).lookups.is_empty());
        seen.lock().give_up();
        assert_eq!(seen.split(&key, vec![1, 2]).lookups, [1, 2]);
    }
}
