//! The row that each turn writes under an id of its own, and what it says after a COMMIT that broke off.
//!
//! What holds: the same id is written again on another connection. If the turn's transaction still runs, the database lets this
//! wait for its end; if it was committed, the row is there, and this changes nothing; if not, it is written here, and that
//! transaction can never be committed, because its own row would be the second. So the answer is final, and the same however often it
//! is asked for: an answer can get lost, and the row that the question left is not the turn's. Its time says whose it is. The
//! events' ids say nothing: another server may have committed them.

use std::time::Duration;

use tokio_postgres::{Error, Row};
use uuid::Uuid;

use super::connect::said;
use super::line::Line;
use crate::seam::{StoreError, StreamKey};

/// Writes a turn's row, with the database's time in whole microseconds: it is deleted a day later, and by nobody's clock earlier.
/// Answers with the transaction that it is written in.
pub(super) const INSERT: &str = "INSERT INTO turns (tenant, stream, turn, at) VALUES ($1, $2, $3, \
                                 (extract(epoch FROM clock_timestamp()) * 1000000)::int8 * 1000) RETURNING txid_current()";

/// Writes the row of one who asks, a nanosecond later, if there is none. Answers whether the row that is there is the turn's.
const ASK: &str = "INSERT INTO turns (tenant, stream, turn, at) VALUES ($1, $2, $3, \
                   (extract(epoch FROM clock_timestamp()) * 1000000)::int8 * 1000 + 1) \
                   ON CONFLICT (tenant, stream, partition, turn) DO UPDATE SET at = turns.at RETURNING at % 1000 = 0";

/// What [`INSERT`] answers, as a row shows it: without what counts how often the numbers came round.
pub(super) fn read_xid(row: &Row) -> Result<u32, Error> {
    Ok(row.try_get::<_, i64>(0)?.cast_unsigned() as u32)
}

/// How often it is tried to find out, and how long it is waited in between.
const TRIES_MAX: u32 = 5;
const PAUSE: Duration = Duration::from_millis(200);

/// A turn of a writer.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    /// Where its row lies: with the first stream that it writes, or with none.
    pub(super) place: StreamKey,
    pub(super) id: Uuid,
}

/// An id that nobody else has.
pub(super) fn id() -> Uuid {
    let mut bytes = [0; 16];
    // Without random bits two turns could take each other for themselves.
    getrandom::fill(&mut bytes).expect("the system gives random bytes");
    Uuid::from_bytes(bytes)
}

/// It is not waited longer than this to find out: whoever asked can ask again.
const TIME: Duration = Duration::from_secs(5);

/// Was the turn committed? Only an error if nobody can say for now.
pub(super) async fn was_committed(line: &Line, turn: &Turn) -> Result<bool, StoreError> {
    let unknown = || Err(StoreError::Unknown("the database does not say".to_owned()));
    line.within(TIME, find_out(line, turn)).await.unwrap_or_else(unknown)
}

async fn find_out(line: &Line, turn: &Turn) -> Result<bool, StoreError> {
    let mut why = String::new();
    for _ in 0..TRIES_MAX {
        match ask(line, turn).await {
            Ok(committed) => return Ok(committed),
            Err(error) => why = error,
        }
        tokio::time::sleep(PAUSE).await;
    }
    Err(StoreError::Unknown(why))
}

async fn ask(line: &Line, turn: &Turn) -> Result<bool, String> {
    let client = line.client().await.map_err(|error| error.to_string())?;
    let statement = client.prepare_cached(ASK).await.map_err(|error| said(&error))?;
    let Turn { place, id } = turn;
    let row = client.query_one(&statement, &[&&*place.tenant, &&*place.stream, id]).await;
    row.and_then(|row| row.try_get(0)).map_err(|error| said(&error))
}
