//! Folding the ledger again: the proof that the counters are what the entries say, and nothing else.
//!
//! Each entry is read under the contract that judged it, and its class is taken from it, never decided again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;

use super::{Adjustment, Class, Counter, CounterKey, Last};
use crate::amount::Amount;
use crate::contract::Version;
use crate::entry::{Entry, EntryKind};
use crate::event::{Counted, Door, Event, read};
use crate::json::{self, Kind};
use crate::period::PeriodStart;
use crate::time::Time;

/// The counters of a stream, as its entries add up.
#[derive(Debug, Default)]
pub struct Recount {
    /// The counters.
    pub counters: BTreeMap<CounterKey, Counter>,
    /// Their adjustments, in the order of the ledger.
    pub adjustments: BTreeMap<CounterKey, Vec<Adjustment>>,
    /// The periods that are closed for every key.
    pub closed: BTreeSet<(Arc<str>, PeriodStart)>,
    unreadable: Vec<u64>,
}

/// A counter that is not what the ledger says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The counter's name; of an entry that cannot be read, none.
    pub counter: String,
    /// Its key, as a JSON array.
    pub key: String,
    /// Its period.
    pub period: String,
    /// What differs.
    pub what: String,
}

/// What an entry counted for in a counter: its key, its time and its amount; nothing if it did not count there.
pub fn counted_in(entry: &Entry, version: &Version, name: &str) -> Option<(Arc<str>, Time, Amount)> {
    if entry.kind != EntryKind::Event || !entry.classes.iter().any(|(counter, _)| **counter == *name) {
        return None;
    }
    let event = read_again(entry, version);
    let is_it = |counted: &&Counted| version.contract.counters[counted.counter].name == name;
    let counted = event.counted.iter().find(is_it)?;
    Some((Arc::clone(&counted.key), entry.observed_at.unwrap_or(entry.at), *counted.amount.as_ref().ok()?))
}

/// Neither salt nor key matter: the id stands on the entry, and its lane was covered when it came.
fn read_again(entry: &Entry, version: &Version) -> Event {
    let door = Door { salt: &[0; 32], now: entry.at, spare: 0, event_bytes_max: usize::MAX, covers: &|_| true };
    read(Arc::clone(&entry.document), version, &door)
}

impl Recount {
    /// The next entry, with the contract that judged it.
    pub fn add(&mut self, entry: &Entry, version: &Version) {
        let folded = match entry.kind {
            EntryKind::Event => self.event(entry, version),
            EntryKind::Correction | EntryKind::Close => self.manual(entry, version),
        };
        if folded.is_none() {
            self.unreadable.push(entry.offset);
        }
    }

    fn event(&mut self, entry: &Entry, version: &Version) -> Option<()> {
        if entry.classes.is_empty() {
            return Some(());
        }
        let event = read_again(entry, version);
        let ts = entry.observed_at.unwrap_or(entry.at);
        for (counted, (name, class)) in event.counted.iter().zip(&entry.classes) {
            let rules = &version.contract.counters[counted.counter];
            let amount = counted.amount.as_ref().ok().filter(|_| rules.name == **name)?;
            let key = CounterKey { name: Arc::clone(name), key: Arc::clone(&counted.key), period: rules.period.of(ts) };
            let one = Last { ts, id: Arc::clone(&entry.id), amount: *amount };
            let counter = self.counters.entry(key.clone()).or_default();
            *counter = counter.with(*class, &one, entry.at)?;
            if *class != Class::Folded {
                self.adjust(key, entry, *amount, class.name());
            }
        }
        (event.counted.len() == entry.classes.len()).then_some(())
    }

    fn manual(&mut self, entry: &Entry, version: &Version) -> Option<()> {
        let document = json::parse(&entry.document).ok()?;
        let root = document.root();
        let name = root.get("counter")?.as_str()?;
        let rules = version.contract.counters.iter().find(|rules| rules.name == name)?;
        let period = rules.period.parse(&root.get("period")?.as_str()?)?;
        let name: Arc<str> = Arc::from(name.as_ref());
        let key = root.get("key").filter(|key| key.kind() == Kind::Array).map(|key| Arc::from(key.raw()));
        let Some(key) = key else {
            self.closed.insert((name, period));
            return Some(());
        };
        let key = CounterKey { name, key, period };
        let counter = self.counters.entry(key.clone()).or_default();
        if entry.kind == EntryKind::Close {
            counter.closed = true;
            return Some(());
        }
        let amount = Amount::parse(&root.get("amount")?.as_str()?).ok()?;
        *counter = counter.corrected_by(amount)?;
        self.adjust(key, entry, amount, &root.get("reason")?.as_str()?);
        Some(())
    }

    fn adjust(&mut self, key: CounterKey, entry: &Entry, amount: Amount, reason: &str) {
        let (id, reason) = (Arc::clone(&entry.id), Arc::from(reason));
        let adjustment = Adjustment { id, amount, reason, offset: entry.offset, at: entry.at };
        self.adjustments.entry(key).or_default().push(adjustment);
    }

    /// Compares with what a store holds.
    pub fn differences<'s>(
        &self,
        stored: impl IntoIterator<Item = (&'s CounterKey, &'s Counter)>,
        adjustments: impl Fn(&CounterKey) -> Vec<Adjustment>,
    ) -> Vec<Difference> {
        let mut differences: Vec<Difference> = self.unreadable.iter().map(|offset| unreadable(*offset)).collect();
        let mut seen = BTreeSet::new();
        for (key, counter) in stored {
            seen.insert(key);
            match self.counters.get(key) {
                None => differences.push(difference(key, "the ledger has nothing for it")),
                Some(folded) if folded != counter => {
                    differences.push(difference(key, "its values are not what the ledger adds up to"));
                }
                Some(_) if adjustments(key) != self.adjustments.get(key).cloned().unwrap_or_default() => {
                    differences.push(difference(key, "its adjustments are not those of the ledger"));
                }
                Some(_) => {}
            }
        }
        let lacking = self.counters.keys().filter(|key| !seen.contains(key));
        differences.extend(lacking.map(|key| difference(key, "it is missing")));
        differences
    }
}

fn difference(key: &CounterKey, what: &str) -> Difference {
    Difference {
        counter: key.name.to_string(),
        key: key.key.to_string(),
        period: key.period.to_string(),
        what: what.to_owned(),
    }
}

fn unreadable(offset: u64) -> Difference {
    let what = format!("entry {offset} cannot be folded under the contract that judged it");
    Difference { counter: String::new(), key: String::new(), period: String::new(), what }
}
