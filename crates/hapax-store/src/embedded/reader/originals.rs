//! The entries of known ids, for a turn: looked up together, read frame by frame.
//!
//! Most ids of a turn are new, and then a turn reads nothing. A batch that is sent again has all of its originals in one
//! frame, which is read once; of a few each is read by itself.

use hapax_core::entry::SharedEntry;
use hapax_core::facts::Sought;

use super::Shared;
use crate::embedded::disk::Disk;
use crate::embedded::frames::Wanted;
use crate::embedded::index::identity_key;
use crate::embedded::index::table::{Key, Place};
use crate::embedded::under_way::entry_at;
use crate::seam::{Loaded, StoreError, TurnNeeds};

impl<D: Disk> Shared<D> {
    /// Hands in the newest entry of each identity that is asked for. Only the writer asks, so nothing is committed
    /// meanwhile.
    pub(in crate::embedded) fn load_originals(&self, needs: &TurnNeeds, loaded: &mut Loaded) -> Result<(), StoreError> {
        let (mut asked, mut keys): (Vec<Sought<'_>>, Vec<Key>) = (Vec::new(), Vec::new());
        // Which of those asked for are of a stream.
        let mut parts = Vec::new();
        {
            let live = self.live();
            for (stream, wanted) in &needs.streams {
                let Some(found) = live.state.streams.get(stream) else { continue };
                let (first, count) = (asked.len(), wanted.needs.sought_max());
                asked.reserve(count);
                keys.reserve(count);
                for sought in wanted.needs.sought() {
                    asked.push(sought);
                    keys.push(identity_key(found.number, sought.identity));
                }
                parts.push((stream, first..asked.len()));
            }
        }
        let mut places: Vec<(Place, usize)> = Vec::new();
        self.sound(self.index.ids.find_all(&keys, |position, place| places.push((place, position))))?;
        if places.is_empty() {
            return Ok(());
        }
        // The newest first, so that the first that fits is the one.
        places.sort_unstable_by(|one, other| other.cmp(one));
        let found = self.originals(&places, &asked)?;
        for (stream, part) in parts {
            if let Some(loaded) = loaded.streams.get_mut(stream) {
                found[part].iter().flatten().for_each(|entry| loaded.facts.load_original(entry.clone()));
            }
        }
        Ok(())
    }

    /// The entry of each that is asked for, at the first of these places that has it.
    fn originals(
        &self,
        places: &[(Place, usize)],
        asked: &[Sought<'_>],
    ) -> Result<Vec<Option<SharedEntry>>, StoreError> {
        self.frames.bring_near(places.iter().map(|(place, _)| *place));
        let mut known = vec![None; asked.len()];
        // Those that are read stay together, as entries do that are made together.
        let (mut read, mut read_for) = (Vec::with_capacity(places.len()), Vec::with_capacity(places.len()));
        let mut is_read = vec![false; asked.len()];
        let (mut wanted, mut positions, mut room) = (Vec::new(), Vec::new(), Vec::new());
        for together in places.chunk_by(|(one, _), (other, _)| one.frame == other.frame) {
            let Some((first, _)) = together.first() else { continue };
            if let Some(write) = self.under_way.get(first.frame) {
                for (place, position) in together {
                    let (known, identity) = (&mut known[*position], asked[*position].identity);
                    if known.is_none() && !is_read[*position] {
                        *known = entry_at(&write, place).filter(|entry| entry.identity == *identity).cloned();
                    }
                }
                continue;
            }
            self.durable.wait(first.frame)?;
            wanted.clear();
            positions.clear();
            let is_known = |position: usize| known[position].is_some() || is_read[position];
            for (place, position) in together.iter().filter(|(_, position)| !is_known(*position)) {
                wanted.push(Wanted::new(place.index, &asked[*position]));
                positions.push(*position);
            }
            // Of several in one frame the newest comes first.
            let take = |which: usize, entry| {
                if !std::mem::replace(&mut is_read[positions[which]], true) {
                    read.push(entry);
                    read_for.push(positions[which]);
                }
            };
            self.frames.entries(first.frame, &wanted, &mut room, take)?;
        }
        read_for.into_iter().zip(SharedEntry::each(read)).for_each(|(position, entry)| known[position] = Some(entry));
        Ok(known)
    }
}
