//! Requests with a key of their own that are not answered yet. They end with the process; no durable mark of one exists,
//! so none can be left behind.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use hapax_core::problem::{Problem, ProblemCode};
use hapax_store::seam::RequestKey;

/// The requests that run.
#[derive(Clone, Debug, Default)]
pub struct Running(Arc<Mutex<HashSet<RequestKey>>>);

/// A request's place among them, given back when it is dropped.
#[derive(Debug)]
pub struct Mark {
    running: Running,
    key: RequestKey,
}

impl Running {
    /// Marks a request as running, unless it is.
    pub fn mark(&self, key: &RequestKey) -> Result<Mark, Problem> {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !running.insert(key.clone()) {
            let detail = "a request with this Idempotency-Key is still running; send it again in a second";
            return Err(Problem::new(ProblemCode::RequestRunning, detail));
        }
        Ok(Mark { running: self.clone(), key: key.clone() })
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        self.running.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}
