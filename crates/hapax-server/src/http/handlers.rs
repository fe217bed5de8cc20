//! Consumers: handlers, claims on events, dead letters.

use std::sync::Arc;

use hapax_core::access::Deed;
use hapax_core::claim::{Claim, Handler, HandlerState};
use hapax_core::event::Identity;
use hapax_core::problem::{Problem, ProblemCode};
use hapax_core::receipt::{from_hex, hex};
use hapax_core::view::HandlerView;
use hapax_store::seam::StreamKey;
use hapax_store::turn::{Answer, Ask, Call as Word, CallAsk, ClaimAsk};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::call::{checked_name, forbidden};
use super::covered::covered as covered_page;
use super::events::{answered, ask};
use super::lanes::read_json;
use super::request_key::key_of;
use super::route::{Route, action};
use super::{App, Call, Reply, body, invalid, malformed, unread};

/// A word of a claim's holder.
const fn word(path: &'static str, about: &'static str, body: &'static str, action: super::route::Action) -> Route {
    let (body, answers) = (Some(body), "the claim's status");
    Route { method: "POST", path, deed: Some(Deed::Act), about, takes: &[], body, answers, action }
}

pub(super) const ROUTES: &[Route] = &[
    Route {
        method: "PUT",
        path: "/v1/handlers/{handler}",
        deed: Some(Deed::Act),
        about: "Declares a handler: its order, its effect, its lease.",
        takes: &[],
        body: Some("{order, effect, lease, heartbeat, attempts_max, backoff, stream?}"),
        answers: "the handler, with what it guarantees in words",
        action: action!(put),
    },
    Route {
        method: "GET",
        path: "/v1/handlers",
        deed: Some(Deed::Look),
        about: "Lists the handlers.",
        takes: &[("limit", "how many, 1 to 1000"), ("after", "the `next` of the page before")],
        body: None,
        answers: "handlers",
        action: action!(list),
    },
    Route {
        method: "GET",
        path: "/v1/handlers/{handler}",
        deed: Some(Deed::Look),
        about: "Shows a handler: how far it is, and what it guarantees.",
        takes: &[],
        body: None,
        answers: "the handler",
        action: action!(show),
    },
    word(
        "/v1/handlers/{handler}/claims",
        "Asks for an event: the answer says whether to act on it.",
        "{event_id, stream?, lane?, epoch?, seq?, owner?}",
        action!(claim),
    ),
    word(
        "/v1/handlers/{handler}/claims/{event_id}/heartbeat",
        "Says that the holder lives, and lengthens its lease.",
        "{fence, lane?}",
        action!(heartbeat),
    ),
    word(
        "/v1/handlers/{handler}/claims/{event_id}/done",
        "Says that the event was acted on. Final.",
        "{fence, result?, lane?}",
        action!(done),
    ),
    word(
        "/v1/handlers/{handler}/claims/{event_id}/failed",
        "Says that an attempt failed; another may follow.",
        "{fence, error?, lane?}",
        action!(failed),
    ),
    Route {
        method: "GET",
        path: "/v1/handlers/{handler}/dead",
        deed: Some(Deed::Look),
        about: "Lists the dead letters: what was given up and needs a person.",
        takes: &[("limit", "how many, 1 to 1000"), ("after", "the `next` of the page before")],
        body: None,
        answers: "dead",
        action: action!(dead),
    },
    word(
        "/v1/handlers/{handler}/dead/{event_id}/retry",
        "Lets a dead letter be tried again.",
        "{lane?}",
        action!(retry),
    ),
    word(
        "/v1/handlers/{handler}/dead/{event_id}/skip",
        "Lets a dead letter go, with a reason.",
        "{reason, lane?}",
        action!(skip),
    ),
];

