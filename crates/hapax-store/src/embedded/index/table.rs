//! A table from keys to places in the log: the newest records in memory, the others in sorted runs on disk.
//!
//! ```text
//! insert ▶ memory ▶ (full) frozen ──upkeep──▶ run ──upkeep──▶ merged with its neighbours
//! find   ◀ memory ◀ frozen, newest first ◀ the filter of each run, newest first ◀ the few blocks they do not rule out
//! ```
//!
//! What holds:
//! 1. What was inserted is found when [`Table::insert`] has returned, and until the table is deleted.
//! 2. Memory, frozen tables and runs cover every frame once, without holes, in that order.
//! 3. An answer is right or it is [`TableError::Damaged`]; a lookup never takes what it can not read for "not found".
//! 4. A crash leaves runs that open, or that are found to be damaged. Nothing is synced unless asked for: the table is
//!    derived, and what it lacks is inserted again from the log.
//! 5. Neither lookups nor upkeep hold up an insert for longer than it takes to look into memory.
//!
//! Not here: what keys mean, whether two records contradict each other, threads. One value writes, any number of clones
//! read, and one thread of the caller's calls [`Table::upkeep`].
//!
//! Read in this order: `record` (32 bytes), `list` and `memory`, `filter`, `format` (every byte of a run), `run`, `write`, `merge`,
//! `open` and `upkeep`.

mod filter;
mod format;
mod list;
mod memory;
mod merge;
mod open;
mod places;
mod record;
mod run;
mod upkeep;
mod write;

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::{fmt, io};

pub use record::{KEY, Key, Place, Record};

use crate::embedded::disk::Disk;
use crate::embedded::log::{FrameNumber, LogId};
use filter::Hashing;
use memory::Memory;
use record::{Raw, Stretch, Wanted};
use run::Run;

/// How a table is kept. None of it is part of the format: every start may choose anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableOptions {
    /// So many records in memory are written as a run: large runs are few, and few filters are asked.
    pub memory_records_max: usize,
    /// So many neighbouring runs of similar size are merged.
    pub merge_width: usize,
    /// Is the table asked for stretches of keys while it is in memory? Else only they are slow.
    pub ordered: bool,
    /// Are runs durable before they are used? Then a power cut costs no rebuild, but every run a sync beside the log's.
    pub sync: bool,
    /// How much of a run is written at once.
    pub piece_bytes: usize,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self { memory_records_max: 512 << 10, merge_width: 4, ordered: false, sync: false, piece_bytes: 256 << 10 }
    }
}

/// Why not, sorted by what the caller does about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableError {
    /// A run is not what was written: delete the index and build it again.
    Damaged(String),
    /// The disk could not be read or written. What was in the table still is.
    Io(String),
}

impl TableError {
    fn reading(error: io::Error) -> Self {
        Self::Io(format!("reading the index: {error}"))
    }

