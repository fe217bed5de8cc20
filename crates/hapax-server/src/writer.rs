//! The writer: one thread that owns the store. Everything that waits is one turn and one sync.
//!
//! What holds: the inbox is bounded in requests and in bytes, so memory is; an answer leaves after the commit that it
//! rests on, refusals and duplicates included; the first error that the store cannot vouch for ends the writer, and
//! nothing is answered `accepted` after it.
//!
//! Not here: parsing, HTTP. Requests come in read.

use std::sync::Arc;
use std::thread::JoinHandle;

use hapax_core::problem::{Problem, ProblemCode};
use hapax_store::seam::{Store, StoreError};
use hapax_store::turn::{Answer, Ask, Request, commits, turn};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot, watch};

use crate::clock::{Stopwatch, random};
use crate::config::Limits;
use crate::metrics::Metrics;

/// The tenant of those who need no key.
pub const DEFAULT_TENANT: &str = "default";

/// Where requests wait.
#[derive(Clone, Debug)]
pub struct Inbox {
    sender: mpsc::Sender<Message>,
    turns: watch::Receiver<u64>,
}

#[derive(Debug)]
enum Message {
    Ask(Box<Waiting>),
    Stop,
}

/// One request that waits, with all that is let go when it was answered.
#[derive(Debug)]
struct Waiting {
    request: Request,
    answer: oneshot::Sender<Result<Answer, Problem>>,
    _held: Held,
}

/// What a request holds until it was answered, whether or not its caller is still there.
#[derive(Debug, Default)]
pub struct Held {
    /// Its share of the memory for bodies.
    pub memory: Option<OwnedSemaphorePermit>,
    /// Its mark among the running requests.
    pub running: Option<crate::http::running::Mark>,
}

impl Inbox {
    /// Hands in a request and waits for its answer.
    pub async fn ask(&self, request: Request, held: Held) -> Result<Answer, Problem> {
        let (answer, answered) = oneshot::channel();
        self.sender.try_send(Message::Ask(Box::new(Waiting { request, answer, _held: held }))).map_err(|error| {
            match error {
                mpsc::error::TrySendError::Full(_) => busy("too many requests wait"),
                mpsc::error::TrySendError::Closed(_) => stopped(),
            }
        })?;
        // Without an answer the writer has ended, and whether this request was part of its last turn nobody knows.
        answered.await.unwrap_or_else(|_| {
            Err(Problem::new(ProblemCode::StoreStopped, "the store stopped while this request was waiting"))
        })
    }

    /// Lets the writer end after everything that waits now, whoever still holds an inbox.
    pub async fn stop(&self) {
        // If it has ended already, that is as good.
        _ = self.sender.send(Message::Stop).await;
    }

    /// How many requests wait.
    pub fn waiting(&self) -> usize {
        self.sender.max_capacity() - self.sender.capacity()
    }

    /// Is there still a writer?
    pub fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Changes after every turn.
    pub fn turns(&self) -> watch::Receiver<u64> {
        self.turns.clone()
    }
}

/// More waits than fits.
pub(crate) fn busy(detail: &str) -> Problem {
    Problem::new(ProblemCode::Busy, detail)
}

fn stopped() -> Problem {
    Problem::new(ProblemCode::Stopping, "the server takes nothing more")
}

/// The writer's end, to wait for.
#[derive(Debug)]
pub struct Writer<S> {
    thread: JoinHandle<(S, Option<StoreError>)>,
    ended: watch::Receiver<bool>,
}

impl<S> Writer<S> {
    /// Changes when the writer has ended, of itself or because nobody can ask it any more.
    pub fn ended(&self) -> watch::Receiver<bool> {
        self.ended.clone()
    }

    /// Waits for the writer, after it was told to stop. Answers with its store, and with the error that ended it.
    pub fn join(self) -> (S, Option<StoreError>) {
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Starts the writer. It ends when it is told to, or with the first error that is final.
pub fn start<S: Store + Send + 'static>(
    mut store: S,
    limits: &Limits,
    metrics: Arc<Metrics>,
) -> Result<(Inbox, Writer<S>), StoreError> {
    store.tenant(&Arc::from(DEFAULT_TENANT), random())?;
    let (sender, receiver) = mpsc::channel(limits.waiting_requests_max);
    let (turned, turns) = watch::channel(0);
    let (ending, ended) = watch::channel(false);
    let turn_events_max = limits.turn_events_max;
    let run = move || {
        let mut writing = Writing { store, receiver, turned, metrics, turn_events_max };
        let error = writing.run();
        _ = ending.send(true);
        (writing.store, error)
    };
    let thread = std::thread::Builder::new().name("writer".to_owned()).spawn(run);
    let thread = thread.map_err(|error| StoreError::Unreachable(format!("no thread for the writer: {error}")))?;
    Ok((Inbox { sender, turns }, Writer { thread, ended }))
}

struct Writing<S> {
    store: S,
    receiver: mpsc::Receiver<Message>,
    turned: watch::Sender<u64>,
    metrics: Arc<Metrics>,
    turn_events_max: usize,
}

impl<S: Store> Writing<S> {
    fn run(&mut self) -> Option<StoreError> {
        let mut together = Vec::new();
        while let Some(first) = self.receiver.blocking_recv() {
            let mut events = self.take(first, &mut together);
            while events < self.turn_events_max
                && let Ok(next) = self.receiver.try_recv()
            {
                events += self.take(next, &mut together);
            }
            if !together.is_empty()
                && let Err(error) = self.turn(&mut together, events)
            {
                return Some(error);
            }
        }
        None
    }

