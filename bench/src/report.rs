//! What was measured, as a table for people and as numbers for programs.

use std::path::Path;

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};
use serde::Serialize;

use crate::machine::Machine;
use crate::usage::{OTHERS_MAX, Used};

/// What is measured: who sends how to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Case {
    pub(crate) clients: usize,
    pub(crate) duplicates_percent: u64,
    pub(crate) servers: usize,
    pub(crate) streams: usize,
    /// Is it compared with the plain table?
    pub(crate) compared: bool,
}

/// Who was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Side {
    Plain,
    Hapax,
}

/// One run.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Run {
    pub(crate) case: Case,
    pub(crate) side: Side,
    pub(crate) round: usize,
    /// Events that were sent, repeats included.
    pub(crate) sent: usize,
    #[serde(flatten)]
    pub(crate) used: Used,
}

impl Run {
    pub(crate) fn events_per_second(&self) -> f64 {
        self.sent as f64 / self.used.seconds
    }
}

/// All runs, and where they ran.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) machine: Machine,
    /// How the program was called.
    pub(crate) arguments: Vec<String>,
    pub(crate) runs: Vec<Run>,
}

impl Report {
    /// Keeps the raw numbers.
    pub(crate) fn keep(&self, file: &Path) -> anyhow::Result<()> {
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        Ok(std::fs::write(file, serde_json::to_string_pretty(self)?)?)
    }

    /// Of one case and one side, something of each run: the median, the least and the most. None if it was not run.
    fn spread(&self, case: Case, side: Side, of: impl Fn(&Run) -> f64) -> Option<Spread> {
        let runs = self.runs.iter().filter(|run| run.case == case && run.side == side);
        Spread::of(runs.map(of).collect())
    }

    /// Hapax to plain within each round: the two ran one after the other, on a machine that may be another one an hour later.
    fn round_ratios(&self, case: Case) -> Option<Spread> {
        let of = |side: Side| self.runs.iter().filter(move |run| run.case == case && run.side == side);
        let plain = |round: usize| of(Side::Plain).find(|run| run.round == round).map(Run::events_per_second);
        Spread::of(of(Side::Hapax).filter_map(|run| Some(run.events_per_second() / plain(run.round)?)).collect())
    }

    fn cases(&self) -> Vec<Case> {
        let mut cases = Vec::new();
        for run in &self.runs {
            if !cases.contains(&run.case) {
                cases.push(run.case);
            }
        }
        cases
    }

    fn table(&self, head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Option<Table> {
        let mut table = Table::new();
        table.load_style(ASCII_MARKDOWN).set_header(head).add_rows(rows);
        table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
        (table.row_count() > 0).then_some(table)
    }

    /// Hapax beside the plain table.
    fn ratios(&self) -> Option<Table> {
        let head = [
            "clients",
            "repeats %",
            "streams",
            "plain, thousand/s",
            "hapax, thousand/s",
            "hapax/plain",
            "the same of each round",
            "plain: CPU s of postgres per million",
            "hapax: CPU s of postgres",
            "hapax: CPU s of hapax",
            "plain: WAL bytes per event",
            "hapax: WAL bytes",
        ];
        let row = |case: Case| {
            let plain = |of: fn(&Run) -> f64| self.spread(case, Side::Plain, of);
            let hapax = |of: fn(&Run) -> f64| self.spread(case, Side::Hapax, of);
            let ratio = hapax(Run::events_per_second)?.median / plain(Run::events_per_second)?.median;
            Some(vec![
                case.clients.to_string(),
                case.duplicates_percent.to_string(),
                case.streams.to_string(),
                plain(Run::events_per_second)?.thousands(),
                hapax(Run::events_per_second)?.thousands(),
                format!("{ratio:.2}"),
                self.round_ratios(case)?.hundredths(),
                format!("{:.1}", plain(postgres_per_million)?.median),
                format!("{:.1}", hapax(postgres_per_million)?.median),
                format!("{:.1}", hapax(servers_per_million)?.median),
                format!("{:.0}", plain(wal_per_event)?.median),
                format!("{:.0}", hapax(wal_per_event)?.median),
            ])
        };
        self.table(&head, self.cases().into_iter().filter(|case| case.compared).filter_map(row))
    }

    /// More servers, and more streams.
    fn servers(&self) -> Option<Table> {
        let head = [
            "servers",
            "streams",
            "clients",
            "hapax, thousand/s",
            "CPU s of postgres per million",
            "CPU s of hapax per million",
        ];
        let row = |case: Case| {
            let hapax = |of: fn(&Run) -> f64| self.spread(case, Side::Hapax, of);
            Some(vec![
                case.servers.to_string(),
                case.streams.to_string(),
                case.clients.to_string(),
                hapax(Run::events_per_second)?.thousands(),
                format!("{:.1}", hapax(postgres_per_million)?.median),
                format!("{:.1}", hapax(servers_per_million)?.median),
            ])
        };
        self.table(&head, self.cases().into_iter().filter(|case| !case.compared).filter_map(row))
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}", self.machine)?;
        writeln!(f, "Medians (least to most). Clients, servers and Postgres share the machine.")?;
        let disturbed = self.runs.iter().filter(|run| run.used.others_seconds > OTHERS_MAX * run.used.seconds).count();
        if disturbed > 0 {
            writeln!(f, "Of {} runs, {disturbed} were disturbed: others used the machine, too.", self.runs.len())?;
        }
        for table in [self.ratios(), self.servers()].into_iter().flatten() {
            writeln!(f, "\n{table}")?;
        }
        Ok(())
    }
}

fn postgres_per_million(run: &Run) -> f64 {
    run.used.postgres_seconds * 1e6 / run.sent as f64
}

fn servers_per_million(run: &Run) -> f64 {
    run.used.servers_seconds * 1e6 / run.sent as f64
}

fn wal_per_event(run: &Run) -> f64 {
    run.used.wal_bytes / run.sent as f64
}

/// The middle of several values, and their ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Spread {
    /// None of none.
    pub(crate) fn of(mut values: Vec<f64>) -> Option<Spread> {
        values.sort_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        let half = values.len() / 2;
        let median = if values.len() % 2 == 1 { values[half] } else { (values[half - 1] + values[half]) / 2.0 };
        Some(Spread { median, least, most })
    }

    fn hundredths(self) -> String {
        format!("{:.2} ({:.2} to {:.2})", self.median, self.least, self.most)
    }

    fn thousands(self) -> String {
        format!("{:.0} ({:.0} to {:.0})", self.median / 1e3, self.least / 1e3, self.most / 1e3)
    }
}

#[cfg(test)]
#[path = "report/tests.rs"]
mod tests;
