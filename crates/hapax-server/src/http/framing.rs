//! Requests that a web page of somebody else's makes: refused, and the connection is closed.
//!
//! A server that needs no keys trusts whoever reaches it, and a browser reaches it for any page. Two things tell: an
//! `Origin` that is not our own, and a `Host` that is a name we do not go by, because a page can let its own name point
//! to this machine (DNS rebinding). An address in digits cannot be pointed elsewhere. Not here: how bodies are framed.

use std::net::IpAddr;

use hapax_core::problem::{Problem, ProblemCode};

use crate::connection::head::Head;
use crate::connection::headers::{Headers, text};

/// Refuses what a page of another site may have sent, where no keys are needed. Whether they are is asked only of what
/// looks like it: the store may have to be asked, and may be slow or away.
pub(super) fn check(
    head: &Head,
    needs_keys: impl Fn() -> Result<bool, Problem>,
    hosts: &[String],
) -> Result<(), Problem> {
    let is_known = is_known(head, hosts);
    if is_known && !is_foreign(&head.headers) || needs_keys()? {
        return Ok(());
    }
    if !is_known {
        let detail = "this server needs no keys, so it answers only at an address in digits, at localhost, and at the \
                      names that --hosts gives it";
        return Err(Problem::new(ProblemCode::HostUnknown, detail));
    }
    let detail = "a page of another site may not ask a server that needs no keys";
    Err(Problem::new(ProblemCode::Forbidden, detail))
}

/// Is it asked by a name that is its own?
fn is_known(head: &Head, hosts: &[String]) -> bool {
    let written = match (head.uri.authority(), head.headers.get("host")) {
        (Some(authority), _) => authority.as_str(),
        (None, Some(host)) => text(host).unwrap_or("?"),
        // Only HTTP/1.0 gets here without one, and no browser speaks that.
        (None, None) => return true,
    };
    let name = match written.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => written.split(':').next().unwrap_or_default(),
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    // It ends so, and there is nothing before that, or a dot.
    let is_local = |name: &str| {
        let before = name.len().checked_sub("localhost".len()).and_then(|at| name.split_at_checked(at));
        before.is_some_and(|(before, last)| {
            last.eq_ignore_ascii_case("localhost") && (before.is_empty() || before.ends_with('.'))
        })
    };
    is_local(name) || name.parse::<IpAddr>().is_ok() || hosts.iter().any(|host| host.eq_ignore_ascii_case(name))
}

/// Does a browser say that a page of another site sent it here?
fn is_foreign(headers: &Headers) -> bool {
    let Some(origin) = headers.get("origin") else { return false };
    let host = headers.text("host").unwrap_or_default();
    let origin = text(origin).unwrap_or_default();
    let own = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    own != Some(host)
}

#[cfg(test)]
mod tests;
