//! `hapax-sim`: runs worlds, or explains one.
//!
//! ```text
//! hapax-sim --seed N               one world
//! hapax-sim --seed N --explain     with every line of what happened
//! hapax-sim --crashes N [--from S] worlds from seed S on, until so many crashes happened
//! hapax-sim --worlds N [--from S]  so many worlds
//! ```
//!
//! The exit code is 1 if the auditor found anything. No clock is read here; `time` says how long it took.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::ExitCode;

use hapax_sim::{Report, run, run_traced};

const USAGE: &str = "usage: hapax-sim --seed N [--explain] | --crashes N [--from SEED] | --worlds N [--from SEED]";

/// A line is printed after so many worlds.
const TOLD: u64 = 1_000;

#[derive(Default)]
struct Wants {
    seed: Option<u64>,
    explain: bool,
    crashes: Option<u64>,
    worlds: Option<u64>,
    from: u64,
}

fn main() -> ExitCode {
    match wants() {
        Ok(Wants { seed: Some(seed), explain, .. }) => one(seed, explain),
        Ok(wants) if wants.crashes.is_some() || wants.worlds.is_some() => many(&wants),
        Ok(_) => usage("nothing to do"),
        Err(what) => usage(&what),
    }
}

fn usage(what: &str) -> ExitCode {
    say(&format!("{what}\n{USAGE}"));
    ExitCode::from(2)
}

fn wants() -> Result<Wants, String> {
    let mut wants = Wants { from: 1, ..Wants::default() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || -> Result<u64, String> {
            let text = words.next().ok_or(format!("{word} needs a number"))?;
            text.replace('_', "").parse().map_err(|_| format!("{text} is not a number"))
        };
        match word.as_str() {
            "--seed" => wants.seed = Some(number()?),
            "--crashes" => wants.crashes = Some(number()?),
            "--worlds" => wants.worlds = Some(number()?),
            "--from" => wants.from = number()?,
            "--explain" => wants.explain = true,
            other => return Err(format!("{other} is not known")),
        }
    }
    Ok(wants)
}

/// Whoever stopped reading has heard enough.
fn say(text: &str) {
    _ = writeln!(std::io::stdout(), "{text}");
}

fn one(seed: u64, explain: bool) -> ExitCode {
    let (report, text) = if explain { run_traced(seed) } else { (run(seed), String::new()) };
    if explain {
        say(text.trim_end());
    }
    let Report { crashes, events, requests, steps, .. } = &report;
    let hash: String = report.trace_hash.iter().map(|byte| format!("{byte:02x}")).collect();
    say(&format!("seed {seed}: {crashes} crashes, {events} events, {requests} requests, {steps} lines, trace {hash}"));
    for violation in &report.violations {
        say(&format!("violation: {violation}"));
    }
    if report.violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[derive(Default)]
struct Sums {
    worlds: u64,
    crashes: u64,
    by: BTreeMap<&'static str, u64>,
    events: u64,
    requests: u64,
    conflicts: u64,
    failed: Vec<u64>,
}

fn many(wants: &Wants) -> ExitCode {
    let mut sums = Sums::default();
    let mut seed = wants.from;
    let is_over = |sums: &Sums| {
        wants.crashes.is_some_and(|crashes| sums.crashes >= crashes)
            || wants.worlds.is_some_and(|worlds| sums.worlds >= worlds)
    };
    while !is_over(&sums) {
        let report = run(seed);
        sums.worlds += 1;
        sums.crashes += report.crashes;
        sums.events += report.events;
        sums.requests += report.requests;
        sums.conflicts += report.conflicts;
        for (kind, count) in &report.crashes_by {
            *sums.by.entry(kind).or_default() += count;
        }
        for violation in &report.violations {
            say(&format!("seed {seed}: {violation}"));
        }
        if !report.violations.is_empty() {
            sums.failed.push(seed);
        }
        if sums.worlds.is_multiple_of(TOLD) {
            let failed = sums.failed.len();
            say(&format!("{} worlds, {} crashes, {} events, {failed} failed", sums.worlds, sums.crashes, sums.events));
        }
        seed += 1;
    }
    let Sums { worlds, crashes, by, events, requests, conflicts, failed } = &sums;
    say(&format!("seeds {} to {}, crashes {by:?}, {conflicts} turns given up for others", wants.from, seed - 1));
    say(&format!(
        "figure: {crashes} crashes in {worlds} worlds, {events} events in {requests} requests, {} worlds with a violation",
        failed.len()
    ));
    if failed.is_empty() {
        return ExitCode::SUCCESS;
    }
    say(&format!("failing seeds: {failed:?}"));
    ExitCode::FAILURE
}
