//! For those who run it: does it live, is it ready, what does it count?

use std::sync::Arc;

use hapax_core::access::Deed;
use hapax_core::problem::{Problem, ProblemCode};
use serde_json::json;
use tokio::task::block_in_place;

use super::call::forbidden;
use super::route::{Route, action};
use super::{App, Call, Reply, unread};
use crate::writer::DEFAULT_TENANT;

/// OpenMetrics; Prometheus refuses anything else.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Answered whatever becomes of the store.
pub(super) const LIVE: &str = "/livez";

pub(super) const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        path: LIVE,
        deed: None,
        about: "Says that the process lives.",
        takes: &[],
        body: None,
        answers: "ok",
        action: action!(live),
    },
    Route {
        method: "GET",
        path: "/readyz",
        deed: None,
        about: "Says whether it takes requests: 503 while it stops or cannot reach its store.",
        takes: &[],
        body: None,
        answers: "ok",
        action: action!(ready),
    },
    Route {
        method: "GET",
        path: "/metrics",
        deed: Some(Deed::Look),
        about: "Everything that is counted, for Prometheus. With keys: for those of the tenant `default`.",
        takes: &[],
        body: None,
        answers: "OpenMetrics",
        action: action!(metrics),
    },
];

async fn live(_: Arc<App>, _: Call) -> Result<Reply, Problem> {
    Ok(Reply::json(200, &json!({ "status": "ok" })))
}

async fn ready(app: Arc<App>, _: Call) -> Result<Reply, Problem> {
    if app.is_stopping() {
        return Err(Problem::new(ProblemCode::Stopping, "the server is stopping"));
    }
    block_in_place(|| app.reader.ready()).map_err(unread)?;
    if !app.inbox.is_open() {
        return Err(Problem::new(ProblemCode::StoreStopped, "the writer has ended"));
    }
    Ok(Reply::json(200, &json!({ "status": "ok" })))
}

async fn metrics(app: Arc<App>, call: Call) -> Result<Reply, Problem> {
    if *call.tenant != *DEFAULT_TENANT || !call.access.streams.is_all() || !call.access.lanes.is_all() {
        return Err(forbidden("what the whole server counts is for unconfined keys of the tenant `default`"));
    }
    app.metrics.waiting.set(i64::try_from(app.inbox.waiting()).unwrap_or(i64::MAX));
    let text = block_in_place(|| app.metrics.text(&*app.reader, app.clock.steps_back(), call.now));
    Ok(Reply::bytes(200, OPEN_METRICS, text))
}
