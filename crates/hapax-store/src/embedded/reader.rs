//! Reading the store in a directory: the working state in memory, entries and attempts out of the log.
//!
//! What holds: every question is answered as of one commit, the last that was applied when it was asked, and not before
//! that one is durable. The tables may
//! know later frames by then; what lies in those is passed over. So nobody sees an entry whose lane does not know it.
//!
//! Nothing is held up for long: the state is looked at under a lock for as long as a lookup takes, and the log is read
//! without one.

mod answers;
mod attempts;
mod originals;

pub(super) use answers::keep_places;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use hapax_core::entry::{EntryKind, SharedEntry};
use hapax_core::event::Identity;
use hapax_core::facts::Head;
use hapax_core::view::AttemptView;

use super::disk::{Disk, DiskFile};
use super::durable::Durable;
use super::expiry::Expiries;
use super::frames::{Frames, entry_at, lasting};
use super::index::table::{Place, TableError};
use super::index::{Index, Walk, id_prefix};
use super::log::{Frame, FrameNumber, LogId};
use super::snapshot;
use super::under_way::UnderWay;
use super::upkeep::Work;
use crate::seam::{AttemptFilter, Figures, Page, StoreError, StreamKey};
use crate::state::{Keeper, State};

/// Reads what was committed, in any thread. A clone is the same reader.
pub struct EmbeddedReader<D: Disk> {
    pub(super) shared: Arc<Shared<D>>,
}

impl<D: Disk> Clone for EmbeddedReader<D> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

/// What the writer, the readers and the upkeep have in common.
pub(super) struct Shared<D: Disk> {
    pub(super) disk: D,
    pub(super) id: LogId,
    pub(super) live: RwLock<Live>,
    pub(super) index: Index<D>,
    pub(super) frames: Frames<D>,
    /// Held by whoever writes the index.
    pub(super) work: Mutex<Work<D::File>>,
    /// How far the log is durable.
    pub(super) durable: Durable,
    /// What is on its way there.
    pub(super) under_way: UnderWay,
    /// The index was found to be damaged: nothing more of it is written, and the next start builds it again.
    pub(super) spoiled: AtomicBool,
}

/// What commits add up to, and up to which one.
#[derive(Debug, Default)]
pub(super) struct Live {
    pub(super) state: State,
    /// The last that was decided. It may not be durable yet.
    pub(super) applied: FrameNumber,
    /// The last that is in the log, and of which the expiries know.
    pub(super) settled: FrameNumber,
    /// The last that changed what is looked up: tenants, contracts, handlers, keys.
    pub(super) registry: FrameNumber,
    pub(super) expiries: Expiries,
    /// Bytes of frames that were applied since the start: how much a start would have to read again.
    pub(super) bytes: u64,
}

/// Where a stream stands as of a commit.
#[derive(Clone, Copy)]
struct Standing {
    number: u32,
    head: Head,
    applied: FrameNumber,
}

impl Standing {
    /// Was this there when the question was asked?
    fn has(&self, place: &Place) -> bool {
        place.frame <= self.applied
    }
}

impl<D: Disk> Shared<D> {
    /// A panic while the state moves is a bug that ends the process, so nobody reads a half of it.
    pub(super) fn live(&self) -> RwLockReadGuard<'_, Live> {
        self.live.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn live_mut(&self) -> RwLockWriteGuard<'_, Live> {
        self.live.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where a stream stands, once that is durable.
    fn standing(&self, stream: &StreamKey) -> Result<Option<Standing>, StoreError> {
        let (found, applied) = {
            let live = self.live();
            let found = live.state.streams.get(stream);
            (found.map(|it| Standing { number: it.number, head: it.head, applied: live.applied }), live.applied)
        };
        self.durable.wait(applied)?;
        Ok(found)
    }

    /// A frame, once it is durable.
    fn frame(&self, number: FrameNumber) -> Result<Arc<Frame>, StoreError> {
        self.durable.wait(number)?;
        self.frames.get(number)
    }

    /// All entries with an id that is an event's, newest first within an identity.
    fn with_id(&self, standing: &Standing, id: &str) -> Result<Vec<SharedEntry>, StoreError> {
        let records = self.sound(self.index.ids.with_prefix(&id_prefix(standing.number, id), usize::MAX))?;
        let mut places: Vec<Place> = records.iter().map(|record| record.place).collect();
        places.retain(|place| standing.has(place));
        places.sort_by(|one, other| other.cmp(one));
        let mut found = Vec::new();
        for place in places {
            let frame = self.frames.get(place.frame)?;
            let entry = entry_at(&frame, &lasting(&frame)?, u64::from(place.index))?;
            if entry.kind == EntryKind::Event && *entry.id == *id {
                found.push(entry);
            }
        }
        Ok(found)
    }

