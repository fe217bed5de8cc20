//! Where it was measured: figures without a machine say nothing.

use std::fs;
use std::process::Command;

use serde::Serialize;
use tokio_postgres::Client;

/// The machine, and the versions of what ran on it.
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) cores: usize,
    pub(crate) processor: String,
    pub(crate) memory_gib: f64,
    pub(crate) kernel: String,
    /// Empty if it is not what is measured.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) postgres: String,
    /// Of this repository; with `+` if something was changed since.
    pub(crate) commit: String,
}

impl Machine {
    /// The machine, and the Postgres on it.
    pub(crate) async fn look(admin: &Client) -> anyhow::Result<Machine> {
        let postgres = admin.query_one("SHOW server_version", &[]).await?.get(0);
        Ok(Machine { postgres, ..Machine::bare() })
    }

    /// The machine alone.
    pub(crate) fn bare() -> Machine {
        let kilobytes = field("/proc/meminfo", "MemTotal").and_then(|it| it.split(' ').next()?.parse::<f64>().ok());
        let changed = !said("git", &["status", "--porcelain"]).is_empty();
        Machine {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            processor: field("/proc/cpuinfo", "model name").unwrap_or_default(),
            memory_gib: (kilobytes.unwrap_or_default() / f64::from(1 << 20) * 10.0).round() / 10.0,
            kernel: said("uname", &["-sr"]),
            postgres: String::new(),
            commit: format!("{}{}", said("git", &["rev-parse", "--short", "HEAD"]), if changed { "+" } else { "" }),
        }
    }
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Machine { cores, processor, memory_gib, kernel, postgres, commit } = self;
        let postgres = if postgres.is_empty() { String::new() } else { format!(", Postgres {postgres}") };
        write!(f, "{cores} cores ({processor}), {memory_gib} GiB, {kernel}{postgres}, commit {commit}")
    }
}

/// The first value with this name in a file of `name : value`.
fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs.map(|(key, value)| (key.trim(), value.trim())).find(|(key, _)| *key == name).map(|(_, it)| it.to_owned())
}

/// What a program says; nothing if it is not there.
pub(crate) fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).trim().to_owned()
}
