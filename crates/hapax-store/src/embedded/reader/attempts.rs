//! Attempts out of the log: accepted ones are entries, the others stand in what expires, and a frame has both.
//!
//! What holds: they come in the order of their numbers, which is that of the frames. With an id the tables lead to each of
//! them; without one frames are read one after the other, and no more than a page needs.

use std::sync::Arc;

use hapax_core::entry::EntryKind;
use hapax_core::view::AttemptView;

use super::{Shared, Standing};
use crate::embedded::disk::Disk;
use crate::embedded::frames::{entry_at, expiring, lasting, unreadable};
use crate::embedded::index::{Walk, try_key};
use crate::embedded::log::FrameNumber;
use crate::seam::{AttemptFilter, Page, SCAN_MAX, StoreError, StreamKey};
use crate::state::scan;

impl<D: Disk> Shared<D> {
    pub(super) fn attempts(
        &self,
        stream: &StreamKey,
        standing: &Standing,
        filter: &AttemptFilter,
        after: u64,
        limit: usize,
    ) -> Result<Page<AttemptView, u64>, StoreError> {
        let number = |attempt: &AttemptView| attempt.number();
        let takes = |attempt: &AttemptView| filter.takes(attempt);
        if let Some(id) = &filter.id {
            let mut all = self.attempts_with_id(standing, id)?;
            all.retain(|attempt| attempt.number() > after && filter.takes(attempt));
            all.sort_by_key(number);
            return Ok(scan(all.into_iter(), limit, usize::MAX, number, takes, |attempt| attempt));
        }
        let mut failure = None;
        let mut walk = Walk::from(&self.index.attempts, standing.number, after.saturating_add(1));
        let mut next_frame = || -> Result<Option<Vec<AttemptView>>, StoreError> {
            let Some((_, place)) = self.sound(walk.next())?.filter(|(_, place)| standing.has(place)) else {
                return Ok(None);
            };
            let mut found = self.attempts_in(stream, place.frame)?;
            found.retain(|attempt| attempt.number() > after);
            Ok(Some(found))
        };
        let frames = std::iter::from_fn(|| {
            next_frame().unwrap_or_else(|error| {
                failure = Some(error);
                None
            })
        });
        let page = scan(frames.flatten(), limit, SCAN_MAX, number, takes, |attempt| attempt);
        failure.map_or(Ok(page), Err)
    }

    /// All attempts of a stream in one frame, in the order of their numbers.
    fn attempts_in(&self, stream: &StreamKey, number: FrameNumber) -> Result<Vec<AttemptView>, StoreError> {
        let frame = self.frames.get(number)?;
        let lasting = lasting(&frame)?;
        let mut found = Vec::new();
        for index in lasting.entries_of(stream) {
            let entry = entry_at(&frame, &lasting, index)?;
            if entry.kind == EntryKind::Event {
                found.push(AttemptView::Accepted(entry));
            }
        }
        if let Some(expiring) = expiring(&frame)? {
            for attempt in expiring.attempts_of(stream) {
                let attempt = attempt.map_err(|fault| unreadable(number, &fault))?;
                found.push(AttemptView::Other(Arc::new(attempt)));
            }
        }
        found.sort_by_key(AttemptView::number);
        Ok(found)
    }

    /// All attempts with an id, in any order.
    fn attempts_with_id(&self, standing: &Standing, id: &str) -> Result<Vec<AttemptView>, StoreError> {
        let mut found: Vec<_> = self.with_id(standing, id)?.into_iter().map(AttemptView::Accepted).collect();
        for place in self.sound(self.index.tries.find(&try_key(standing.number, id)))? {
            if !standing.has(&place) {
                continue;
            }
            let frame = self.frames.get(place.frame)?;
            // What has expired may be gone from the log before it is from the index.
            let Some(expiring) = expiring(&frame)? else { continue };
            let attempt = expiring.attempt(u64::from(place.index)).map_err(|fault| unreadable(place.frame, &fault))?;
            if attempt.id.as_deref() == Some(id) {
                found.push(AttemptView::Other(Arc::new(attempt)));
            }
        }
        Ok(found)
    }
}
