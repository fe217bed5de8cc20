//! `hapax lanes`: who is where, what is missing, from whom, since when; and recording a loss as known.

use clap::{Args, Subcommand};
use hapax_client::{Call, Route};
use serde_json::{Value, json};

use crate::field::{flag, list, number, text};
use crate::outcome::Outcome;
use crate::remote::Remote;
use crate::say;
use crate::table::Table;

/// Show lanes and their gaps: what is missing, from whom, since when.
///
/// Example: hapax lanes --stream orders --gaps open
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Lanes {
    #[command(subcommand)]
    deed: Option<Deed>,
    /// The stream.
    #[arg(long, short, value_name = "STREAM", required = true)]
    stream: Option<String>,
    /// One lane, with its gaps; without it all lanes.
    lane: Option<String>,
    /// Lanes with open gaps only; `all` shows a lane's filled gaps too.
    #[arg(long, value_enum)]
    gaps: Option<Gaps>,
    /// At most so many lanes.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    limit: u64,
    #[command(flatten)]
    remote: Remote,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Gaps {
    Open,
    All,
}

#[derive(Subcommand)]
enum Deed {
    /// Record a loss as known: the numbers no longer count as missing.
    ///
    /// Example: hapax lanes acknowledge --stream orders producer_001 17 19 --reason "disk died"
    Acknowledge(Acknowledge),
}

#[derive(Args)]
struct Acknowledge {
    /// The stream.
    #[arg(long, short, value_name = "STREAM")]
    stream: String,
    /// The lane.
    lane: String,
    /// The first number.
    from: u64,
    /// The last number.
    to: u64,
    /// Why: it is kept in the audit.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    #[command(flatten)]
    remote: Remote,
}

impl Lanes {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        if let Some(Deed::Acknowledge(deed)) = self.deed {
            return deed.run();
        }
        let server = self.remote.server()?;
        let stream = self.stream.unwrap_or_default();
        let gaps = self.gaps.map(|gaps| if gaps == Gaps::Open { "open" } else { "all" });
        if let Some(lane) = &self.lane {
            let answer = server.get(Route::stream(&stream, &["lanes", lane]).with_some("gaps", gaps))?;
            server.show(&answer, print)?;
            return Ok(Outcome::Fine);
        }
        let route = Route::stream(&stream, &["lanes"]).with_some("gaps", gaps);
        let found = server.list(route, "lanes", self.limit)?;
        server.show_list(&found, |lanes| {
            let mut table =
                Table::new(["LANE", "EVENTS", "LAST SEQ", "LAST TIME", "MISSING", "SINCE", "OUT OF ORDER", "STALE"]);
            for lane in lanes {
                let (missing, since) = missing(lane);
                let [name, last, time] = ["/lane", "/last_seq", "/last_time"].map(|it| text(lane, it));
                let events = text(lane, "/events");
                table.row([
                    name,
                    events,
                    last,
                    time,
                    missing,
                    since,
                    flag(lane, "/out_of_order"),
                    flag(lane, "/stale"),
                ]);
            }
            table.print(if gaps == Some("open") { "Nothing is missing." } else { "There are no lanes yet." });
        })?;
        Ok(Outcome::Fine)
    }
}

impl Acknowledge {
    fn run(self) -> anyhow::Result<Outcome> {
        let server = self.remote.server()?;
        let route = Route::stream(&self.stream, &["lanes", &self.lane, "gaps", "acknowledge"]);
        let body = json!({ "from": self.from, "to": self.to, "reason": self.reason });
        let answer = server.call(&Call::post(route).json(&body))?;
        server.show(&answer, print)?;
        Ok(Outcome::Fine)
    }
}

/// What is missing, in a few words, and since when.
fn missing(lane: &Value) -> (String, String) {
    let open: Vec<&Value> = list(lane, "/gaps").iter().filter(|gap| text(gap, "/state") == "open").collect();
    let words = |gap: &&Value| match (number(gap, "/from"), number(gap, "/to")) {
        (from, to) if from == to => from.to_string(),
        (from, to) => format!("{from}..{to}"),
    };
    let shown: Vec<String> = open.iter().take(3).map(words).collect();
    let more = open.len().saturating_sub(shown.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let since = open.iter().map(|gap| text(gap, "/opened_at")).min().unwrap_or_default();
    (format!("{}{more}", shown.join(", ")), since)
}

fn print(lane: &Value) {
    for (name, pointer) in [
        ("lane", "/lane"),
        ("events", "/events"),
        ("last seq", "/last_seq"),
        ("expected", "/expected_seq"),
        ("epoch", "/epoch"),
        ("last time", "/last_time"),
        ("last arrival", "/last_arrival"),
    ] {
        let value = text(lane, pointer);
        if !value.is_empty() {
            say::line(format_args!("{name:<13} {value}"));
        }
    }
    for (pointer, words) in [("/out_of_order", "has been out of order"), ("/stale", "is silent")] {
        if !flag(lane, pointer).is_empty() {
            say::line(words);
        }
    }
    let gaps = list(lane, "/gaps");
    if gaps.is_empty() {
        return say::line("nothing is missing");
    }
    let mut table = Table::new(["FROM", "TO", "MISSING", "STATE", "OPENED", "FILLED"]);
    for gap in gaps {
        let many = (number(gap, "/to") - number(gap, "/from")).saturating_add(1).to_string();
        let [from, to, state, opened, filled] =
            ["/from", "/to", "/state", "/opened_at", "/filled_at"].map(|pointer| text(gap, pointer));
        table.row([from, to, many, state, opened, filled]);
    }
    table.print("");
}
