//! Several writers on one ledger. Each store here is a clone of one in memory that keeps others from changing what it has
//! loaded, as a database does, and does to a handler what the handler's name says.

use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use hapax_core::claim::{Handler, Jitter};
use hapax_core::entry::Caller;
use hapax_core::problem::{Problem, ProblemCode};
use hapax_core::time::Time;
use hapax_store::memory::Memory;
use hapax_store::seam::{HandlerKey, Loaded, Read as _, Store, StoreError, TurnNeeds, Write};
use hapax_store::turn::{Answer, Ask, ClaimAsk, Request};

use super::{DEFAULT_TENANT, Held, Inbox, Writers, start};
use crate::config::Limits;
use crate::metrics::Metrics;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Clone, Default)]
struct Shared {
    ledger: Memory,
    /// Is somebody between load and commit?
    taken: Arc<(Mutex<bool>, Condvar)>,
    /// How many writers are at the meeting.
    meeting: Arc<(Mutex<usize>, Condvar)>,
}

impl Store for Shared {
    type Reader = Memory;

    fn reader(&self) -> &Memory {
        &self.ledger
    }

    fn tenant(&mut self, name: &Arc<str>, salt: [u8; 32]) -> Result<[u8; 32], StoreError> {
        self.ledger.tenant(name, salt)
    }

    fn load(&mut self, needs: &TurnNeeds) -> Result<Loaded, StoreError> {
        let handlers: BTreeSet<_> = needs.handlers.iter().map(|key| &*key.handler).collect();
        assert!(handlers.len() <= 1, "a turn is about one handler, not about {handlers:?}");
        let handler = handlers.first().copied().unwrap_or_default();
        match handler {
            "corrupt" => return Err(StoreError::Corrupt("on purpose".to_owned())),
            "away" => return Err(StoreError::Unreachable("on purpose".to_owned())),
            "panics" => panic!("on purpose"),
            _ if handler.starts_with("meets") => self.meet(),
            _ => {}
        }
        let (taken, free) = &*self.taken;
        let mut taken = free.wait_while(taken.lock().expect("no panic"), |taken| *taken).expect("no panic");
        *taken = true;
        self.ledger.load(needs)
    }

    fn commit(&mut self, write: Write) -> Result<(), StoreError> {
        let committed = self.ledger.commit(write);
        self.let_go();
        committed
    }

    fn let_go(&mut self) {
        *self.taken.0.lock().expect("no panic") = false;
        self.taken.1.notify_one();
    }
}

impl Shared {
    /// Waits until two writers are here.
    fn meet(&self) {
        let (count, came) = &*self.meeting;
        let mut count = count.lock().expect("no panic");
        *count += 1;
        came.notify_all();
        let (_count, late) = came.wait_timeout_while(count, PATIENCE, |count| *count < 2).expect("no panic");
        assert!(!late.timed_out(), "the other turn does not begin before this one ends");
    }
}

fn writers(count: usize) -> (Shared, Inbox, Writers<Shared>) {
    let shared = Shared::default();
    let stores = (0..count).map(|_| shared.clone()).collect();
    let (inbox, writers) = start(stores, &Limits::default(), Arc::new(Metrics::default())).expect("writers");
    (shared, inbox, writers)
}

fn handler(name: &str) -> HandlerKey {
    HandlerKey { tenant: Arc::from(DEFAULT_TENANT), handler: Arc::from(name) }
}

async fn ask(inbox: &Inbox, ask: Ask) -> Result<Answer, Problem> {
    let now = Time::from_nanos(1_000_000_000);
    let request = Request { now, spare: 0, jitter: Jitter::NONE, caller: Caller::default(), id: None, ask };
    inbox.ask(request, Held::default()).await
}

async fn put(inbox: &Inbox, name: &str) -> Result<Answer, Problem> {
    ask(inbox, Ask::PutHandler { key: handler(name), handler: Box::new(Handler::new(name)) }).await
}

