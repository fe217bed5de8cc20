//! Entries and attempts. Accepted attempts are entries, the others have a table of their own.
//!
//! What holds: attempts come in the order of their numbers, and none that is at or below the head that was read first is
//! passed over. Offsets have no holes and numbers grow with them, so the first entry after a number is found by halving.

use std::sync::{Arc, LazyLock};

use hapax_core::entry::Entry;
use hapax_core::event::Identity;
use hapax_core::facts::Head;
use hapax_core::view::AttemptView;
use tokio_postgres::Row;

use super::PostgresReader;
use super::walk::{CHUNK, Failure, chunk, walk};
use crate::postgres::load::ask::NO_INDEX;
use crate::postgres::rows::{self, can_be, own};
use crate::seam::{AttemptFilter, Page, SCAN_MAX, StoreError, StreamKey};
use crate::state::scan;

fn entries(of: &str, condition: &str, rest: &str) -> String {
    format!("SELECT {} FROM entries t WHERE {of} AND {condition} {rest}", rows::entry::COLUMNS)
}

fn attempts(of: &str, condition: &str) -> String {
    format!("SELECT {} FROM attempts t WHERE {of} AND {condition} ORDER BY t.number LIMIT", rows::attempt::COLUMNS)
}

/// Of a stream, by its index.
const STREAM: &str = "t.tenant = $1 AND t.stream = $2 AND t.partition = 0";

