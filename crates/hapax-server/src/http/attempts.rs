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
    // One more than is counted exactly tells whether there are more.
    let found = tokio::task::block_in_place(|| app.reader.attempts(&stream, &filter, after, SCAN_MAX + 1));
    let found = found.map_err(unread)?;
    let mut items: Vec<AttemptView> = found.items.into_iter().filter(|it| covered(&call, it)).collect();
    let count = items.len().min(SCAN_MAX);
    let count_more = (items.len() > count || found.next.is_some()).then_some(true);
    let next = if items.len() > limit { Some(items[limit - 1].number()) } else { found.next };
    items.truncate(limit);
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
    let (sender, receiver) = mpsc::channel(4);
    tokio::spawn(async move {
        if format == Format::Csv && sender.send(Bytes::from(COLUMNS.join(",") + "\r\n")).await.is_err() {
            return;
        }
        loop {
            let page = tokio::task::block_in_place(|| app.reader.attempts(&stream, &filter, after, 500));
            let Ok(page) = page.map_err(unread) else { return };
            let lines: String =
                page.items.iter().filter(|it| covered(&call, it)).map(|attempt| line(attempt, format)).collect();
            if !lines.is_empty() && sender.send(Bytes::from(lines)).await.is_err() {
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
