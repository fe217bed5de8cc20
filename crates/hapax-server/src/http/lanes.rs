//! Lanes: what is missing, from whom, since when.

use std::sync::Arc;

use hapax_core::access::Deed;
use hapax_core::lane::{Gap, GapKind};
use hapax_core::problem::{Problem, ProblemCode};
use hapax_core::view::LaneView;
use hapax_store::seam::LaneRecord;
use hapax_store::turn::Ask;
use serde::{Deserialize, Serialize};

use super::covered::covered;
use super::events::{answered, ask, lane_forbidden};
use super::request_key::key_of;
use super::route::{Route, action};
use super::{App, Call, Reply, body, invalid, malformed, unread};

pub(super) const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        path: "/v1/streams/{stream}/lanes",
        deed: Some(Deed::Look),
        about: "Lists the lanes; with gaps=open only those from which something is missing.",
        takes: &[
            ("gaps", "open: only lanes with open gaps; all: also the filled ones"),
            ("limit", "how many, 1 to 1000"),
            ("after", "the `next` of the page before"),
        ],
        body: None,
        answers: "lanes",
        action: action!(list),
    },
    Route {
        method: "GET",
        path: "/v1/streams/{stream}/lanes/{lane}",
        deed: Some(Deed::Look),
        about: "Shows a lane and its gaps.",
        takes: &[("gaps", "open: only open ones; all: also the filled ones")],
        body: None,
        answers: "the lane",
        action: action!(show),
    },
    Route {
        method: "POST",
        path: "/v1/streams/{stream}/lanes/{lane}/gaps/acknowledge",
        deed: Some(Deed::Rule),
        about: "Records missing numbers as known to be lost.",
        takes: &[],
        body: Some("{from, to, reason}"),
        answers: "the lane",
        action: action!(acknowledge),
    },
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Gaps {
    /// All that are still missing.
    Usual,
    Open,
    All,
}

impl Gaps {
    fn of(call: &Call) -> Result<Self, Problem> {
        match call.query("gaps") {
            None => Ok(Self::Usual),
            Some("open") => Ok(Self::Open),
            Some("all") => Ok(Self::All),
            Some(other) => Err(malformed(format!("gaps is open or all, not {other:?}"))),
        }
    }

    fn of_lane(self, record: &LaneRecord) -> Vec<Gap> {
        record.gaps.iter().filter(|gap| self != Self::Open || gap.kind == GapKind::Open).copied().collect()
    }
}

async fn list(app: Arc<App>, call: Call) -> Result<Reply, Problem> {
    let (stream, version) = call.version(&app)?;
    let gaps = Gaps::of(&call)?;
    let is_confined = !call.access.lanes.is_all();
    let reads = |after: &str, limit| app.reader.lanes(&stream, gaps == Gaps::Open, after, limit);
    let page = covered(&call, is_confined, |it| Arc::clone(&it.0), |it| call.covers_lane(&it.0), reads)?;
    let views = page.items.iter().map(|(name, record)| LaneView {
        name,
        lane: &record.lane,
        gaps: gaps.of_lane(record),
        filled: if gaps == Gaps::All { record.filled.clone() } else { Vec::new() },
        contract: &version.contract,
        now: call.now,
    });
    #[derive(Serialize)]
    struct List<'l> {
        lanes: Vec<LaneView<'l>>,
        next: Option<Arc<str>>,
    }
    Ok(Reply::json(200, &List { lanes: views.collect(), next: page.next }))
}

async fn show(app: Arc<App>, call: Call) -> Result<Reply, Problem> {
    let (stream, version) = call.version(&app)?;
    let gaps = Gaps::of(&call)?;
    let name = call.param("lane");
    if !call.covers_lane(name) {
        return Err(lane_forbidden());
    }
    let record = app.reader.lane(&stream, name).map_err(unread)?.ok_or_else(|| no_lane(name))?;
    let filled = if gaps == Gaps::All { record.filled.clone() } else { Vec::new() };
    let (lane, listed) = (&record.lane, gaps.of_lane(&record));
    let view = LaneView { name, lane, gaps: listed, filled, contract: &version.contract, now: call.now };
    Ok(Reply::json(200, &view))
}

fn no_lane(name: &str) -> Problem {
    Problem::new(ProblemCode::LaneNotFound, format!("the stream has no lane {name}"))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Loss {
    from: u64,
    to: u64,
    reason: String,
}

async fn acknowledge(app: Arc<App>, mut call: Call) -> Result<Reply, Problem> {
    if !call.covers_lane(call.param("lane")) {
        return Err(lane_forbidden());
    }
    let (stream, _) = call.version(&app)?;
    let key = key_of(&call)?;
    let body = body::read(&app, &mut call).await?;
    let Loss { from, to, reason } = read_json(&body.bytes)?;
    if from > to {
        return Err(invalid(format!("from ({from}) is above to ({to})")));
    }
    if reason.trim().is_empty() || reason.len() > 4096 {
        return Err(invalid("a reason is 1 to 4096 bytes: say why these numbers will not come"));
    }
    let lane = Arc::from(call.param("lane"));
    let loss = Ask::Acknowledge { stream, lane, from, to, reason: Arc::from(reason) };
    let answer = ask(&app, &call, Some(body), key.clone(), loss).await?;
    Ok(answered(&answer, key.as_deref()))
}

/// A body that is one JSON object of this shape.
pub(super) fn read_json<'b, T: Deserialize<'b>>(bytes: &'b [u8]) -> Result<T, Problem> {
    serde_json::from_slice(bytes).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => invalid(format!("the body is not what is needed here: {error}")),
        serde_json::error::Category::Io | serde_json::error::Category::Syntax | serde_json::error::Category::Eof => {
            malformed(format!("the body is not JSON: {error}"))
        }
    })
}
