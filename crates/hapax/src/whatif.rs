//! `hapax whatif`: what would have become of the recorded attempts under another contract.

use std::path::PathBuf;

use clap::Args;
use hapax_client::{Call, Route};
use serde_json::{Value, json};

use crate::field::{flag, list, number, text};
use crate::outcome::Outcome;
use crate::remote::Remote;
use crate::table::Table;
use crate::{say, streams};

/// Judge what was sent again under another contract, and show which verdicts would change. Nothing is written.
///
/// Example: hapax whatif --stream orders --contract stricter.toml
#[derive(Args)]
pub(crate) struct Whatif {
    /// The stream.
    #[arg(long, short, value_name = "STREAM")]
    stream: String,
    /// The other contract, as TOML or JSON; `-` for standard input.
    #[arg(long, short, value_name = "FILE")]
    contract: PathBuf,
    /// Compare what came from this time on; everything before is judged too, because verdicts rest on it.
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Compare what came before this time.
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
    /// At most so many examples.
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    #[command(flatten)]
    remote: Remote,
}

impl Whatif {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let server = self.remote.server()?;
        let mut body = json!({ "contract": streams::contract(&self.contract)? });
        for (name, value) in [("from", self.from), ("to", self.to)] {
            if let Some(value) = value {
                body[name] = json!(value);
            }
        }
        if let Some(limit) = self.limit {
            body["limit"] = json!(limit);
        }
        let answer = server.call(&Call::post(Route::stream(&self.stream, &["whatif"])).json(&body))?;
        server.show(&answer, print)?;
        Ok(Outcome::Fine)
    }
}

fn print(answer: &Value) {
    let (judged, changed) = (number(answer, "/judged"), number(answer, "/changed"));
    say::line(format_args!("{judged} attempts judged again, {changed} verdicts would change"));
    let expired = number(answer, "/expired");
    if expired > 0 {
        say::line(format_args!("{expired} refused attempts are no longer on record, so the answer leaves them out"));
    }
    if !flag(answer, "/more").is_empty() {
        say::line("there are more attempts than a server judges at once: this is about the oldest of them");
    }
    if changed == 0 {
        return;
    }
    say::line("");
    let mut table = Table::new(["COUNT", "BEFORE", "AFTER"]);
    for change in list(answer, "/by") {
        table.row(["/count", "/from", "/to"].map(|pointer| text(change, pointer)));
    }
    table.print("");
    let examples = list(answer, "/examples");
    if examples.is_empty() {
        return;
    }
    say::line("");
    let mut table = Table::new(["OFFSET", "ATTEMPT", "ID", "BEFORE", "AFTER", "WHY"]);
    for example in examples {
        table
            .row(["/offset", "/attempt", "/id", "/before", "/after", "/message"].map(|pointer| text(example, pointer)));
    }
    table.print("");
}