async fn claim(inbox: &Inbox, name: &str, event: usize) -> Result<Answer, Problem> {
    let (stream, lane, owner) = (Some("any".to_owned()), None, None);
    let event_id = format!("event-{event}");
    ask(inbox, Ask::Claim(ClaimAsk { handler: handler(name), event_id, stream, lane, epoch: 0, seq: None, owner }))
        .await
}

fn code(answer: Result<Answer, Problem>) -> Option<&'static str> {
    answer.err().map(|problem| problem.code)
}

#[tokio::test]
async fn turns_about_different_things_run_beside_each_other() {
    let (_, inbox, writers) = writers(2);
    let (one, other) = tokio::join!(put(&inbox, "meets-one"), put(&inbox, "meets-other"));
    assert_eq!((code(one), code(other)), (None, None));
    inbox.stop();
    let (stores, error) = writers.join();
    assert_eq!((stores.len(), error), (2, None));
}

#[tokio::test]
async fn every_request_is_answered_once_and_every_claim_is_given_once() {
    let (shared, inbox, writers) = writers(3);
    for name in ["a", "b", "c", "d"] {
        put(&inbox, name).await.expect("a handler");
    }
    // Each is asked for twice at the same time.
    let asked = (0..400).map(|number| {
        let (inbox, name) = (inbox.clone(), ["a", "b", "c", "d"][number % 4]);
        tokio::spawn(async move { claim(&inbox, name, number / 8).await.expect("an answer").body })
    });
    let mut given = 0;
    for asked in asked.collect::<Vec<_>>() {
        let answer: serde_json::Value = serde_json::from_slice(&asked.await.expect("no panic")).expect("JSON");
        given += usize::from(answer["decision"] == "claimed");
    }
    let held: u64 = shared.ledger.figures().expect("figures").handlers.iter().map(|(_, figures)| figures.held).sum();
    assert_eq!((given, held), (200, 200));
    inbox.stop();
    assert_eq!(writers.join().1, None);
}

#[tokio::test]
async fn the_first_final_error_ends_all_writers() {
    let (_, inbox, writers) = writers(3);
    assert_eq!(code(put(&inbox, "corrupt").await), Some(ProblemCode::StoreCorrupt.name()));
    let mut ended = writers.ended();
    tokio::time::timeout(PATIENCE, ended.wait_for(|ended| *ended)).await.expect("in time").expect("a writer");
    assert!(!inbox.is_open());
    assert_eq!(code(put(&inbox, "fine").await), Some(ProblemCode::Stopping.name()));
    assert_eq!(writers.join().1, Some(StoreError::Corrupt("on purpose".to_owned())));
}

#[tokio::test]
async fn a_database_that_is_away_ends_nobody() {
    let (_, inbox, writers) = writers(2);
    for _ in 0..4 {
        assert_eq!(code(put(&inbox, "away").await), Some(ProblemCode::StoreUnreachable.name()));
    }
    assert_eq!(code(put(&inbox, "back").await), None);
    inbox.stop();
    assert_eq!(writers.join().1, None);
}

#[tokio::test]
async fn a_panic_ends_all_writers_and_is_passed_on() {
    let (_, inbox, writers) = writers(2);
    assert_eq!(code(put(&inbox, "panics").await), Some(ProblemCode::StoreStopped.name()));
    let mut ended = writers.ended();
    tokio::time::timeout(PATIENCE, ended.wait_for(|ended| *ended)).await.expect("in time").expect("a writer");
    assert_eq!(code(put(&inbox, "fine").await), Some(ProblemCode::Stopping.name()));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| writers.join())).is_err());
}

#[tokio::test]
async fn with_the_last_inbox_the_writers_end() {
    let (_, inbox, writers) = writers(2);
    put(&inbox, "fine").await.expect("an answer");
    drop(inbox);
    assert_eq!(writers.join().1, None);
}

#[tokio::test]
async fn what_happens_elsewhere_wakes_those_who_wait_for_turns() {
    let (_, inbox, _writers) = writers(1);
    let mut turns = inbox.turns();
    assert!(!turns.has_changed().expect("a writer"));
    inbox.wake()();
    tokio::time::timeout(PATIENCE, turns.changed()).await.expect("in time").expect("a writer");
}
