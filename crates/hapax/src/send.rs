//! `hapax send`: events from a file, in batches, until each has its verdict.
//!
//! What holds: a batch that is sent again (after a crash, a lost answer, in a second run) is the same request under the
//! same key. Not here: how files are read (`input`), what is remembered between runs (`resume`), the counting (`tally`).

mod input;
mod resume;
mod tally;

use std::io::IsTerminal as _;
use std::path::PathBuf;

use clap::Args;
use hapax_client::{Batch, Error, Retry};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::outcome::Outcome;
use crate::remote::{Remote, Server, told};
use input::{Event, Format, Input};
use resume::Resume;
use tally::Tally;

/// Send events from a file and say what became of each.
///
/// Reads NDJSON (an event a line), CSV (the first row names the fields) or JSON (an event, or a list of them). Batches are
/// sent one after the other, again and again under the same key until they are answered. Sending the same file once
/// more within a day gives the same answers; --anew asks for new ones.
///
/// Example: hapax send --stream orders orders.ndjson --resume orders.state
#[derive(Args)]
pub(crate) struct Send {
    /// The stream.
    #[arg(long, short, value_name = "STREAM")]
    stream: String,
    /// The file; `-` for standard input.
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
    /// How the file is written; by its ending if not given, NDJSON if that says nothing.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// How many events to send at once.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    batch: u64,
    /// A batch is accepted as a whole or not at all; the first that is refused ends the run.
    #[arg(long)]
    atomic: bool,
    /// Only say what would happen. Each batch is judged on the ledger as it is now, without the batches before it.
    #[arg(long, conflicts_with_all = ["resume", "anew"])]
    dry_run: bool,
    /// Remember in FILE how far it came, and go on from there next time.
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// Have every event judged anew, also if this file was sent before.
    #[arg(long)]
    anew: bool,
    /// CSV: a column that holds texts, also where they look like numbers (repeat it, or separate by commas).
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    text: Vec<String>,
    #[command(flatten)]
    remote: Remote,
}

/// A request may have 16 MiB; half of that leaves room for a server that was told less.
const BATCH_BYTES_MAX: usize = 8 << 20;

impl Send {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let mut server = self.remote.server()?;
        // Whoever sends a file would rather wait for a restart than begin again.
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let aside = bar.clone();
        server.client = server.client.with_retry(Retry::PATIENT).on_wait(move |error, delay| {
            aside.suspend(|| eprintln!("{error}; trying again in {:.1} s", delay.as_secs_f32()));
        });
        let format = self.format.unwrap_or_else(|| Format::of(&self.file));
        let mut input = Input::open(&self.file, format, &self.text, &bar)?;
        let mut resume = Resume::open(self.resume.as_deref(), &self.stream)?;
        resume.skip(&mut input)?;
        let mut tally = resume.tally();
        let mut ended = false;
        while !ended {
            let mut batch = Vec::new();
            let mut bytes = 0;
            while (batch.len() as u64) < self.batch && bytes < BATCH_BYTES_MAX {
                let Some(event) = input.next().transpose()? else {
                    ended = true;
                    break;
                };
                bytes += event.text.len() + 1;
                batch.push(event);
            }
            if batch.is_empty() {
                break;
            }
            let refused = self.send(&server, &batch, &resume, &mut tally, &bar)?;
            if refused && self.atomic {
                bar.finish_and_clear();
                let (first, last) = (batch[0].line, batch[batch.len() - 1].line);
                eprintln!("Nothing of lines {first} to {last} was accepted, and nothing after them was sent.");
                break;
            }
            if !self.dry_run {
                resume.advance(&batch, &tally)?;
            }
        }
        bar.finish_and_clear();
        tally.print(server.is_json(), self.dry_run)?;
        Ok(if tally.refused() > 0 { Outcome::Failed } else { Outcome::Fine })
    }

    /// Sends a batch; says whether any of it was refused.
    fn send(
        &self,
        server: &Server,
        batch: &[Event],
        resume: &Resume,
        tally: &mut Tally,
        bar: &ProgressBar,
    ) -> anyhow::Result<bool> {
        let mut sent = Batch::new(&self.stream, batch.iter().map(|event| &event.text));
        if !self.anew {
            sent = sent.keyed(resume.key(batch, self.atomic));
        }
        let answered = match server.client.send(&sent.atomic(self.atomic).dry_run(self.dry_run)) {
            Ok(answered) => answered,
            // Not one line of the batch is JSON: that is about each of them, and the next batch may be better.
            Err(Error::Problem(problem)) if problem.code == "MALFORMED" => tally::all(batch.len(), &problem),
            Err(error) => {
                bar.finish_and_clear();
                let place = format!("after {} events, at line {}", tally.events(), batch[0].line);
                return Err(told(error).context(place));
            }
        };
        let quiet = server.is_json();
        Ok(tally.add(batch, answered, |line| {
            if !quiet {
                bar.suspend(|| crate::say::line(line));
            }
        }))
    }
}

/// How a bar looks: a file's length is known, standard input's is not.
fn style(length: Option<u64>) -> ProgressStyle {
    let template = match length {
        Some(_) => "{wide_bar} {bytes}/{total_bytes} {eta}",
        None => "{spinner} {bytes} {elapsed}",
    };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// A bar that counts what is read, if somebody looks.
fn watched(bar: &ProgressBar, length: Option<u64>) {
    if std::io::stderr().is_terminal() {
        bar.set_style(style(length));
        if let Some(length) = length {
            bar.set_length(length);
        }
    }
}
