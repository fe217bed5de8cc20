//! `hapax tail`: the newest entries of a stream, and then each new one as it comes.

use std::time::Duration;

use clap::Args;
use hapax_client::{Entry, Retry, Route, Stop};
use serde_json::Value;

use crate::field::{number, text};
use crate::outcome::Outcome;
use crate::remote::{Remote, Server, told};
use crate::{paint, say};

/// Print a stream's newest entries, and with -f each new one as it comes.
///
/// A line is an entry: its offset, when it came, its lane and number, its id, its marks, the document. With --verdicts a
/// line is an attempt, so that what was refused is shown too.
///
/// Example: hapax tail --stream orders -f
#[derive(Args)]
pub(crate) struct Tail {
    /// The stream.
    #[arg(long, short, value_name = "STREAM")]
    stream: String,
    /// Begin after this offset (with --verdicts: after this attempt).
    #[arg(long, value_name = "N")]
    after: Option<u64>,
    /// Begin with the last N entries.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10, conflicts_with = "after")]
    lines: u64,
    /// Do not end: print each new one as it comes.
    #[arg(short, long)]
    follow: bool,
    /// Only this lane.
    #[arg(long, value_name = "LANE")]
    lane: Option<String>,
    /// Every attempt with its verdict, not only what was accepted.
    #[arg(long)]
    verdicts: bool,
    #[command(flatten)]
    remote: Remote,
}

/// How often to ask for new attempts; they cannot be followed.
const ATTEMPTS_EVERY: Duration = Duration::from_secs(1);

impl Tail {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let server = self.remote.server()?;
        if self.verdicts {
            self.attempts(&server)?
        } else {
            self.entries(&server)?
        }
        Ok(Outcome::Fine)
    }

    fn begin(&self, server: &Server) -> anyhow::Result<u64> {
        if let Some(after) = self.after {
            return Ok(after);
        }
        let head: Value = server.get(Route::stream(&self.stream, &["head"]))?.json().map_err(told)?;
        Ok(number(&head, "/offset").saturating_sub(self.lines))
    }

    fn entries(&self, server: &Server) -> anyhow::Result<()> {
        let after = self.begin(server)?;
        if self.follow {
            // Whoever follows wants to see a restart through.
            let client = server.client.clone().with_retry(Retry::FOR_EVER).on_wait(|error, _| eprintln!("{error}"));
            for entry in client.follow(&self.stream, self.lane.as_deref(), after, Stop::new()) {
                if !print(server, &entry.map_err(told)?) {
                    break;
                }
            }
            return Ok(());
        }
        let route = Route::stream(&self.stream, &["events"]).with_some("lane", self.lane.as_ref());
        for raw in server.client.pages(route, "events", u64::MAX).after(after) {
            if !print(server, &Entry::read(raw.map_err(told)?)?) {
                break;
            }
        }
        Ok(())
    }

    fn attempts(&self, server: &Server) -> anyhow::Result<()> {
        let mut after = self.after;
        let mut route = Route::stream(&self.stream, &["attempts"]).with_some("lane", self.lane.as_ref());
        if after.is_none()
            && let Some(since) = self.since(server)?
        {
            route = route.with("from", since);
        }
        loop {
            for raw in server.client.pages(route.clone(), "attempts", u64::MAX).after(after.unwrap_or(0)) {
                let raw = raw.map_err(told)?;
                let attempt: Value = serde_json::from_str(raw.get())?;
                after = Some(number(&attempt, "/attempt"));
                if !say::line_is_read(if server.is_json() { raw.get().to_owned() } else { in_a_line(&attempt) }) {
                    return Ok(());
                }
            }
            if !self.follow {
                return Ok(());
            }
            Stop::new().wait(ATTEMPTS_EVERY);
        }
    }

    /// When the first of the last entries came: attempts have no offsets to count back.
    fn since(&self, server: &Server) -> anyhow::Result<Option<String>> {
        let after = self.begin(server)?;
        let first = server
            .client
            .pages(Route::stream(&self.stream, &["events"]), "events", 1)
            .after(after)
            .next()
            .transpose()
            .map_err(told)?;
        Ok(first.map(Entry::read).transpose()?.map(|entry| entry.ingested_at).filter(|_| after > 0))
    }
}

/// Prints an entry, and says whether anybody reads it.
fn print(server: &Server, entry: &Entry) -> bool {
    if server.is_json() {
        return say::line_is_read(entry.raw.get());
    }
    // What people did by hand belongs to no lane.
    let whose = if entry.is_event() { entry.lane.clone() } else { entry.kind.clone().unwrap_or_default() };
    let seq = entry.seq.map(|seq| format!("#{seq}")).unwrap_or_default();
    let marks = entry.marks.join(" ");
    let gap = if marks.is_empty() { "" } else { "  " };
    say::line_is_read(format_args!(
        "{:>6}  {}  {whose}{seq}  {}{gap}{}  {}",
        entry.offset,
        paint::dim(&entry.ingested_at),
        paint::bold(&entry.id),
        paint::mark(&marks),
        entry.document.get(),
    ))
}

/// An attempt for people.
fn in_a_line(attempt: &Value) -> String {
    let at = |pointer| text(attempt, pointer);
    let seq = if at("/seq").is_empty() { String::new() } else { format!("#{}", at("/seq")) };
    let remarks = [paint::mark(&at("/marks")), at("/code"), at("/message")];
    let remarks: Vec<_> = remarks.into_iter().filter(|remark| !remark.is_empty()).collect();
    let verdict = at("/verdict");
    // Painted letters have no width, so the padding is counted by hand.
    let padding = " ".repeat(13_usize.saturating_sub(verdict.len()));
    let line = format!(
        "{:>6}  {}  {}{padding}  {}{seq}  {}  {}",
        number(attempt, "/attempt"),
        paint::dim(&at("/at")),
        paint::verdict(&verdict),
        at("/lane"),
        paint::bold(&at("/id")),
        remarks.join("  "),
    );
    line.trim_end().to_owned()
}
