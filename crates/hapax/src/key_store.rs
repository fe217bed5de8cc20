//! Keys in a store that no server has open: the first one, and those of other tenants.

use std::path::Path;
use std::sync::Arc;

use anyhow::{anyhow, bail};
use hapax_core::access::{Access, Patterns, Rates, Role};
use hapax_core::claim::Jitter;
use hapax_core::contract::is_name;
use hapax_core::entry::Caller;
use hapax_core::time::Time;
use hapax_server::clock::{Clock, random};
use hapax_server::keys::make;
use hapax_server::writer::DEFAULT_TENANT;
use hapax_store::embedded::Embedded;
use hapax_store::embedded::disk::RealDisk;
use hapax_store::seam::{Key, Read, Store, StoreError};
use hapax_store::turn::{Ask, Request, turn};
use serde_json::Value;

use crate::{keys, say, serve};

/// The keys of a store.
pub(crate) struct KeyStore(Embedded<RealDisk>);

impl KeyStore {
    /// Opens the store, or makes one there.
    pub(crate) fn open(place: &Path) -> anyhow::Result<Self> {
        serve::open(place).map(Self)
    }

    /// Makes a key and shows it once.
    pub(crate) fn create(mut self, wish: &Value) -> anyhow::Result<()> {
        let tenant = wish["tenant"].as_str().unwrap_or(DEFAULT_TENANT);
        if !is_name(tenant) {
            bail!("{tenant:?} is no name for a tenant");
        }
        let role = wish["role"].as_str().and_then(Role::named).ok_or_else(|| anyhow!("a key needs a role"))?;
        let patterns = |name: &str| {
            let list = wish[name].as_array().map(|list| Patterns::new(list.iter().filter_map(Value::as_str)));
            list.unwrap_or_default()
        };
        let access = Access { role, streams: patterns("streams"), lanes: patterns("lanes") };
        let rate = |name: &str| wish[name].as_u64().and_then(|rate| u32::try_from(rate).ok());
        let rates = Rates { requests: rate("rate_requests"), events: rate("rate_events") };
        let tenant: Arc<str> = Arc::from(tenant);
        self.0.tenant(&tenant, random()).map_err(said)?;
        let now = Clock::default().now();
        let (secret, key) = make(tenant, access, rates, wish["note"].as_str().map(Arc::from), now);
        let id = Arc::clone(&key.id);
        self.ask(now, Ask::PutKey(Box::new(key)))?;
        self.0.close().map_err(said)?;
        say::line(secret);
        eprintln!("This is key {id}. It is shown once: keep it, and use it as HAPAX_KEY.");
        Ok(())
    }

    /// Lists every tenant's keys.
    pub(crate) fn list(self) -> anyhow::Result<()> {
        let mut all: Vec<Key> = Vec::new();
        for tenant in self.0.reader().tenants().map_err(said)? {
            all.extend(self.0.reader().keys(&tenant).map_err(said)?);
        }
        self.0.close().map_err(said)?;
        let shown: Vec<Value> = all.iter().map(|key| serde_json::to_value(key).unwrap_or_default()).collect();
        keys::print(&shown);
        Ok(())
    }

    /// Ends a key.
    pub(crate) fn revoke(mut self, id: &str) -> anyhow::Result<()> {
        for tenant in self.0.reader().tenants().map_err(said)? {
            let keys = self.0.reader().keys(&tenant).map_err(said)?;
            if keys.iter().any(|key| *key.id == *id) {
                self.ask(Clock::default().now(), Ask::RevokeKey { tenant, id: Arc::from(id) })?;
                return self.0.close().map_err(said);
            }
        }
        bail!("there is no key {id}")
    }

    fn ask(&mut self, now: Time, ask: Ask) -> anyhow::Result<()> {
        let caller = Caller::default();
        let request = Request { now, spare: 0, jitter: Jitter::NONE, caller, id: None, ask };
        let answers = turn(&mut self.0, &mut [request]).map_err(said)?;
        match answers.first() {
            Some(answer) if answer.problem => {
                let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
                bail!("{}", body["detail"].as_str().unwrap_or("the key was refused"))
            }
            _ => Ok(()),
        }
    }
}

fn said(error: StoreError) -> anyhow::Error {
    anyhow!("{error}")
}
