//! The writers: each owns a store. What waits is taken in turns, each one commit.
//!
//! With one store everything that waits, up to a thousand events, is one turn and one sync, and the next turn is judged while that
//! sync runs. With several, on one ledger, a turn is about one stream, one handler or the keys, and turns run beside each other
//! (`queue` says which).
//!
//! A writer is a task among those that read requests and write answers, if its store is [at hand](Store::is_at_hand): then a turn
//! finds its events in the processor's cache, and nobody is woken for it. Otherwise it is a thread, because a turn would hold others up.
//!
//! What holds: the inbox is bounded in requests and in bytes, so memory is; an answer leaves after the commit that it
//! rests on, refusals and duplicates included; the first error that a store cannot vouch for ends all writers, and
//! nothing is answered `accepted` after it.
//!
//! Not here: parsing, HTTP. Requests come in read.

mod queue;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use hapax_core::problem::{Problem, ProblemCode};
use hapax_store::begun::Begun;
use hapax_store::seam::{HandlerKey, Store, StoreError, StreamKey, Wake};
use hapax_store::turn::{Answer, Ask, Body, Request, begin, commits, decide};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, oneshot, watch};
use tokio::task;

use crate::clock::{Stopwatch, random};
use crate::config::Limits;
use crate::metrics::Metrics;
use crate::threads::Beside;
use queue::{Item, Queue, Refused};

/// The tenant of those who need no key.
pub const DEFAULT_TENANT: &str = "default";

/// An answer about so many events is worth being written ahead.
const AHEAD_MIN: usize = 100;

/// Where requests wait. With the last one the writers end.
#[derive(Clone, Debug)]
pub struct Inbox {
    door: Arc<Door>,
    turned: watch::Sender<u64>,
    at_hand: bool,
}

#[derive(Debug)]
struct Door(Arc<Requests>);

type Requests = Queue<About, Boxed>;

/// What waits is handed on several times, and has four hundred bytes.
type Boxed = Box<Waiting>;

impl Drop for Door {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// What a request changes. Two that are about different things need not wait for each other.
#[derive(Clone, Debug, PartialEq, Eq)]
enum About {
    Stream(StreamKey),
    Handler(HandlerKey),
    Keys,
}

impl About {
    fn of(ask: &Ask) -> Self {
        match ask {
            Ask::Submit(submission) => Self::Stream(submission.stream.clone()),
            Ask::Correct(correction) => Self::Stream(correction.stream.clone()),
            Ask::PutContract { stream, .. } | Ask::Close { stream, .. } | Ask::Acknowledge { stream, .. } => {
                Self::Stream(stream.clone())
            }
            Ask::PutHandler { key, .. } => Self::Handler(key.clone()),
            Ask::Claim(claim) => Self::Handler(claim.handler.clone()),
            Ask::Call(call) => Self::Handler(call.handler.clone()),
            Ask::PutKey(_) | Ask::RevokeKey { .. } => Self::Keys,
        }
    }
}

/// One request that waits, with all that is let go when it was answered.
#[derive(Debug)]
struct Waiting {
    request: Request,
    answer: oneshot::Sender<Result<Answer, Problem>>,
    held: Held,
}

/// What a request holds until it was answered, whether or not its caller is still there.
#[derive(Debug, Default)]
pub struct Held {
    /// Its share of the memory for bodies.
    pub memory: Option<OwnedSemaphorePermit>,
    /// Its mark among the running requests.
    pub running: Option<crate::http::running::Mark>,
    /// A thread that has time for it, if it is the only request under way.
    pub beside: Option<Arc<Beside>>,
}

impl Inbox {
    /// Hands in a request and waits for its answer.
    pub async fn ask(&self, request: Request, held: Held) -> Result<Answer, Problem> {
        let (answer, answered) = oneshot::channel();
        let (about, size) = (About::of(&request.ask), events_of(&request));
        let waiting = Box::new(Waiting { request, answer, held });
        self.door.0.push(Item { about, size, what: waiting }).map_err(|refused| match refused {
            Refused::Full => busy("too many requests wait"),
            Refused::Closed => stopped(),
        })?;
        // Without an answer the writer has ended, and whether this request was part of its last turn nobody knows.
        answered.await.unwrap_or_else(|_| {
            Err(Problem::new(ProblemCode::StoreStopped, "the store stopped while this request was waiting"))
        })
    }

