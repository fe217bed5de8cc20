//! Answers as HTTP carries them. Not here: how they are framed (`connection`).

use std::borrow::Cow;

use bytes::Bytes;
use hapax_core::problem::Problem;
use hapax_store::turn::Answer;
use serde::Serialize;
use tokio::sync::mpsc;

/// The type of every problem.
const PROBLEM: &str = "application/problem+json";
/// The type of nearly everything else.
const JSON: &str = "application/json";

/// An answer.
#[derive(Debug)]
pub struct Reply {
    status: u16,
    headers: Vec<(&'static str, Cow<'static, str>)>,
    pieces: Pieces,
    after: Afterwards,
}

/// What is done once an answer is out, or cannot be: when this is dropped.
#[derive(Default)]
pub struct Afterwards(Option<Box<dyn FnOnce() + Send>>);

impl Drop for Afterwards {
    fn drop(&mut self) {
        if let Some(act) = self.0.take() {
            act();
        }
    }
}

impl std::fmt::Debug for Afterwards {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Afterwards").field(&self.0.is_some()).finish()
    }
}

/// All bytes of an answer, or as they come.
#[derive(Debug)]
pub enum Pieces {
    /// All of them.
    Whole(Bytes),
    /// The end of the channel is the end; an error cuts the connection, so that nobody takes a part for the whole.
    Streamed(Stream),
}

/// Pieces of an answer as they come.
pub type Stream = mpsc::Receiver<Result<Bytes, BrokenOff>>;

/// Something that does not come to its end: an answer, or the body of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokenOff;

impl Reply {
    fn new(status: u16, kind: &'static str, pieces: Pieces) -> Self {
        Self { status, headers: headers(kind), pieces, after: Afterwards::default() }
    }

    /// JSON.
    pub fn json(status: u16, value: &impl Serialize) -> Self {
        // Every view is made of plain values, which always serialise.
        Self::bytes(status, JSON, serde_json::to_vec(value).unwrap_or_default())
    }

    /// Some bytes of a type.
    pub fn bytes(status: u16, kind: &'static str, bytes: impl Into<Bytes>) -> Self {
        Self::new(status, kind, Pieces::Whole(bytes.into()))
    }

    /// Bytes as they come.
    pub fn streamed(kind: &'static str, pieces: Stream) -> Self {
        Self::new(200, kind, Pieces::Streamed(pieces))
    }

    /// A problem. Those that pass say when to come again; that of a limit is known to whoever counts.
    pub fn problem(problem: &Problem) -> Self {
        let bytes = serde_json::to_vec(problem).unwrap_or_default();
        let reply = Self::bytes(problem.status, PROBLEM, bytes);
        match (problem.status, problem.code) {
            (503, _) | (_, "REQUEST_RUNNING") => reply.with("retry-after", "1"),
            // The rest of the request is not waited for.
            (408, _) => reply.with("connection", "close"),
            (401, _) => reply.with("www-authenticate", "Bearer"),
            (_, _) => reply,
        }
    }

    /// What a turn answered.
    pub fn answer(answer: &Answer) -> Self {
        let kind = if answer.problem { PROBLEM } else { JSON };
        let reply = Self::bytes(answer.status, kind, answer.body.bytes().clone());
        if answer.replayed { reply.with("idempotency-replayed", "true") } else { reply }
    }

    /// With a header more. One that HTTP cannot carry is left out.
    pub fn with(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        let value = value.into();
        // All bytes are looked at, because that is done many at a time.
        let is_fine = |byte: u8| byte == b'\t' || (byte >= b' ' && byte != 0x7f);
        if value.bytes().fold(true, |so_far, byte| so_far & is_fine(byte)) {
            self.headers.push((name, value));
        }
        self
    }

    /// Does something once the answer is out, whose sender need not wait for it.
    pub(super) fn then(mut self, act: impl FnOnce() + Send + 'static) -> Self {
        self.after = Afterwards(Some(Box::new(act)));
        self
    }

    /// What is to be done then.
    pub(crate) fn take_after(&mut self) -> Afterwards {
        std::mem::take(&mut self.after)
    }

    /// Its status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Its headers.
    pub(crate) fn headers(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.headers.iter().map(|(name, value)| (*name, value.as_ref()))
    }

    /// Does the connection end with it?
    pub(crate) fn closes(&self) -> bool {
        self.headers().any(|header| header == ("connection", "close"))
    }

    /// Its bytes.
    pub(crate) fn pieces(&self) -> &Pieces {
        &self.pieces
    }

    /// Its bytes alone.
    pub(crate) fn into_pieces(self) -> Pieces {
        self.pieces
    }
}

/// Those that every answer has, and room for a few more.
fn headers(kind: &'static str) -> Vec<(&'static str, Cow<'static, str>)> {
    let mut headers = Vec::with_capacity(4);
    headers.push(("content-type", Cow::Borrowed(kind)));
    headers
}
