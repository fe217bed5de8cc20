//! `hapax verify`: proves a ledger entry by entry, also beside running servers.

mod reading;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use hapax_core::event::Digest;
use hapax_core::receipt::{from_hex, hex};
use hapax_store::embedded::disk::RealDisk;
use hapax_store::embedded::verify::{Proof, bytes, verify};
use hapax_store::seam::{Store as _, StreamKey};
use serde::Deserialize;

use crate::outcome::Outcome;
use crate::place::{self, Place};
use crate::progress::Progress;
use crate::remote::Output;
use crate::say;

/// Prove that nothing in a ledger was edited, removed, moved or cut off, and name every entry that was.
///
/// It reads the log alone, or the entries in a database, and may run beside servers. A ledger that was cut off at its end looks whole from inside:
/// save the heads now (--save), keep them elsewhere, and compare later (--against).
///
/// Example: hapax verify --store hapax-data --save heads.json
#[derive(Args)]
pub(crate) struct Verify {
    /// The directory of the store, or the address of its database.
    #[arg(long, value_name = "DIR", env = "HAPAX_STORE", default_value = "./hapax-data", hide_env_values = true)]
    store: PathBuf,
    /// Compare with heads that were saved before.
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Save where every stream ends, for a later comparison.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// How the result is shown.
    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    output: Output,
}

#[derive(Deserialize)]
struct Saved {
    heads: Vec<SavedHead>,
}

#[derive(Deserialize)]
struct SavedHead {
    tenant: Arc<str>,
    stream: Arc<str>,
    offset: u64,
    hash: String,
}

impl Verify {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let saved = self.saved()?;
        let place = Place::of(&self.store)?;
        let in_commits = !matches!(place, Place::Database(_));
        let proof = match place {
            // Reading asks for no promise of durability.
            Place::Database(address) => {
                let store = place::look(&address)?;
                reading::prove(store.reader(), &saved).map_err(|error| anyhow!("{}: {error}", address.shown()))?
            }
            place @ (Place::Memory | Place::Directory(_)) => in_directory(&place.directory("")?, &saved)?,
        };
        // A ledger that does not hold must not take the place of its proof.
        if let Some(file) = self.save.as_ref().filter(|_| proof.findings.is_empty()) {
            let text = serde_json::to_string_pretty(&serde_json::json!({ "heads": proof.heads }))?;
            std::fs::write(file, text + "\n").with_context(|| format!("cannot write {}", file.display()))?;
        }
        if self.output == Output::Json {
            let mut shown = serde_json::to_value(&proof)?;
            if let Some(members) = shown.as_object_mut().filter(|_| !in_commits) {
                members.remove("frames");
            }
            say::line(shown);
        } else {
            tell(&proof, in_commits);
        }
        Ok(if proof.findings.is_empty() { Outcome::Fine } else { Outcome::Failed })
    }

    fn saved(&self) -> anyhow::Result<BTreeMap<StreamKey, (u64, Digest)>> {
        let Some(file) = &self.against else { return Ok(BTreeMap::new()) };
        let text = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let saved: Saved = serde_json::from_slice(&text)
            .with_context(|| format!("{} is not what `hapax verify --save` writes", file.display()))?;
        let head = |head: SavedHead| {
            let hash =
                from_hex(&head.hash).ok_or_else(|| anyhow!("{:?} in {} is no hash", head.hash, file.display()))?;
            Ok((StreamKey { tenant: head.tenant, stream: head.stream }, (head.offset, hash)))
        };
        saved.heads.into_iter().map(head).collect()
    }
}

fn in_directory(store: &Path, saved: &BTreeMap<StreamKey, (u64, Digest)>) -> anyhow::Result<Proof> {
    if !store.join("log").is_dir() {
        bail!("{} holds no ledger", store.display());
    }
    let cannot = || format!("cannot read {}", store.display());
    let disk = RealDisk::at(store).with_context(cannot)?;
    let progress = Progress::bytes(bytes(&disk).with_context(cannot)?, "read");
    let proof = verify(&disk, saved, |behind| progress.at(behind)).with_context(cannot)?;
    progress.done();
    Ok(proof)
}

fn tell(proof: &Proof, in_commits: bool) {
    for finding in &proof.findings {
        say::line(format_args!("WRONG  {finding}"));
    }
    for head in &proof.heads {
        let (tenant, stream, offset) = (&head.tenant, &head.stream, head.offset);
        say::line(format_args!("{tenant}/{stream} ends at {offset}, {}", hex(&head.hash)));
    }
    // A database does not say what was committed together.
    let commits = if in_commits { format!(" in {} commits", proof.frames) } else { String::new() };
    let (entries, wrong) = (proof.entries, proof.findings.len());
    match wrong {
        0 => say::line(format_args!("{entries} entries{commits}: the chain holds")),
        1 => say::line(format_args!("{entries} entries{commits}: 1 thing is wrong")),
        _ => say::line(format_args!("{entries} entries{commits}: {wrong} things are wrong")),
    }
}
