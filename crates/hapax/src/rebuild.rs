//! `hapax rebuild`: makes the index anew from the log.

use std::path::PathBuf;

use anyhow::{Context as _, anyhow, bail};
use clap::Args;

use crate::outcome::Outcome;
use crate::say;
use crate::serve::open;

/// Delete the index and build it again from the log, which is the truth. The server must not run.
///
/// Example: hapax rebuild --store hapax-data
#[derive(Args)]
pub(crate) struct Rebuild {
    /// The directory of the store.
    #[arg(long, value_name = "DIR", env = "HAPAX_STORE", default_value = "./hapax-data")]
    store: PathBuf,
}

impl Rebuild {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        if !self.store.join("log").is_dir() {
            bail!("{} holds no ledger", self.store.display());
        }
        // Opening takes the store for this process alone, so that no server's index is deleted under it.
        let store = open(&self.store)?;
        store.close().map_err(|error| anyhow!("the store did not close: {error}"))?;
        let index = self.store.join("index");
        if index.is_dir() {
            std::fs::remove_dir_all(&index).with_context(|| format!("cannot delete {}", index.display()))?;
        }
        let store = open(&self.store)?;
        store.close().map_err(|error| anyhow!("the store did not close: {error}"))?;
        say::line("the index is built again");
        Ok(Outcome::Fine)
    }
}
