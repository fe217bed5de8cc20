//! `hapax handlers`: who acts on events, how far each is, and what it gave up on.

use clap::{Args, Subcommand, ValueEnum};
use hapax_client::{Call, Route};
use serde_json::{Value, json};

use crate::field::text;
use crate::outcome::Outcome;
use crate::remote::{Remote, Server};
use crate::say;
use crate::table::Table;

/// List handlers, show or declare one, and look after its dead letters.
///
/// Example: hapax handlers dead mailer
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Handlers {
    #[command(subcommand)]
    deed: Option<Deed>,
    #[command(flatten)]
    remote: Remote,
}

#[derive(Subcommand)]
enum Deed {
    /// List the handlers.
    List {
        #[command(flatten)]
        remote: Remote,
    },
    /// Show a handler, what it guarantees and how far it is.
    Show {
        /// The handler.
        handler: String,
        #[command(flatten)]
        remote: Remote,
    },
    /// Declare a handler.
    ///
    /// Example: hapax handlers put mailer --stream orders --order in-order --effect idempotent-target
    Put {
        /// The handler.
        handler: String,
        /// The stream it reads; without one it is a bare registry.
        #[arg(long, short, value_name = "STREAM")]
        stream: Option<String>,
        #[command(flatten)]
        declared: Declared,
        #[command(flatten)]
        remote: Remote,
    },
    /// List what a handler gave up on.
    Dead {
        /// The handler.
        handler: String,
        /// At most so many.
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: u64,
        #[command(flatten)]
        remote: Remote,
    },
    /// Have a dead letter tried again, with all its attempts.
    Retry {
        #[command(flatten)]
        letter: Letter,
        #[command(flatten)]
        remote: Remote,
    },
    /// Let a dead letter go, for a reason that is kept.
    ///
    /// Example: hapax handlers skip mailer e-7 --reason "address does not exist"
    Skip {
        #[command(flatten)]
        letter: Letter,
        /// Why.
        #[arg(long, value_name = "TEXT")]
        reason: String,
        #[command(flatten)]
        remote: Remote,
    },
}

#[derive(Args)]
struct Letter {
    /// The handler.
    handler: String,
    /// The event's id.
    id: String,
    /// Its lane, where several lanes hold the id.
    #[arg(long, value_name = "LANE")]
    lane: Option<String>,
}

