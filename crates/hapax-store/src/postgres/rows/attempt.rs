//! Attempts that did not become entries: a row of `attempts` each.

use bytes::BytesMut;
use hapax_core::audit::{Attempt, Submitted};
use hapax_core::words::{Code, States, Verdict};
use tokio_postgres::Row;

use super::cells::Cells;
use super::copy::Fields;
use crate::codec::alone;
use crate::seam::{StoreError, StreamKey};

/// Takes rows as [`write`] makes them.
pub(in crate::postgres) const COPY: &str = "COPY attempts (tenant, stream, partition, number, at, contract, id, lane, epoch, seq, verdict, code, states, rejected, same_as, document, details) FROM STDIN WITH (FORMAT binary)";

const FIELDS: i16 = 17;

/// Appends a row.
pub(in crate::postgres) fn write(out: &mut BytesMut, key: &StreamKey, attempt: &Attempt) {
    out.row(FIELDS);
    out.raw(key.tenant.as_bytes());
    out.raw(key.stream.as_bytes());
    out.int2(0);
    out.own(attempt.number);
    out.time(attempt.at);
    out.int4(attempt.contract);
    for text in [&attempt.id, &attempt.lane] {
        out.maybe(text.as_deref(), |out, text| out.raw(text.as_bytes()));
    }
    out.whole(attempt.epoch);
    out.maybe(attempt.seq, BytesMut::whole);
    out.raw(attempt.verdict.name().as_bytes());
    out.raw(attempt.code.name().as_bytes());
    out.int8(attempt.states.bits().cast_signed());
    out.flag(attempt.rejected);
    match &attempt.document {
        Submitted::SameAs(offset) => {
            out.own(*offset);
            out.null();
        }
        Submitted::Document(document) => {
            out.null();
            out.raw(document);
        }
    }
    out.measured(|out| alone::write_attempt(out, attempt));
}

/// What [`read`] expects.
pub(in crate::postgres) const COLUMNS: &str = "t.number, t.at, t.contract, t.id, t.lane, t.epoch, t.seq, t.verdict, t.code, t.states, t.rejected, t.same_as, t.document, t.details";

/// Reads a row.
pub(in crate::postgres) fn read(row: &Row) -> Result<Attempt, StoreError> {
    let mut cells = Cells::new(row, "attempts");
    let (number, at, contract) = (cells.own()?, cells.time()?, cells.short()?);
    let (id, lane) = (cells.maybe_text()?, cells.maybe_text()?);
    let (epoch, seq) = (cells.whole()?, cells.maybe_whole()?);
    let (verdict, code) = (cells.named(Verdict::named)?, cells.named(Code::named)?);
    let states = cells.bits(States::from_bits)?;
    let rejected = cells.next()?;
    let document = match (cells.maybe_own()?, cells.next::<Option<&[u8]>>()?) {
        (Some(offset), None) => Submitted::SameAs(offset),
        (None, Some(document)) => Submitted::Document(document.into()),
        (Some(_), Some(_)) | (None, None) => return Err(cells.corrupt(&"there is not one document")),
    };
    let row = alone::Row { at, observed_at: None, epoch, seq };
    let alone::AttemptDetails { caller, refusal, basis } = cells.record(|record| alone::read_attempt(record, row))?;
    Ok(Attempt {
        number,
        at,
        contract,
        id,
        lane,
        epoch,
        seq,
        verdict,
        code,
        states,
        refusal,
        document,
        basis,
        rejected,
        caller,
    })
}