    /// Lets the writers end after everything that waits now, whoever still holds an inbox.
    pub fn stop(&self) {
        self.door.0.close();
    }

    /// How many requests wait.
    pub fn waiting(&self) -> usize {
        self.door.0.waiting()
    }

    /// Are there still writers?
    pub fn is_open(&self) -> bool {
        self.door.0.is_open()
    }

    /// Is the writer a task among those that read requests and write answers?
    pub fn is_at_hand(&self) -> bool {
        self.at_hand
    }

    /// Changes after every turn, and whenever another server may have taken one.
    pub fn turns(&self) -> watch::Receiver<u64> {
        self.turned.subscribe()
    }

    /// Tells those who wait for turns that there may have been one elsewhere.
    pub fn wake(&self) -> Wake {
        let turned = self.turned.clone();
        Arc::new(move || turned.send_modify(|turns| *turns += 1))
    }
}

/// More waits than fits.
pub(crate) fn busy(detail: &str) -> Problem {
    Problem::new(ProblemCode::Busy, detail)
}

fn stopped() -> Problem {
    Problem::new(ProblemCode::Stopping, "the server takes nothing more")
}

/// The writers' end, to wait for.
#[derive(Debug)]
pub struct Writers<S> {
    writers: Vec<Writer<S>>,
    ended: watch::Receiver<bool>,
}

/// A store as its writer left it, and the error that ended it.
type Left<S> = (S, Option<StoreError>);

#[derive(Debug)]
enum Writer<S> {
    Thread(JoinHandle<Left<S>>),
    Task(task::JoinHandle<Left<S>>),
}

impl<S> Writer<S> {
    fn join(self) -> Left<S> {
        let ended = match self {
            Self::Thread(thread) => thread.join(),
            Self::Task(task) => Handle::current().block_on(task).map_err(|error| error.into_panic()),
        };
        ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl<S> Writers<S> {
    /// Changes when a writer has ended, of itself or because nobody can ask it any more.
    pub fn ended(&self) -> watch::Receiver<bool> {
        self.ended.clone()
    }

    /// Waits for the writers, after they were told to stop, in a thread of the runtime that may block. Answers with their stores,
    /// and with the error that ended them.
    pub fn join(self) -> (Vec<S>, Option<StoreError>) {
        let (mut stores, mut first) = (Vec::with_capacity(self.writers.len()), None);
        for writer in self.writers {
            let (store, error) = writer.join();
            stores.push(store);
            first = first.or(error);
        }
        (stores, first)
    }
}

/// Starts a writer on each of these stores, which are one ledger, in a runtime. They end when they are told to, or with the first
/// error that is final.
pub fn start<S: Store + Send + 'static>(
    mut stores: Vec<S>,
    limits: &Limits,
    metrics: Arc<Metrics>,
) -> Result<(Inbox, Writers<S>), StoreError> {
    let first =
        stores.first_mut().ok_or_else(|| StoreError::Unreachable("there is no store to write to".to_owned()))?;
    first.tenant(&Arc::from(DEFAULT_TENANT), random())?;
    let is_task = first.is_at_hand() && stores.len() == 1;
    let queue = Arc::new(Requests::new(limits.waiting_requests_max, limits.turn_events_max, stores.len()));
    let (turned, (ending, ended)) = (watch::Sender::new(0), watch::channel(false));
    // If a thread cannot be had, those that run already end with this.
    let inbox = Inbox { door: Arc::new(Door(Arc::clone(&queue))), turned: turned.clone(), at_hand: is_task };
    let mut writers = Vec::with_capacity(stores.len());
    for store in stores {
        let leaving = Leaving { queue: Arc::clone(&queue), ending: ending.clone() };
        let (turned, metrics) = (turned.clone(), Arc::clone(&metrics));
        let tasks = is_task.then(Handle::current);
        let after = After { queue: Arc::clone(&queue), turned, metrics, tasks, said: Mutex::new(None) };
        let mut writing = Writing { store, leaving, after: Arc::new(after) };
        if is_task {
            writers.push(Writer::Task(tokio::spawn(async move {
                let error = writing.run_among_others().await;
                (writing.store, error)
            })));
            continue;
        }
        let run = move || {
            let error = writing.run();
            (writing.store, error)
        };
        let thread = std::thread::Builder::new().name("writer".to_owned()).spawn(run);
        let thread = thread.map_err(|error| StoreError::Unreachable(format!("no thread for the writer: {error}")))?;
        writers.push(Writer::Thread(thread));
    }
    Ok((inbox, Writers { writers, ended }))
}

/// However one writer ends, no other begins anything after it.
struct Leaving {
    queue: Arc<Requests>,
    ending: watch::Sender<bool>,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.queue.fail();
        self.ending.send_replace(true);
    }
}

struct Writing<S> {
    store: S,
    leaving: Leaving,
    after: Arc<After>,
}

/// One whose turn is taken.
struct Asker {
    /// Where the answer goes.
    answer: oneshot::Sender<Result<Answer, Problem>>,
    /// What is let go before.
    held: Held,
    /// The stream whose events are counted.
    counted: Option<StreamKey>,
}

impl Asker {
    fn split(waiting: Boxed) -> (Request, Self) {
        let Waiting { request, answer, held } = *waiting;
        let submission = if let Ask::Submit(submission) = &request.ask { Some(submission) } else { None };
        let counted = submission.filter(|it| !it.terms.dry_run).map(|it| it.stream.clone());
        (request, Self { answer, held, counted })
    }

