//! Entries and attempts. Accepted attempts are entries, the others have a table of their own.
//!
//! What holds: attempts come in the order of their numbers, and none that is at or below the head that was read first is
//! passed over. Offsets have no holes and numbers grow with them, so the first entry after a number is found by halving.

use std::sync::{Arc, LazyLock};

use hapax_core::entry::{EntryKind, SharedEntry};
use hapax_core::event::Identity;
use hapax_core::facts::Head;
use hapax_core::view::AttemptView;

use super::PostgresReader;
use super::walk::{Failure, chunk, walk};
use crate::postgres::load::ask::{ENTRIES, NO_INDEX};
use crate::postgres::rows::{self, can_be, own};
use crate::seam::{AttemptFilter, Page, SCAN_MAX, StoreError, StreamKey};
use crate::state::scan;

fn attempts(of: &str, condition: &str) -> String {
    format!("SELECT {} FROM attempts t WHERE {of} AND {condition} ORDER BY t.number LIMIT", rows::attempt::COLUMNS)
}

/// Of a stream, by its index.
const STREAM: &str = "t.tenant = $1 AND t.stream = $2 AND t.partition = 0";

static AFTER: LazyLock<String> = LazyLock::new(|| {
    format!("SELECT {} FROM blocks t WHERE {STREAM} AND t.last > $3 ORDER BY t.last LIMIT $4", rows::entry::COLUMNS)
});

static ATTEMPTS_AFTER: LazyLock<String> =
    LazyLock::new(|| format!("{} $5", attempts(STREAM, "t.number > $3 AND t.number <= $4")));

static ATTEMPTS_OF_ID: LazyLock<String> =
    LazyLock::new(|| format!("{} $6", attempts(NO_INDEX, "t.id = $5 AND t.number > $3 AND t.number <= $4")));

/// The last offset of the blocks of which no entry has a greater number; 0 if there is none. Each step halves what is left.
const LAST_UP_TO: &str = r#"
WITH RECURSIVE search (low, high) AS (
  SELECT 0::int8, $4::int8
  UNION ALL
  SELECT CASE WHEN b.attempt <= $3 THEN b.last ELSE s.low END, CASE WHEN b.attempt <= $3 THEN s.high ELSE b.first - 1 END
  FROM search s CROSS JOIN LATERAL (
    SELECT t.last, t.first, t.attempt FROM blocks t
    WHERE t.tenant = $1 AND t.stream = $2 AND t.partition = 0 AND t.last >= s.low + (s.high - s.low + 1) / 2
    ORDER BY t.last LIMIT 1) b
  WHERE s.low < s.high
)
SELECT low FROM search WHERE low >= high"#;

/// Blocks that are read at once, at most.
const BLOCKS_MAX: usize = 1_000;
/// Entries of a full block.
const USUAL: usize = 16;

impl PostgresReader {
    pub(super) fn find_entries(
        &self,
        stream: &StreamKey,
        after: u64,
        limit: usize,
    ) -> Result<Vec<SharedEntry>, StoreError> {
        let (tenant, name) = (&*stream.tenant, &*stream.stream);
        let (mut found, mut last) = (Vec::new(), after);
        // Blocks are full where many events came together, and hold one where they came one by one.
        let mut blocks = limit.div_ceil(USUAL).clamp(1, BLOCKS_MAX);
        while found.len() < limit {
            let rows = self.shared.query(&AFTER, &[&tenant, &name, &own(last), &own(blocks as u64)])?;
            for row in &rows {
                found.extend(rows::entry::read(row, last, limit - found.len())?);
                last = rows::entry::last(row)?;
            }
            if rows.len() < blocks {
                break;
            }
            blocks = (blocks * 2).min(BLOCKS_MAX);
        }
        Ok(found)
    }

    pub(super) fn find_entry(
        &self,
        stream: &StreamKey,
        identity: &Identity,
    ) -> Result<Option<SharedEntry>, StoreError> {
        let found = self.looked_up(stream, identity)?.into_iter().filter(|entry| entry.identity == *identity);
        // An id that was forgotten may have been used again.
        Ok(found.max_by_key(|entry| entry.offset))
    }

    /// The entries that are found by an identity, and perhaps others.
    fn looked_up(&self, stream: &StreamKey, identity: &Identity) -> Result<Vec<SharedEntry>, StoreError> {
        let lookups = [rows::entry::Mask::of(stream).lookup(identity)];
        let found = self.shared.query(&ENTRIES, &[&&*stream.tenant, &&*stream.stream, &&lookups[..]])?;
        let mut entries = Vec::new();
        for row in &found {
            entries.push(rows::entry::read_found(row)?);
        }
        Ok(entries)
    }

    pub(super) fn find_entries_with_id(&self, stream: &StreamKey, id: &str) -> Result<Vec<SharedEntry>, StoreError> {
        let mut found = self.with_id(stream, id)?;
        // The newest of an identity stays.
        found.sort_by_key(|entry| (entry.identity, std::cmp::Reverse(entry.offset)));
        found.dedup_by_key(|entry| entry.identity);
        found.sort_by_key(|entry| entry.offset);
        Ok(found)
    }

    /// All entries with an id that is an event's, in any order.
    fn with_id(&self, stream: &StreamKey, id: &str) -> Result<Vec<SharedEntry>, StoreError> {
        let mut found = self.looked_up(stream, &Identity::of(None, id))?;
        found.retain(|entry| entry.kind == EntryKind::Event && *entry.id == *id);
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
                    |entry: &SharedEntry| entry.offset,
                    // A chunk is small, so its size is one.
                    |last, count| self.find_entries(stream, last.copied().unwrap_or(start), count as usize),
                );
                let accepted = accepted.take_while(|entry| entry.offset <= head.offset);
                let accepted = accepted.filter(|entry| entry.kind == EntryKind::Event && entry.attempt > after);
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

    fn last_up_to(&self, stream: &StreamKey, number: u64, head: &Head) -> Result<u64, StoreError> {
        if number == 0 {
            return Ok(0);
        }
        let (tenant, name, last) = (&*stream.tenant, &*stream.stream, own(head.offset));
        let found = self.shared.query_opt(LAST_UP_TO, &[&tenant, &name, &own(number), &last])?;
        let holes =
            || StoreError::Corrupt(format!("table blocks: offsets of {} up to {last} have holes", stream.stream));
        rows::number(&found.ok_or_else(holes)?, 0, "blocks").map(i64::unsigned_abs)
    }
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