static AFTER: LazyLock<String> =
    LazyLock::new(|| entries(STREAM, r#"t."offset" > $3"#, r#"ORDER BY t."offset" LIMIT $4"#));

static EVENTS_AFTER: LazyLock<String> = LazyLock::new(|| {
    entries(STREAM, r#"t."offset" > $3 AND t."offset" <= $4 AND t.kind = 0"#, r#"ORDER BY t."offset" LIMIT $5"#)
});

static OF_IDENTITY: LazyLock<String> =
    LazyLock::new(|| entries(NO_INDEX, "t.lookup = $3 AND t.identity = $4", r#"ORDER BY t."offset" DESC"#));

static OF_ID_IN_LANES: LazyLock<String> =
    LazyLock::new(|| entries(NO_INDEX, "t.id = $3 AND t.by_lane AND t.kind = 0", ""));

static ATTEMPTS_AFTER: LazyLock<String> =
    LazyLock::new(|| format!("{} $5", attempts(STREAM, "t.number > $3 AND t.number <= $4")));

static ATTEMPTS_OF_ID: LazyLock<String> =
    LazyLock::new(|| format!("{} $6", attempts(NO_INDEX, "t.id = $5 AND t.number > $3 AND t.number <= $4")));

/// The last offset whose entry has at most this number; 0 if none has. Each step halves what is left.
const LAST_UP_TO: &str = r#"
WITH RECURSIVE search (low, high) AS (
  SELECT 0::int8, $4::int8
  UNION ALL
  SELECT CASE WHEN t.attempt <= $3 THEN t."offset" ELSE s.low END, CASE WHEN t.attempt <= $3 THEN s.high ELSE t."offset" - 1 END
  FROM search s JOIN entries t
    ON t.tenant = $1 AND t.stream = $2 AND t.partition = 0 AND t."offset" = s.low + (s.high - s.low + 1) / 2
  WHERE s.low < s.high
)
SELECT low FROM search WHERE low >= high"#;

impl PostgresReader {
    pub(super) fn find_entries(
        &self,
        stream: &StreamKey,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Arc<Entry>>, StoreError> {
        let failure = Failure::default();
        let fetch = |last: Option<&u64>, count: i64| {
            let last = own(last.copied().unwrap_or(after));
            read(&self.shared.query(&AFTER, &[&&*stream.tenant, &&*stream.stream, &last, &count])?)
        };
        let all = walk(limit.clamp(1, CHUNK), &failure, |entry: &Arc<Entry>| entry.offset, fetch);
        let found = all.take(limit).collect();
        failure.or(found)
    }

    pub(super) fn find_entry(&self, stream: &StreamKey, identity: &Identity) -> Result<Option<Arc<Entry>>, StoreError> {
        // An id that was forgotten may have been used again.
        Ok(self.of_identity(stream, identity)?.into_iter().next())
    }

    /// The entries of an identity, the newest first.
    fn of_identity(&self, stream: &StreamKey, identity: &Identity) -> Result<Vec<Arc<Entry>>, StoreError> {
        let lookup = rows::entry::Mask::of(stream).lookup(identity);
        read(&self.shared.query(&OF_IDENTITY, &[&&*stream.tenant, &&*stream.stream, &lookup, &&identity.0[..]])?)
    }

    pub(super) fn find_entries_with_id(&self, stream: &StreamKey, id: &str) -> Result<Vec<Arc<Entry>>, StoreError> {
        let mut found = self.with_id(stream, id)?;
        // The newest of an identity stays.
        found.sort_by_key(|entry| (entry.identity, std::cmp::Reverse(entry.offset)));
        found.dedup_by_key(|entry| entry.identity);
        found.sort_by_key(|entry| entry.offset);
        Ok(found)
    }

    /// All entries with an id that is an event's, in any order.
    fn with_id(&self, stream: &StreamKey, id: &str) -> Result<Vec<Arc<Entry>>, StoreError> {
        if !can_be(id) {
            return Ok(Vec::new());
        }
        let mut found = self.of_identity(stream, &Identity::of(None, id))?;
        let in_lanes = self.shared.query(&OF_ID_IN_LANES, &[&&*stream.tenant, &&*stream.stream, &id])?;
        found.extend(read(&in_lanes)?);
        Ok(found)
    }

    pub(super) fn find_attempts(
        &self,
        stream: &StreamKey,
        filter: &AttemptFilter,
        after: u64,
        limit: usize,
    ) -> Result<Page<AttemptView, u64>, StoreError> {
        let Some(row) = self.find_stream_row(stream)? else { return Ok(Page::default()) };
        // What is committed while this reads is for the next page: otherwise one of two kinds might run ahead.
        let head = row.head;
        if after >= head.attempts {
            return Ok(Page::default());
        }
        let is_filtered = filter.lane.is_some() || filter.verdict.is_some() || filter.code.is_some();
        let is_filtered = is_filtered || filter.from.is_some() || filter.to.is_some();
        let size = chunk(limit, is_filtered);
        let failure = Failure::default();
        let takes = |attempt: &AttemptView| filter.takes(attempt);
        let number = |attempt: &AttemptView| attempt.number();
        let others = walk(size, &failure, number, |last, count| {
            let last = own(last.copied().unwrap_or(after));
            self.others(stream, filter.id.as_deref(), last, head.attempts, count)
        });
        let page = match &filter.id {
            Some(id) => {
                let mut accepted = self.with_id(stream, id)?;
                accepted.retain(|entry| entry.attempt > after && entry.attempt <= head.attempts);
                accepted.sort_by_key(|entry| entry.attempt);
                let accepted = accepted.into_iter().map(AttemptView::Accepted);
                scan(merge(accepted, others), limit, usize::MAX, number, takes, |attempt| attempt)
            }
            None => {
                let start = self.last_up_to(stream, after, &head)?;
                let accepted = walk(
                    size,
                    &failure,
                    |entry: &Arc<Entry>| own(entry.offset),
                    |last, count| {
                        let values = (last.copied().unwrap_or(start), own(head.offset));
                        let (tenant, stream) = (&*stream.tenant, &*stream.stream);
                        read(&self.shared.query(&EVENTS_AFTER, &[&tenant, &stream, &values.0, &values.1, &count])?)
                    },
                );
                let accepted = accepted.map(AttemptView::Accepted);
                scan(merge(accepted, others), limit, SCAN_MAX, number, takes, |attempt| attempt)
            }
        };
        failure.or(page)
    }

    /// Attempts that were not accepted, by their numbers.
    fn others(
        &self,
        stream: &StreamKey,
        id: Option<&str>,
        after: i64,
        up_to: u64,
        count: i64,
    ) -> Result<Vec<AttemptView>, StoreError> {
        let (tenant, stream, up_to) = (&*stream.tenant, &*stream.stream, own(up_to));
        let found = match id {
            Some(id) if !can_be(id) => Vec::new(),
            Some(id) => self.shared.query(&ATTEMPTS_OF_ID, &[&tenant, &stream, &after, &up_to, &id, &count])?,
            None => self.shared.query(&ATTEMPTS_AFTER, &[&tenant, &stream, &after, &up_to, &count])?,
        };
        found.iter().map(|row| Ok(AttemptView::Other(Arc::new(rows::attempt::read(row)?)))).collect()
    }

    fn last_up_to(&self, stream: &StreamKey, number: u64, head: &Head) -> Result<i64, StoreError> {
        if number == 0 {
            return Ok(0);
        }
        let (tenant, name, last) = (&*stream.tenant, &*stream.stream, own(head.offset));
        let found = self.shared.query_opt(LAST_UP_TO, &[&tenant, &name, &own(number), &last])?;
        let holes =
            || StoreError::Corrupt(format!("table entries: offsets of {} up to {last} have holes", stream.stream));
        rows::number(&found.ok_or_else(holes)?, 0, "entries")
    }
}

fn read(found: &[Row]) -> Result<Vec<Arc<Entry>>, StoreError> {
    found.iter().map(|row| rows::entry::read(row).map(Arc::new)).collect()
}

/// Two lists in the order of their numbers as one.
fn merge(
    one: impl Iterator<Item = AttemptView>,
    other: impl Iterator<Item = AttemptView>,
) -> impl Iterator<Item = AttemptView> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    std::iter::from_fn(move || match (one.peek(), other.peek()) {
        (Some(left), Some(right)) if left.number() < right.number() => one.next(),
        (Some(_), None) => one.next(),
        (_, _) => other.next(),
    })
}
