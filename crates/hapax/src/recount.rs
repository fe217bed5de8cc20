//! `hapax recount`: folds the ledger again and compares with every counter.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{anyhow, bail};
use clap::Args;
use hapax_core::counter::Recount as Fold;
use hapax_store::seam::{Read, Store, StoreError, StreamKey};
use serde_json::json;

use crate::outcome::Outcome;
use crate::progress::Progress;
use crate::remote::Output;
use crate::say;
use crate::serve::open;

/// Prove that every counter is what the ledger's entries add up to. The server must not run.
///
/// Example: hapax recount --store hapax-data
#[derive(Args)]
pub(crate) struct Recount {
    /// The directory of the store.
    #[arg(long, value_name = "DIR", env = "HAPAX_STORE", default_value = "./hapax-data")]
    store: PathBuf,
    /// How the result is shown.
    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    output: Output,
}

/// How many entries are read at once.
const PAGE: usize = 1_000;

impl Recount {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        if !self.store.join("log").is_dir() {
            bail!("{} holds no ledger", self.store.display());
        }
        let store = open(&self.store)?;
        let wrong = fold_all(store.reader(), self.output == Output::Json).map_err(|error| anyhow!("{error}"))?;
        store.close().map_err(|error| anyhow!("the store did not close: {error}"))?;
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
    let versions = reader.versions(stream)?;
    let progress = Progress::count(reader.head(stream)?.offset, "entries");
    let mut recount = Fold::default();
    let mut after = 0;
    loop {
        let entries = reader.entries(stream, after, PAGE)?;
        let Some(last) = entries.last() else { break };
        after = last.offset;
        for entry in &entries {
            if let Some(version) = versions.iter().find(|version| version.number == entry.contract) {
                recount.add(entry, version);
            }
        }
        progress.at(after);
    }
    progress.done();
    let stored = reader.counters(stream, &Default::default(), None, usize::MAX)?.items;
    let adjustments = |key: &hapax_core::counter::CounterKey| {
        // They come in the order of their keys.
        let place = stored.binary_search_by(|(known, _)| known.cmp(key));
        place.map(|place| stored[place].1.adjustments.clone()).unwrap_or_default()
    };
    let counters = stored.iter().map(|(key, record)| (key, &record.counter));
    let differences = recount.differences(counters, adjustments);
    let (tenant, name, count) = (&stream.tenant, &stream.stream, stored.len());
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
