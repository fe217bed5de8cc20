//! The audit: every attempt, accepted or not, as a list or as an export.

use std::sync::Arc;

use bytes::Bytes;
use hapax_core::access::Deed;
use hapax_core::problem::Problem;
use hapax_core::view::AttemptView;
use hapax_core::words::{Code, Verdict};
use hapax_store::seam::{AttemptFilter, SCAN_MAX, StreamKey};
use serde::Serialize;
use tokio::sync::mpsc;

use super::events::lane_forbidden;
use super::reply::BrokenOff;
use super::route::{Route, action};
use super::{App, Call, Reply, malformed, unread};

pub(super) const ROUTES: &[Route] = &[Route {
    method: "GET",
    path: "/v1/streams/{stream}/attempts",
    deed: Some(Deed::Look),
    about: "Lists attempts, accepted ones included; as text/csv or application/x-ndjson it exports all of them.",
    takes: &[
        ("lane", "of this lane"),
        ("id", "with this id"),
        ("verdict", "with this verdict"),
        ("code", "with this code"),
        ("from", "received not before this time"),
        ("to", "received before this time"),
        ("limit", "how many, 1 to 1000"),
        ("after", "an attempt; the page begins behind it"),
    ],
    body: None,
    answers: "attempts",
    action: action!(list),
}];

fn filter(call: &Call) -> Result<AttemptFilter, Problem> {
    let owned = |name: &str| call.query(name).map(str::to_owned);
    let names = |all: Vec<&str>| all.join(", ");
    if let Some(verdict) = call.query("verdict").filter(|it| Verdict::named(it).is_none()) {
        let known = names(Verdict::ALL.iter().map(|it| it.name()).collect());
        return Err(malformed(format!("there is no verdict {verdict:?}; there is {known}")));
    }
    if let Some(code) = call.query("code").filter(|it| Code::named(it).is_none()) {
        let known = names(Code::ALL.iter().map(|it| it.name()).collect());
        return Err(malformed(format!("there is no code {code:?}; there is {known}")));
    }
    if call.query("lane").is_some_and(|lane| !call.covers_lane(lane)) {
        return Err(lane_forbidden());
    }
    let (lane, id, verdict, code) = (owned("lane"), owned("id"), owned("verdict"), owned("code"));
    Ok(AttemptFilter { lane, id, verdict, code, from: call.time("from")?, to: call.time("to")? })
}

fn covered(call: &Call, attempt: &AttemptView) -> bool {
    // Without a readable lane nobody knows whose it is, so only those see it who see all.
    attempt.lane().map_or_else(|| call.access.lanes.is_all(), |lane| call.covers_lane(lane))
}

async fn list(app: Arc<App>, call: Call) -> Result<Reply, Problem> {
    let (stream, _) = call.version(&app)?;
    let filter = filter(&call)?;
    let after = call.number("after")?.unwrap_or(0);
    if call.accepts("text/csv") {
        return Ok(export(app, call, stream, filter, after, Format::Csv));
    }
    if call.accepts("application/x-ndjson") {
        return Ok(export(app, call, stream, filter, after, Format::Lines));
    }
    let limit = call.limit()?;
    let found = tokio::task::block_in_place(|| find(&app, &call, &stream, &filter, after, limit))?;
    let Found { items, count, more, next } = found;
    let count_more = more.then_some(true);
    #[derive(Serialize)]
    struct List {
        attempts: Vec<AttemptView>,
        count: usize,
        #[serde(skip_serializing_if = "Option::is_none")]
        count_more: Option<bool>,
        next: Option<u64>,
    }
    Ok(Reply::json(200, &List { attempts: items, count, count_more, next }))
}

/// A page of attempts, and how many there are beyond it.
#[derive(Default)]
struct Found {
    items: Vec<AttemptView>,
    count: usize,
    more: bool,
    next: Option<u64>,
}

/// A page ends early when its documents are as large as this.
const PAGE_BYTES_MAX: usize = 16 << 20;
/// Attempts that are read at once: a document may be as large as a megabyte, and those beyond the page are only counted.
const STEP: usize = 64;