async fn put(app: Arc<App>, mut call: Call) -> Result<Reply, Problem> {
    call.all_lanes()?;
    let name = checked_name(call.param("handler"), "handler")?.to_owned();
    let request = key_of(&call)?;
    let body = body::read(&app, &mut call).await?;
    let mut handler: Handler = if body.bytes.is_empty() { read_json(b"{}")? } else { read_json(&body.bytes)? };
    if !handler.name.is_empty() && handler.name != name {
        return Err(invalid(format!("the body names the handler {:?}, the address {name:?}", handler.name)));
    }
    handler.name = name;
    covered(&call, &handler)?;
    // Nor is one taken away from a stream that the key does not cover.
    if let Some((declared, _)) = app.reader.handler(&call.handler()).map_err(unread)? {
        covered(&call, &declared)?;
    }
    let put = Ask::PutHandler { key: call.handler(), handler: Box::new(handler) };
    let answer = ask(&app, &call, Some(body), request.clone(), put).await?;
    Ok(answered(&answer, request.as_deref()))
}

/// A handler of a stream is for those who may see the stream.
fn covered(call: &Call, handler: &Handler) -> Result<(), Problem> {
    match &handler.stream {
        Some(stream) if !call.access.streams.cover(stream) => Err(forbidden("the key does not cover this stream")),
        Some(_) | None => Ok(()),
    }
}

fn find(app: &App, call: &Call) -> Result<(Handler, HandlerState), Problem> {
    let found = app.reader.handler(&call.handler()).map_err(unread)?;
    let missing = || {
        let name = call.param("handler");
        let detail = format!("there is no handler {name}; PUT /v1/handlers/{name} declares it");
        Problem::new(ProblemCode::HandlerNotFound, detail)
    };
    let found = found.ok_or_else(missing)?;
    covered(call, &found.0)?;
    Ok(found)
}

fn events_of(app: &App, call: &Call, handler: &Handler) -> Result<u64, Problem> {
    let Some(stream) = &handler.stream else { return Ok(0) };
    let key = StreamKey { tenant: Arc::clone(&call.tenant), stream: Arc::from(stream.as_str()) };
    Ok(app.reader.head(&key).map_err(unread)?.events)
}

async fn show(app: Arc<App>, call: Call) -> Result<Reply, Problem> {
    let (handler, state) = find(&app, &call)?;
    let events = events_of(&app, &call, &handler)?;
    Ok(Reply::json(200, &HandlerView { handler: &handler, state: &state, events }))
}

