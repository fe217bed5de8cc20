//! `hapax rebuild`: makes the index anew from the log.

use std::path::PathBuf;

use anyhow::{Context as _, anyhow, bail};
use clap::Args;

use crate::outcome::Outcome;
use crate::place::Place;
use crate::say;
use crate::serve::open;

/// Delete the index and build it again from the log, which is the truth. The server must not run.
///
/// It is for a store in a directory: one in a database has nothing apart that could be built again.
///
/// Example: hapax rebuild --store hapax-data
#[derive(Args)]
pub(crate) struct Rebuild {
    /// The directory of the store.
    #[arg(long, value_name = "DIR", env = "HAPAX_STORE", default_value = "./hapax-data", hide_env_values = true)]
    store: PathBuf,
}

const NOTHING_APART: &str = "in a database nothing is derived apart from the ledger, so there is nothing to build again; `hapax \
                             recount` proves its counters, and its indexes are the database's own (REINDEX)";

impl Rebuild {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let store = Place::of(&self.store)?.directory(NOTHING_APART)?;
        if !store.join("log").is_dir() {
            bail!("{} holds no ledger", store.display());
        }
        // Opening takes the store for this process alone, so that no server's index is deleted under it.
        let opened = open(&store)?;
        opened.close().map_err(|error| anyhow!("the store did not close: {error}"))?;
        let index = store.join("index");
        if index.is_dir() {
            std::fs::remove_dir_all(&index).with_context(|| format!("cannot delete {}", index.display()))?;
        }
        let opened = open(&store)?;
        opened.close().map_err(|error| anyhow!("the store did not close: {error}"))?;
        say::line("the index is built again");
        Ok(Outcome::Fine)
    }
}