fn find(
    app: &App,
    call: &Call,
    stream: &StreamKey,
    filter: &AttemptFilter,
    after: u64,
    limit: usize,
) -> Result<Found, Problem> {
    // Those of one id are found together each time, so fewer times.
    let step = if filter.id.is_some() { 4 * STEP } else { STEP };
    let (mut found, mut cursor, mut bytes) = (Found::default(), after, 0);
    loop {
        let page = app.reader.attempts(stream, filter, cursor, step).map_err(unread)?;
        let is_full = page.items.len() >= step;
        for attempt in page.items.into_iter().filter(|it| covered(call, it)) {
            found.count += 1;
            if found.items.len() < limit && bytes < PAGE_BYTES_MAX {
                bytes += attempt.document().map_or(0, <[u8]>::len);
                found.items.push(attempt);
            } else if found.next.is_none() {
                found.next = found.items.last().map(AttemptView::number);
            }
        }
        found.more = page.next.is_some();
        // A page that is short and goes on has looked at as much as a filter may.
        let Some(next) = page.next.filter(|_| is_full && found.count < SCAN_MAX) else {
            found.next = found.next.or(page.next.filter(|_| found.items.len() < limit));
            found.more |= found.count > SCAN_MAX;
            found.count = found.count.min(SCAN_MAX);
            if found.more && found.next.is_none() {
                found.next = found.items.last().map(AttemptView::number);
            }
            return Ok(found);
        };
        cursor = next;
    }
}

/// Attempts of an export that are read at once; they wait for a slow reader.
const EXPORT_STEP: usize = 16;
/// What an export sends at once, unless one line is larger.
const PIECE_BYTES: usize = 64 << 10;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Csv,
    Lines,
}

const COLUMNS: [&str; 15] = [
    "attempt", "at", "id", "lane", "seq", "verdict", "code", "states", "marks", "detail", "contract", "key", "request",
    "same_as", "document",
];

/// Everything that fits, as it is read: memory does not grow with the ledger.
fn export(
    app: Arc<App>,
    call: Call,
    stream: StreamKey,
    filter: AttemptFilter,
    mut after: u64,
    format: Format,
) -> Reply {
    let (sender, receiver) = mpsc::channel(2);
    tokio::spawn(async move {
        if format == Format::Csv && sender.send(Ok(Bytes::from(COLUMNS.join(",") + "\r\n"))).await.is_err() {
            return;
        }
        loop {
            if sender.is_closed() {
                return;
            }
            let page = tokio::task::block_in_place(|| app.reader.attempts(&stream, &filter, after, EXPORT_STEP));
            let page =
                if app.is_stopping() { Err(BrokenOff) } else { page.map_err(|error| (unread(error), BrokenOff).1) };
            let page = match page {
                Ok(page) => page,
                // What has no end must not look as if it had one.
                Err(broken) => {
                    _ = sender.send(Err(broken)).await;
                    return;
                }
            };
            let mut lines = String::new();
            for attempt in page.items.into_iter().filter(|it| covered(&call, it)) {
                lines += &line(&attempt, format);
                if lines.len() >= PIECE_BYTES && sender.send(Ok(Bytes::from(std::mem::take(&mut lines)))).await.is_err()
                {
                    return;
                }
            }
            if !lines.is_empty() && sender.send(Ok(Bytes::from(lines))).await.is_err() {
                return;
            }
            match page.next {
                Some(next) => after = next,
                None => return,
            }
        }
    });
    let kind = match format {
        Format::Csv => "text/csv; charset=utf-8",
        Format::Lines => "application/x-ndjson",
    };
    Reply::streamed(kind, receiver)
}

fn line(attempt: &AttemptView, format: Format) -> String {
    match format {
        Format::Lines => serde_json::to_string(attempt).unwrap_or_default() + "\n",
        Format::Csv => {
            let shown = serde_json::to_value(attempt).unwrap_or_default();
            let document = attempt.document().map(String::from_utf8_lossy).unwrap_or_default();
            let cells = COLUMNS.map(|name| match &shown[name] {
                // As it was sent: a document is evidence.
                _ if name == "document" => quoted(&document),
                serde_json::Value::Null => String::new(),
                serde_json::Value::String(text) => quoted(text),
                serde_json::Value::Array(words) => {
                    quoted(&words.iter().filter_map(|word| word.as_str()).collect::<Vec<_>>().join(" "))
                }
                other @ (serde_json::Value::Bool(_) | serde_json::Value::Number(_) | serde_json::Value::Object(_)) => {
                    quoted(&other.to_string())
                }
            });
            cells.join(",") + "\r\n"
        }
    }
}

/// RFC 4180, and nothing that a spreadsheet would take for a formula.
fn quoted(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if formula { format!("'{text}") } else { text.to_owned() };
    if text.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}
