//! Losses that people recorded: a row of `losses` each. Nobody reads them but people.

use hapax_core::facts::Acknowledgement;
use uuid::Uuid;

use super::{Text, Whole, batch};
use crate::seam::StreamKey;

batch! {
    /// Losses of a turn.
    LossRows {
        tenant: Text,
        stream: Text,
        turn: Uuid,
        place: i32,
        lane: Text,
        first: Whole,
        last: Whole,
        reason: Vec<u8>,
        at: i64,
    }
    "INSERT INTO losses (tenant, stream, turn, place, lane, first, last, reason, at)
     SELECT * FROM unnest($1::text[], $2::text[], $3::uuid[], $4::int4[], $5::text[], $6::numeric[], $7::numeric[], $8::bytea[], $9::int8[])"
}

impl LossRows {
    /// The next loss of this turn.
    pub(in crate::postgres) fn push(&mut self, key: &StreamKey, turn: Uuid, loss: &Acknowledgement) {
        let Acknowledgement { lane, from, to, reason, at } = loss;
        // A turn has nowhere near so many.
        self.place.push(i32::try_from(self.place.len()).unwrap_or(i32::MAX));
        self.tenant.push((&key.tenant).into());
        self.stream.push((&key.stream).into());
        self.turn.push(turn);
        self.lane.push(lane.into());
        self.first.push(Whole(*from));
        self.last.push(Whole(*to));
        self.reason.push(reason.as_bytes().to_vec());
        self.at.push(at.nanos());
    }
}