    fn tell(self, answer: Result<Answer, Problem>) {
        // Free before the answer is out: who has it may send the same request again.
        drop(self.held);
        // Whoever asked may have gone; what was decided stands.
        _ = self.answer.send(answer);
    }
}

impl<S: Store> Writing<S> {
    fn run(&mut self) -> Option<StoreError> {
        let queue = Arc::clone(&self.leaving.queue);
        let mut together = Vec::new();
        let mut error = None;
        while let Some((_, about)) = queue.take(&mut together) {
            if let Err(last) = self.turn(&mut together) {
                error = Some(last);
                break;
            }
            queue.over(&about);
        }
        self.end(error)
    }

    async fn run_among_others(&mut self) -> Option<StoreError> {
        let queue = Arc::clone(&self.leaving.queue);
        let mut together = Vec::new();
        let mut error = None;
        while queue.next(&mut together).await.is_some() {
            if let Err(last) = self.turn(&mut together) {
                error = Some(last);
                break;
            }
        }
        task::block_in_place(|| self.end(error))
    }

    /// What is under way is durable, or will never be, before anybody is told that this is the end.
    fn end(&mut self, error: Option<StoreError>) -> Option<StoreError> {
        let settled = self.store.settle().err().filter(is_final);
        error.or(settled).or_else(|| self.after.ended())
    }

    /// Takes a turn. Its answers leave when it is durable, and the next may be taken before that. An error that is returned
    /// is final.
    fn turn(&mut self, together: &mut Vec<Boxed>) -> Result<(), StoreError> {
        let watch = Stopwatch::start();
        let (mut requests, askers): (Vec<_>, Vec<Asker>) = together.drain(..).map(Asker::split).unzip();
        let mut askers = askers.into_iter();
        if let Err(error) = self.tenants(&requests) {
            return self.after.refused(askers, error);
        }
        for together in commits(&mut requests) {
            let events = together.iter().map(events_of).sum();
            let mine: Vec<Asker> = askers.by_ref().take(together.len()).collect();
            let begun = match self.alone(&mine) {
                Some(beside) => self.begin_alone(together, &beside),
                None => begin(&mut self.store, together),
            };
            match begun {
                Ok((answers, begun)) => {
                    let after = Arc::clone(&self.after);
                    let large = large(&answers);
                    after.queue.begun();
                    begun.then(move |outcome| {
                        let tasks = after.tasks.clone();
                        let tell = move || {
                            after.queue.done();
                            match outcome {
                                Ok(()) => after.committed(mine, answers, events, &watch),
                                // It is final, or the next turn meets it again.
                                Err(error) => _ = after.refused(mine.into_iter(), error),
                            }
                        };
                        match tasks.filter(|_| Handle::try_current().is_err()) {
                            Some(tasks) => _ = tasks.spawn(async { tell() }),
                            None => tell(),
                        }
                    });
                    self.write_ahead(&large);
                }
                Err(error) => return self.after.refused(mine.into_iter().chain(askers), error),
            }
        }
        Ok(())
    }

