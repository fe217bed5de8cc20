//! Versions of contracts: a row of `contracts` each. Nothing of one ever changes.

use std::sync::Arc;

use hapax_core::contract::{Contract, Version, to_json};
use hapax_core::time::Time;
use tokio_postgres::Row;

use super::cells::Cells;
use super::{Text, batch};
use crate::seam::{StoreError, StreamKey};

/// What [`read`] expects.
pub(in crate::postgres) const COLUMNS: &str = "t.version, t.baseline, t.contract, t.put_at";

/// Reads a row.
pub(in crate::postgres) fn read(row: &Row) -> Result<(Version, Time), StoreError> {
    let mut cells = Cells::new(row, "contracts");
    let (number, baseline) = (cells.short()?, cells.short()?);
    let text = cells.next::<&str>()?;
    let contract = Contract::from_kept(text.as_bytes()).map_err(|problems| {
        let why = problems.first().map(|problem| format!("{}: {}", problem.key, problem.why));
        cells.corrupt(&why.unwrap_or_default())
    })?;
    Ok((Version { number, baseline, contract: Arc::new(contract) }, cells.time()?))
}

batch! {
    /// New versions. One that is there already is an error: two turns cannot both have made it.
    ContractRows {
        tenant: Text,
        stream: Text,
        version: i32,
        baseline: i32,
        contract: String,
        put_at: i64,
    }
    "INSERT INTO contracts (tenant, stream, version, baseline, contract, put_at)
     SELECT * FROM unnest($1::text[], $2::text[], $3::int4[], $4::int4[], $5::text[], $6::int8[])"
}

impl ContractRows {
    pub(in crate::postgres) fn push(&mut self, key: &StreamKey, version: &Version, at: Time) {
        self.tenant.push((&key.tenant).into());
        self.stream.push((&key.stream).into());
        self.version.push(version.number.cast_signed());
        self.baseline.push(version.baseline.cast_signed());
        self.contract.push(to_json(&version.contract));
        self.put_at.push(at.nanos());
    }
}
