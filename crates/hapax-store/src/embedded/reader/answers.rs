//! What requests were answered, for those that come again.
//!
//! A batch's answer is as large as the batch, and a day's answers would fill the memory. So the state keeps where an answer
//! is, and the log keeps the answer: in the working state of a store in a directory, the body of a record is the number of
//! its frame, eight bytes little-endian. The snapshot holds the same.

use std::sync::Arc;

use super::Shared;
use crate::codec::decode_bare;
use crate::embedded::disk::Disk;
use crate::embedded::frames::unreadable;
use crate::embedded::log::FrameNumber;
use crate::seam::{Loaded, RequestRecord, StoreError, Write};
use crate::state::State;

/// Puts the place of each answer where the answer was, in the state.
pub(in crate::embedded) fn keep_places(state: &mut State, write: &Write, frame: FrameNumber) {
    if write.requests.is_empty() {
        return;
    }
    let place: Arc<[u8]> = Arc::from(frame.0.to_le_bytes());
    for (key, record) in &write.requests {
        state.requests.insert(key.clone(), record.at, RequestRecord { body: Arc::clone(&place), ..record.clone() });
    }
}

impl<D: Disk> Shared<D> {
    /// Puts each answer where its place was, for a turn. Few requests come again, so the frame is read as a whole.
    pub(in crate::embedded) fn load_answers(&self, loaded: &mut Loaded) -> Result<(), StoreError> {
        let mut gone = Vec::new();
        for (key, record) in &mut loaded.requests {
            let place = <[u8; 8]>::try_from(&*record.body);
            let place =
                place.map_err(|_| StoreError::Corrupt("an answered request has no place in the log".to_owned()))?;
            let frame = self.frame(FrameNumber(u64::from_le_bytes(place)))?;
            let expiring = (!frame.expiring.is_empty()).then_some(frame.expiring.as_slice());
            let write = decode_bare(&frame.lasting, expiring).map_err(|fault| unreadable(frame.number, &fault))?;
            let found = write.requests.into_iter().rfind(|(known, _)| known == key);
            match found {
                Some((_, answered)) => record.body = answered.body,
                // Compaction drops what has had its time; the state forgets it a little later.
                None => gone.push(key.clone()),
            }
        }
        gone.iter().for_each(|key| _ = loaded.requests.remove(key));
        Ok(())
    }
}