/// What a handler declares about itself; what is not given keeps the server's default.
#[derive(Args, Default)]
pub(crate) struct Declared {
    /// Which of a lane's events may be claimed when.
    #[arg(long, value_enum)]
    order: Option<Order>,
    /// What the target does about a repetition.
    #[arg(long, value_enum)]
    effect: Option<Effect>,
    /// How long a claim is held without a heartbeat (900s).
    #[arg(long, value_name = "DURATION")]
    lease: Option<String>,
    /// How often a worker says that it lives (30s).
    #[arg(long, value_name = "DURATION")]
    heartbeat: Option<String>,
    /// After so many attempts it is given up (5).
    #[arg(long, value_name = "N")]
    attempts_max: Option<u32>,
    /// The delay after the first failure; it doubles (1s).
    #[arg(long, value_name = "DURATION")]
    backoff: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Order {
    /// Any, at any time.
    None,
    /// What is older than what was done is skipped.
    #[value(alias = "latest_only")]
    LatestOnly,
    /// One after the other; one that cannot be done holds its lane.
    #[value(name = "in-order", alias = "in_order")]
    Lane,
}

#[derive(Clone, Copy, ValueEnum)]
enum Effect {
    /// Effect and mark are one transaction.
    Transactional,
    /// The target recognises the event.
    #[value(alias = "idempotent_target")]
    IdempotentTarget,
    /// The target refuses older fences.
    Fenced,
    /// Nothing.
    #[value(alias = "at_least_once")]
    AtLeastOnce,
}

impl Declared {
    /// As it stands on the wire.
    pub(crate) fn body(&self, stream: Option<&str>) -> Value {
        let order = self.order.map(|order| match order {
            Order::None => "none",
            Order::LatestOnly => "latest_only",
            Order::Lane => "in_order",
        });
        let effect = self.effect.map(|effect| match effect {
            Effect::Transactional => "transactional",
            Effect::IdempotentTarget => "idempotent_target",
            Effect::Fenced => "fenced",
            Effect::AtLeastOnce => "at_least_once",
        });
        let members = [
            ("stream", json!(stream)),
            ("order", json!(order)),
            ("effect", json!(effect)),
            ("lease", json!(self.lease)),
            ("heartbeat", json!(self.heartbeat)),
            ("attempts_max", json!(self.attempts_max)),
            ("backoff", json!(self.backoff)),
        ];
        members
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }
}

impl Handlers {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        match self.deed {
            None => all(&self.remote.server()?)?,
            Some(Deed::List { remote }) => all(&remote.server()?)?,
            Some(Deed::Show { handler, remote }) => {
                let server = remote.server()?;
                let answer = server.get(Route::handler(&handler, &[]))?;
                server.show(&answer, print)?;
            }
            Some(Deed::Put { handler, stream, declared, remote }) => {
                let server = remote.server()?;
                let body = declared.body(stream.as_deref());
                let answer = server.call(&Call::put(Route::handler(&handler, &[])).json(&body))?;
                server.show(&answer, print)?;
            }
            Some(Deed::Dead { handler, limit, remote }) => dead(&remote.server()?, &handler, limit)?,
            Some(Deed::Retry { letter, remote }) => letter.call(&remote.server()?, "retry", json!({}))?,
            Some(Deed::Skip { letter, reason, remote }) => {
                letter.call(&remote.server()?, "skip", json!({ "reason": reason }))?;
            }
        }
        Ok(Outcome::Fine)
    }
}

fn all(server: &Server) -> anyhow::Result<()> {
    let found = server.list(Route::to(&["v1", "handlers"]), "handlers", u64::MAX)?;
    server.show_list(&found, |handlers| {
        let mut table = Table::new(["HANDLER", "STREAM", "ORDER", "EFFECT", "LAG", "DEAD"]);
        for handler in handlers {
            table.row(["/name", "/stream", "/order", "/effect", "/lag", "/dead"].map(|pointer| text(handler, pointer)));
        }
        table.print("There are no handlers yet; `hapax handlers put NAME` or `hapax work --create` makes one.");
    })
}

fn print(handler: &Value) {
    for name in ["name", "stream", "order", "effect", "lease", "heartbeat", "attempts_max", "backoff", "lag", "dead"] {
        let value = text(handler, &format!("/{name}"));
        if !value.is_empty() {
            say::line(format_args!("{name:<13} {value}"));
        }
    }
    say::line(text(handler, "/guarantee"));
}

fn dead(server: &Server, handler: &str, limit: u64) -> anyhow::Result<()> {
    let found = server.list(Route::handler(handler, &["dead"]), "dead", limit)?;
    server.show_list(&found, |letters| {
        let mut table = Table::new(["EVENT", "LANE", "SEQ", "ATTEMPTS", "ERROR"]);
        for letter in letters {
            let error = text(letter, "/error");
            let error = error.lines().next_back().unwrap_or_default().to_owned();
            let [id, lane, seq, attempts] = ["/event_id", "/lane", "/seq", "/attempt"].map(|it| text(letter, it));
            table.row([id, lane, seq, attempts, error]);
        }
        table.print("Nothing was given up.");
    })
}

impl Letter {
    fn call(&self, server: &Server, what: &str, mut body: Value) -> anyhow::Result<()> {
        if let Some(lane) = &self.lane {
            body["lane"] = json!(lane);
        }
        let route = Route::handler(&self.handler, &["dead", &self.id, what]).with_some("lane", self.lane.as_ref());
        let answer = server.call(&Call::post(route).json(&body))?;
        server.show(&answer, |_| {
            let done = if what == "retry" { "will be tried again" } else { "was let go" };
            say::line(format_args!("{} {done}", self.id));
        })
    }
}
