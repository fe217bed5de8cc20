//! `hapax test`: runs scenario files and reports what differs.

use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use clap::Args;
use hapax_client::Stop;
use hapax_core::contract::Contract;
use hapax_server::clock::random;
use hapax_store::embedded::Embedded;
use hapax_store::embedded::disk::RealDisk;
use hapax_store::embedded::log::{LogId, Options};
use hapax_store::memory::Memory;
use hapax_store::postgres::{self, Address, Postgres};
use hapax_store::seam::StoreError;

use crate::outcome::Outcome;
use crate::place::Place;
use crate::scenario::{Failure, Report, Scenario};
use crate::{say, signals, written};

/// Run scenario files on the real engine, with the clock that the files give.
#[derive(Args)]
pub(crate) struct Test {
    /// Scenario files; `-` for standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Explain a step, counted from 1: its rules one by one, what was compared with what.
    #[arg(long, value_name = "N", value_parser = step_number)]
    explain: Option<usize>,
    /// Run on a durable store: each file in a folder of its own under DIR, or alone in a new schema of the database at this
    /// address, removed afterwards. Without it: in memory.
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
}

impl Test {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let place = self.store.as_deref().map(Place::of).transpose()?.unwrap_or(Place::Memory);
        let stop = Stop::new();
        let store = match &place {
            Place::Memory => Where::Memory,
            Place::Directory(directory) => Where::Directory(directory),
            Place::Database(address) => {
                // Whoever is asked to stop cleans up first.
                signals::listen(&stop, &Stop::new())?;
                Where::Database(Box::new(Schema::new(address)))
            }
        };
        let mut outcomes: Vec<Outcome> = Vec::with_capacity(self.files.len());
        for file in &self.files {
            outcomes.push(run_file(file, self.explain, &store));
            if stop.is_set() {
                bail!("stopped after {}", file.display());
            }
        }
        if let Where::Database(schema) = store {
            schema.remove()?;
        }
        let count = |wanted| outcomes.iter().filter(|outcome| **outcome == wanted).count();
        let (passed, failed, wrong) = (count(Outcome::Fine), count(Outcome::Failed), count(Outcome::Wrong));
        let not_run = if wrong > 0 { format!(", {wrong} not run") } else { String::new() };
        say::line(format_args!("{passed} passed, {failed} failed{not_run}"));
        Ok(outcomes.into_iter().max().unwrap_or(Outcome::Fine))
    }
}

/// Where scenarios run, each alone.
enum Where<'p> {
    Memory,
    Directory(&'p Path),
    Database(Box<Schema>),
}

fn step_number(text: &str) -> Result<usize, &'static str> {
    text.parse().ok().filter(|number| *number > 0).ok_or("steps are counted from 1")
}

fn run_file(file: &Path, explain: Option<usize>, store: &Where<'_>) -> Outcome {
    let shown = if file.as_os_str() == "-" { "standard input".to_owned() } else { file.display().to_string() };
    let wrong = |why: &dyn std::fmt::Display| {
        eprintln!("{shown}: {why}");
        Outcome::Wrong
    };
    let text = match written::text(file) {
        Ok(text) => text,
        Err(why) => return wrong(&why),
    };
    let scenario = match Scenario::read(&text) {
        Ok(scenario) => scenario,
        Err(_) if !text.trim().is_empty() && Contract::from_toml(&text).is_ok() => {
            return wrong(&"this is a contract, not a scenario; `hapax contract check` reads it");
        }
        Err(problems) => {
            problems.iter().for_each(|problem| _ = wrong(problem));
            return Outcome::Wrong;
        }
    };
    let steps = scenario.steps.len();
    if let Some(step) = explain.filter(|step| *step > steps) {
        let there_are =
            if steps == 1 { "there is only step 1".to_owned() } else { format!("the steps are 1 to {steps}") };
        return wrong(&format_args!("there is no step {step} to explain; {there_are}"));
    }
    let report = match store {
        Where::Memory => scenario.run(Memory::new(), explain).map_err(|problem| problem.to_string()),
        Where::Directory(directory) => run_durably(&scenario, directory, explain),
        Where::Database(schema) => schema.run(&scenario, explain),
    };
    let report = match report {
        Ok(report) => report,
        Err(problem) => return wrong(&problem),
    };
    report.explained.iter().for_each(say::line);
    if report.failures.is_empty() {
        let steps = if steps == 1 { "1 step".to_owned() } else { format!("{steps} steps") };
        say::line(format_args!("ok    {shown}: {} ({steps})", scenario.name));
        return Outcome::Fine;
    }
    say::line(format_args!("FAIL  {shown}: {}", scenario.name));
    report.failures.iter().for_each(print_failure);
    Outcome::Failed
}

/// Runs a scenario on a store in a new folder, which is gone afterwards, however it ends.
fn run_durably(scenario: &Scenario, directory: &Path, explain: Option<usize>) -> Result<Report, String> {
    let cannot = |error: std::io::Error| format!("{} cannot hold a store: {error}", directory.display());
    std::fs::create_dir_all(directory).map_err(cannot)?;
    let folder = tempfile::Builder::new().prefix("scenario-").tempdir_in(directory).map_err(cannot)?;
    let disk = RealDisk::at(folder.path()).map_err(cannot)?;
    // A scenario is a few frames long, so its segments need not be those of a server.
    let options = Options { segment_bytes: 1 << 20, reserve_bytes: 64 << 10, ..Options::default() };
    let (store, _) = Embedded::open(disk, options, LogId(*b"a hapax scenario")).map_err(|error| error.to_string())?;
    scenario.run(store, explain).map_err(|problem| problem.to_string())
}

/// A schema that was made to be thrown away: one for all files, because making its tables takes longer than a scenario.
struct Schema {
    name: String,
    address: Address,
    options: postgres::Options,
    removed: bool,
}

impl Schema {
    fn new(address: &Address) -> Self {
        let name = format!("hapax_test_{:016x}", u64::from_be_bytes(random()));
        // The clock is the scenario's own, and nothing of it is to last.
        let options =
            postgres::Options { connections_max: 2, accept_unsafe: true, own_clock: true, ..Default::default() };
        Self { address: address.with_schema(&name), name, options, removed: false }
    }

    /// Runs a scenario in it, from nothing.
    fn run(&self, scenario: &Scenario, explain: Option<usize>) -> Result<Report, String> {
        let failed = |error: StoreError| format!("{}: {error}", self.address.shown());
        let store = Postgres::open(&self.address, self.options.clone()).map_err(failed)?;
        postgres::migrate::empty(&self.address, &self.options).map_err(failed)?;
        scenario.run(store, explain).map_err(|problem| problem.to_string())
    }

    fn remove(mut self) -> anyhow::Result<()> {
        self.removed = true;
        let left = |error: StoreError| anyhow!("the schema {} is left behind: {error}", self.name);
        postgres::migrate::remove(&self.address, &self.options).map_err(left)
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        if !self.removed {
            // Whatever went wrong before is what is told.
            _ = postgres::migrate::remove(&self.address, &self.options);
        }
    }
}

fn print_failure(failure: &Failure) {
    say::line(format_args!("      step {} (line {}), {}:", failure.step, failure.line, failure.action));
    for difference in &failure.differences {
        say::line(format_args!("        {difference}"));
    }
    say::line("        the answer was");
    for member in &failure.answer {
        say::line(format_args!("          {member}"));
    }
}
