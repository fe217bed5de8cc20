//! HTTP: the table of routes, and the one way that every request goes.
//!
//! ```text
//! route ▶ who (key) ▶ how much ▶ may they ▶ parameters ▶ body (size, coding, size) ▶ action ▶ answer
//! ```
//!
//! What holds: a route cannot be added without its right, its parameters and its sentence, because they are one row, and
//! the row is what the router, the door and `/openapi.json` are made of. Every answer that is not about an event is a
//! problem with a code. Not here: rules, bytes on disk.

mod call;
mod framing;
mod limited;
mod reply;
mod route;

pub mod body;
pub mod cloudevents;
mod covered;
pub mod documents;
mod halves;
pub mod request_key;
pub mod running;
pub mod under_way;

mod attempts;
mod counters;
mod events;
mod explain;
mod follow;
mod handlers;
mod keys;
mod lanes;
mod ledger;
mod openapi;
mod pages;
mod probes;
mod streams;
mod told;
mod whatif;

use std::net::IpAddr;
use std::sync::Arc;

use hapax_core::problem::{Problem, ProblemCode};
use hapax_store::seam::Read;
use tokio::sync::{Semaphore, watch};

use crate::clock::{Clock, Stopwatch};
use crate::config::{Config, Limits};
use crate::connection::head::Head;
use crate::connection::incoming::Incoming;
use crate::metrics::Metrics;
use crate::rate::Rating;
use crate::threads::awake::Awake;
use crate::threads::{self, Beside};
use crate::writer::Inbox;
pub use call::Call;
use call::Who;
pub use reply::{BrokenOff, Pieces, Reply, Stream};
pub use route::{Route, Router, routes};

/// What every request can use.
pub struct App {
    /// What was committed.
    pub reader: Arc<dyn Read + Send + Sync>,
    /// The way to the writer.
    pub inbox: Inbox,
    /// The time.
    pub clock: Arc<Clock>,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// What is taken at most.
    pub limits: Limits,
    /// How much everybody has sent lately.
    pub rating: Rating,
    /// Requests with a key of their own that are not answered yet.
    pub running: running::Running,
    /// KiB for bodies that are being read or wait.
    pub memory: Arc<Semaphore>,
    /// Requests with events that are not answered yet.
    pub under_way: under_way::UnderWay,
    /// A thread for the second half of a large batch, if there is a processor for it.
    pub beside: Option<Arc<Beside>>,
    /// What keeps the threads awake, where that is worth it.
    pub awake: Option<Awake>,
    /// Places for bodies that are unpacked.
    pub unpacking: Semaphore,
    /// Places for followers.
    pub followers: Arc<Semaphore>,
    /// One what-if or history at a time.
    pub asking: Semaphore,
    /// The names that it goes by, besides `localhost`.
    pub hosts: Vec<String>,
    stopping: watch::Sender<bool>,
    router: Router,
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl App {
    /// Puts a server together around its store.
    pub fn new(
        reader: Arc<dyn Read + Send + Sync>,
        inbox: Inbox,
        clock: Arc<Clock>,
        metrics: Arc<Metrics>,
        config: &Config,
    ) -> Self {
        let (limits, hosts) = (config.limits.clone(), config.hosts.clone());
        let memory = Arc::new(Semaphore::new(limits.waiting_bytes_max.div_ceil(1024)));
        let followers = Arc::new(Semaphore::new(limits.followers_max));
        // Where turns wait for a database, threads that are awake would only take its processors.
        let awake = inbox.is_at_hand().then(threads::awake).flatten();
        let (running, stopping) = (running::Running::default(), watch::Sender::new(false));
        let (asking, router, rating) = (Semaphore::new(1), Router::new(), Rating::default());
        let (under_way, unpacking) = (under_way::UnderWay::default(), Semaphore::new(body::UNPACKED_AT_ONCE_MAX));
        Self {
            reader,
            inbox,
            clock,
            metrics,
            limits,
            rating,
            running,
            memory,
            under_way,
            beside: Beside::start().map(Arc::new),
            awake,
            unpacking,
            followers,
            asking,
            hosts,
            stopping,
            router,
        }
    }

    /// From now on the server is not ready, and followers end.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Is the server about to stop?
    pub fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Changes when the server is about to stop.
    pub fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.subscribe()
    }

    /// Answers a request from an address. Whatever goes wrong is an answer too.
    pub async fn answer(self: &Arc<Self>, head: Box<Head>, body: Incoming, peer: IpAddr) -> Reply {
        let watch = Stopwatch::start();
        let (route, outcome) = self.route(head, body, peer).await;
        let reply = outcome.unwrap_or_else(|problem| Reply::problem(&problem));
        self.metrics.request(route, reply.status(), watch.seconds());
        reply
    }

    async fn route(
        self: &Arc<Self>,
        head: Box<Head>,
        body: Incoming,
        peer: IpAddr,
    ) -> (&'static str, Result<Reply, Problem>) {
        // Whether the process lives is no secret, and is answered also while the store does not answer.
        let needs_keys = || Ok(head.uri.path() == probes::LIVE || self.reader.needs_keys().map_err(unread)?);
        if let Err(problem) = framing::check(&head, needs_keys, &self.hosts) {
            return ("none", Ok(Reply::problem(&problem).with("connection", "close")));
        }
        let found = match self.router.find(&head.method, head.uri.path()) {
            Ok(found) => found,
            Err(reply) => return ("none", Ok(reply)),
        };
        let route = found.route;
        let who = Who::of(self, &head, route.deed);
        let account = limited::account(self, route, &who, peer);
        let reply = match limited::take_request(self, route, account.as_ref()) {
            Err(reply) => {
                limited::discard(self, &head.headers, body).await;
                reply
            }
            Ok(()) => {
                let opened = who.and_then(|who| {
                    let mut call = Call::open(self, route, found.params, head, body, who)?;
                    call.account = account.clone();
                    Ok(call)
                });
                let outcome = match opened {
                    Ok(call) => (route.action)(Arc::clone(self), call).await,
                    Err(problem) => Err(problem),
                };
                outcome.unwrap_or_else(|problem| Reply::problem(&problem))
            }
        };
        (route.path, Ok(limited::told(self, account.as_ref(), reply)))
    }
}

/// A request that cannot be read.
pub(crate) fn malformed(detail: impl Into<String>) -> Problem {
    Problem::new(ProblemCode::Malformed, detail)
}

/// A request that can be read, and says something that cannot be.
pub(crate) fn invalid(detail: impl Into<String>) -> Problem {
    Problem::new(ProblemCode::RequestInvalid, detail)
}

/// What a store could not do, in the words of the wire.
pub(crate) fn unread(error: hapax_store::seam::StoreError) -> Problem {
    tracing::error!(%error, "the store could not be read");
    crate::writer::problem_of(&error)
}
