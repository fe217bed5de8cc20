//! The entries of known ids, for a turn: looked up together, read frame by frame.
//!
//! Most ids of a turn are new, and then a turn reads nothing. A batch that is sent again has all of its originals in one
//! frame, which is read once; of a few each is read by itself.

use hapax_core::facts::Sought;
use std::sync::Arc;

use super::Shared;
use crate::embedded::disk::Disk;
use crate::embedded::frames::Wanted;
use crate::embedded::index::identity_key;
use crate::embedded::index::table::{Key, Place};
use crate::embedded::under_way::entry_at;
use crate::seam::{Loaded, StoreError, StreamKey, TurnNeeds};

/// An identity that is asked for, and where.
struct Asked<'n> {
    stream: &'n StreamKey,
    sought: Sought<'n>,
}

impl<D: Disk> Shared<D> {
    /// Hands in the newest entry of each identity that is asked for. Only the writer asks, so nothing is committed
    /// meanwhile.
    pub(in crate::embedded) fn load_originals(&self, needs: &TurnNeeds, loaded: &mut Loaded) -> Result<(), StoreError> {
        let (mut asked, mut keys): (Vec<Asked<'_>>, Vec<Key>) = (Vec::new(), Vec::new());
        {
            let live = self.live();
            for (stream, wanted) in &needs.streams {
                let Some(found) = live.state.streams.get(stream) else { continue };
                let count = wanted.needs.sought_max();
                asked.reserve(count);
                keys.reserve(count);
                for sought in wanted.needs.sought() {
                    asked.push(Asked { stream, sought });
                    keys.push(identity_key(found.number, sought.identity));
                }
            }
        }
        let mut places: Vec<(Place, usize)> = Vec::new();
        self.sound(self.index.ids.find_all(&keys, |position, place| places.push((place, position))))?;
        // The newest first, so that the first that fits is the one.
        places.sort_by(|one, other| other.cmp(one));
        if places.is_empty() {
            return Ok(());
        }
        self.frames.bring_near(places.iter().map(|(place, _)| *place));
        let mut known = vec![false; asked.len()];
        let (mut wanted, mut positions) = (Vec::new(), Vec::new());
        for together in places.chunk_by(|(one, _), (other, _)| one.frame == other.frame) {
            let Some((first, _)) = together.first() else { continue };
            if let Some(write) = self.under_way.get(first.frame) {
                for (place, position) in together {
                    let Asked { stream, sought } = &asked[*position];
                    if let Some(entry) = entry_at(&write, place).filter(|entry| entry.identity == *sought.identity)
                        && !std::mem::replace(&mut known[*position], true)
                        && let Some(found) = loaded.streams.get_mut(*stream)
                    {
                        found.facts.load_original(Arc::clone(entry));
                    }
                }
                continue;
            }
            self.durable.wait(first.frame)?;
            wanted.clear();
            positions.clear();
            for (place, position) in together.iter().filter(|(_, position)| !known[*position]) {
                wanted.push(Wanted::new(place.index, &asked[*position].sought));
                positions.push(*position);
            }
            self.frames.entries(first.frame, &wanted, |which, entry| {
                let position = positions[which];
                // Of several in one frame the newest comes first.
                if !std::mem::replace(&mut known[position], true)
                    && let Some(found) = loaded.streams.get_mut(asked[position].stream)
                {
                    found.facts.load_original(entry);
                }
            })?;
        }
        Ok(())
    }
}
