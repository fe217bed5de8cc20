//! Tenants, and streams with their contracts.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use hapax_core::contract::Version;
use hapax_core::facts::Head;
use hapax_core::time::Time;

use super::PostgresReader;
use super::walk::page;
use crate::postgres::rows::{self, stream::StreamRow};
use crate::seam::{Page, StoreError, StreamKey, StreamRecord};

static STREAM: LazyLock<String> = LazyLock::new(|| {
    let columns = rows::stream::COLUMNS;
    format!("SELECT {columns} FROM streams t WHERE t.tenant = $1 AND t.stream = $2 AND t.partition = 0")
});

static STREAMS: LazyLock<String> = LazyLock::new(|| {
    let columns = rows::stream::COLUMNS;
    format!(
        "SELECT {columns} FROM streams t WHERE t.tenant = $1 AND t.stream > $2 AND t.partition = 0 ORDER BY t.stream LIMIT $3"
    )
});

static CONTRACTS: LazyLock<String> = LazyLock::new(|| {
    let columns = rows::contract::COLUMNS;
    format!(
        "SELECT {columns}, t.stream FROM contracts t WHERE t.tenant = $1 AND t.stream = ANY($2) AND t.partition = 0 \
         ORDER BY t.stream, t.version"
    )
});

/// Where the stream stands in [`CONTRACTS`].
const STREAM_AT: usize = 4;

impl PostgresReader {
    pub(super) fn find_tenants(&self) -> Result<Vec<Arc<str>>, StoreError> {
        let sql = "SELECT t.tenant FROM tenants t WHERE t.stream = '' AND t.partition = 0 ORDER BY t.tenant";
        self.shared.query(sql, &[])?.iter().map(|row| rows::text(row, 0, "tenants")).collect()
    }

    pub(super) fn find_stream_row(&self, stream: &StreamKey) -> Result<Option<StreamRow>, StoreError> {
        let row = self.shared.query_opt(&STREAM, &[&&*stream.tenant, &&*stream.stream])?;
        row.map(|row| rows::stream::read(&row)).transpose()
    }

    pub(super) fn find_head(&self, stream: &StreamKey) -> Result<Head, StoreError> {
        Ok(self.find_stream_row(stream)?.map(|row| row.head).unwrap_or_default())
    }

    pub(super) fn find_stream(&self, stream: &StreamKey) -> Result<Option<StreamRecord>, StoreError> {
        let Some(row) = self.find_stream_row(stream)? else { return Ok(None) };
        Ok(self.records(&stream.tenant, vec![row])?.pop())
    }

    pub(super) fn find_streams(
        &self,
        tenant: &str,
        after: &str,
        limit: usize,
    ) -> Result<Page<StreamRecord, Arc<str>>, StoreError> {
        let fetch = |last: Option<&Arc<str>>, count: i64| {
            let found = self.shared.query(&STREAMS, &[&tenant, &last.map_or(after, |last| last), &count])?;
            let found = found.iter().map(rows::stream::read).collect::<Result<_, _>>()?;
            self.records(tenant, found)
        };
        page(limit, false, |record: &StreamRecord| Arc::clone(&record.name), |_| true, fetch)
    }

    /// Adds the contracts.
    fn records(&self, tenant: &str, streams: Vec<StreamRow>) -> Result<Vec<StreamRecord>, StoreError> {
        let names: Vec<&str> = streams.iter().map(|row| &*row.key.stream).collect();
        let mut versions: BTreeMap<Arc<str>, Vec<(Version, Time)>> = BTreeMap::new();
        for row in self.shared.query(&CONTRACTS, &[&tenant, &names])? {
            let name = rows::text(&row, STREAM_AT, "contracts")?;
            versions.entry(name).or_default().push(rows::contract::read(&row)?);
        }
        let record = |row: StreamRow| {
            let mut versions = versions.remove(&row.key.stream).unwrap_or_default();
            // One that was put since the row was read is not of its time.
            versions.retain(|(version, _)| version.number <= row.version);
            StreamRecord { name: row.key.stream, versions, head: row.head, lanes: row.lanes }
        };
        Ok(streams.into_iter().map(record).collect())
    }
}
