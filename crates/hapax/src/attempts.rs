//! `hapax attempts`: the audit. Everything that was sent, whatever became of it.

use clap::{Args, ValueEnum};
use hapax_client::{Call, Route};

use crate::field::text;
use crate::outcome::Outcome;
use crate::remote::{Remote, told};
use crate::table::Table;

/// Show the audit: everything that was sent, whatever became of it.
///
/// Example: hapax attempts --stream orders --verdict rejected --export csv > refused.csv
#[derive(Args)]
pub(crate) struct Attempts {
    /// The stream.
    #[arg(long, short, value_name = "STREAM")]
    stream: String,
    /// Only this lane.
    #[arg(long, value_name = "LANE")]
    lane: Option<String>,
    /// Only this event.
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Only this verdict: accepted, duplicate, conflict, stale, rejected, not_evaluated.
    #[arg(long, value_name = "VERDICT")]
    verdict: Option<String>,
    /// Only this code, such as SEQUENCE_CONFLICT.
    #[arg(long, value_name = "CODE")]
    code: Option<String>,
    /// From this time on.
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Before this time.
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
    /// At most so many.
    #[arg(long, value_name = "N", default_value_t = 100, conflicts_with = "export")]
    limit: u64,
    /// Write all of them, as the server exports them.
    #[arg(long, value_enum, value_name = "FORMAT")]
    export: Option<Export>,
    #[command(flatten)]
    remote: Remote,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Export {
    Ndjson,
    Csv,
}

impl Attempts {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let server = self.remote.server()?;
        let route = Route::stream(&self.stream, &["attempts"])
            .with_some("lane", self.lane)
            .with_some("id", self.id)
            .with_some("verdict", self.verdict)
            .with_some("code", self.code)
            .with_some("from", self.from)
            .with_some("to", self.to);
        if let Some(export) = self.export {
            let accept = if export == Export::Csv { "text/csv" } else { "application/x-ndjson" };
            let mut incoming = server.client.open(&Call::get(route).header("accept", accept)).map_err(told)?;
            return match std::io::copy(&mut incoming, &mut std::io::stdout().lock()) {
                Ok(_) => Ok(Outcome::Fine),
                // Whoever reads it may stop early.
                Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(Outcome::Fine),
                Err(error) => anyhow::bail!("the export broke off: {error}. Run it again."),
            };
        }
        let found = server.list(route, "attempts", self.limit)?;
        server.show_list(&found, |attempts| {
            let mut table = Table::new(["ATTEMPT", "AT", "ID", "LANE", "SEQ", "VERDICT", "CODE", "MARKS", "MESSAGE"]);
            for attempt in attempts {
                table.row(
                    ["/attempt", "/at", "/id", "/lane", "/seq", "/verdict", "/code", "/marks", "/message"]
                        .map(|pointer| text(attempt, pointer)),
                );
            }
            table.print("There is no such attempt.");
        })?;
        Ok(Outcome::Fine)
    }
}
