//! `hapax recount`: folds the ledger again and compares with every counter.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{anyhow, bail};
use clap::Args;
use hapax_core::contract::Version;
use hapax_core::counter::{CounterKey, Difference, Recount as Fold};
use hapax_store::seam::{CounterFilter, CounterRecord, Read, Store, StoreError, StreamKey};
use serde_json::json;

use crate::outcome::Outcome;
use crate::place::{self, Place};
use crate::progress::Progress;
use crate::remote::Output;
use crate::say;
use crate::serve::open;

/// Prove that every counter is what the ledger's entries add up to.
///
/// On a directory the server must not run. On a database it may run beside servers: what they write meanwhile is
/// followed.
///
/// Example: hapax recount --store hapax-data
#[derive(Args)]
pub(crate) struct Recount {
    /// The directory of the store, or the address of its database.
    #[arg(long, value_name = "DIR", env = "HAPAX_STORE", default_value = "./hapax-data", hide_env_values = true)]
    store: PathBuf,
    /// How the result is shown.
    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    output: Output,
}

/// How many entries are read at once.
const PAGE: usize = 1_000;

/// How often a stream that is written to is looked at again before its counters count as wrong. Each time fewer counters
/// are left, so more than a few are rare.
const TRIES_MAX: usize = 1_000;

impl Recount {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let is_json = self.output == Output::Json;
        let wrong = match Place::of(&self.store)? {
            // Reading asks for no promise of durability.
            Place::Database(address) => {
                let store = place::look(&address)?;
                fold_all(store.reader(), is_json).map_err(|error| anyhow!("{}: {error}", address.shown()))?
            }
            place @ (Place::Memory | Place::Directory(_)) => {
                let directory = place.directory("")?;
                if !directory.join("log").is_dir() {
                    bail!("{} holds no ledger", directory.display());
                }
                let store = open(&directory)?;
                let wrong = fold_all(store.reader(), is_json).map_err(|error| anyhow!("{error}"))?;
                store.close().map_err(|error| anyhow!("the store did not close: {error}"))?;
                wrong
            }
        };
        Ok(if wrong == 0 { Outcome::Fine } else { Outcome::Failed })
    }
}

fn fold_all(reader: &impl Read, is_json: bool) -> Result<usize, StoreError> {
    let mut wrong = 0;
    for tenant in reader.tenants()? {
        let mut after: Arc<str> = Arc::from("");
        loop {
            let page = reader.streams(&tenant, &after, PAGE)?;
            for stream in page.items {
                let key = StreamKey { tenant: Arc::clone(&tenant), stream: Arc::clone(&stream.name) };
                wrong += fold(reader, &key, is_json)?;
            }
            match page.next {
                Some(next) => after = next,
                None => break,
            }
        }
    }
    Ok(wrong)
}

fn fold(reader: &impl Read, stream: &StreamKey, is_json: bool) -> Result<usize, StoreError> {
    let mut folding = Folding { reader, stream, recount: Fold::default(), versions: Vec::new(), after: 0 };
    folding.go_on()?;
    let mut stored = folding.stored()?;
    let count = stored.len();
    let mut differences = folding.differences(&stored);
    for _ in 0..TRIES_MAX {
        // Right are those that were right at one moment. The others are read again, at the head of then.
        if differences.is_empty() || folding.is_at_the_head()? {
            break;
        }
        folding.go_on()?;
        let suspects = folding.named(&differences, &stored);
        stored = folding.read(&suspects)?;
        differences = folding.differences(&stored);
        // An entry that cannot be folded stays wrong, and is no counter's.
        differences.retain(|it| it.counter.is_empty() || suspects.iter().any(|key| is_of(it, key)));
    }
    let (tenant, name, after) = (&stream.tenant, &stream.stream, folding.after);
    if is_json {
        let line = json!({ "tenant": tenant, "stream": name, "entries": after, "counters": count, "differences": differences });
        say::line(line);
    } else {
        for it in &differences {
            say::line(format_args!("WRONG  {tenant}/{name} {} {} {}: {}", it.counter, it.key, it.period, it.what));
        }
        let verdict = if differences.is_empty() { "all as stored" } else { "not as stored" };
        say::line(format_args!("{tenant}/{name}: {after} entries, {count} counters, {verdict}"));
    }
    Ok(differences.len())
}

/// One stream, folded as far as it was read.
struct Folding<'f, R> {
    reader: &'f R,
    stream: &'f StreamKey,
    recount: Fold,
    versions: Vec<Version>,
    after: u64,
}

type Stored = BTreeMap<CounterKey, CounterRecord>;

impl<R: Read> Folding<'_, R> {
    /// Folds what there is now and was not folded before.
    fn go_on(&mut self) -> Result<(), StoreError> {
        let head = self.reader.head(self.stream)?.offset;
        let progress = Progress::count(head, "entries");
        while self.after < head {
            let entries = self.reader.entries(self.stream, self.after, PAGE)?;
            let Some(last) = entries.last() else { break };
            // A contract stands before the first entry that it judged.
            if self.versions.last().is_none_or(|newest| newest.number < last.contract) {
                self.versions = self.reader.versions(self.stream)?;
            }
            for entry in &entries {
                if let Some(version) = self.versions.iter().find(|version| version.number == entry.contract) {
                    self.recount.add(entry, version);
                }
            }
            self.after = last.offset;
            progress.at(self.after);
        }
        progress.done();
        Ok(())
    }

    /// Has nobody written anything since?
    fn is_at_the_head(&self) -> Result<bool, StoreError> {
        Ok(self.reader.head(self.stream)?.offset == self.after)
    }

    fn stored(&self) -> Result<Stored, StoreError> {
        let mut stored = Stored::new();
        let mut after = None;
        loop {
            let page = self.reader.counters(self.stream, &CounterFilter::default(), after.as_ref(), PAGE)?;
            stored.extend(page.items);
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(stored),
            }
        }
    }

    fn read(&self, keys: &[CounterKey]) -> Result<Stored, StoreError> {
        let one = |key: &CounterKey| Ok((key.clone(), self.reader.counter(self.stream, key)?));
        keys.iter().map(one).collect()
    }

    fn differences(&self, stored: &Stored) -> Vec<Difference> {
        let adjustments = |key: &CounterKey| stored.get(key).map(|it| it.adjustments.clone()).unwrap_or_default();
        self.recount.differences(stored.iter().map(|(key, record)| (key, &record.counter)), adjustments)
    }

    /// The counters that differ.
    fn named(&self, differences: &[Difference], stored: &Stored) -> Vec<CounterKey> {
        let known: BTreeSet<&CounterKey> = stored.keys().chain(self.recount.counters.keys()).collect();
        let differs = |key: &&CounterKey| differences.iter().any(|it| is_of(it, key));
        known.into_iter().filter(differs).cloned().collect()
    }
}

fn is_of(difference: &Difference, key: &CounterKey) -> bool {
    difference.counter == *key.name && difference.key == *key.key && difference.period == key.period.to_string()
}