    /// The thread that has time for a turn, if the only request that it is about was alone, and is still.
    fn alone(&self, askers: &[Asker]) -> Option<Arc<Beside>> {
        let [asker] = askers else { return None };
        asker.held.beside.clone().filter(|_| self.after.queue.waiting() == 0)
    }

    /// Takes a turn for somebody who waits for nothing else, and whom nobody else waits for: it is written here, so that no other thread
    /// has to wake up first, and its answer is written down beside.
    fn begin_alone(&mut self, requests: &mut [Request], beside: &Beside) -> Result<(Vec<Answer>, Begun), StoreError> {
        let begun = decide(&mut self.store, requests).and_then(|decided| {
            let bodies = large(decided.answers());
            let elsewhere = |job: Box<dyn FnOnce() + Send>| {
                let bodies = bodies.clone();
                beside.run(move || {
                    job();
                    bodies.iter().for_each(|body| _ = body.bytes());
                })
            };
            decided.begin_alone(&mut self.store, &elsewhere)
        });
        match begun {
            Err(StoreError::Conflict) if self.store.is_shared() => begin(&mut self.store, requests),
            begun => begun,
        }
    }

    /// Writes answers down while the disk is busy and nobody waits: whoever sends alone has them so much sooner.
    fn write_ahead(&self, bodies: &[Body]) {
        for body in bodies.iter().take_while(|_| self.after.queue.has_time()) {
            body.bytes();
        }
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

/// The answers that are worth being written ahead.
fn large(answers: &[Answer]) -> Vec<Body> {
    let large = answers.iter().filter(|answer| answer.receipts().len() >= AHEAD_MIN);
    large.map(|answer| answer.body.clone()).collect()
}

/// What is done once a turn is over, in whatever thread that shows.
struct After {
    queue: Arc<Requests>,
    turned: watch::Sender<u64>,
    metrics: Arc<Metrics>,
    /// Where it is done, if whoever wrote is no task: those who wait are, and to wake one from outside costs more than all the rest of
    /// this, so it is done once for all of a turn.
    tasks: Option<Handle>,
    /// The error of the turn before. It is said once for as long as it lasts: a database that is away fails every turn.
    said: Mutex<Option<StoreError>>,
}

impl After {
    fn committed(&self, askers: Vec<Asker>, answers: Vec<Answer>, events: usize, watch: &Stopwatch) {
        self.metrics.turn(events, watch.seconds());
        self.turned.send_modify(|turns| *turns += 1);
        *self.said() = None;
        self.count(&askers, &answers);
        let mut answers = answers.into_iter();
        for asker in askers {
            asker.tell(answers.next().ok_or_else(|| busy("the turn left this request out")));
        }
    }

    /// Counts what was decided, streams apart.
    fn count(&self, askers: &[Asker], answers: &[Answer]) {
        let decided: Vec<_> = askers.iter().map(|asker| asker.counted.as_ref()).zip(answers).collect();
        for alike in decided.chunk_by(|(one, _), (other, _)| one == other) {
            if let [(Some(stream), _), ..] = alike {
                self.metrics.receipts(stream, alike.iter().flat_map(|(_, answer)| answer.receipts()));
            }
        }
    }

    /// Tells all of them why not. An error that is returned is final.
    fn refused(&self, askers: impl Iterator<Item = Asker>, error: StoreError) -> Result<(), StoreError> {
        let problem = problem_of(&error);
        self.turned.send_modify(|turns| *turns += 1);
        askers.for_each(|asker| asker.tell(Err(problem.clone())));
        let before = self.said().replace(error.clone());
        if before.as_ref() != Some(&error) {
            tracing::error!(%error, "a turn failed");
        }
        if is_final(&error) {
            self.queue.fail();
            return Err(error);
        }
        Ok(())
    }

    /// The error that ended everything, if one did.
    fn ended(&self) -> Option<StoreError> {
        self.said().clone().filter(is_final)
    }

    fn said(&self) -> MutexGuard<'_, Option<StoreError>> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_final(error: &StoreError) -> bool {
    matches!(error, StoreError::Stopped(_) | StoreError::Corrupt(_))
}

fn events_of(request: &Request) -> usize {
    match &request.ask {
        Ask::Submit(submission) => (submission.documents.len() + submission.events.len()).max(1),
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

#[cfg(test)]
mod tests;
