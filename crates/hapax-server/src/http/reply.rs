//! Answers as HTTP carries them.

use std::convert::Infallible;
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

/// The type of every problem.
const PROBLEM: &str = "application/problem+json";
/// The type of nearly everything else.
const JSON: &str = "application/json";

/// An answer.
#[derive(Debug)]
pub struct Reply {
    status: u16,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Body,
}

/// The bytes of an answer: all of them, or as they come.
#[derive(Debug)]
pub enum Body {
    /// All of them.
    Whole(Bytes),
    /// As they come; the end of the channel is the end.
    Streamed(mpsc::Receiver<Bytes>),
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
        Self { status, headers, body: Body::Whole(bytes.into()) }
    }

    /// Bytes as they come.
    pub fn streamed(kind: &'static str, bytes: mpsc::Receiver<Bytes>) -> Self {
        let headers = vec![(CONTENT_TYPE, HeaderValue::from_static(kind))];
        Self { status: 200, headers, body: Body::Streamed(bytes) }
    }

    /// A problem. Those that pass say when to come again.
    pub fn problem(problem: &Problem) -> Self {
        let bytes = serde_json::to_vec(problem).unwrap_or_default();
        let reply = Self::bytes(problem.status, PROBLEM, bytes);
        match (problem.status, problem.code) {
            (429 | 503, _) | (_, "REQUEST_RUNNING") => reply.with(RETRY_AFTER.as_str(), "1".to_owned()),
            (401, _) => reply.with("www-authenticate", "Bearer".to_owned()),
            (_, _) => reply,
        }
    }

    /// What a turn answered.
    pub fn answer(answer: &Answer) -> Self {
        let kind = if answer.problem { PROBLEM } else { JSON };
        let reply = Self::bytes(answer.status, kind, Bytes::from_owner(std::sync::Arc::clone(&answer.body)));
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
        let length = match &self.body {
            Body::Whole(bytes) if is_head => Some(HeaderValue::from(bytes.len())),
            Body::Whole(_) | Body::Streamed(_) => None,
        };
        let body = if is_head { Body::Whole(Bytes::new()) } else { self.body };
        let mut response = Response::new(body);
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
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Streamed(receiver) => receiver.poll_recv(context).map(|bytes| bytes.map(|it| Ok(Frame::data(it)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        match self {
            Self::Whole(bytes) => hyper::body::SizeHint::with_exact(bytes.len() as u64),
            Self::Streamed(_) => hyper::body::SizeHint::default(),
        }
    }
}
