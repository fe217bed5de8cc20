//! `hapax counters`: what was counted, what was adjusted, and both together; and what people do about it by hand.

use clap::{Args, Subcommand, ValueEnum};
use hapax_client::{Call, Route, random_key};
use serde_json::{Value, json};

use crate::field::{self, flag, list, text};
use crate::outcome::Outcome;
use crate::remote::RemoteByApiKey;
use crate::say;
use crate::table::Table;

/// Show a counter: what was folded, what was adjusted, and both together.
///
/// Example: hapax counters --stream usage usage --key '["acme","requests","c-1"]' --period 2026-11
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Counters {
    #[command(subcommand)]
    deed: Option<Deed>,
    #[command(flatten)]
    which: Option<Which>,
    /// At most so many.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    limit: u64,
    #[command(flatten)]
    remote: RemoteByApiKey,
}

/// Which counter.
#[derive(Args)]
struct Which {
    /// The stream.
    #[arg(long, short, value_name = "STREAM")]
    stream: String,
    /// The counter's name in the contract.
    name: String,
    /// Its key, as a JSON list: '["acme","requests"]'.
    #[arg(long, value_name = "JSON", value_parser = a_key)]
    key: Option<Value>,
    /// The period, written as its beginning: 2026-11, 2026-11-15, 2026-W46, 2026-11-15T10, all.
    #[arg(long, value_name = "PERIOD")]
    period: Option<String>,
}

#[derive(Subcommand)]
enum Deed {
    /// Correct a sum by hand; the correction is an entry of the ledger.
    ///
    /// Example: hapax counters adjust --stream usage usage --key '["acme"]' --period 2026-11 --amount=-5 --reason "refund 17"
    Adjust {
        #[command(flatten)]
        which: Which,
        /// By how much; it may be negative (--amount=-5).
        #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
        amount: String,
        /// Why.
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// An id of its own, so that a repetition is recognised; a random one if not given.
        #[arg(long, value_name = "ID")]
        id: Option<String>,
        #[command(flatten)]
        remote: RemoteByApiKey,
    },
    /// Close a period: it folds nothing more, and what comes later is an adjustment.
    ///
    /// Example: hapax counters close --stream usage usage --period 2026-10
    Close {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        remote: RemoteByApiKey,
    },
    /// Count, sum, least and greatest per hour or day, at most 31 days.
    ///
    /// Example: hapax counters history --stream usage usage --key '["acme"]' --interval day --from 2026-11-01T00:00:00Z --to 2026-11-08T00:00:00Z
    History {
        #[command(flatten)]
        which: Which,
        /// How long an interval is.
        #[arg(long, value_enum, default_value_t = Interval::Day)]
        interval: Interval,
        /// From this time on.
        #[arg(long, value_name = "TIME")]
        from: String,
        /// Before this time; now if not given.
        #[arg(long, value_name = "TIME")]
        to: Option<String>,
        #[command(flatten)]
        remote: RemoteByApiKey,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Interval {
    Hour,
    Day,
}

fn a_key(text: &str) -> Result<Value, String> {
    match serde_json::from_str(text) {
        Ok(value @ Value::Array(_)) => Ok(value),
        Ok(_) | Err(_) => Err("a key is a JSON list, such as '[\"acme\",\"requests\"]'".to_owned()),
    }
}

impl Counters {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        match (self.deed, self.which) {
            (Some(deed), _) => deed.run(),
            (None, Some(which)) => show(&which, self.limit, &self.remote),
            (None, None) => anyhow::bail!("name a stream and a counter: hapax counters --stream STREAM NAME"),
        }
    }
}

fn show(which: &Which, limit: u64, remote: &RemoteByApiKey) -> anyhow::Result<Outcome> {
    let server = remote.server()?;
    let route = which.route(&[]).with_some("key", which.key.as_ref()).with_some("period", which.period.as_ref());
    let found = server.list(route, "counters", limit)?;
    server.show_list(&found, |counters| {
        let mut table = Table::new([
            "KEY",
            "PERIOD",
            "COUNT",
            "SUM",
            "MIN",
            "MAX",
            "LAST",
            "ADJUSTED",
            "EFFECTIVE",
            "WATERMARK",
            "CLOSED",
        ]);
        for counter in counters {
            let key = field::json(counter, "/key");
            let [period, count, sum, min, max, last, effective, watermark] =
                ["/period", "/count", "/sum", "/min", "/max", "/last", "/effective/sum", "/watermark"]
                    .map(|pointer| text(counter, pointer));
            let adjusted = list(counter, "/adjustments").len().to_string();
            let closed = flag(counter, "/closed");
            table.row([key, period, count, sum, min, max, last, adjusted, effective, watermark, closed]);
        }
        table.print("Nothing was counted.");
        if let [counter] = counters {
            adjustments(counter);
        }
    })?;
    Ok(Outcome::Fine)
}

/// The adjustments of a counter that was asked for alone.
fn adjustments(counter: &Value) {
    let found = list(counter, "/adjustments");
    if found.is_empty() {
        return;
    }
    say::line("");
    let mut table = Table::new(["OFFSET", "AT", "AMOUNT", "REASON", "ID"]);
    for adjustment in found {
        table.row(["/offset", "/at", "/amount", "/reason", "/id"].map(|pointer| text(adjustment, pointer)));
    }
    table.print("");
}

impl Deed {
    fn run(self) -> anyhow::Result<Outcome> {
        match self {
            Self::Adjust { which, amount, reason, id, remote } => {
                let (Some(key), Some(period)) = (&which.key, &which.period) else {
                    anyhow::bail!("an adjustment needs --key and --period");
                };
                let id = id.unwrap_or_else(random_key);
                let body = json!({ "id": id, "key": key, "period": period, "amount": amount, "reason": reason });
                made(&remote, &Call::post(which.route(&["adjustments"])).json(&body), "adjusted")
            }
            Self::Close { which, remote } => {
                let Some(period) = &which.period else { anyhow::bail!("closing needs --period") };
                let mut body = json!({ "period": period });
                if let Some(key) = &which.key {
                    body["key"] = key.clone();
                }
                made(&remote, &Call::post(which.route(&["close"])).json(&body), "closed")
            }
            Self::History { which, interval, from, to, remote } => {
                let server = remote.server()?;
                let interval = if interval == Interval::Hour { "hour" } else { "day" };
                let route = which.route(&["history"]).with("interval", interval);
                let route = route.with_some("key", which.key.as_ref()).with("from", from).with_some("to", to);
                let answer = server.get(route)?;
                server.show(&answer, |answer| {
                    let mut table = Table::new(["START", "COUNT", "SUM", "MIN", "MAX"]);
                    for interval in list(answer, "/intervals") {
                        table.row(["/start", "/count", "/sum", "/min", "/max"].map(|pointer| text(interval, pointer)));
                    }
                    table.print("Nothing was counted.");
                })?;
                Ok(Outcome::Fine)
            }
        }
    }
}

/// Something that became an entry.
fn made(remote: &RemoteByApiKey, call: &Call, done: &str) -> anyhow::Result<Outcome> {
    let server = remote.server()?;
    let answer = server.call(call)?;
    server.show(&answer, |answer| {
        say::line(format_args!("{done}: entry {}", text(answer, "/offset")));
    })?;
    Ok(Outcome::Fine)
}

impl Which {
    fn route(&self, rest: &[&str]) -> Route {
        Route::stream(&self.stream, &[&["counters", self.name.as_str()], rest].concat())
    }
}
