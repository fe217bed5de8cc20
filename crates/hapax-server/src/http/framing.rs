//! Requests that two readers could read as two different ones, and requests that a web page of somebody else's makes.
//!
//! What a proxy in front of us takes for one request must not be two for us (or the reverse), so whatever is not plain is
//! refused, and the connection is closed. Not here: bytes that hyper itself refuses.

use hapax_core::problem::{Problem, ProblemCode};
use hyper::header::{CONTENT_LENGTH, HOST, ORIGIN, TRANSFER_ENCODING};
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
    let lengths = headers.get_all(CONTENT_LENGTH).iter().count();
    if lengths > 1 || (lengths > 0 && headers.contains_key(TRANSFER_ENCODING)) {
        return Err(malformed("a request says once how long its body is"));
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
