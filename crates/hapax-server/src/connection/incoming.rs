//! The body of a request, for whoever answers it.
//!
//! What holds: nothing is read from the socket before it is asked for, so a request can be refused before its body comes. Who asks
//! lends the memory, and the bytes are read straight into it.
//!
//! Whoever reads a body is polled by its connection, and never by anybody else: so nobody has to be woken.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use bytes::{Bytes, BytesMut};

use crate::http::BrokenOff;

/// A body on its way.
#[derive(Debug)]
pub struct Incoming {
    length_min: u64,
    way: Way,
}

#[derive(Debug)]
enum Way {
    /// All of it came with its head.
    Here(Bytes),
    /// It is still to come.
    Passing(Passage),
}

/// Where memory is lent and given back.
#[derive(Clone, Debug, Default)]
pub(super) struct Passage(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// What was lent, and where in it the bytes go.
    lent: Option<BytesMut>,
    /// How many bytes more are in it than were; none at the end.
    came: Option<Result<usize, BrokenOff>>,
}

impl Passage {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The memory that waits to be filled, if somebody waits.
    pub(super) fn lent(&self) -> Option<BytesMut> {
        self.state().lent.take()
    }

    /// Nothing has come yet.
    pub(super) fn keep(&self, lent: BytesMut) {
        self.state().lent = Some(lent);
    }

    /// So much has come.
    pub(super) fn fill(&self, lent: BytesMut, came: Result<usize, BrokenOff>) {
        *self.state() = State { lent: Some(lent), came: Some(came) };
    }
}

impl Incoming {
    pub(super) fn here(bytes: Bytes) -> Self {
        Self { length_min: bytes.len() as u64, way: Way::Here(bytes) }
    }

    pub(super) fn passing(length_min: u64, passage: Passage) -> Self {
        Self { length_min, way: Way::Passing(passage) }
    }

    /// How long it is at least, as its sender says.
    pub fn length_min(&self) -> u64 {
        self.length_min
    }

    /// All of it, if it is here already.
    pub fn whole(&mut self) -> Option<Bytes> {
        match &mut self.way {
            Way::Here(bytes) => Some(std::mem::take(bytes)),
            Way::Passing(_) => None,
        }
    }

    /// Reads more of it into spare memory of `into`. Answers how much it was; nothing is the end.
    pub fn poll_more(&mut self, into: &mut BytesMut) -> Poll<Result<usize, BrokenOff>> {
        match &mut self.way {
            Way::Here(bytes) => {
                let bytes = std::mem::take(bytes);
                into.extend_from_slice(&bytes);
                Poll::Ready(Ok(bytes.len()))
            }
            Way::Passing(passage) => {
                let mut state = passage.state();
                if let Some(came) = state.came.take() {
                    *into = state.lent.take().unwrap_or_default();
                    return Poll::Ready(came);
                }
                if state.lent.is_none() {
                    state.lent = Some(std::mem::take(into));
                }
                Poll::Pending
            }
        }
    }
}
