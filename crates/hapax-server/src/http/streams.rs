//! Streams and the versions of their contracts.

use std::sync::Arc;

use hapax_core::access::Deed;
use hapax_core::contract::{Contract, in_words};
use hapax_core::problem::{Problem, ProblemCode};
use hapax_core::time::Time;
use hapax_core::view::HeadView;
use hapax_store::seam::StreamRecord;
use hapax_store::turn::Ask;
use serde::Serialize;

use super::call::{checked_name, no_stream};
use super::covered::covered;
use super::events::{answered, ask};
use super::request_key::key_of;
use super::route::{Route, action};
use super::{App, Call, Reply, body, unread};

pub(super) const ROUTES: &[Route] = &[
    Route {
        method: "PUT",
        path: "/v1/streams/{stream}",
        deed: Some(Deed::Rule),
        about: "Puts a contract: makes the stream, or a new version of its rules.",
        takes: &[],
        body: Some("the contract, as application/json or application/toml"),
        answers: "the stream, its version and the contract with every default filled in",
        action: action!(put),
    },
    Route {
        method: "GET",
        path: "/v1/streams",
        deed: Some(Deed::Look),
        about: "Lists the streams.",
        takes: &[("limit", "how many, 1 to 1000"), ("after", "the `next` of the page before")],
        body: None,
        answers: "streams",
        action: action!(list),
    },
    Route {
        method: "GET",
        path: "/v1/streams/{stream}",
        deed: Some(Deed::Look),
        about: "Shows a stream: its contract in force, in words too, and where its ledger ends.",
        takes: &[],
        body: None,
        answers: "the stream",
        action: action!(show),
    },
    Route {
        method: "GET",
        path: "/v1/streams/{stream}/contracts",
        deed: Some(Deed::Look),
        about: "Lists every version of a stream's contract.",
        takes: &[],
        body: None,
        answers: "contracts",
        action: action!(contracts),
    },
    Route {
        method: "GET",
        path: "/v1/streams/{stream}/head",
        deed: Some(Deed::Look),
        about: "Says where a stream's ledger ends: offset and hash. Save it, and `hapax verify` can prove a truncation.",
        takes: &[],
        body: None,
        answers: "the head",
        action: action!(head),
    },
];

async fn put(app: Arc<App>, mut call: Call) -> Result<Reply, Problem> {
    call.all_lanes()?;
    checked_name(call.param("stream"), "stream")?;
    let key = key_of(&call)?;
    let body = body::read(&app, &mut call).await?;
    let kind = call.header("content-type").and_then(|kind| kind.split(';').next()).map(str::trim);
    let checked = match kind {
        Some("application/toml" | "text/toml" | "text/x-toml") => {
            let text = std::str::from_utf8(&body.bytes).map_err(|_| super::malformed("the contract is not UTF-8"))?;
            Contract::from_toml(text)
        }
        Some("application/json") | None => Contract::from_json(&body.bytes),
        Some(other) => {
            let detail = format!("a contract is application/toml or application/json, not {other}");
            return Err(Problem::new(ProblemCode::UnsupportedMediaType, detail));
        }
    };
    let contract = Box::new(checked.map_err(Problem::contract)?);
    let put = Ask::PutContract { stream: call.stream(), contract };
    let answer = ask(&app, &call, Some(body), key.clone(), put).await?;
    Ok(answered(&answer, key.as_deref()))
}

#[derive(Serialize)]
struct Shape<'s> {
    stream: &'s str,
    version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    contract: Option<&'s Contract>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    in_words: Vec<String>,
    head: HeadView,
    events: u64,
    attempts: u64,
    lanes: u64,
    created_at: Option<Time>,
}

impl<'s> Shape<'s> {
    fn of(record: &'s StreamRecord) -> Self {
        let version = record.versions.last().map(|(version, _)| version);
        Self {
            stream: &record.name,
            version: version.map_or(0, |version| version.number),
            contract: None,
            in_words: Vec::new(),
            head: HeadView(record.head),
            events: record.head.events,
            attempts: record.head.attempts,
            lanes: record.lanes,
            created_at: record.versions.first().map(|(_, at)| *at),
        }
    }
}

async fn list(app: Arc<App>, call: Call) -> Result<Reply, Problem> {
    let (is_confined, covers) = (!call.access.streams.is_all(), &call.access.streams);
    let reads = |after: &str, limit| app.reader.streams(&call.tenant, after, limit);
    let page =
        covered(&call, is_confined, |it| Arc::clone(&it.name), |it: &StreamRecord| covers.cover(&it.name), reads)?;
    #[derive(Serialize)]
    struct List<'s> {
        streams: Vec<Shape<'s>>,
        next: Option<Arc<str>>,
    }
    Ok(Reply::json(200, &List { streams: page.items.iter().map(Shape::of).collect(), next: page.next }))
}

async fn show(app: Arc<App>, call: Call) -> Result<Reply, Problem> {
    let record = app.reader.stream(&call.stream()).map_err(unread)?;
    let record = record.filter(|it| !it.versions.is_empty()).ok_or_else(|| no_stream(call.param("stream")))?;
    let contract = record.versions.last().map(|(version, _)| &*version.contract);
    let in_words = contract.map(in_words).unwrap_or_default();
    Ok(Reply::json(200, &Shape { contract, in_words, ..Shape::of(&record) }))
}

async fn contracts(app: Arc<App>, call: Call) -> Result<Reply, Problem> {
    let record = app.reader.stream(&call.stream()).map_err(unread)?;
    let record = record.filter(|it| !it.versions.is_empty()).ok_or_else(|| no_stream(call.param("stream")))?;
    #[derive(Serialize)]
    struct One<'s> {
        version: u32,
        put_at: Time,
        contract: &'s Contract,
    }
    #[derive(Serialize)]
    struct List<'s> {
        contracts: Vec<One<'s>>,
        next: Option<()>,
    }
    let list = record.versions.iter().map(|(version, put_at)| One {
        version: version.number,
        put_at: *put_at,
        contract: &version.contract,
    });
    Ok(Reply::json(200, &List { contracts: list.collect(), next: None }))
}

async fn head(app: Arc<App>, call: Call) -> Result<Reply, Problem> {
    let (stream, _) = call.version(&app)?;
    Ok(Reply::json(200, &HeadView(app.reader.head(&stream).map_err(unread)?)))
}
