//! `hapax contract`: what a contract does, in words, and what is wrong with it.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::{Subcommand, ValueEnum};
use hapax_core::contract::{Checked, Contract as Rules, PRESETS, in_words};

use crate::outcome::Outcome;

/// What to do with a contract.
#[derive(Subcommand)]
pub(crate) enum Contract {
    /// Say in plain words what a contract does and what is unsafe about it.
    Check {
        /// A contract, as TOML or JSON; `-` for standard input.
        file: PathBuf,
    },
    /// Print a preset, to start from.
    Show {
        /// The preset's name; without one they are listed.
        preset: Option<String>,
        /// As the file that it is, or every key with its value.
        #[arg(short, long, value_enum, default_value_t = Form::Toml)]
        output: Form,
    },
}

/// How a preset is shown.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Form {
    /// The TOML file, with its comments.
    Toml,
    /// Every key with its value, as JSON.
    Json,
    /// In plain words.
    Words,
}

impl Contract {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        match self {
            Self::Check { file } => check(&file),
            Self::Show { preset: Some(preset), output } => show(&preset, output),
            Self::Show { preset: None, .. } => {
                for preset in PRESETS {
                    let about = preset.toml.lines().next().unwrap_or_default().trim_start_matches("# ");
                    println!("{:<20} {about}", preset.name);
                }
                Ok(Outcome::Fine)
            }
        }
    }
}

fn check(file: &PathBuf) -> anyhow::Result<Outcome> {
    let text = if file.as_os_str() == "-" {
        std::io::read_to_string(std::io::stdin()).context("standard input cannot be read")?
    } else {
        std::fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?
    };
    // A TOML document never begins with a brace, and a JSON contract always does.
    let read =
        if text.trim_start().starts_with('{') { Rules::from_json(text.as_bytes()) } else { Rules::from_toml(&text) };
    match read {
        Ok(Checked { contract, warnings }) => {
            in_words(&contract).iter().for_each(|line| println!("{line}"));
            warnings.iter().for_each(|warning| println!("warning: {warning}"));
            Ok(Outcome::Fine)
        }
        Err(problems) => {
            problems.iter().for_each(|problem| eprintln!("{}: {problem}", file.display()));
            Ok(Outcome::Wrong)
        }
    }
}

fn show(name: &str, form: Form) -> anyhow::Result<Outcome> {
    let Some(preset) = PRESETS.iter().find(|preset| preset.name == name) else {
        let known: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
        bail!("there is no preset \"{name}\"; there are {}", known.join(", "));
    };
    let read =
        || Rules::from_toml(&format!("preset = \"{name}\"")).map_err(|_| anyhow::anyhow!("the preset is broken"));
    match form {
        Form::Toml => print!("{}", preset.toml),
        Form::Json => println!("{}", serde_json::to_string_pretty(&read()?.contract)?),
        Form::Words => in_words(&read()?.contract).iter().for_each(|line| println!("{line}")),
    }
    Ok(Outcome::Fine)
}
