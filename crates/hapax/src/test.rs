//! `hapax test`: runs scenario files and reports what differs.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::outcome::Outcome;
use crate::scenario::{Failure, Scenario};

/// Run scenario files on the real engine, with a store in memory and the clock that the files give.
#[derive(Args)]
pub(crate) struct Test {
    /// Scenario files.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Explain a step: its rules one by one, what was compared with what.
    #[arg(long, value_name = "N")]
    explain: Option<usize>,
}

impl Test {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let mut counts = (0, 0, 0);
        for file in &self.files {
            match run_file(file, self.explain) {
                Outcome::Fine => counts.0 += 1,
                Outcome::Failed => counts.1 += 1,
                Outcome::Wrong => counts.2 += 1,
            }
        }
        let (passed, failed, wrong) = counts;
        if wrong > 0 {
            let files = if wrong == 1 { "1 file is".to_owned() } else { format!("{wrong} files are") };
            println!("{files} not a scenario; the others:");
        }
        println!("{passed} passed, {failed} failed");
        Ok(match counts {
            (_, 0, 0) => Outcome::Fine,
            (_, _, 0) => Outcome::Failed,
            (_, _, _) => Outcome::Wrong,
        })
    }
}

fn run_file(file: &Path, explain: Option<usize>) -> Outcome {
    let shown = file.display();
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("{shown}: cannot be read: {error}");
            return Outcome::Wrong;
        }
    };
    let scenario = match Scenario::read(&text) {
        Ok(scenario) => scenario,
        Err(problems) => {
            problems.iter().for_each(|problem| eprintln!("{shown}: {problem}"));
            return Outcome::Wrong;
        }
    };
    if let Some(step) = explain.filter(|step| *step == 0 || *step > scenario.steps.len()) {
        eprintln!("{shown}: there is no step {step}; the steps are 1 to {}", scenario.steps.len());
        return Outcome::Wrong;
    }
    match scenario.run(explain) {
        Ok(report) => {
            report.explained.iter().for_each(|line| println!("{line}"));
            if report.failures.is_empty() {
                println!("ok    {shown}: {} ({} steps)", scenario.name, scenario.steps.len());
                return Outcome::Fine;
            }
            println!("FAIL  {shown}: {}", scenario.name);
            report.failures.iter().for_each(print_failure);
            Outcome::Failed
        }
        Err(problem) => {
            eprintln!("{shown}: {problem}");
            Outcome::Wrong
        }
    }
}

fn print_failure(failure: &Failure) {
    println!("      step {} (line {}), {}:", failure.step, failure.line, failure.action);
    for difference in &failure.differences {
        println!("        {difference}");
    }
    println!("        the answer was {}", failure.answer);
}
