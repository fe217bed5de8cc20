//! How much one caller may send, as HTTP says it: `RATE_LIMITED`, `Retry-After`, and the `RateLimit` headers.
//!
//! What holds: every answer to a caller with a limit says what is left of it; a refused request has written nothing. Who
//! shows no key that holds is counted by address, also where it shows a wrong one. Not here: the counting (`rate`).

use std::fmt::Write as _;
use std::future::poll_fn;
use std::net::IpAddr;
use std::time::Duration;

use bytes::BytesMut;
use hapax_core::access::{Deed, Rates};
use hapax_core::problem::{Problem, ProblemCode};

use super::call::Who;
use super::{App, Call, Reply, Route};
use crate::connection::headers::Headers;
use crate::connection::incoming::Incoming;
use crate::rate::{Account, Payer, TooMany};

/// What passes by at once.
const PIECE_BYTES: usize = 8 << 10;

/// Who pays for a request. Nobody does where anybody may ask.
pub(super) fn account(app: &App, route: &Route, who: &Result<Who, Problem>, peer: IpAddr) -> Option<Account> {
    route.deed?;
    let rates = app.limits.rates;
    match who {
        Ok(Who { key: Some(id), rates: own, .. }) => Account::new(Payer::Key(id.clone()), own.or(rates)),
        Ok(Who { key: None, .. }) => Account::new(Payer::Address(peer), rates),
        Err(_) => Account::new(Payer::Address(peer), Rates { events: None, ..rates }),
    }
}

/// Takes a request, or answers that it is one too many.
pub(super) fn take_request(app: &App, route: &Route, account: Option<&Account>) -> Result<(), Reply> {
    let Some(account) = account else { return Ok(()) };
    let taken = app.rating.request(account, app.clock.elapsed(), route.deed == Some(Deed::Send));
    taken.map_err(|many| refused(app, account, many))
}

/// Takes the events of a request, or answers that they are too many.
pub(super) fn take_events(app: &App, call: &Call, count: usize) -> Result<(), Reply> {
    let Some(account) = &call.account else { return Ok(()) };
    let taken = app.rating.events(account, app.clock.elapsed(), count);
    taken.map_err(|many| refused(app, account, many))
}

fn refused(app: &App, account: &Account, many: TooMany) -> Reply {
    let TooMany { limit, rate, wait } = many;
    let (whose, name) = match account.payer() {
        Payer::Key(_) => ("this key", limit.name()),
        Payer::Address(_) => ("this address", limit.name()),
    };
    app.metrics.limited(limit);
    tracing::debug!(payer = ?account.payer(), limit = name, wait_ms = wait.as_millis(), "refused by a limit");
    let seconds = seconds(wait);
    let detail = format!("{whose} may send {rate} {name} a second; send it again in {seconds} s");
    let problem = Problem::new(ProblemCode::RateLimited, detail);
    Reply::problem(&problem).with("retry-after", seconds.to_string())
}

/// An answer that says what is left.
pub(super) fn told(app: &App, account: Option<&Account>, reply: Reply) -> Reply {
    let Some(account) = account else { return reply };
    let (mut policy, mut state) = (String::new(), String::new());
    for level in app.rating.levels(account, app.clock.elapsed()) {
        let comma = if policy.is_empty() { "" } else { ", " };
        let (name, rate, left) = (level.limit.name(), level.rate, level.left);
        // Writing to a string cannot fail.
        _ = write!(policy, "{comma}\"{name}\";q={rate};w=1");
        _ = write!(state, "{comma}\"{name}\";r={left};t={}", seconds(level.full_in));
    }
    reply.with("ratelimit-policy", policy).with("ratelimit", state)
}

/// Whole seconds, rounded up: who waits that long has waited long enough.
fn seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

/// Lets a body pass by that nobody will read. Who is cut off while sending may never see the answer.
pub(super) async fn discard(app: &App, headers: &Headers, mut body: Incoming) {
    // Who asks first does not send before the answer.
    if headers.get("expect").is_some() {
        return;
    }
    let mut left = app.limits.body_bytes_max;
    let passing = async {
        let mut scrap = BytesMut::with_capacity(PIECE_BYTES);
        while let Ok(length @ 1..) = poll_fn(|_| body.poll_more(&mut scrap)).await {
            match left.checked_sub(length) {
                Some(rest) => left = rest,
                None => return,
            }
            scrap.clear();
            scrap.reserve(PIECE_BYTES);
        }
    };
    // Whether it came to its end does not matter any more.
    _ = tokio::time::timeout(app.limits.body_timeout, passing).await;
}
