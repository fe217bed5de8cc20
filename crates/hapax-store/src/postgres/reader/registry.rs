//! Handlers, claims, dead letters, and keys.

use std::sync::{Arc, LazyLock};

use hapax_core::claim::{Claim, Handler, HandlerState};
use hapax_core::event::Identity;

use super::PostgresReader;
use super::walk::page;
use crate::postgres::rows::{self, handler::HandlerRow};
use crate::seam::{HandlerKey, Key, Named, Page, StoreError};

static HANDLER: LazyLock<String> = LazyLock::new(|| {
    let columns = rows::handler::COLUMNS;
    format!(
        "SELECT {columns} FROM handlers t WHERE t.tenant = $1 AND t.stream = '' AND t.partition = 0 AND t.handler = $2"
    )
});

static HANDLERS: LazyLock<String> = LazyLock::new(|| {
    let columns = rows::handler::COLUMNS;
    format!(
        "SELECT {columns} FROM handlers t WHERE t.tenant = $1 AND t.stream = '' AND t.partition = 0 AND t.handler > $2 \
         ORDER BY t.handler LIMIT $3"
    )
});

/// Claims of a handler, which lie with the stream that it reads.
fn claims(condition: &str) -> String {
    let columns = rows::claim::COLUMNS;
    format!(
        "SELECT {columns} FROM handlers h CROSS JOIN LATERAL (SELECT * FROM claims c WHERE c.tenant = h.tenant \
         AND c.stream = coalesce(h.reads, '') AND c.partition = 0 AND c.handler = h.handler AND {condition}) t \
         WHERE h.tenant = $1 AND h.stream = '' AND h.partition = 0 AND h.handler = $2"
    )
}

static CLAIM: LazyLock<String> = LazyLock::new(|| claims("c.identity = $3"));

/// In the order of the index: one handler is all there is, so the order of its claims is that of the rows.
static DEAD: LazyLock<String> =
    LazyLock::new(|| claims("c.state = 2 AND c.identity > $3 ORDER BY c.identity LIMIT $4"));

static KEYS: LazyLock<String> = LazyLock::new(|| {
    let columns = rows::key::COLUMNS;
    format!(
        "SELECT {columns} FROM keys t WHERE t.tenant = $1 AND t.stream = '' AND t.partition = 0 \
         ORDER BY t.created_at, t.id"
    )
});

impl PostgresReader {
    pub(super) fn find_handler(&self, key: &HandlerKey) -> Result<Option<(Handler, HandlerState)>, StoreError> {
        let row = self.shared.query_opt(&HANDLER, &[&&*key.tenant, &&*key.handler])?;
        let row = row.map(|row| rows::handler::read(&row)).transpose()?;
        Ok(row.map(|HandlerRow { handler, state, .. }| (handler, state)))
    }

    pub(super) fn find_handlers(
        &self,
        tenant: &str,
        after: &str,
        limit: usize,
    ) -> Result<Named<(Handler, HandlerState)>, StoreError> {
        let named = |HandlerRow { key, handler, state, .. }: HandlerRow| (key.handler, (handler, state));
        let fetch = |last: Option<&Arc<str>>, count: i64| {
            let found = self.shared.query(&HANDLERS, &[&tenant, &last.map_or(after, |last| last), &count])?;
            found.iter().map(|row| rows::handler::read(row).map(named)).collect()
        };
        page(limit, false, |(name, _)| Arc::clone(name), |_| true, fetch)
    }

    pub(super) fn find_claim(&self, key: &HandlerKey, identity: &Identity) -> Result<Option<Claim>, StoreError> {
        let row = self.shared.query_opt(&CLAIM, &[&&*key.tenant, &&*key.handler, &&identity.0[..]])?;
        Ok(row.map(|row| rows::claim::read(&row)).transpose()?.map(|(_, _, claim)| claim))
    }

    pub(super) fn find_dead(
        &self,
        key: &HandlerKey,
        after: Option<&Identity>,
        limit: usize,
    ) -> Result<Page<Claim, Identity>, StoreError> {
        let fetch = |last: Option<&Identity>, count: i64| {
            // Nothing is before no bytes at all.
            let after = last.or(after).map_or(&[][..], |identity| &identity.0[..]);
            let found = self.shared.query(&DEAD, &[&&*key.tenant, &&*key.handler, &after, &count])?;
            found.iter().map(|row| rows::claim::read(row).map(|(_, identity, claim)| (identity, claim))).collect()
        };
        let letters = page(limit, false, |(identity, _): &(Identity, Claim)| *identity, |_| true, fetch)?;
        Ok(Page { items: letters.items.into_iter().map(|(_, claim)| claim).collect(), next: letters.next })
    }

    pub(super) fn find_keys(&self, tenant: &str) -> Result<Vec<Key>, StoreError> {
        self.shared.query(&KEYS, &[&tenant])?.iter().map(rows::key::read).collect()
    }
}
