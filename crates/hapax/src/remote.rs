//! A server to ask: where it is, who one is to it, how its answers are shown, and what to do when it does not answer.

use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use clap::{Args, ValueEnum};
use hapax_client::{Answer, Call, Client, Error, Retry, Route};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::say;

/// Which server, and how its answers are shown.
#[derive(Args, Clone)]
pub(crate) struct Remote {
    /// The server.
    #[arg(long, value_name = "URL", env = "HAPAX_SERVER", default_value = HERE, help_heading = "Server")]
    server: String,
    /// The key to show it, if it wants one.
    #[arg(long, value_name = "KEY", env = "HAPAX_KEY", hide_env_values = true, help_heading = "Server")]
    key: Option<String>,
    #[command(flatten)]
    rest: Rest,
}

/// The same for commands whose own `--key` is another one.
#[derive(Args, Clone)]
pub(crate) struct RemoteByApiKey {
    /// The server.
    #[arg(long, value_name = "URL", env = "HAPAX_SERVER", default_value = HERE, help_heading = "Server")]
    server: String,
    /// The key to show it, if it wants one.
    #[arg(long, value_name = "KEY", env = "HAPAX_KEY", hide_env_values = true, help_heading = "Server")]
    api_key: Option<String>,
    #[command(flatten)]
    rest: Rest,
}

#[derive(Args, Clone)]
struct Rest {
    /// For https: trust the authorities in this PEM file instead of those whom browsers trust.
    #[arg(long, value_name = "FILE", env = "HAPAX_CA", help_heading = "Server")]
    ca: Option<PathBuf>,
    /// How the answer is shown.
    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    output: Output,
}

/// How an answer is shown.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people.
    Table,
    /// For programs: as the server wrote it.
    Json,
}

/// Where `hapax serve` listens if it is told nothing.
const HERE: &str = "http://127.0.0.1:4090";

/// A server, ready to be asked.
pub(crate) struct Server {
    /// For what is not a question and an answer.
    pub(crate) client: Client,
    output: Output,
}

/// The members of a list, as they came.
pub(crate) struct List {
    /// Each as it came.
    pub(crate) raw: Vec<Box<RawValue>>,
    plural: &'static str,
    next: Option<String>,
}

impl Remote {
    /// Whether a program reads the answer.
    pub(crate) fn is_json(&self) -> bool {
        self.rest.output == Output::Json
    }

    /// The server, asked briefly: a person waits.
    pub(crate) fn server(&self) -> anyhow::Result<Server> {
        connect(&self.server, self.key.as_deref(), &self.rest)
    }
}

impl RemoteByApiKey {
    /// The server, asked briefly: a person waits.
    pub(crate) fn server(&self) -> anyhow::Result<Server> {
        connect(&self.server, self.api_key.as_deref(), &self.rest)
    }
}

fn connect(url: &str, key: Option<&str>, rest: &Rest) -> anyhow::Result<Server> {
    // An empty variable is how a shell says that there is none.
    let key = key.filter(|key| !key.is_empty());
    let url = if url.is_empty() { HERE } else { url };
    let mut client = Client::new(url, key).map_err(told)?.with_retry(Retry::BRIEF);
    if let Some(file) = &rest.ca {
        let pem = std::fs::read(file).with_context(|| format!("{} cannot be read", file.display()))?;
        client = client.trusting(&pem).map_err(told)?;
    }
    Ok(Server { client, output: rest.output })
}

impl Server {
    /// Whether a program reads the answer.
    pub(crate) fn is_json(&self) -> bool {
        self.output == Output::Json
    }

    /// Asks.
    pub(crate) fn get(&self, route: Route) -> anyhow::Result<Answer> {
        self.client.get(route).map_err(told)
    }

    /// Sends a call.
    pub(crate) fn call(&self, call: &Call) -> anyhow::Result<Answer> {
        self.client.call(call).map_err(told)
    }

    /// Asks for a list, at most this much of it.
    pub(crate) fn list(&self, route: Route, plural: &'static str, limit: u64) -> anyhow::Result<List> {
        let mut pages = self.client.pages(route, plural, limit);
        let raw = pages.by_ref().collect::<Result<Vec<_>, _>>().map_err(told)?;
        Ok(List { raw, plural, next: pages.cursor().map(str::to_owned) })
    }

    /// Shows an answer: as it came, or as the function does.
    pub(crate) fn show(&self, answer: &Answer, shown: impl FnOnce(&Value)) -> anyhow::Result<()> {
        if self.is_json() {
            say::line(answer.text().trim_end());
            return Ok(());
        }
        shown(&answer.json().map_err(told)?);
        Ok(())
    }

    /// Shows a list: as it came, or as the function does; and says if there is more.
    pub(crate) fn show_list(&self, list: &List, shown: impl FnOnce(&[Value])) -> anyhow::Result<()> {
        if self.is_json() {
            let members: Vec<&str> = list.raw.iter().map(|raw| raw.get()).collect();
            let next = serde_json::to_string(&list.next)?;
            say::line(format_args!("{{\"{}\":[{}],\"next\":{next}}}", list.plural, members.join(",")));
            return Ok(());
        }
        shown(&list.values()?);
        if list.next.is_some() {
            eprintln!("There are more; --limit gives more of them.");
        }
        Ok(())
    }
}

impl List {
    /// The members, read.
    pub(crate) fn values(&self) -> anyhow::Result<Vec<Value>> {
        Ok(self.raw.iter().map(|raw| serde_json::from_str(raw.get())).collect::<Result<_, _>>()?)
    }
}

/// An error, with what to do about it where that is known.
pub(crate) fn told(error: Error) -> anyhow::Error {
    let todo = match &error {
        Error::Unreachable { why, .. } if why.contains("certificate") => {
            ". Name its authority with --ca FILE or HAPAX_CA."
        }
        Error::Unreachable { .. } => ". Is `hapax serve` running?",
        Error::Problem(problem) => match (problem.status, problem.code.as_str()) {
            (401, _) => "\nShow a key with HAPAX_KEY or --key; `hapax keys create` makes one.",
            (403, "OVERRIDE_NOT_ALLOWED") => "",
            (403, _) => "\nThis needs a key with another role, or for other streams or lanes.",
            (404, "STREAM_NOT_FOUND") => {
                "\n`hapax streams` lists the streams; `hapax streams put NAME CONTRACT` makes one."
            }
            (404, "HANDLER_NOT_FOUND") => "\n`hapax handlers` lists the handlers; `hapax handlers put NAME` makes one.",
            (409, "ID_AMBIGUOUS") => "\nName the lane with --lane.",
            _ => "",
        },
        Error::Strange { .. } => ". Is --server right?",
        Error::Wrong(_) => "",
    };
    anyhow!("{error}{todo}")
}
