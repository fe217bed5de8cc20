//! The rows that were found, as what a turn knows.

use std::collections::HashMap;
use std::sync::Arc;

use hapax_core::facts::Facts;
use hapax_core::lane::{Gaps, Lane};
use hapax_core::time::Time;
use tokio_postgres::Row;

use super::super::known::read_clock;
use super::super::recent::Mark;
use super::super::rows;
use super::ask::About;
use super::{Held, read_gaps};
use crate::seam::{Loaded, StoreError, StreamKey};

/// Rows, and what they are about.
pub(super) struct Found(pub(super) Vec<(About, Vec<Row>)>);

impl Found {
    pub(super) fn rows(&self, about: About) -> impl Iterator<Item = &Row> {
        self.0.iter().filter(move |(it, _)| *it == about).flat_map(|(_, rows)| rows)
    }

    /// The mark of a stream's row, read before anything else.
    pub(super) fn seen(&self, key: &StreamKey) -> Result<Option<Mark>, StoreError> {
        for row in self.rows(About::SeenStreams) {
            if rows::stream::read(row)?.key == *key {
                return rows::stream::read_mark(row).map(Some);
            }
        }
        Ok(None)
    }

    pub(super) fn lanes(&self, place: usize) -> Result<Vec<(Arc<str>, Lane)>, StoreError> {
        self.rows(About::Lanes(place)).map(rows::lane::read).collect()
    }

    pub(super) fn gaps(&self, place: usize) -> Result<HashMap<Arc<str>, Gaps>, StoreError> {
        let mut gaps = HashMap::new();
        for (_, rows) in self.0.iter().filter(|(it, _)| *it == About::Gaps(place)) {
            read_gaps(rows, &mut gaps)?;
        }
        Ok(gaps)
    }

    /// Nonces, counters, and periods that are closed.
    pub(super) fn load_rest(&self, place: usize, facts: &mut Facts) -> Result<(), StoreError> {
        for row in self.rows(About::Nonces(place)) {
            let (nonce, used_at) = rows::nonce::read(row)?;
            facts.load_nonce(nonce, used_at);
        }
        for row in self.rows(About::Counters(place)) {
            let (key, counter) = rows::counter::read(row)?;
            facts.load_counter(key, counter);
        }
        for row in self.rows(About::Closed(place)) {
            let (name, period) = rows::closed::read(row)?;
            facts.load_closed(name, period);
        }
        Ok(())
    }

    pub(super) fn load_requests(&self, held: &mut Held, loaded: &mut Loaded) -> Result<(), StoreError> {
        for row in self.rows(About::Requests) {
            let (key, record) = rows::request::read(row)?;
            held.requests.insert(key.clone());
            loaded.requests.insert(key, record);
        }
        Ok(())
    }

    /// The database's time, if it was asked for.
    pub(super) fn now(&self) -> Result<Option<Time>, StoreError> {
        self.rows(About::Clock).next().map(read_clock).transpose()
    }
}
