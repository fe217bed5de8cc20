//! `hapax migrate`: makes the tables of a ledger in Postgres, or brings them to this version.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use hapax_store::postgres::Options;
use hapax_store::postgres::migrate::migrate;

use crate::outcome::Outcome;
use crate::place::Place;
use crate::say;

/// Make the tables of a ledger in Postgres, or bring them to the version that this program needs.
///
/// `serve` does it by itself. On its own it is for an account that may make tables, so that the server's need not.
///
/// Example: hapax migrate --store postgres://owner@db.example/ledger
#[derive(Args)]
pub(crate) struct Migrate {
    /// The address of the database: postgres://user:password@host/database.
    #[arg(long, value_name = "URL", env = "HAPAX_STORE", hide_env_values = true)]
    store: PathBuf,
    /// Use a database that may lose what it has confirmed.
    #[arg(long, env = "HAPAX_DATABASE_UNSAFE")]
    database_unsafe: bool,
}

impl Migrate {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let address = match Place::of(&self.store)? {
            Place::Database(address) => address,
            place @ (Place::Memory | Place::Directory(_)) => {
                anyhow::bail!("{place} is no database; a store in a directory has no tables, and needs no migration")
            }
        };
        let options = Options { accept_unsafe: self.database_unsafe, ..Options::default() };
        let shown = address.shown();
        let done = migrate(&address, &options).map_err(|error| anyhow!("{shown}: {error}"))?;
        match (done.from, done.to) {
            (from, to) if from == to => say::line(format_args!("{shown} has version {to}; there is nothing to do")),
            (0, to) => say::line(format_args!("{shown} is made, with version {to}")),
            (from, to) => say::line(format_args!("{shown} had version {from} and has version {to} now")),
        }
        Ok(Outcome::Fine)
    }
}