async fn list(app: Arc<App>, call: Call) -> Result<Reply, Problem> {
    let is_confined = !call.access.streams.is_all();
    let reads = |after: &str, limit| app.reader.handlers(&call.tenant, after, limit);
    let covers = |(_, (handler, _)): &(Arc<str>, (Handler, HandlerState))| covered(&call, handler).is_ok();
    let page = covered_page(&call, is_confined, |it| Arc::clone(&it.0), covers, reads)?;
    let mut handlers = Vec::new();
    for (_, (handler, state)) in &page.items {
        handlers.push(HandlerView { handler, state, events: events_of(&app, &call, handler)? });
    }
    #[derive(Serialize)]
    struct List<'h> {
        handlers: Vec<HandlerView<'h>>,
        next: Option<Arc<str>>,
    }
    Ok(Reply::json(200, &List { handlers, next: page.next }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    event_id: String,
    stream: Option<String>,
    lane: Option<String>,
    epoch: Option<u64>,
    seq: Option<u64>,
    owner: Option<String>,
}

async fn claim(app: Arc<App>, mut call: Call) -> Result<Reply, Problem> {
    call.all_lanes()?;
    let (handler, _) = find(&app, &call)?;
    let request = key_of(&call)?;
    let body = body::read(&app, &mut call).await?;
    let Wanted { event_id, stream, lane, epoch, seq, owner } = read_json(&body.bytes)?;
    if let (Some(asked), Some(own)) = (&stream, &handler.stream)
        && asked != own
    {
        return Err(invalid(format!("the handler reads the stream {own}, not {asked}")));
    }
    if event_id.is_empty() || event_id.len() > 256 {
        return Err(invalid("event_id is a text of 1 to 256 bytes"));
    }
    if long(&owner, 256) || long(&stream, STREAM_BYTES_MAX) || long(&lane, LANE_BYTES_MAX) {
        return Err(invalid("owner, stream or lane is too long, or contains U+0000"));
    }
    if stream.as_ref().is_some_and(|stream| !call.access.streams.cover(stream)) {
        return Err(forbidden("the key does not cover this stream"));
    }
    let stream = stream.filter(|_| handler.stream.is_none());
    let (handler, epoch) = (call.handler(), epoch.unwrap_or(0));
    let wanted = Ask::Claim(ClaimAsk { handler, event_id, stream, lane, epoch, seq, owner });
    let answer = ask(&app, &call, Some(body), request.clone(), wanted).await?;
    if !answer.replayed && !answer.problem {
        let said: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        app.metrics.claim(said["decision"].as_str().unwrap_or_default());
    }
    Ok(answered(&answer, request.as_deref()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said<'b> {
    fence: Option<u64>,
    #[serde(borrow)]
    result: Option<&'b RawValue>,
    error: Option<String>,
    reason: Option<String>,
    stream: Option<String>,
    lane: Option<String>,
}

const STREAM_BYTES_MAX: usize = 128;
/// A composite lane is several parts of 256 bytes.
const LANE_BYTES_MAX: usize = 4096;

/// Is it longer than any of ours, or nothing that every store can look for?
fn long(text: &Option<String>, max: usize) -> bool {
    text.as_ref().is_some_and(|it| it.len() > max || it.contains('\0'))
}

async fn say(
    app: &App,
    call: &mut Call,
    word: impl FnOnce(&Said<'_>) -> Result<Word, Problem>,
) -> Result<Reply, Problem> {
    call.all_lanes()?;
    let (declared, _) = find(app, call)?;
    let request = key_of(call)?;
    let body = body::read(app, call).await?;
    let asked = {
        let said: Said<'_> = if body.bytes.is_empty() { read_json(b"{}")? } else { read_json(&body.bytes)? };
        let word = word(&said)?;
        if long(&said.stream, STREAM_BYTES_MAX) || long(&said.lane, LANE_BYTES_MAX) {
            return Err(invalid("stream or lane is too long, or contains U+0000"));
        }
        let stream = said.stream.filter(|_| declared.stream.is_none());
        let (handler, event_id) = (call.handler(), call.param("event_id").to_owned());
        CallAsk { handler, event_id, stream, lane: said.lane, call: word }
    };
    let answer: Answer = ask(app, call, Some(body), request.clone(), Ask::Call(asked)).await?;
    Ok(answered(&answer, request.as_deref()))
}

fn fence(said: &Said<'_>) -> Result<u64, Problem> {
    said.fence.ok_or_else(|| invalid("say the fence that came with the claim"))
}

async fn heartbeat(app: Arc<App>, mut call: Call) -> Result<Reply, Problem> {
    say(&app, &mut call, |said| Ok(Word::Heartbeat { fence: fence(said)? })).await
}

async fn done(app: Arc<App>, mut call: Call) -> Result<Reply, Problem> {
    say(&app, &mut call, |said| {
        let result = said.result.map(|result| result.get().to_owned()).filter(|it| it != "null");
        Ok(Word::Done { fence: fence(said)?, result })
    })
    .await
}

async fn failed(app: Arc<App>, mut call: Call) -> Result<Reply, Problem> {
    say(&app, &mut call, |said| Ok(Word::Failed { fence: fence(said)?, error: said.error.clone().unwrap_or_default() }))
        .await
}

async fn retry(app: Arc<App>, mut call: Call) -> Result<Reply, Problem> {
    say(&app, &mut call, |_| Ok(Word::Retry)).await
}

async fn skip(app: Arc<App>, mut call: Call) -> Result<Reply, Problem> {
    say(&app, &mut call, |said| Ok(Word::Skip { reason: said.reason.clone().unwrap_or_default() })).await
}

async fn dead(app: Arc<App>, call: Call) -> Result<Reply, Problem> {
    call.all_lanes()?;
    find(&app, &call)?;
    let wrong = || malformed("after is the `next` of the page before");
    let identity = |text: &str| from_hex(text).map(Identity).ok_or_else(wrong);
    let after = call.query("after").map(identity).transpose()?;
    let page = app.reader.dead(&call.handler(), after.as_ref(), call.limit()?).map_err(unread)?;
    #[derive(Serialize)]
    struct List {
        dead: Vec<Claim>,
        next: Option<String>,
    }
    Ok(Reply::json(200, &List { dead: page.items, next: page.next.map(|it| hex(&it.0)) }))
}
