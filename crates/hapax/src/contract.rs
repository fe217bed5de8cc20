//! `hapax contract`: what a contract does, in words, and what is wrong with it.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::{Subcommand, ValueEnum};
use hapax_core::contract::{Checked, Contract as Rules, PRESETS, Preset, in_words};
use hapax_core::source::Node;

use crate::outcome::Outcome;
use crate::{say, written};

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
                    // The first comment of each file says what it is for, and after the colon how.
                    let about = preset.toml.lines().next().unwrap_or_default().trim_start_matches("# ");
                    say::line(format_args!("{:<20} {}", preset.name, about.split(':').next().unwrap_or_default()));
                }
                Ok(Outcome::Fine)
            }
        }
    }
}

fn check(file: &Path) -> anyhow::Result<Outcome> {
    let shown = if file.as_os_str() == "-" { "standard input".to_owned() } else { file.display().to_string() };
    let text = written::text(file).map_err(|why| anyhow!("{shown}: {why}"))?;
    // A TOML document never begins with a brace, and a JSON contract always does.
    let tree =
        if text.trim_start().starts_with('{') { Node::from_json(text.as_bytes()) } else { Node::from_toml(&text) };
    let is_scenario = tree.as_ref().is_ok_and(|tree| tree.get("step").is_some() && tree.get("contract").is_some());
    if is_scenario {
        eprintln!("{shown}: this is a scenario, not a contract; `hapax test` runs it");
        return Ok(Outcome::Wrong);
    }
    match tree.map_err(|problem| vec![problem]).and_then(Rules::from_node) {
        Ok(Checked { contract, warnings }) => {
            in_words(&contract).iter().for_each(say::line);
            warnings.iter().for_each(|warning| say::line(format_args!("warning: {warning}")));
            Ok(Outcome::Fine)
        }
        Err(problems) => {
            problems.iter().for_each(|problem| eprintln!("{shown}: {problem}"));
            Ok(Outcome::Wrong)
        }
    }
}

fn show(name: &str, form: Form) -> anyhow::Result<Outcome> {
    let preset = Preset::named(name).map_err(|why| anyhow!(why))?;
    let read = || Rules::from_toml(&format!("preset = \"{name}\"")).map_err(|_| anyhow!("the preset is broken"));
    match form {
        Form::Toml => say::text(preset.toml),
        Form::Json => say::line(serde_json::to_string_pretty(&read()?.contract)?),
        Form::Words => in_words(&read()?.contract).iter().for_each(say::line),
    }
    Ok(Outcome::Fine)
}
