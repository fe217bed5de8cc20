//! `hapax backup` and `hapax restore`: a copy of the log, checked frame by frame and proven entry by entry.
//!
//! Only the log is copied: the index is derived. A copy has its name only once it is durable and proven.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use hapax_store::embedded::disk::RealDisk;
use hapax_store::embedded::log;
use hapax_store::embedded::verify::{bytes, verify};

use crate::outcome::Outcome;
use crate::place::Place;
use crate::progress::Progress;
use crate::say;

/// Copy a ledger while its server runs, and prove the copy.
///
/// The copy holds everything that was acknowledged before the command began. It is itself a store: `hapax serve --store
/// COPY` runs on it.
///
/// Example: hapax backup --store hapax-data --to /backup/2026-11-15
#[derive(Args)]
pub(crate) struct Backup {
    /// The directory of the store.
    #[arg(long, value_name = "DIR", env = "HAPAX_STORE", default_value = "./hapax-data", hide_env_values = true)]
    store: PathBuf,
    /// Where the copy goes: a directory that is not there yet.
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
}

/// Bring a backup back as a store, and prove it.
///
/// Example: hapax restore --from /backup/2026-11-15 --store hapax-data
#[derive(Args)]
pub(crate) struct Restore {
    /// The backup.
    #[arg(long, value_name = "DIR")]
    from: PathBuf,
    /// Where the store goes: a directory that is not there yet, or is empty.
    #[arg(long, value_name = "DIR", env = "HAPAX_STORE", default_value = "./hapax-data", hide_env_values = true)]
    store: PathBuf,
}

/// Whoever keeps a ledger in a database backs the database up.
const THE_DATABASES_OWN: &str = "a ledger in a database is backed up and brought back with the database's own means \
                                 (pg_dump of its schema, or a base backup with an archive of its log), and `hapax verify` proves the \
                                 result";

impl Backup {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        copied(
            &Place::of(&self.store)?.directory(THE_DATABASES_OWN)?,
            &Place::of(&self.to)?.directory(THE_DATABASES_OWN)?,
        )
    }
}

impl Restore {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let (from, to) = (Place::of(&self.from)?, Place::of(&self.store)?);
        copied(&from.directory(THE_DATABASES_OWN)?, &to.directory(THE_DATABASES_OWN)?)
    }
}

fn copied(from: &Path, to: &Path) -> anyhow::Result<Outcome> {
    if !from.join("log").is_dir() {
        bail!("{} holds no ledger", from.display());
    }
    if to.read_dir().is_ok_and(|mut names| names.next().is_some()) || to.is_file() {
        bail!("{} is there already; nothing is overwritten", to.display());
    }
    let to = std::path::absolute(to)?;
    let parent = to.parent().ok_or_else(|| anyhow!("{} is no place for a copy", to.display()))?;
    std::fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
    let building = tempfile::Builder::new().prefix(".hapax-copy-").tempdir_in(parent);
    let building = building.with_context(|| format!("cannot write in {}", parent.display()))?;
    let disk = |place: &Path| RealDisk::at(place).with_context(|| format!("cannot use {}", place.display()));
    let (source, target) = (disk(from)?, disk(building.path())?);

    let progress = Progress::bytes(bytes(&source)?, "copied");
    let copied = log::copy(&source, &target, |behind| progress.at(behind));
    let copied = copied.map_err(|error| anyhow!("{}: {error}", from.display()))?;
    progress.done();
    let progress = Progress::bytes(bytes(&target)?, "proven");
    let proof = verify(&target, &BTreeMap::new(), |behind| progress.at(behind))?;
    progress.done();
    if !proof.findings.is_empty() {
        proof.findings.iter().for_each(|finding| say::line(format_args!("WRONG  {finding}")));
        say::line("the ledger does not hold, and neither would its copy: nothing was kept");
        return Ok(Outcome::Failed);
    }
    if to.is_dir() {
        std::fs::remove_dir(&to).with_context(|| format!("cannot replace {}", to.display()))?;
    }
    let place = building.keep();
    std::fs::rename(&place, &to).with_context(|| format!("cannot name the copy {}", to.display()))?;
    std::fs::File::open(parent).and_then(|parent| parent.sync_all())?;
    let (entries, frames) = (proof.entries, copied.last);
    say::line(format_args!("{entries} entries in {frames} commits are in {}, and the chain holds", to.display()));
    Ok(Outcome::Fine)
}
