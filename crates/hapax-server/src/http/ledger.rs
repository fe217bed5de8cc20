//! Reading the ledger: entries by offset, one event by its id.

use std::sync::Arc;

use hapax_core::access::Deed;
use hapax_core::contract::Scope;
use hapax_core::entry::{Entry, SharedEntry};
use hapax_core::event::Identity;
use hapax_core::problem::{Problem, ProblemCode};
use hapax_core::time::Time;
use hapax_core::view::{EntryView, EventView};
use hapax_core::words::Mark;
use hapax_store::seam::SCAN_MAX;
use serde::Serialize;

use super::events::lane_forbidden;
use super::route::{Route, action};
use super::{App, Call, Reply, follow, malformed, unread};

pub(super) const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        path: "/v1/streams/{stream}/events",
        deed: Some(Deed::Look),
        about: "Reads the ledger in the order of offsets, or follows it as server-sent events.",
        takes: &[
            ("after", "an offset; the page begins behind it"),
            ("limit", "how many, 1 to 1000"),
            ("lane", "of this lane"),
            ("from", "received not before this time"),
            ("to", "received before this time"),
            ("mark", "with this mark"),
            ("follow", "true: stay, and get each entry as it is accepted"),
        ],
        body: None,
        answers: "events",
        action: action!(list),
    },
    Route {
        method: "GET",
        path: "/v1/streams/{stream}/events/{id}",
        deed: Some(Deed::Look),
        about: "Shows an accepted event and its receipt.",
        takes: &[("lane", "its lane, where ids are unique within lanes")],
        body: None,
        answers: "the event, with its receipt",
        action: action!(show),
    },
];

/// A page ends early when its documents are as large as this.
const PAGE_BYTES_MAX: usize = 16 << 20;
/// Entries that are read at once.
const STEP: usize = 64;

/// Which entries are wanted.
pub(super) struct Filter {
    lane: Option<String>,
    from: Option<Time>,
    to: Option<Time>,
    mark: Option<Mark>,
}

impl Filter {
    pub(super) fn of(call: &Call) -> Result<Self, Problem> {
        let unknown = |name: &str| {
            let known: Vec<_> = Mark::ALL.iter().map(|mark| mark.name()).collect();
            malformed(format!("there is no mark {name:?}; there is {}", known.join(", ")))
        };
        let mark = |name: &str| Mark::named(name).ok_or_else(|| unknown(name));
        let lane = call.query("lane").map(str::to_owned);
        if lane.as_ref().is_some_and(|lane| !call.covers_lane(lane)) {
            return Err(lane_forbidden());
        }
        Ok(Self {
            lane,
            from: call.time("from")?,
            to: call.time("to")?,
            mark: call.query("mark").map(mark).transpose()?,
        })
    }

    pub(super) fn takes(&self, call: &Call, entry: &Entry) -> bool {
        self.lane.as_ref().is_none_or(|lane| **lane == *entry.lane)
            && self.from.is_none_or(|from| entry.at >= from)
            && self.to.is_none_or(|to| entry.at < to)
            && self.mark.is_none_or(|mark| entry.marks.has(mark))
            && call.covers_lane(&entry.lane)
    }
}

async fn list(app: Arc<App>, call: Call) -> Result<Reply, Problem> {
    if call.flag("follow")? || call.accepts("text/event-stream") {
        return follow::follow(app, call);
    }
    let (stream, _) = call.version(&app)?;
    let filter = Filter::of(&call)?;
    let limit = call.limit()?;
    let mut after = call.number("after")?.unwrap_or(0);
    let mut found: Vec<SharedEntry> = Vec::new();
    let (mut looked_at, mut bytes) = (0, 0);
    let next = tokio::task::block_in_place(|| -> Result<Option<u64>, Problem> {
        loop {
            // A few at a time: an event may be as large as a megabyte.
            let wanted = limit.min(STEP).min(SCAN_MAX - looked_at);
            let entries = app.reader.entries(&stream, after, wanted).map_err(unread)?;
            let is_last = entries.len() < wanted;
            for entry in entries {
                looked_at += 1;
                after = entry.offset;
                if filter.takes(&call, &entry) {
                    bytes += entry.document.len();
                    found.push(entry);
                }
                if found.len() == limit || bytes >= PAGE_BYTES_MAX {
                    return Ok(Some(after));
                }
            }
            if is_last {
                return Ok(None);
            }
            if looked_at >= SCAN_MAX {
                return Ok(Some(after));
            }
        }
    })?;
    #[derive(Serialize)]
    struct List<'e> {
        events: Vec<EntryView<'e>>,
        next: Option<u64>,
    }
    Ok(Reply::json(200, &List { events: found.iter().map(|entry| EntryView(entry)).collect(), next }))
}

async fn show(app: Arc<App>, call: Call) -> Result<Reply, Problem> {
    let entry = find(&app, &call)?;
    Ok(Reply::json(200, &EventView(entry)))
}

/// The event in the path.
pub(super) fn find(app: &App, call: &Call) -> Result<SharedEntry, Problem> {
    let (stream, version) = call.version(app)?;
    let (id, lane) = (call.param("id"), call.query("lane"));
    if lane.is_some_and(|lane| !call.covers_lane(lane)) {
        return Err(lane_forbidden());
    }
    let missing = || Problem::new(ProblemCode::EventNotFound, format!("the stream holds no event {id:?}"));
    let found = tokio::task::block_in_place(|| match (version.contract.identity.scope, lane) {
        (Scope::Stream, _) => app.reader.entry(&stream, &Identity::of(None, id)).map(|it| it.into_iter().collect()),
        (Scope::Lane, Some(lane)) => {
            app.reader.entry(&stream, &Identity::of(Some(lane), id)).map(|it| it.into_iter().collect())
        }
        (Scope::Lane, None) => app.reader.entries_with_id(&stream, id),
    });
    let mut found: Vec<SharedEntry> = found.map_err(unread)?;
    found.retain(|entry| call.covers_lane(&entry.lane) && lane.is_none_or(|lane| *lane == *entry.lane));
    if found.len() > 1 {
        let detail = format!("several lanes hold the id {id:?}; say which with lane=");
        return Err(Problem::new(ProblemCode::IdAmbiguous, detail));
    }
    found.pop().ok_or_else(missing)
}
