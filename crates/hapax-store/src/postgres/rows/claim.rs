//! Claims: a row of `claims` each, beside the stream that their handler reads.

use std::sync::Arc;

use hapax_core::claim::{Claim, ClaimState};
use hapax_core::event::Identity;
use tokio_postgres::Row;

use super::cells::Cells;
use super::handler::read_key;
use super::{Fixed, Text, batch};
use crate::codec::alone;
use crate::seam::{HandlerKey, StoreError};

/// What [`read`] expects.
pub(in crate::postgres) const COLUMNS: &str = "t.tenant, t.handler, t.identity, t.record";

/// Reads a row.
pub(in crate::postgres) fn read(row: &Row) -> Result<(HandlerKey, Identity, Claim), StoreError> {
    let mut cells = Cells::new(row, "claims");
    Ok((read_key(&mut cells)?, Identity(cells.fixed()?), cells.record(alone::read_claim)?))
}

batch! {
    /// Claims as they are now.
    ClaimRows {
        tenant: Text,
        stream: Text,
        handler: Text,
        identity: Fixed<32>,
        state: i16,
        record: Vec<u8>,
    }
    "INSERT INTO claims (tenant, stream, handler, identity, state, record)
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::int2[], $6::bytea[])
     ON CONFLICT (tenant, stream, partition, handler, identity) DO UPDATE SET state = excluded.state, record = excluded.record"
}

impl ClaimRows {
    /// `stream` is the one that the handler reads, '' if it reads none.
    pub(in crate::postgres) fn push(
        &mut self,
        key: &HandlerKey,
        stream: &Arc<str>,
        identity: &Identity,
        claim: &Claim,
    ) {
        self.tenant.push((&key.tenant).into());
        self.stream.push(stream.into());
        self.handler.push((&key.handler).into());
        self.identity.push(Fixed(identity.0));
        self.state.push(match claim.state {
            ClaimState::Held { .. } => 0,
            ClaimState::Failed { .. } => 1,
            ClaimState::Dead { .. } => 2,
            ClaimState::Done { .. } => 3,
            ClaimState::Skipped { .. } => 4,
        });
        self.record.push(alone::write_claim(claim));
    }
}
