//! A commit under way: it was decided and handed over, and is durable a moment later.
//!
//! What holds: whoever waits is told once, after the sync or with the error, and in the order of the commits. If the one who
//! writes is gone without a word, that is an error too: nobody waits for ever.
//!
//! Not here: threads. Whoever keeps the promise runs what waits for it.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::seam::StoreError;

/// What became of a commit.
type Outcome = Result<(), StoreError>;

/// What is to be done then.
type Then = Box<dyn FnOnce(Outcome) + Send>;

/// A commit that was begun.
#[must_use = "an answer may leave only after the commit that it rests on"]
pub struct Begun(Way);

enum Way {
    Over(Outcome),
    Under(Arc<Mutex<State>>),
}

enum State {
    Waiting(Option<Then>),
    Over(Outcome),
}

/// The other end, for the one who writes.
pub(crate) struct Promise(Option<Arc<Mutex<State>>>);

/// A commit that somebody else will finish.
pub(crate) fn begun() -> (Promise, Begun) {
    let state = Arc::new(Mutex::new(State::Waiting(None)));
    (Promise(Some(Arc::clone(&state))), Begun(Way::Under(state)))
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Begun {
    /// One that is durable already.
    pub fn durable() -> Self {
        Self(Way::Over(Ok(())))
    }

    /// Does this once it is over: at once if it is, else in the thread of the one who writes.
    pub fn then(self, then: impl FnOnce(Outcome) + Send + 'static) {
        let outcome = match self.0 {
            Way::Over(outcome) => outcome,
            Way::Under(state) => {
                let mut state = lock(&state);
                match &mut *state {
                    State::Waiting(waiting) => {
                        *waiting = Some(Box::new(then));
                        return;
                    }
                    State::Over(outcome) => outcome.clone(),
                }
            }
        };
        then(outcome);
    }

    /// Waits until it is over.
    pub fn wait(self) -> Outcome {
        match self.0 {
            Way::Over(outcome) => outcome,
            Way::Under(_) => {
                let (tell, told) = channel();
                // Whoever waits is still here.
                self.then(move |outcome| _ = tell.send(outcome));
                told.recv().unwrap_or_else(|_| Err(gone()))
            }
        }
    }
}

impl Promise {
    /// It is over.
    pub(crate) fn keep(mut self, outcome: Outcome) {
        self.tell(outcome);
    }

    fn tell(&mut self, outcome: Outcome) {
        let Some(state) = self.0.take() else { return };
        let waiting = std::mem::replace(&mut *lock(&state), State::Over(outcome.clone()));
        if let State::Waiting(Some(then)) = waiting {
            then(outcome);
        }
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        self.tell(Err(gone()));
    }
}

fn gone() -> StoreError {
    StoreError::Stopped("the one who writes the log is gone".to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// How often it was told, and what.
    fn counted(begun: Begun) -> Arc<(AtomicUsize, Mutex<Option<Outcome>>)> {
        let told = Arc::new((AtomicUsize::new(0), Mutex::new(None)));
        let tell = Arc::clone(&told);
        begun.then(move |outcome| {
            tell.0.fetch_add(1, Ordering::SeqCst);
            *tell.1.lock().expect("no panic") = Some(outcome);
        });
        told
    }

    #[test]
    fn who_waits_is_told_once_whether_it_is_over_before_or_after() {
        let (promise, waits) = begun();
        let before = counted(waits);
        assert_eq!(before.0.load(Ordering::SeqCst), 0, "it is not durable yet");
        promise.keep(Ok(()));
        let (promise, waits) = begun();
        promise.keep(Err(StoreError::Full));
        let after = counted(waits);
        for (told, outcome) in [(before, Ok(())), (after, Err(StoreError::Full))] {
            assert_eq!(told.0.load(Ordering::SeqCst), 1);
            assert_eq!(*told.1.lock().expect("no panic"), Some(outcome));
        }
        assert_eq!(counted(Begun::durable()).0.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_promise_that_is_dropped_is_an_error_and_not_silence() {
        let (promise, waits) = begun();
        let told = counted(waits);
        drop(promise);
        assert!(matches!(*told.1.lock().expect("no panic"), Some(Err(StoreError::Stopped(_)))));
        let (promise, waits) = begun();
        let waiting = std::thread::spawn(move || waits.wait());
        drop(promise);
        assert!(matches!(waiting.join().expect("no panic"), Err(StoreError::Stopped(_))));
    }
}
