//! One request, sent until it is answered.
//!
//! What holds: every try of a POST carries the same `Idempotency-Key` and the same bytes, so the server sees one request
//! however often it arrives. Tried again: a connection that failed or broke off, 408, a 409 that says when to come back
//! (the same request is still running), 429, 5xx. Not tried again: everything that is an answer. Not here: what the
//! answers mean.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use ureq::http::{HeaderMap, Request, Response, header};
use ureq::{Agent, Body};

use crate::agent::{agent, roots};
use crate::{Answer, Call, Error, Incoming, Method, Problem, Retry, Route, Stop, token};

/// An answer about 10 000 events, each with its original and what differs, stays below this.
const ANSWER_BYTES_MAX: u64 = 512 << 20;

/// A server, and who one is to it.
#[derive(Clone)]
pub struct Client {
    agent: Agent,
    url: String,
    key: Option<String>,
    retry: Retry,
    stop: Stop,
    waits: Option<Arc<Waits>>,
}

/// Told before each wait: why, and for how long.
type Waits = dyn Fn(&Error, Duration) + Send + Sync;

/// A try that led to nothing: why, whether another one may, and when.
struct Failure {
    error: Error,
    again: bool,
    after: Option<Duration>,
}

impl Client {
    /// A server such as `http://127.0.0.1:4090`, and the key to show it, if it wants one.
    pub fn new(url: &str, key: Option<&str>) -> Result<Client, Error> {
        let wrong = |why: &str| Error::Wrong(format!("{url} {why}; a server is written like http://127.0.0.1:4090"));
        let url = url.trim_end_matches('/').to_owned();
        let uri: ureq::http::Uri = url.parse().map_err(|_| wrong("is not a URL"))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(wrong("does not begin with http:// or https://"));
        }
        let host = uri.host().ok_or_else(|| wrong("names no host"))?;
        if uri.query().is_some() {
            return Err(wrong("has a query"));
        }
        if key.is_some_and(|key| key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic())) {
            return Err(Error::Wrong("the key is not one that a server gave: it has spaces or is empty".to_owned()));
        }
        let agent = agent(host, None);
        Ok(Client { agent, url, key: key.map(str::to_owned), retry: Retry::PATIENT, stop: Stop::new(), waits: None })
    }

    /// Trusting the authorities of this PEM file, and no others.
    pub fn trusting(self, pem: &[u8]) -> Result<Client, Error> {
        let host = self.url.parse::<ureq::http::Uri>().ok().and_then(|uri| uri.host().map(str::to_owned));
        Ok(Client { agent: agent(&host.unwrap_or_default(), Some(roots(pem)?)), ..self })
    }

    /// With another patience.
    #[must_use]
    pub fn with_retry(self, retry: Retry) -> Client {
        Client { retry, ..self }
    }

    /// Gives up waiting when somebody wishes to stop.
    #[must_use]
    pub fn with_stop(self, stop: Stop) -> Client {
        Client { stop, ..self }
    }

    /// Says before each wait why and for how long.
    #[must_use]
    pub fn on_wait(self, waits: impl Fn(&Error, Duration) + Send + Sync + 'static) -> Client {
        Client { waits: Some(Arc::new(waits)), ..self }
    }

    /// Where it is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Asks, and waits for the whole answer.
    pub fn get(&self, route: Route) -> Result<Answer, Error> {
        self.call(&Call::get(route))
    }

    /// Sends a call until it is answered, and reads the whole answer.
    pub fn call(&self, call: &Call) -> Result<Answer, Error> {
        self.patiently(|| {
            let mut response = self.once(call)?;
            let body = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_vec();
            let body = body.map_err(|error| self.broken(&error))?;
            let replayed = response.headers().get("idempotency-replayed").is_some_and(|value| value == "true");
            Ok(Answer { status: response.status().as_u16(), replayed, body, url: self.url.clone() })
        })
    }

    /// Sends a call until it begins to be answered; the rest is read as it comes.
    pub fn open(&self, call: &Call) -> Result<Incoming, Error> {
        self.patiently(|| {
            let response = self.once(call)?;
            let reader = response.into_body().into_with_config().limit(u64::MAX).reader();
            Ok(Incoming { reader: Box::new(reader) })
        })
    }

    fn patiently<T>(&self, mut attempt: impl FnMut() -> Result<T, Failure>) -> Result<T, Error> {
        let mut tries = 0;
        loop {
            let failure = match attempt() {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            tries += 1;
            let delay = self.retry.delay(tries, failure.after, token::dice()).filter(|_| failure.again);
            let Some(delay) = delay else { return Err(failure.error) };
            if let Some(waits) = &self.waits {
                waits(&failure.error, delay);
            }
            if self.stop.wait(delay) {
                return Err(failure.error);
            }
        }
    }

    fn once(&self, call: &Call) -> Result<Response<Body>, Failure> {
        let method = match call.method {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Delete => "DELETE",
        };
        let mut request = Request::builder().method(method).uri(format!("{}{}", self.url, call.route));
        if let Some(key) = &self.key {
            request = request.header(header::AUTHORIZATION, format!("Bearer {key}"));
        }
        for (name, value) in &call.headers {
            request = request.header(*name, value);
        }
        let wrong = |error: ureq::http::Error| Failure {
            error: Error::Wrong(format!("the call cannot be written down: {error}")),
            again: false,
            after: None,
        };
        let response = match call.method {
            Method::Get | Method::Delete => self.agent.run(request.body(()).map_err(wrong)?),
            Method::Post | Method::Put => self.agent.run(request.body(call.body.as_slice()).map_err(wrong)?),
        };
        let response = response.map_err(|error| self.broken(&error))?;
        self.judged(response)
    }

    /// An answer, if it is one.
    fn judged(&self, mut response: Response<Body>) -> Result<Response<Body>, Failure> {
        let status = response.status().as_u16();
        let kind = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
        let is_problem = kind.starts_with("application/problem+json");
        let is_ours = is_problem || kind.starts_with("application/json");
        // The receipt of a single refused event has a 4xx status and is an answer all the same.
        if status < 300 || is_ours && !is_problem && status < 500 {
            return Ok(response);
        }
        let after = retry_after(response.headers());
        let body = response.body_mut().with_config().limit(1 << 20).read_to_vec().unwrap_or_default();
        let error = match serde_json::from_slice::<Problem>(&body) {
            Ok(problem) if is_problem => Error::Problem(Box::new(Problem { status, ..problem })),
            Ok(_) | Err(_) => {
                Error::Strange { url: self.url.clone(), why: format!("status {status}, and no problem+json") }
            }
        };
        let running = error.code() == Some("REQUEST_RUNNING") || after.is_some();
        let again = matches!(status, 408 | 429 | 500..) || status == 409 && running;
        Err(Failure { error, again, after })
    }

    fn broken(&self, error: &ureq::Error) -> Failure {
        // Whoever speaks no TLS, or shows a certificate that is not trusted, will do so again.
        let stubborn = matches!(error, ureq::Error::Io(error) if error.kind() == ErrorKind::InvalidData);
        let again = !stubborn
            && matches!(
                error,
                ureq::Error::Io(_)
                    | ureq::Error::Protocol(_)
                    | ureq::Error::Timeout(_)
                    | ureq::Error::HostNotFound
                    | ureq::Error::ConnectionFailed
            );
        let error = Error::Unreachable { url: self.url.clone(), why: in_words(error) };
        Failure { error, again, after: None }
    }
}

