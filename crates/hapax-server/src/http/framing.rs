//! Requests that do not say once whom they ask, and requests that a web page of somebody else's makes: refused, and the
//! connection is closed. Not here: how a body is framed. hyper settles that before a request is seen, and closes the
//! connection where two lengths contradict each other.

use hapax_core::problem::{Problem, ProblemCode};
use hyper::header::{HOST, ORIGIN};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Version};

use super::malformed;

/// Refuses what is not one plain request. Without keys a browser's pages must be our own.
pub(super) fn check(parts: &Parts, needs_keys: bool) -> Result<(), Problem> {
    let headers = &parts.headers;
    let hosts = headers.get_all(HOST).iter().count();
    if hosts > 1 || (hosts == 0 && parts.version >= Version::HTTP_11) {
        return Err(malformed("a request has one Host"));
    }
    if !needs_keys && is_foreign(headers) {
        let detail = "a page of another site may not ask a server that needs no keys";
        return Err(Problem::new(ProblemCode::Forbidden, detail));
    }
    Ok(())
}

/// Does a browser say that a page of another site sent it here?
fn is_foreign(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(ORIGIN) else { return false };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let origin = origin.to_str().unwrap_or_default();
    let own = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    own != Some(host)
}

#[cfg(test)]
mod tests;