    /// Takes a message; answers how many events it brings.
    fn take(&mut self, message: Message, together: &mut Vec<Waiting>) -> usize {
        match message {
            Message::Ask(waiting) => {
                let events = events_of(&waiting.request);
                together.push(*waiting);
                events
            }
            // What was sent before is still received.
            Message::Stop => {
                self.receiver.close();
                0
            }
        }
    }

    /// Takes a turn. An error that is returned is final.
    fn turn(&mut self, together: &mut Vec<Waiting>, events: usize) -> Result<(), StoreError> {
        let watch = Stopwatch::start();
        let (mut requests, waiting): (Vec<_>, Vec<_>) =
            together.drain(..).map(|it| (it.request, (it.answer, it._held))).unzip();
        let (answers, error) = self.answer(&mut requests);
        self.metrics.turn(events, watch.seconds());
        self.turned.send_modify(|turns| *turns += 1);
        let problem = error.as_ref().map(problem_of);
        let mut answers = answers.into_iter();
        for (sender, held) in waiting {
            // Free before the answer is out: who has it may send the same request again.
            drop(held);
            let answer = match (answers.next(), &problem) {
                (Some(answer), _) => Ok(answer),
                (None, Some(problem)) => Err(problem.clone()),
                (None, None) => Err(busy("the turn left this request out")),
            };
            // Whoever asked may have gone; what was decided stands.
            _ = sender.send(answer);
        }
        let Some(error) = error else { return Ok(()) };
        tracing::error!(%error, "a turn failed");
        let is_final = matches!(error, StoreError::Stopped(_) | StoreError::Corrupt(_));
        if is_final { Err(error) } else { Ok(()) }
    }

    /// The answers up to the first error: those of what was committed before it.
    fn answer(&mut self, requests: &mut [Request]) -> (Vec<Answer>, Option<StoreError>) {
        let mut answers = Vec::with_capacity(requests.len());
        if let Err(error) = self.tenants(requests) {
            return (answers, Some(error));
        }
        for together in commits(requests) {
            match turn(&mut self.store, together) {
                Ok(more) => answers.extend(more),
                Err(error) => return (answers, Some(error)),
            }
        }
        (answers, None)
    }

    /// The first key of a tenant makes the tenant.
    fn tenants(&mut self, requests: &[Request]) -> Result<(), StoreError> {
        for request in requests {
            if let Ask::PutKey(key) = &request.ask {
                self.store.tenant(&key.tenant, random())?;
            }
        }
        Ok(())
    }
}

fn events_of(request: &Request) -> usize {
    match &request.ask {
        Ask::Submit(submission) => submission.documents.len().max(1),
        Ask::PutContract { .. }
        | Ask::Correct(_)
        | Ask::Close { .. }
        | Ask::Acknowledge { .. }
        | Ask::PutHandler { .. }
        | Ask::Claim(_)
        | Ask::Call(_)
        | Ask::PutKey(_)
        | Ask::RevokeKey { .. } => 1,
    }
}

/// What callers are told of a store's error: never a path or a database's words.
pub(crate) fn problem_of(error: &StoreError) -> Problem {
    let (code, detail) = match error {
        StoreError::Conflict => (ProblemCode::Busy, "others wrote at the same time, again and again"),
        StoreError::Full => (ProblemCode::DiskLow, "the disk is nearly full; nothing was written"),
        StoreError::Unreachable(_) => {
            (ProblemCode::StoreUnreachable, "the store cannot be reached; nothing was written")
        }
        StoreError::Corrupt(_) => {
            (ProblemCode::StoreCorrupt, "the store contradicts itself; the log of the server says where")
        }
        StoreError::Stopped(_) => {
            (ProblemCode::StoreStopped, "a write or a sync failed; send it again after a restart")
        }
        StoreError::Unknown(_) => {
            (ProblemCode::CommitUnknown, "the store went away in the middle of a commit; send it again")
        }
    };
    Problem::new(code, detail)
}
