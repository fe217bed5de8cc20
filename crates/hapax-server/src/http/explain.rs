//! Why: every attempt of an id, and the rules one by one.

use std::sync::Arc;

use hapax_core::access::Deed;
use hapax_core::explain::{Explanation, explain_attempt, explain_entry};
use hapax_core::problem::{Problem, ProblemCode};
use hapax_core::view::AttemptView;
use hapax_store::seam::AttemptFilter;
use serde::Serialize;

use super::events::lane_forbidden;
use super::route::{Route, action};
use super::{App, Call, Reply, unread};

pub(super) const ROUTES: &[Route] = &[Route {
    method: "GET",
    path: "/v1/streams/{stream}/events/{id}/explain",
    deed: Some(Deed::Look),
    about: "Explains every attempt of an id: what was compared with what, and what followed.",
    takes: &[("lane", "its lane, where ids are unique within lanes")],
    body: None,
    answers: "the attempts, each with its rules",
    action: action!(explain),
}];

/// The most attempts that are explained at once.
const EXPLAINED_MAX: usize = 1_000;

async fn explain(app: Arc<App>, call: Call) -> Result<Reply, Problem> {
    let (stream, versions) = call.versions(&app)?;
    let (id, lane) = (call.param("id"), call.query("lane"));
    if lane.is_some_and(|lane| !call.covers_lane(lane)) {
        return Err(lane_forbidden());
    }
    let filter = AttemptFilter { id: Some(id.to_owned()), lane: lane.map(str::to_owned), ..AttemptFilter::default() };
    let salt = app.reader.salt(&call.tenant).map_err(unread)?.unwrap_or_default();
    let explained = tokio::task::block_in_place(|| -> Result<Vec<Explanation>, Problem> {
        let mut found = app.reader.attempts(&stream, &filter, 0, EXPLAINED_MAX).map_err(unread)?.items;
        found.retain(|it| it.lane().map_or_else(|| call.access.lanes.is_all(), |lane| call.covers_lane(lane)));
        let mut lanes: Vec<_> = found
            .iter()
            .filter(|it| matches!(it, AttemptView::Accepted(_)))
            .filter_map(|it| it.lane().map(str::to_owned))
            .collect();
        lanes.sort();
        lanes.dedup();
        if lanes.len() > 1 {
            let detail = format!("several lanes hold the id {id:?}; say which with lane=");
            return Err(Problem::new(ProblemCode::IdAmbiguous, detail));
        }
        let mut explained = Vec::new();
        for attempt in &found {
            let number = match attempt {
                AttemptView::Accepted(entry) => entry.contract,
                AttemptView::Other(attempt) => attempt.contract,
            };
            let Some(version) = versions.iter().find(|version| version.number == number) else { continue };
            explained.push(match attempt {
                AttemptView::Accepted(entry) => explain_entry(entry, version, &salt),
                AttemptView::Other(attempt) => {
                    let original = match attempt.basis.original {
                        Some(offset) => app.reader.entries(&stream, offset - 1, 1).map_err(unread)?.pop(),
                        None => None,
                    };
                    explain_attempt(attempt, version, original.as_ref(), &salt)
                }
            });
        }
        Ok(explained)
    })?;
    if explained.is_empty() {
        let detail = format!("no attempt with the id {id:?} is on record");
        return Err(Problem::new(ProblemCode::EventNotFound, detail));
    }
    #[derive(Serialize)]
    struct Shape<'s> {
        id: &'s str,
        attempts: Vec<Explanation>,
    }
    Ok(Reply::json(200, &Shape { id, attempts: explained }))
}
