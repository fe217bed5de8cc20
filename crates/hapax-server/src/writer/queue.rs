//! Where requests wait for the writers.
//!
//! What holds: it is bounded; everything is handed out once, and what is about one thing in the order in which it came.
//! One writer takes all that waits until it has enough. Of several, each takes what is about one thing, so that turns about different things
//! run beside each other and none locks more than it needs. Threads [take](Queue::take), a task waits for its [next](Queue::next) turn.
//!
//! Not here: what a request asks, what is answered.

use std::collections::VecDeque;
use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// How many turns about one thing are under way at a time: while one commits, the next may stand ready. More would only
/// wait for each other, each with less in it.
const SIDE_BY_SIDE_MAX: usize = 2;

/// So much is worth a turn of its own while another is under way: judging it takes as long as a sync. Less is left to gather
/// until that one is over, because every turn costs a sync, however small it is.
const AHEAD_MIN: usize = 256;

/// Where judging is beside syncing, so many turns are under way at most: one is written, and one stands ready. So whoever begins
/// one never waits for the disk.
const UNDER_WAY_MAX: usize = 2;

/// A turn that has so much takes nothing more, where judging is beside syncing: that it would spare a sync is worth less than
/// that the log begins with what is judged already. Whoever sends large batches would else wait for all others, and they
/// for each other, in step.
const ENOUGH: usize = 1000;

/// A small turn begins when half of those who ask are there; for so many rounds, in each of which everybody has a chance to do what is to be
/// done, it is waited for them.
const ROUNDS: usize = 4;

/// So slowly it is forgotten how many ask at a time: a thirty-second part with each turn.
const FORGOTTEN: usize = 32;

/// What waits for the writers.
#[derive(Debug)]
pub(super) struct Queue<A, T> {
    state: Mutex<State<A, T>>,
    changed: Condvar,
    /// How much may wait.
    waiting_max: usize,
    /// How much one turn takes: once it has so much, or more, it takes nothing more.
    turn_max: usize,
    /// Is everything that waits one turn?
    together: bool,
}

#[derive(Debug)]
struct State<A, T> {
    waiting: VecDeque<Item<A, T>>,
    /// How much of a turn all of it fills.
    size: usize,
    /// What the turns under way are about.
    running: Vec<A>,
    /// Turns that were begun and are not durable yet.
    under_way: usize,
    /// Threads that wait for something to do.
    idle: usize,
    /// A task that does.
    task: Option<Waker>,
    /// The same task, when it waits for more of it.
    company: Option<Waker>,
    /// How many the last turn took.
    last: usize,
    /// How many ask at a time: the most of late.
    ask: usize,
    closed: bool,
}

/// One thing that waits.
#[derive(Debug)]
pub(super) struct Item<A, T> {
    /// What it is about.
    pub(super) about: A,
    /// How much of a turn it fills.
    pub(super) size: usize,
    /// What it is.
    pub(super) what: T,
}

/// Why something cannot wait here.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// As much waits as may.
    Full,
    /// Nothing is taken any more.
    Closed,
}

impl<A: PartialEq + Clone, T> Queue<A, T> {
    pub(super) fn new(waiting_max: usize, turn_max: usize, writers: usize) -> Self {
        let state = State {
            waiting: VecDeque::new(),
            size: 0,
            running: Vec::new(),
            under_way: 0,
            idle: 0,
            task: None,
            company: None,
            last: 0,
            ask: 0,
            closed: false,
        };
        let together = writers == 1;
        let turn_max = if together { turn_max.min(ENOUGH) } else { turn_max };
        Self { state: Mutex::new(state), changed: Condvar::new(), waiting_max, turn_max, together }
    }

    /// Lets something wait.
    pub(super) fn push(&self, item: Item<A, T>) -> Result<(), Refused> {
        let mut state = self.lock();
        if state.closed {
            return Err(Refused::Closed);
        }
        if state.waiting.len() >= self.waiting_max {
            return Err(Refused::Full);
        }
        state.size += item.size;
        state.waiting.push_back(item);
        // Waking one who finds that it is not worth it yet costs both of them more than all the rest of this.
        let is_worth_it = !self.together || state.is_worth_it();
        let is_in_company = state.is_in_company();
        let (wakes, task) = (state.idle > 0 && is_worth_it, state.task.take_if(|_| is_worth_it));
        let company = state.company.take_if(|_| is_in_company);
        drop(state);
        if wakes {
            self.changed.notify_one();
        }
        task.into_iter().chain(company).for_each(Waker::wake);
        Ok(())
    }

