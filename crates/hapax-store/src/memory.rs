//! The store that keeps everything in memory: for tests and scenarios, and the plainest reading of the seam.
//!
//! It loses all with the process. What it promises besides durability is what every store promises.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use hapax_core::audit::Attempt;
use hapax_core::entry::{EntryKind, SharedEntry};
use hapax_core::event::Identity;
use hapax_core::view::AttemptView;

use crate::seam::{AttemptFilter, Figures, Loaded, Page, SCAN_MAX, Store, StoreError, StreamKey, TurnNeeds, Write};
use crate::state::{Keeper, State, scan};

/// A ledger in memory. A clone is the same ledger, for reading in other threads.
#[derive(Clone, Debug, Default)]
pub struct Memory(Arc<RwLock<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    state: State,
    ledgers: HashMap<StreamKey, Ledger>,
}

/// One stream's entries and attempts.
#[derive(Debug, Default)]
struct Ledger {
    entries: Vec<SharedEntry>,
    /// The newest entry of an identity: an id that was forgotten may be used again.
    identities: HashMap<Identity, SharedEntry>,
    attempts: BTreeMap<u64, Arc<Attempt>>,
}

impl Memory {
    /// An empty ledger.
    pub fn new() -> Self {
        Self::default()
    }

    /// A panic while the state moves is a bug that ends the process, so nobody reads a half of it.
    fn kept(&self) -> RwLockReadGuard<'_, Kept> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept_mut(&self) -> RwLockWriteGuard<'_, Kept> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Memory {
    type Reader = Self;

    fn reader(&self) -> &Self {
        self
    }

    fn tenant(&mut self, name: &Arc<str>, salt: [u8; 32]) -> Result<[u8; 32], StoreError> {
        Ok(*self.kept_mut().state.tenants.entry(Arc::clone(name)).or_insert(salt))
    }

    fn load(&mut self, needs: &TurnNeeds) -> Result<Loaded, StoreError> {
        let kept = self.kept();
        let mut loaded = kept.state.load(needs);
        for (key, stream) in &mut loaded.streams {
            let (Some(wanted), Some(ledger)) = (needs.streams.get(key), kept.ledgers.get(key)) else { continue };
            let found = wanted.needs.sought().filter_map(|sought| ledger.identities.get(sought.identity));
            found.for_each(|entry| stream.facts.load_original(entry.clone()));
        }
        Ok(loaded)
    }

    fn commit(&mut self, write: Write) -> Result<(), StoreError> {
        let mut kept = self.kept_mut();
        if kept.state.is_old(&write) {
            return Err(StoreError::Conflict);
        }
        for stream in &write.streams {
            let ledger = kept.ledgers.entry(stream.key.clone()).or_default();
            for entry in &stream.changes.entries {
                ledger.identities.insert(entry.identity, entry.clone());
                ledger.entries.push(entry.clone());
            }
            let attempts = stream.changes.attempts.iter().map(|attempt| (attempt.number, Arc::clone(attempt)));
            ledger.attempts.extend(attempts);
        }
        kept.state.apply(&write);
        Ok(())
    }
}

impl Keeper for Memory {
    fn look<T>(&self, at: impl FnOnce(&State) -> T) -> Result<T, StoreError> {
        Ok(at(&self.kept().state))
    }

    fn find_entries(&self, stream: &StreamKey, after: u64, limit: usize) -> Result<Vec<SharedEntry>, StoreError> {
        let kept = self.kept();
        let entries = kept.ledgers.get(stream).map(|ledger| ledger.entries.as_slice()).unwrap_or_default();
        let start = usize::try_from(after).unwrap_or(usize::MAX);
        Ok(entries.iter().skip(start).take(limit).cloned().collect())
    }

    fn find_entry(&self, stream: &StreamKey, identity: &Identity) -> Result<Option<SharedEntry>, StoreError> {
        Ok(self.kept().ledgers.get(stream).and_then(|ledger| ledger.identities.get(identity)).cloned())
    }

    /// Events alone: corrections and closings have ids of their own kind.
    fn find_entries_with_id(&self, stream: &StreamKey, id: &str) -> Result<Vec<SharedEntry>, StoreError> {
        let kept = self.kept();
        let all = kept.ledgers.get(stream).into_iter().flat_map(|ledger| ledger.identities.values());
        let mine = all.filter(|entry| entry.kind == EntryKind::Event && *entry.id == *id);
        let mut found: Vec<_> = mine.cloned().collect();
        found.sort_by_key(|entry| entry.offset);
        Ok(found)
    }

    fn find_attempts(
        &self,
        stream: &StreamKey,
        filter: &AttemptFilter,
        after: u64,
        limit: usize,
    ) -> Result<Page<AttemptView, u64>, StoreError> {
        let kept = self.kept();
        let Some(ledger) = kept.ledgers.get(stream) else { return Ok(Page::default()) };
        let start = ledger.entries.partition_point(|entry| entry.attempt <= after);
        let mut entries = ledger.entries[start..].iter().filter(|entry| entry.kind == EntryKind::Event).peekable();
        let mut others = ledger.attempts.range((Bound::Excluded(after), Bound::Unbounded)).peekable();
        // Both are in the order of their numbers.
        let merged = std::iter::from_fn(|| match (entries.peek(), others.peek()) {
            (Some(entry), Some((number, _))) if entry.attempt < **number => {
                entries.next().map(|entry| AttemptView::Accepted(entry.clone()))
            }
            (Some(_), None) => entries.next().map(|entry| AttemptView::Accepted(entry.clone())),
            (_, _) => others.next().map(|(_, attempt)| AttemptView::Other(Arc::clone(attempt))),
        });
        let scan_max = if filter.id.is_some() { usize::MAX } else { SCAN_MAX };
        Ok(scan(merged, limit, scan_max, AttemptView::number, |attempt| filter.takes(attempt), |attempt| attempt))
    }

    fn sizes(&self) -> Result<Figures, StoreError> {
        let attempts = self.kept().ledgers.values().map(|ledger| ledger.attempts.len() as u64).sum();
        Ok(Figures { attempts, ..Figures::default() })
    }
}