    fn writing(error: io::Error) -> Self {
        Self::Io(format!("writing the index: {error}"))
    }
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged(what) => write!(f, "the index is damaged: {what}"),
            Self::Io(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for TableError {}

/// The table, open. A clone is the same table.
#[derive(Clone)]
pub struct Table<D: Disk> {
    shared: Arc<Shared<D>>,
}

struct Shared<D: Disk> {
    disk: D,
    name: &'static str,
    log: LogId,
    options: TableOptions,
    hashing: Hashing,
    state: RwLock<State<D::File>>,
    /// Held by the one that writes runs: memory to sort in.
    work: Mutex<Vec<Raw>>,
}

/// Where the records are. Seen together under one lock, so that none is ever in two of them, or in none.
struct State<F> {
    active: Memory,
    /// Full, waiting to be written; oldest first.
    frozen: Vec<Arc<Memory>>,
    /// An empty one, ready to take the place of the one that is filled: one that was written, tens of megabytes that nobody has to ask
    /// the system for again, or the first of them, made ahead.
    spare: Option<Memory>,
    /// Oldest first.
    runs: Runs<F>,
}

type Runs<F> = Arc<Vec<Arc<Run<F>>>>;

/// So many entries of a table that is not in order are looked at before an insert gets its turn. In tests so few that
/// inserts do come in between.
const SCAN: usize = if cfg!(test) { 16 } else { 16 << 10 };

impl<D: Disk> Table<D> {
    /// Opens the runs `index/<name>-*.run`. One that does not open, belongs to another log, or leaves a hole in the frames
    /// is [`TableError::Damaged`]. What a crash left over is removed.
    pub fn open(disk: D, name: &'static str, log: LogId, options: TableOptions) -> Result<Self, TableError> {
        let runs = open::runs(&disk, name, log)?;
        let flushed = runs.last().map_or(FrameNumber::ORIGIN, |it| it.header.to);
        let active = Memory::new(flushed, options.memory_records_max, options.ordered).touched();
        let state = RwLock::new(State { active, frozen: Vec::new(), spare: None, runs: Arc::new(runs) });
        let (hashing, work) = (Hashing::new(log, name), Mutex::default());
        Ok(Self { shared: Arc::new(Shared { disk, name, log, options, hashing, state, work }) })
    }

    /// Frames up to this one are in runs on disk; the caller inserts everything after it again.
    pub fn flushed(&self) -> FrameNumber {
        self.state().runs.last().map_or(FrameNumber::ORIGIN, |it| it.header.to)
    }

    /// Frames up to this one were inserted.
    pub fn last(&self) -> FrameNumber {
        self.state().active.to
    }

    /// Takes the records of one frame, which may be none. A frame that is in already is passed over, so that a replay may
    /// begin where the oldest of several tables ends. It never waits for a disk: memory grows by one full table after the
    /// other if nobody calls [`Table::upkeep`].
    ///
    /// # Panics
    /// If a frame was left out.
    pub fn insert(&self, frame: FrameNumber, records: &[Record]) {
        let mut state = self.state_mut();
        if frame <= state.active.to {
            return;
        }
        assert_eq!(frame, state.active.to.next(), "frames come in order, without holes");
        let max = self.shared.options.memory_records_max;
        // A table that is nearly full does not grow for the last frame: growing would move all of it.
        if state.active.len() > 0 && state.active.len() + records.len() > max {
            self.freeze(&mut state);
        }
        state.active.insert(frame, records, &self.shared.hashing);
        if state.active.len() >= max {
            self.freeze(&mut state);
        }
    }

    /// Every place of a key, newest first.
    pub fn find(&self, key: &Key) -> Result<Vec<Place>, TableError> {
        let mut places = Vec::new();
        self.find_all(std::slice::from_ref(key), |_, place| places.push(place))?;
        Ok(places)
    }

    /// Every place of many keys: `found` gets the position of the key among them, and its places newest first. After an
    /// error what it got is not all.
    pub fn find_all(&self, keys: &[Key], mut found: impl FnMut(usize, Place)) -> Result<(), TableError> {
        let hashes: Vec<u64> = keys.iter().map(|it| self.shared.hashing.of(it)).collect();
        let mut places = Vec::new();
        let (frozen, runs) = {
            let state = self.state();
            state.active.find_all(keys, &hashes, &mut places);
            (state.frozen.clone(), Arc::clone(&state.runs))
        };
        frozen.iter().rev().for_each(|it| it.find_all(keys, &hashes, &mut places));
        places.into_iter().for_each(|(position, place)| found(position, place));
        runs.iter().rev().try_for_each(|it| it.find_all(keys, &hashes, &mut found))
    }

    /// Records with keys that begin with these bytes, ascending, up to so many.
    ///
    /// # Panics
    /// If they are more than a key has.
    pub fn with_prefix(&self, prefix: &[u8], limit: usize) -> Result<Vec<Record>, TableError> {
        self.stretch(&Stretch::beginning(prefix), Wanted::Lowest(limit))
    }

    /// The greatest record whose key is at or below this one and shares its first `shared` bytes.
    ///
    /// # Panics
    /// If `shared` is more than a key has.
    pub fn at_or_before(&self, key: &Key, shared: usize) -> Result<Option<Record>, TableError> {
        Ok(self.stretch(&Stretch::up_to(key, shared), Wanted::Greatest)?.pop())
    }

    /// Records with keys above this one that share its first `shared` bytes, ascending, up to so many.
    ///
    /// # Panics
    /// If `shared` is more than a key has.
    pub fn after(&self, key: &Key, shared: usize, limit: usize) -> Result<Vec<Record>, TableError> {
        self.stretch(&Stretch::after(key, shared), Wanted::Lowest(limit))
    }

    fn stretch(&self, stretch: &Stretch, wanted: Wanted) -> Result<Vec<Record>, TableError> {
        let (mut found, runs) = self.stretch_in_memory(stretch, wanted);
        for run in runs.iter() {
            run.stretch(stretch, wanted, &mut found)?;
        }
        wanted.choose(&mut found);
        Ok(found.iter().map(Record::decode).collect())
    }

    /// What memory has of a stretch, and the runs that have the rest. The active table is looked through piece by piece,
    /// so that inserts go on; if it is frozen meanwhile, it is looked for again where it is now.
    fn stretch_in_memory(&self, stretch: &Stretch, wanted: Wanted) -> (Vec<Raw>, Runs<D::File>) {
        'again: loop {
            let mut found = Vec::new();
            let (from, entries, frozen, runs) = {
                let state = self.state();
                let active = &state.active;
                (active.from, active.len(), state.frozen.clone(), Arc::clone(&state.runs))
            };
            let step = if self.shared.options.ordered { usize::MAX } else { SCAN };
            for begin in (0..entries).step_by(step) {
                let state = self.state();
                if state.active.from != from {
                    continue 'again;
                }
                state.active.stretch(begin..entries.min(begin.saturating_add(step)), stretch, wanted, &mut found);
            }
            frozen.iter().for_each(|it| it.stretch(0..it.len(), stretch, wanted, &mut found));
            return (found, runs);
        }
    }

    /// Bytes of the runs on disk.
    pub fn bytes(&self) -> u64 {
        self.state().runs.iter().map(|it| it.bytes()).sum()
    }

    /// Bytes in memory: the newest records, and of each run the filter and the first record of every block.
    pub fn memory_bytes(&self) -> u64 {
        let state = self.state();
        let others: u64 = state.frozen.iter().map(|it| it.bytes()).chain(state.spare.iter().map(Memory::bytes)).sum();
        state.active.bytes() + others + state.runs.iter().map(|it| it.memory_bytes()).sum::<u64>()
    }

    /// How many records there are.
    pub fn records(&self) -> u64 {
        let state = self.state();
        let frozen: usize = state.frozen.iter().map(|it| it.len()).sum();
        (state.active.len() + frozen) as u64 + state.runs.iter().map(|it| it.header.records).sum::<u64>()
    }

    /// How many runs there are.
    pub fn runs(&self) -> usize {
        self.state().runs.len()
    }

    fn state(&self) -> RwLockReadGuard<'_, State<D::File>> {
        self.shared.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn state_mut(&self) -> RwLockWriteGuard<'_, State<D::File>> {
        self.shared.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}
