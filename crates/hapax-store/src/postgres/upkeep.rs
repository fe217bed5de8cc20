//! What is due beside the turns: deleting what has expired, a little at a time.
//!
//! | what | for how long |
//! |---|---|
//! | an attempt, a number that came after all | the contract's `audit.keep` |
//! | a nonce | the contract's `nonce.keep`, and [`SLACK`] |
//! | an answered request | 24 hours, and [`SLACK`] |
//! | a turn's own row | 24 hours |
//!
//! What holds: the contract in force decides, also about what an earlier one judged. Entries never expire. A step looks at
//! the oldest row of some streams, and deletes at most [`STEP_MAX`] rows of the first that is due; every stream has its step
//! before any has its second, so one with much to delete holds up no other. Any number of servers may do this at once: what one of
//! them deletes the others pass over. After a round that found nothing there is a pause, so idle upkeep costs nothing.

mod tables;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use hapax_core::contract::Contract;
use hapax_core::duration::Bound;
use hapax_core::time::Time;

use super::known::{CONTRACTS, Shared};
use super::rows;
use crate::seam::{StoreError, StreamKey};
use tables::{Expires, Oldest, TABLES, Table};

/// A clock that steps back by less than this changes no verdict: what a rule may still look at is still there.
const SLACK: i64 = 3_600 * 1_000_000_000;

/// How long an answered request and a turn's own row are remembered.
const DAY: i64 = 24 * 3_600 * 1_000_000_000;

/// Rows that are deleted at once, at most: few enough that nobody waits for it.
const STEP_MAX: i64 = 1_000;

/// Streams that one step looks at, at most.
const STREAMS_AT_ONCE: i64 = 100;

/// After a round that found nothing, nothing is looked for until so much later.
const PAUSE: i64 = 10 * 1_000_000_000;

/// Deletes what has expired, some of it at a time. A clone goes on where the other is.
#[derive(Clone, Debug)]
pub struct Upkeep {
    shared: Arc<Shared>,
    round: Arc<Mutex<Round>>,
}

/// Where the round through all tables and streams is.
#[derive(Debug, Default)]
struct Round {
    /// The place of the table.
    table: usize,
    /// The tenant and stream that were looked at last.
    after: (Arc<str>, Arc<str>),
    /// Has this round deleted anything?
    found: bool,
    /// When a round found nothing.
    idle_since: Option<Time>,
    /// How long each stream keeps things, by the version of its contract.
    keeps: HashMap<StreamKey, (u32, Keeps)>,
}

/// What a contract says about keeping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Keeps {
    audit: Bound,
    nonce: Bound,
}

impl Keeps {
    fn of(contract: &Contract) -> Self {
        Self { audit: contract.audit_keep, nonce: contract.nonce.keep }
    }
}

impl Upkeep {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, round: Arc::default() }
    }

    /// Does some of what is due, by the database's clock; the caller's says only when to look again. Answers whether there may
    /// be more.
    pub fn step(&self, now: Time) -> Result<bool, StoreError> {
        // A round that broke off is a place in the tables like any other.
        let mut round = self.round.lock().unwrap_or_else(PoisonError::into_inner);
        if round.idle_since.is_some_and(|since| since <= now && now.since(since) < i128::from(PAUSE)) {
            return Ok(false);
        }
        let own = now;
        // A server whose clock is ahead must not forget what a rule of the others still looks at.
        let now = self.shared.now(own)?;
        round.idle_since = None;
        let Some(table) = TABLES.get(round.table) else { return Ok(self.end(&mut round, own)) };
        let (tenant, stream) = (&*round.after.0, &*round.after.1);
        let oldest = self.shared.query(&table.oldest, &[&tenant, &stream, &STREAMS_AT_ONCE])?;
        let oldest = oldest.iter().map(Oldest::read).collect::<Result<Vec<_>, _>>()?;
        for row in &oldest {
            let before = self.due(&mut round, table, row, now)?;
            let deleted = before.map_or(Ok(false), |before| self.delete(table, &row.key, before))?;
            round.after = (Arc::clone(&row.key.tenant), Arc::clone(&row.key.stream));
            if deleted {
                round.found = true;
                return Ok(true);
            }
        }
        // A chunk that is not full is the last of its table.
        if i64::try_from(oldest.len()).is_ok_and(|count| count < STREAMS_AT_ONCE) {
            round.table += 1;
            round.after = Default::default();
        }
        Ok(round.table < TABLES.len() || self.end(&mut round, own))
    }

    /// Ends a round. If it has found something, there may be more of the same.
    fn end(&self, round: &mut Round, now: Time) -> bool {
        let found = std::mem::take(&mut round.found);
        (round.table, round.after) = Default::default();
        round.idle_since = (!found).then_some(now);
        found
    }

    /// Before when rows of a stream have expired, if its oldest has.
    fn due(&self, round: &mut Round, table: &Table, row: &Oldest, now: Time) -> Result<Option<i64>, StoreError> {
        let keep = match table.expires {
            Expires::Audit => self.keeps(round, row)?.and_then(|keeps| nanos(keeps.audit)),
            Expires::Nonce => {
                self.keeps(round, row)?.and_then(|keeps| nanos(keeps.nonce)).map(|keep| keep.saturating_add(SLACK))
            }
            Expires::Request => Some(DAY + SLACK),
            Expires::Turn => Some(DAY),
        };
        let before = keep.map(|keep| now.nanos().saturating_sub(keep));
        Ok(before.filter(|before| row.at < *before))
    }

    /// What the contract in force says; nothing if there is none, and then nothing expires.
    fn keeps(&self, round: &mut Round, row: &Oldest) -> Result<Option<Keeps>, StoreError> {
        let Some(version) = row.version else { return Ok(None) };
        if let Some((_, keeps)) = round.keeps.get(&row.key).filter(|(known, _)| *known == version) {
            return Ok(Some(*keeps));
        }
        let found = self.shared.query(&CONTRACTS, &[&&*row.key.tenant, &&*row.key.stream])?;
        for row_of in &found {
            let (found, _) = rows::contract::read(row_of)?;
            if found.number == version {
                let keeps = Keeps::of(&found.contract);
                round.keeps.insert(row.key.clone(), (version, keeps));
                return Ok(Some(keeps));
            }
        }
        Ok(None)
    }

    /// Deletes some. Were there any?
    fn delete(&self, table: &'static Table, key: &StreamKey, before: i64) -> Result<bool, StoreError> {
        let values = (&*key.tenant, &*key.stream);
        Ok(!self.shared.query(&table.delete, &[&values.0, &values.1, &before, &STEP_MAX])?.is_empty())
    }
}

fn nanos(keep: Bound) -> Option<i64> {
    keep.span().map(hapax_core::duration::Span::nanos)
}
