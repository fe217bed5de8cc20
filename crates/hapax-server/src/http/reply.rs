//! Answers as HTTP carries them.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hapax_core::problem::Problem;
use hapax_store::turn::Answer;
use hyper::body::Frame;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use serde::Serialize;
use tokio::sync::mpsc;

use crate::connection::Answered;

/// The type of every problem.
const PROBLEM: &str = "application/problem+json";
/// The type of nearly everything else.
const JSON: &str = "application/json";

/// An answer.
#[derive(Debug)]
pub struct Reply {
    status: u16,
    headers: Vec<(HeaderName, HeaderValue)>,
    pieces: Pieces,
}

/// The bytes of an answer, and what is let go with the last of them.
#[derive(Debug)]
pub struct Body {
    pieces: Pieces,
    _held: Option<Answered>,
}

/// All bytes of an answer, or as they come.
#[derive(Debug)]
enum Pieces {
    Whole(Bytes),
    /// The end of the channel is the end; an error cuts the connection, so that nobody takes a part for the whole.
    Streamed(mpsc::Receiver<Result<Bytes, BrokenOff>>),
}

/// An answer that cannot be given to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokenOff;

impl std::fmt::Display for BrokenOff {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the answer broke off")
    }
}

impl std::error::Error for BrokenOff {}

impl Body {
    /// Lets go of this with its last byte.
    pub(crate) fn holding(self, held: Answered) -> Self {
        Self { _held: Some(held), ..self }
    }
}

impl From<Pieces> for Body {
    fn from(pieces: Pieces) -> Self {
        Self { pieces, _held: None }
    }
}

impl Reply {
    /// JSON.
    pub fn json(status: u16, value: &impl Serialize) -> Self {
        // Every view is made of plain values, which always serialise.
        Self::bytes(status, JSON, serde_json::to_vec(value).unwrap_or_default())
    }

    /// Some bytes of a type.
    pub fn bytes(status: u16, kind: &'static str, bytes: impl Into<Bytes>) -> Self {
        let headers = vec![(CONTENT_TYPE, HeaderValue::from_static(kind))];
        Self { status, headers, pieces: Pieces::Whole(bytes.into()) }
    }

    /// Bytes as they come.
    pub fn streamed(kind: &'static str, pieces: mpsc::Receiver<Result<Bytes, BrokenOff>>) -> Self {
        let headers = vec![(CONTENT_TYPE, HeaderValue::from_static(kind))];
        Self { status: 200, headers, pieces: Pieces::Streamed(pieces) }
    }

    /// A problem. Those that pass say when to come again; that of a limit is known to whoever counts.
    pub fn problem(problem: &Problem) -> Self {
        let bytes = serde_json::to_vec(problem).unwrap_or_default();
        let reply = Self::bytes(problem.status, PROBLEM, bytes);
        match (problem.status, problem.code) {
            (503, _) | (_, "REQUEST_RUNNING") => reply.with(RETRY_AFTER.as_str(), "1".to_owned()),
            // The rest of the request is not waited for.
            (408, _) => reply.with("connection", "close".to_owned()),
            (401, _) => reply.with("www-authenticate", "Bearer".to_owned()),
            (_, _) => reply,
        }
    }

    /// What a turn answered.
    pub fn answer(answer: &Answer) -> Self {
        let kind = if answer.problem { PROBLEM } else { JSON };
        let reply = Self::bytes(answer.status, kind, answer.body.bytes().clone());
        if answer.replayed { reply.with("idempotency-replayed", "true".to_owned()) } else { reply }
    }

    /// With a header more. One that HTTP cannot carry is left out.
    pub fn with(mut self, name: &str, value: String) -> Self {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            self.headers.push((name, value));
        }
        self
    }

    /// Its status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// For hyper. A HEAD is answered without the body.
    pub fn into_response(self, is_head: bool) -> Response<Body> {
        let length = match &self.pieces {
            Pieces::Whole(bytes) if is_head => Some(HeaderValue::from(bytes.len())),
            Pieces::Whole(_) | Pieces::Streamed(_) => None,
        };
        let pieces = if is_head { Pieces::Whole(Bytes::new()) } else { self.pieces };
        let mut response = Response::new(Body::from(pieces));
        response.headers_mut().extend(length.map(|length| (CONTENT_LENGTH, length)));
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        for (name, value) in self.headers {
            response.headers_mut().append(name, value);
        }
        response
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        match &mut self.pieces {
            Pieces::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Pieces::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Pieces::Streamed(receiver) => receiver.poll_recv(context).map(|piece| piece.map(|it| it.map(Frame::data))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.pieces, Pieces::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        match &self.pieces {
            Pieces::Whole(bytes) => hyper::body::SizeHint::with_exact(bytes.len() as u64),
            Pieces::Streamed(_) => hyper::body::SizeHint::default(),
        }
    }
}