    /// Waits for something, and takes what makes one turn. Answers how much it is and what it is about; nothing at the
    /// end. Whoever takes a turn says when it is [`over`](Self::over).
    pub(super) fn take(&self, turn: &mut Vec<T>) -> Option<(usize, A)> {
        let mut state = self.lock();
        loop {
            let next = match self.together {
                true => (!state.waiting.is_empty() && state.is_worth_it()).then_some(0),
                false => state.waiting.iter().position(|item| state.has_room_for(&item.about)),
            };
            if let Some(first) = next {
                return Some(self.pick(&mut state, first, turn));
            }
            if state.closed && state.waiting.is_empty() {
                return None;
            }
            state.idle += 1;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    /// The same for the one writer that is a task. A small turn begins when half of those who ask are there, so that the other half has
    /// something to do while it is written; if they do not come, after [a few rounds](ROUNDS).
    pub(super) async fn next(&self, turn: &mut Vec<T>) -> Option<(usize, A)> {
        self.lock().see_who_asks();
        loop {
            poll_fn(|context| self.poll_worth(context)).await?;
            for _ in 0..ROUNDS {
                let mut others = pin!(tokio::task::yield_now());
                let is_in_company = poll_fn(|context| match self.poll_company(context) {
                    Poll::Ready(()) => Poll::Ready(true),
                    Poll::Pending => others.as_mut().poll(context).map(|()| false),
                });
                if is_in_company.await {
                    break;
                }
            }
            let mut state = self.lock();
            if !state.waiting.is_empty() && state.is_worth_it() {
                let before = state.waiting.len();
                let picked = self.pick(&mut state, 0, turn);
                state.last = before - state.waiting.len();
                return Some(picked);
            }
        }
    }

    /// Ready when something waits that is worth a turn; with nothing at the end.
    fn poll_worth(&self, context: &Context<'_>) -> Poll<Option<()>> {
        let mut state = self.lock();
        if !state.waiting.is_empty() && state.is_worth_it() {
            return Poll::Ready(Some(()));
        }
        if state.closed && state.waiting.is_empty() {
            return Poll::Ready(None);
        }
        state.task = Some(context.waker().clone());
        Poll::Pending
    }

    /// Ready when there is enough.
    fn poll_company(&self, context: &Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.is_in_company() {
            return Poll::Ready(());
        }
        state.company = Some(context.waker().clone());
        Poll::Pending
    }

    fn pick(&self, state: &mut State<A, T>, first: usize, turn: &mut Vec<T>) -> (usize, A) {
        let about = state.waiting[first].about.clone();
        let mut size = 0;
        let mut at = first;
        while size < self.turn_max && at < state.waiting.len() {
            if !self.together && state.waiting[at].about != about {
                at += 1;
                continue;
            }
            // From the front this costs nothing; from the middle as much as stands before it.
            let Some(item) = state.waiting.remove(at) else { break };
            size += item.size;
            turn.push(item.what);
        }
        state.size -= size;
        if !self.together {
            state.running.push(about.clone());
        }
        (size, about)
    }

    /// A turn was begun, and is not durable yet.
    pub(super) fn begun(&self) {
        self.lock().under_way += 1;
    }

    /// It is durable, or never will be.
    pub(super) fn done(&self) {
        let mut state = self.lock();
        state.under_way = state.under_way.saturating_sub(1);
        let is_wanted = !state.waiting.is_empty();
        let (wakes, task) = (state.idle > 0 && is_wanted, state.task.take_if(|_| is_wanted));
        drop(state);
        if wakes {
            self.changed.notify_all();
        }
        task.into_iter().for_each(Waker::wake);
    }

    /// Is there time for something else: does nothing wait, and is a turn under way?
    pub(super) fn has_time(&self) -> bool {
        let state = self.lock();
        state.waiting.is_empty() && state.under_way > 0
    }

    /// A turn about this is over.
    pub(super) fn over(&self, about: &A) {
        if self.together {
            return;
        }
        let mut state = self.lock();
        if let Some(place) = state.running.iter().position(|it| it == about) {
            state.running.swap_remove(place);
        }
        let more = !state.waiting.is_empty();
        drop(state);
        if more {
            self.changed.notify_all();
        }
    }

    /// Takes nothing more; what waits is still handed out.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        self.wake_all(state);
    }

    /// Takes nothing more, and drops what waits.
    pub(super) fn fail(&self) {
        let mut state = self.lock();
        state.closed = true;
        let waiting = std::mem::take(&mut state.waiting);
        state.size = 0;
        self.wake_all(state);
        drop(waiting);
    }

    fn wake_all(&self, mut state: MutexGuard<'_, State<A, T>>) {
        let task = state.task.take();
        drop(state);
        self.changed.notify_all();
        task.into_iter().for_each(Waker::wake);
    }

    /// How much waits.
    pub(super) fn waiting(&self) -> usize {
        self.lock().waiting.len()
    }

    /// Is anything taken?
    pub(super) fn is_open(&self) -> bool {
        !self.lock().closed
    }

    /// Nothing in here panics half way, so what a panicking thread left is whole.
    fn lock(&self) -> MutexGuard<'_, State<A, T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<A: PartialEq, T> State<A, T> {
    /// Is what waits enough for a turn now?
    fn is_worth_it(&self) -> bool {
        self.under_way == 0 || self.under_way < UNDER_WAY_MAX && (self.size >= AHEAD_MIN || self.closed)
    }

    /// Is there enough for a turn that nobody else need be waited for?
    fn is_in_company(&self) -> bool {
        self.size >= AHEAD_MIN || self.waiting.len() >= self.ask / 2 || self.closed
    }

    /// Those of the last turn have no answer yet, or only just, so they are others than those who wait.
    fn see_who_asks(&mut self) {
        let forgotten = self.ask.div_ceil(FORGOTTEN);
        self.ask = (self.last + self.waiting.len()).max(self.ask - forgotten);
    }

    /// May another turn about this begin?
    fn has_room_for(&self, about: &A) -> bool {
        self.running.iter().filter(|it| *it == about).count() < SIDE_BY_SIDE_MAX
    }
}

#[cfg(test)]
mod tests;
