//! What was measured, with all that one needs to judge it: machine, versions, arguments, and every run as it was.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use anyhow::Context as _;
use serde::Serialize;

use super::column::Column;
use super::latency::Latency;
use super::peer::Peer;
use super::tools::{Missing, Tool};
use super::{chart, tables};
use crate::clock::time_of_day;
use crate::machine::Machine;
use crate::report::Spread;
use crate::usage::Spent;

/// All runs, and where and when they ran.
#[derive(Debug, Serialize)]
pub(super) struct Results {
    pub(super) date: String,
    pub(super) machine: Machine,
    pub(super) versions: BTreeMap<&'static str, String>,
    /// Who was not measured, and why.
    pub(super) missing: BTreeMap<&'static str, String>,
    /// How the program was called.
    pub(super) arguments: Vec<String>,
    pub(super) runs: Vec<Run>,
}

/// One run.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Run {
    pub(super) peer: Peer,
    pub(super) column: Column,
    pub(super) duplicates_percent: u64,
    pub(super) round: usize,
    /// Events that were sent, repeats included.
    pub(super) sent: usize,
    /// How many of them were new; each of these was found afterwards, once.
    pub(super) new: usize,
    pub(super) events_per_second: f64,
    #[serde(flatten)]
    pub(super) spent: Spent,
    pub(super) disturbed: bool,
    pub(super) latency: Latency,
}

impl Run {
    pub(super) fn new(
        peer: Peer,
        column: Column,
        duplicates_percent: u64,
        round: usize,
        (sent, new): (usize, usize),
        spent: Spent,
        latency: Latency,
    ) -> Run {
        let events_per_second = sent as f64 / spent.seconds;
        let disturbed = spent.is_disturbed();
        Run { peer, column, duplicates_percent, round, sent, new, events_per_second, spent, disturbed, latency }
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Run { peer, column, duplicates_percent, round, events_per_second, spent, latency, .. } = self;
        let Spent { seconds, server_seconds, client_seconds, .. } = spent;
        write!(
            f,
            "{round}: {:<13} {column:>7}, {duplicates_percent:>2} % repeats: {events_per_second:>9.0} events/s in \
             {seconds:.2} s (CPU s: server {server_seconds:.2}, client {client_seconds:.2}), p50 {:.2} ms, p99 {:.2} ms",
            peer.name(),
            latency.p50_ms,
            latency.p99_ms
        )
    }
}

impl Results {
    pub(super) fn new(tools: &[Tool], missing: Vec<Missing>) -> Results {
        Results {
            date: time_of_day().to_string(),
            machine: Machine::bare(),
            versions: tools.iter().map(|tool| (tool.peer.name(), tool.version.clone())).collect(),
            missing: missing.into_iter().map(|(peer, why)| (peer.name(), why)).collect(),
            arguments: std::env::args().skip(1).collect(),
            runs: Vec::new(),
        }
    }

    /// Keeps the numbers, the tables and the chart, as far as they go.
    pub(super) fn keep(&self, folder: &Path) -> anyhow::Result<()> {
        std::fs::create_dir_all(folder)?;
        let files = [
            ("results.json", serde_json::to_string_pretty(self)? + "\n"),
            ("results.md", tables::page(self)),
            ("results.svg", chart::draw(self)),
        ];
        for (name, text) in files {
            let file = folder.join(name);
            std::fs::write(&file, text).with_context(|| format!("{} cannot be written", file.display()))?;
        }
        Ok(())
    }

    /// Of one peer in one place, something of each run; none if it did not run there.
    pub(super) fn spread(
        &self,
        peer: Peer,
        column: Column,
        duplicates_percent: u64,
        of: impl Fn(&Run) -> f64,
    ) -> Option<Spread> {
        let here =
            |run: &&Run| run.peer == peer && run.column == column && run.duplicates_percent == duplicates_percent;
        Spread::of(self.runs.iter().filter(here).map(of).collect())
    }

    /// Events a second, in the middle.
    pub(super) fn rate(&self, peer: Peer, column: Column, duplicates_percent: u64) -> Option<f64> {
        Some(self.spread(peer, column, duplicates_percent, |run| run.events_per_second)?.median)
    }

    /// In the order of the list of peers, whatever the order of the runs.
    pub(super) fn peers(&self) -> Vec<Peer> {
        Peer::ALL.into_iter().filter(|peer| self.runs.iter().any(|run| run.peer == *peer)).collect()
    }

    pub(super) fn columns(&self) -> Vec<Column> {
        different(self.runs.iter().map(|run| run.column))
    }

    pub(super) fn duplicates(&self) -> Vec<u64> {
        different(self.runs.iter().map(|run| run.duplicates_percent))
    }
}

fn different<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for one in all {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

#[cfg(test)]
pub(super) mod tests;
