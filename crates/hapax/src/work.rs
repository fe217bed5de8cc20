//! `hapax work`: a command per entry, each claimed first, kept alive while it runs, and marked when it ends.
//!
//! Not here: the loop itself (`hapax_client::Worker`) and the running of a command (`child`).

mod child;

use std::time::Duration;

use clap::{Args, ValueEnum};
use hapax_client::{
    Call, Claim, Client, Entry, Error, Happening, Plan, Retry, Route, Stop, Summary, Work as Handle, Worker,
};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::field::number;
use crate::handlers::Declared;
use crate::outcome::Outcome;
use crate::remote::{Remote, told};
use crate::{say, signals};
use child::Runner;

/// Run a command for each entry of a stream, once, as far as that is possible.
///
/// The command gets the entry as JSON on standard input, and HAPAX_FENCE, HAPAX_EVENT_ID, HAPAX_OFFSET, HAPAX_LANE and
/// HAPAX_ATTEMPT in its environment. If it ends well the entry is done, and what it printed is kept as the result if it is
/// JSON; if not, it is tried again later, and its last words are kept. Asked to stop (SIGTERM, Ctrl-C) it finishes what it
/// is doing; asked twice it kills it. Ends 0 if all went well, 1 if something was given up or held back.
///
/// Example: hapax work --handler mailer --stream orders --create --order in-order -- ./send-mail
#[derive(Args)]
pub(crate) struct Work {
    /// The handler.
    #[arg(long, value_name = "HANDLER")]
    handler: String,
    /// The stream.
    #[arg(long, short, value_name = "STREAM")]
    stream: String,
    /// Where to begin reading: `beginning` (whatever was not handled yet), `end`, or an offset. A handler in order never
    /// passes over an earlier event of a lane, so there only `beginning` makes sense.
    #[arg(long, value_name = "WHERE", default_value = "beginning", value_parser = a_place)]
    from: From,
    /// End when everything in the stream now is handled.
    #[arg(long)]
    once: bool,
    /// When the server is away: end, or wait until it is back.
    #[arg(long, value_enum, default_value_t = Unavailable::Pause)]
    when_unavailable: Unavailable,
    /// Who this worker is, for people who look at claims.
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,
    #[command(flatten)]
    remote: Remote,
    /// Declare the handler if there is none.
    #[arg(long)]
    create: bool,
    #[command(flatten, next_help_heading = "With --create")]
    declared: Declared,
    /// The command, after `--`.
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Unavailable {
    Fail,
    Pause,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    Beginning,
    End,
    After(u64),
}

fn a_place(text: &str) -> Result<From, &'static str> {
    match text {
        "beginning" => Ok(From::Beginning),
        "end" => Ok(From::End),
        number => number.parse().map(From::After).map_err(|_| "a place is `beginning`, `end` or an offset"),
    }
}

impl Work {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let server = self.remote.server()?;
        let retry = match self.when_unavailable {
            Unavailable::Fail => Retry::BRIEF,
            Unavailable::Pause => Retry::FOR_EVER,
        };
        let (stop, kill) = (Stop::new(), Stop::new());
        signals::listen(&stop, &kill)?;
        let client = server.client.clone().with_retry(retry).on_wait(waiting);
        let plan = match self.plan(&client.clone().with_stop(stop.clone())) {
            Ok(plan) => plan,
            Err(_) if stop.is_set() => return Ok(Outcome::Fine),
            Err(error) => return Err(told(error)),
        };
        let mut work = Runner::new(&self.command, kill);
        let summary = Worker::new(&client, plan, stop).run(&mut work).map_err(told)?;
        print(&summary);
        Ok(if summary.dead + summary.held_back > 0 { Outcome::Failed } else { Outcome::Fine })
    }

    fn plan(&self, client: &Client) -> Result<Plan, Error> {
        let owner = self.owner.clone().unwrap_or_else(|| format!("hapax work, process {}", std::process::id()));
        let plan = match Plan::of(client, &self.handler, &self.stream, &owner) {
            Err(Error::Problem(problem)) if problem.code == "HANDLER_NOT_FOUND" && self.create => {
                let body = self.declared.body(Some(&self.stream));
                client.call(&Call::put(Route::handler(&self.handler, &[])).json(&body))?;
                Plan::of(client, &self.handler, &self.stream, &owner)?
            }
            plan => plan?,
        };
        let after = match self.from {
            From::Beginning => plan.after,
            From::After(offset) => offset,
            From::End => {
                let head: Value = client.get(Route::stream(&self.stream, &["head"]))?.json()?;
                number(&head, "/offset")
            }
        };
        Ok(Plan { after, once: self.once, ..plan })
    }
}

fn waiting(error: &Error, delay: Duration) {
    eprintln!("{error}; trying again in {:.1} s", delay.as_secs_f32());
}

impl Handle for Runner {
    fn run(&mut self, entry: &Entry, claim: &Claim) -> Result<Option<Box<RawValue>>, String> {
        self.run_once(entry, claim)
    }

    fn told(&mut self, entry: &Entry, happening: &Happening) {
        let about = format!("{} {}", entry.offset, entry.id);
        match happening {
            Happening::Done => say::line(format_args!("{about}: done")),
            Happening::Failed(error) => eprintln!("{about}: failed: {}", error.trim_end()),
            Happening::Dead => eprintln!("{about}: given up; `hapax handlers dead` shows it, retry or skip it there"),
            Happening::Lost => eprintln!("{about}: another worker has it now"),
            Happening::Unknown => eprintln!("{about}: the server knows no such event; passed over"),
        }
    }
}

fn print(summary: &Summary) {
    let Summary { done, failed, dead, held_back, skipped } = summary;
    let parts = [
        (done, "done"),
        (failed, "failed attempts"),
        (dead, "given up"),
        (held_back, "held back"),
        (skipped, "passed over"),
    ];
    let parts: Vec<_> = parts.iter().filter(|(many, word)| **many > 0 || *word == "done").collect();
    eprintln!("{}", parts.iter().map(|(many, word)| format!("{many} {word}")).collect::<Vec<_>>().join(", "));
}
