//! Keys in a store, without a server: the first one, and those of other tenants.

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
use hapax_store::postgres::Postgres;
use hapax_store::seam::{Key, Read, Store, StoreError};
use hapax_store::turn::{Ask, Request, turn};
use serde_json::Value;

use crate::place::{self, Place};
use crate::{keys, say, serve};

/// The keys of a store.
pub(crate) enum KeyStore {
    /// In a directory that no server has open.
    Directory(Box<Embedded<RealDisk>>),
    /// In a database, also beside its servers.
    Database(Box<Postgres>),
}

impl KeyStore {
    /// Opens the store, or makes one there.
    pub(crate) fn open(written: &Path, accept_unsafe: bool) -> anyhow::Result<Self> {
        match Place::of(written)? {
            Place::Database(address) => Ok(Self::Database(Box::new(place::open(&address, accept_unsafe)?))),
            place @ (Place::Memory | Place::Directory(_)) => {
                Ok(Self::Directory(Box::new(serve::open(&place.directory("")?)?)))
            }
        }
    }

    /// Makes a key and shows it once.
    pub(crate) fn create(self, wish: &Value) -> anyhow::Result<()> {
        let made = |secret: String, id: Arc<str>| {
            say::line(secret);
            eprintln!("This is key {id}. It is shown once: keep it, and use it as HAPAX_KEY.");
        };
        // It is shown only once it is kept.
        match self {
            Self::Directory(store) => {
                let mut keys = Keys(*store);
                let (secret, id) = keys.create(wish)?;
                keys.0.close().map_err(said)?;
                made(secret, id);
            }
            Self::Database(store) => {
                let (secret, id) = Keys(*store).create(wish)?;
                made(secret, id);
            }
        }
        Ok(())
    }

    /// Lists every tenant's keys.
    pub(crate) fn list(self) -> anyhow::Result<()> {
        let all = match self {
            Self::Directory(store) => {
                let keys = Keys(*store);
                let all = keys.list()?;
                keys.0.close().map_err(said)?;
                all
            }
            Self::Database(store) => Keys(*store).list()?,
        };
        let shown: Vec<Value> = all.iter().map(|key| serde_json::to_value(key).unwrap_or_default()).collect();
        keys::print(&shown);
        Ok(())
    }

    /// Ends a key.
    pub(crate) fn revoke(self, id: &str) -> anyhow::Result<()> {
        match self {
            Self::Directory(store) => {
                let mut keys = Keys(*store);
                keys.revoke(id)?;
                keys.0.close().map_err(said)
            }
            Self::Database(store) => Keys(*store).revoke(id),
        }
    }
}

/// The same, whatever keeps them.
struct Keys<S>(S);

impl<S: Store> Keys<S> {
    fn create(&mut self, wish: &Value) -> anyhow::Result<(String, Arc<str>)> {
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
        Ok((secret, id))
    }

    fn list(&self) -> anyhow::Result<Vec<Key>> {
        let mut all: Vec<Key> = Vec::new();
        for tenant in self.0.reader().tenants().map_err(said)? {
            all.extend(self.0.reader().keys(&tenant).map_err(said)?);
        }
        Ok(all)
    }

    fn revoke(&mut self, id: &str) -> anyhow::Result<()> {
        for tenant in self.0.reader().tenants().map_err(said)? {
            let keys = self.0.reader().keys(&tenant).map_err(said)?;
            if keys.iter().any(|key| *key.id == *id) {
                return self.ask(Clock::default().now(), Ask::RevokeKey { tenant, id: Arc::from(id) });
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
