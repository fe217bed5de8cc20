//! `hapax streams`: which there are, under which contract, and how far each is.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::{Args, Subcommand};
use hapax_client::{Call, Route};
use serde_json::Value;

use crate::field::{list, number, text};
use crate::outcome::Outcome;
use crate::remote::Remote;
use crate::table::Table;
use crate::{say, written};

/// List streams, show one, make one, or say where its ledger ends.
///
/// Example: hapax streams put orders contracts/event-sourcing.toml
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Streams {
    #[command(subcommand)]
    deed: Option<Deed>,
    #[command(flatten)]
    remote: Remote,
}

#[derive(Subcommand)]
enum Deed {
    /// List the streams.
    List {
        #[command(flatten)]
        remote: Remote,
    },
    /// Show a stream: its contract, its head, its lanes.
    Show {
        /// The stream.
        stream: String,
        #[command(flatten)]
        remote: Remote,
    },
    /// Make a stream, or give it another contract.
    ///
    /// Example: hapax streams put orders orders.toml
    Put {
        /// The stream.
        stream: String,
        /// The contract, as TOML or JSON; `-` for standard input.
        contract: PathBuf,
        #[command(flatten)]
        remote: Remote,
    },
    /// Say where a stream's ledger ends: its offset and hash. Keep it, and `hapax verify` can prove that nothing was cut off.
    Head {
        /// The stream.
        stream: String,
        #[command(flatten)]
        remote: Remote,
    },
}

impl Streams {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        match self.deed {
            None => all(&self.remote)?,
            Some(Deed::List { remote }) => all(&remote)?,
            Some(Deed::Show { stream, remote }) => {
                let server = remote.server()?;
                let answer = server.get(Route::stream(&stream, &[]))?;
                server.show(&answer, show)?;
            }
            Some(Deed::Put { stream, contract, remote }) => put(&remote, &stream, &contract)?,
            Some(Deed::Head { stream, remote }) => {
                let server = remote.server()?;
                let answer = server.get(Route::stream(&stream, &["head"]))?;
                server.show(&answer, |head| {
                    say::line(format_args!("{} {}", number(head, "/offset"), text(head, "/hash")));
                })?;
            }
        }
        Ok(Outcome::Fine)
    }
}

fn all(remote: &Remote) -> anyhow::Result<()> {
    let server = remote.server()?;
    let found = server.list(Route::to(&["v1", "streams"]), "streams", u64::MAX)?;
    server.show_list(&found, |streams| {
        let mut table = Table::new(["STREAM", "VERSION", "ENTRIES", "LANES", "LAST ENTRY", "CREATED"]);
        for stream in streams {
            table.row(
                ["/stream", "/version", "/head/offset", "/lanes", "/head/at", "/created_at"]
                    .map(|pointer| text(stream, pointer)),
            );
        }
        table.print("There are no streams yet; `hapax streams put NAME CONTRACT` makes one.");
    })
}

fn show(stream: &Value) {
    for (name, pointer) in [
        ("stream", "/stream"),
        ("version", "/version"),
        ("entries", "/head/offset"),
        ("head", "/head/hash"),
        ("lanes", "/lanes"),
        ("created", "/created_at"),
    ] {
        say::line(format_args!("{name:<9} {}", text(stream, pointer)));
    }
    if let Some(contract) = stream.get("contract") {
        say::line(format_args!("contract  {contract:#}"));
    }
}

fn put(remote: &Remote, stream: &str, file: &Path) -> anyhow::Result<()> {
    let server = remote.server()?;
    let text_put = read(file)?;
    let kind = if is_json(&text_put) { "application/json" } else { "application/toml" };
    let answer = server.call(&Call::put(Route::stream(stream, &[])).with(kind, text_put))?;
    server.show(&answer, |answer| {
        let done = if answer_is_new(answer) { "made" } else { "put" };
        say::line(format_args!("{stream}: contract version {} {done}", text(answer, "/version")));
        for warning in list(answer, "/warnings") {
            let words = [text(warning, "/key"), text(warning, "/why")];
            let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
            let words = if words.is_empty() { crate::field::shown(warning) } else { words.join(": ") };
            say::line(format_args!("warning: {words}"));
        }
    })
}

/// The first version made the stream.
fn answer_is_new(answer: &Value) -> bool {
    number(answer, "/version") == 1
}

fn read(file: &Path) -> anyhow::Result<String> {
    let shown = if file.as_os_str() == "-" { "standard input".to_owned() } else { file.display().to_string() };
    written::text(file).map_err(|why| anyhow!("{shown}: {why}"))
}

/// A TOML document never begins with a brace, and a JSON contract always does.
fn is_json(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

/// A contract's file for what is sent inside a JSON document: JSON as it is, TOML as a text.
pub(crate) fn contract(file: &Path) -> anyhow::Result<Value> {
    let text = read(file)?;
    if !is_json(&text) {
        return Ok(Value::String(text));
    }
    serde_json::from_str(&text).map_err(|error| anyhow!("{}: not JSON: {error}", file.display()))
}
