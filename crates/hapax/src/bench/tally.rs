//! Counting: what was sent, what it was answered, whether that is right, and how long it took.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::clients::{Answered, Sent};
use crate::say;
use crate::table::Table;

/// What became of the events so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    sent: Sent,
    bytes: u64,
    /// What the events must be.
    expected: BTreeMap<&'static str, u64>,
    /// What they are.
    verdicts: BTreeMap<String, u64>,
    took: Vec<Duration>,
    /// What does not hold; the first few in words.
    wrong: u64,
    wrongs: Vec<String>,
    /// Requests without an answer.
    errors: Vec<String>,
}

/// So many findings are told; a run that is wrong as a whole would otherwise be told as a whole.
const TOLD_MAX: usize = 10;

#[derive(Deserialize)]
struct Receipts<'a> {
    #[serde(borrow)]
    results: Vec<Receipt<'a>>,
}

#[derive(Deserialize)]
struct Receipt<'a> {
    #[serde(borrow)]
    verdict: Cow<'a, str>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    code: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    message: Option<Cow<'a, str>>,
}

/// The receipts of several events, or that of one.
fn receipts(body: &[u8]) -> serde_json::Result<Vec<Receipt<'_>>> {
    match serde_json::from_slice(body) {
        Ok(Receipts { results }) => Ok(results),
        Err(_) => Ok(vec![serde_json::from_slice(body)?]),
    }
}

impl Tally {
    /// Looks at an answer: one receipt for each event, in its place, with the verdict that it must get.
    pub(super) fn add(&mut self, answered: &Answered) {
        let answer = match &answered.answer {
            Ok(answer) => answer,
            Err(error) => return self.errors.push(error.clone()),
        };
        self.took.push(answered.took);
        self.bytes += answered.bytes as u64;
        for (_, is_new) in &answered.events {
            *self.expected.entry(verdict_of(*is_new)).or_default() += 1;
        }
        let receipts = match receipts(answer) {
            Ok(receipts) => receipts,
            Err(error) => return self.find(format!("an answer that cannot be read: {error}")),
        };
        if receipts.len() != answered.events.len() {
            self.find(format!("{} receipts for {} events", receipts.len(), answered.events.len()));
        }
        for (receipt, (id, is_new)) in receipts.iter().zip(&answered.events) {
            *self.verdicts.entry(receipt.verdict.clone().into_owned()).or_default() += 1;
            let expected = verdict_of(*is_new);
            if receipt.id.as_deref() != Some(id) {
                self.find(format!("the receipt of {id} is for {:?}", receipt.id));
            } else if receipt.verdict != expected {
                let why: Vec<_> = [&receipt.code, &receipt.message].into_iter().flatten().map(|it| &**it).collect();
                self.find(format!("{id} is {} and should be {expected}: {}", receipt.verdict, why.join(": ")));
            }
        }
    }

    /// It is over.
    pub(super) fn sent(&mut self, sent: Sent) {
        self.sent = sent;
    }

    /// The ledger of a stream that was empty must have an entry for each new event.
    pub(super) fn compare_entries(&mut self, entries: u64) {
        let new = self.expected.get(verdict_of(true)).copied().unwrap_or(0);
        // A request without an answer may have been taken all the same.
        let right = if self.errors.is_empty() { entries == new } else { entries >= new };
        if !right {
            self.find(format!("the ledger has {entries} entries for {new} new events"));
        }
    }

    fn find(&mut self, wrong: String) {
        self.wrong += 1;
        if self.wrongs.len() < TOLD_MAX {
            self.wrongs.push(wrong);
        }
    }

    /// How many events were answered.
    pub(super) fn events(&self) -> u64 {
        self.verdicts.values().sum()
    }

    /// Has every event got its verdict, and the right one?
    pub(super) fn holds(&self) -> bool {
        self.wrong == 0 && self.errors.is_empty() && self.events() > 0
    }

    /// Says how it went.
    pub(super) fn print(&self, stream: &str, as_json: bool) {
        let figures = self.figures();
        if as_json {
            say::line(self.json(stream, &figures));
            return;
        }
        let shown = |number: f64| if number < 100.0 { format!("{number:.2}") } else { format!("{number:.0}") };
        say::line(format_args!("{} events into {stream} in {:.2} s", self.events(), self.sent.seconds));
        let mut table =
            Table::new(["EVENTS/S", "MB/S", "REQUESTS/S", "P50 MS", "P90 MS", "P99 MS", "P99.9 MS", "MAX MS"]);
        table.row(figures.map(|(_, figure)| shown(figure)));
        table.print("");
        let mut table = Table::new(["VERDICT", "EVENTS", "SENT TO BE"]);
        let verdicts: BTreeSet<&str> =
            self.expected.keys().copied().chain(self.verdicts.keys().map(|it| &**it)).collect();
        for verdict in verdicts {
            let [found, expected] = [self.verdicts.get(verdict), self.expected.get(verdict)];
            table.row([Some(verdict.to_owned()), found.map(u64::to_string), expected.map(u64::to_string)].map(or_zero));
        }
        table.print("Nothing was answered.");
        if self.sent.retries > 0 {
            say::line(format_args!("{} requests were sent again", self.sent.retries));
        }
        for error in &self.errors {
            say::line(format_args!("ERROR  {error}"));
        }
        for wrong in &self.wrongs {
            say::line(format_args!("WRONG  {wrong}"));
        }
        say::line(match (self.holds(), self.wrong) {
            (true, _) => "every event got exactly one verdict, and the right one".to_owned(),
            (false, 0) => "not every request was answered".to_owned(),
            (false, 1) => "1 thing is wrong".to_owned(),
            (false, wrong) => format!("{wrong} things are wrong"),
        });
    }

    fn figures(&self) -> [(&'static str, f64); 8] {
        let mut took = self.took.clone();
        took.sort_unstable();
        let per_second = |many: f64| if self.sent.seconds > 0.0 { many / self.sent.seconds } else { 0.0 };
        let latency = |share: f64| percentile(&took, share).as_secs_f64() * 1e3;
        [
            ("events_per_second", per_second(self.events() as f64)),
            ("megabytes_per_second", per_second(self.bytes as f64 / 1e6)),
            ("requests_per_second", per_second(took.len() as f64)),
            ("p50_ms", latency(0.5)),
            ("p90_ms", latency(0.9)),
            ("p99_ms", latency(0.99)),
            ("p999_ms", latency(0.999)),
            ("max_ms", latency(1.0)),
        ]
    }

    fn json(&self, stream: &str, figures: &[(&'static str, f64)]) -> Value {
        let rounded = |number: f64| (number * 1e3).round() / 1e3;
        let mut shown = json!({
            "stream": stream, "events": self.events(), "requests": self.took.len(), "bytes": self.bytes,
            "seconds": rounded(self.sent.seconds), "summary": self.verdicts, "expected": self.expected,
            "retries": self.sent.retries, "errors": self.errors, "wrong": self.wrong, "findings": self.wrongs,
            "holds": self.holds(),
        });
        for (name, figure) in figures {
            shown[*name] = json!(rounded(*figure));
        }
        shown
    }
}

fn or_zero(cell: Option<String>) -> String {
    cell.unwrap_or_else(|| "0".to_owned())
}

fn verdict_of(is_new: bool) -> &'static str {
    if is_new { "accepted" } else { "duplicate" }
}

/// The smallest that such a share of all do not exceed.
fn percentile(sorted: &[Duration], share: f64) -> Duration {
    let place = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(place.max(1) - 1).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests;