    /// What a table answered. One that is damaged is not asked again after a restart: without a snapshot everything is
    /// built anew.
    pub(super) fn sound<T>(&self, answer: Result<T, TableError>) -> Result<T, StoreError> {
        answer.map_err(|error| match error {
            TableError::Damaged(_) => {
                self.spoiled.store(true, Ordering::Relaxed);
                // If it can not be removed, the next start finds the same damage.
                let _ = snapshot::remove_all(&self.disk);
                StoreError::Stopped(format!("{error}; a restart builds it again"))
            }
            TableError::Io(_) => StoreError::Unreachable(error.to_string()),
        })
    }

    /// Bytes of all files in a directory; a directory that cannot be read has none, for a figure is no reason to fail.
    fn bytes_in(&self, directory: &str) -> u64 {
        let size = |name: &String| self.disk.open(&format!("{directory}/{name}")).and_then(|file| file.size());
        self.disk.list(directory).unwrap_or_default().iter().filter_map(|name| size(name).ok()).sum()
    }
}

impl<D: Disk> Keeper for EmbeddedReader<D> {
    fn look<T>(&self, at: impl FnOnce(&State) -> T) -> Result<T, StoreError> {
        let (seen, applied) = {
            let live = self.shared.live();
            (at(&live.state), live.applied)
        };
        self.shared.durable.wait(applied)?;
        Ok(seen)
    }

    fn look_up<T>(&self, at: impl FnOnce(&State) -> T) -> Result<T, StoreError> {
        let (seen, changed) = {
            let live = self.shared.live();
            (at(&live.state), live.registry)
        };
        self.shared.durable.wait(changed)?;
        Ok(seen)
    }

    fn find_entries(&self, stream: &StreamKey, after: u64, limit: usize) -> Result<Vec<SharedEntry>, StoreError> {
        let mut found = Vec::new();
        let Some(standing) = self.shared.standing(stream)? else { return Ok(found) };
        let last = standing.head.offset.min(after.saturating_add(limit as u64));
        if after >= last {
            return Ok(found);
        }
        let mut walk = Walk::from(&self.shared.index.places, standing.number, after + 1);
        let mut next = after + 1;
        while next <= last {
            let Some((first, place)) = self.shared.sound(walk.next())?.filter(|(first, _)| *first <= next) else {
                let what = format!("the index has no place for offset {next} of {}", stream.stream);
                return Err(StoreError::Corrupt(what));
            };
            let frame = self.shared.frames.get(place.frame)?;
            let lasting = lasting(&frame)?;
            let here = lasting.entries_of(stream);
            let skipped = next - first;
            for index in here.start.saturating_add(skipped)..here.end {
                if next > last {
                    break;
                }
                found.push(entry_at(&frame, &lasting, index)?);
                next += 1;
            }
        }
        Ok(found)
    }

    fn find_entry(&self, stream: &StreamKey, identity: &Identity) -> Result<Option<SharedEntry>, StoreError> {
        let Some(standing) = self.shared.standing(stream)? else { return Ok(None) };
        for place in self.shared.sound(self.shared.index.entries_of(standing.number, identity))? {
            if standing.has(&place)
                && let Some(entry) = self.shared.frames.entry(place, identity)?
            {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    fn find_entries_with_id(&self, stream: &StreamKey, id: &str) -> Result<Vec<SharedEntry>, StoreError> {
        let Some(standing) = self.shared.standing(stream)? else { return Ok(Vec::new()) };
        let mut found = self.shared.with_id(&standing, id)?;
        // The newest of an identity comes first, and stays.
        found.sort_by_key(|entry| entry.identity);
        found.dedup_by_key(|entry| entry.identity);
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
        match self.shared.standing(stream)? {
            Some(standing) => self.shared.attempts(stream, &standing, filter, after, limit),
            None => Ok(Page::default()),
        }
    }

    fn sizes(&self) -> Result<Figures, StoreError> {
        Ok(Figures {
            log_bytes: self.shared.bytes_in("log"),
            index_bytes: self.shared.bytes_in(super::index::DIR),
            free_bytes: self.shared.disk.free_space().ok(),
            attempts: self.shared.live().expiries.attempts(),
            ..Figures::default()
        })
    }
}