/// What happened, without the numbers of the operating system.
fn in_words(error: &ureq::Error) -> String {
    let kind = if let ureq::Error::Io(error) = error { Some(error.kind()) } else { None };
    let known = [
        (ErrorKind::ConnectionRefused, "connection refused"),
        (ErrorKind::ConnectionReset, "the connection was reset"),
        (ErrorKind::ConnectionAborted, "the connection was cut"),
        (ErrorKind::UnexpectedEof, "the connection ended before the answer"),
        (ErrorKind::BrokenPipe, "the connection ended before the request was sent"),
        (ErrorKind::TimedOut, "it did not answer in time"),
    ];
    match (known.iter().find(|(it, _)| Some(*it) == kind), error) {
        (Some((_, words)), _) => (*words).to_owned(),
        (None, ureq::Error::HostNotFound) => "there is no such host".to_owned(),
        (None, ureq::Error::Timeout(_)) => "it did not answer in time".to_owned(),
        (None, ureq::Error::Io(error)) if error.kind() == ErrorKind::InvalidData => match error.to_string() {
            why if why.contains("certificate") => format!("its certificate is not trusted ({why})"),
            why => format!("it does not speak TLS there ({why})"),
        },
        (None, ureq::Error::Io(error)) => error.to_string(),
        (None, error) => error.to_string(),
    }
}

/// In seconds; the form with a date is for caches.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(header::RETRY_AFTER)?.to_str().ok()?;
    seconds.trim().parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests;
