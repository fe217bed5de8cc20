//! `POST /v1/streams/{stream}/events`: events come in, receipts go out.

use std::sync::Arc;

use bytes::Bytes;
use hapax_core::access::{Deed, Role};
use hapax_core::batch::Terms;
use hapax_core::claim::Jitter;
use hapax_core::contract::Version;
use hapax_core::entry::Caller;
use hapax_core::event::{Door, Event, Reader};
use hapax_core::problem::{Problem, ProblemCode};
use hapax_core::receipt::Receipt;
use hapax_core::words::Verdict;
use hapax_store::turn::{Answer, Ask, Request, Submission};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::call::forbidden;
use super::documents::Documents;
use super::halves::{Came, Halves, Reading};
use super::request_key::{OVERRIDES, echoed, identify, key_of};
use super::route::{Route, action};
use super::told::{is_silent, tell};
use super::under_way::Mark;
use super::{App, Call, Reply, body, limited, unread};
use crate::clock::{random, spare};
use crate::threads::awake::Awake;
use crate::writer::Held;

pub(super) const ROUTES: &[Route] = &[Route {
    method: "POST",
    path: "/v1/streams/{stream}/events",
    deed: Some(Deed::Send),
    about: "Submits one event or a batch; every event gets exactly one verdict.",
    takes: &[
        ("atomic", "true: every event is accepted or a duplicate, or none is written"),
        ("dry_run", "true: judge and write nothing"),
        ("brief", "true: about a batch, receipts only of events that were not accepted"),
    ],
    body: Some("an event (application/json), a batch (an array, or application/x-ndjson), or CloudEvents"),
    answers: "a receipt, or a batch of them",
    action: action!(post),
}];

/// So many events are read without making room for others: about a millisecond.
const HELD_UP_MAX: usize = 1000;

async fn post(app: Arc<App>, mut call: Call) -> Result<Reply, Problem> {
    let mark = app.under_way.begin();
    let (stream, version) = call.version(&app)?;
    let terms = terms(&call)?;
    let key = key_of(&call)?;
    let body = body::read(&app, &mut call).await?;
    let salt = app.reader.salt(&call.tenant).map_err(unread)?.unwrap_or_default();
    let event_bytes_max = app.limits.event_bytes_max;
    let lanes = call.access.lanes.clone();
    let reading = Reading { version, salt, now: call.now, event_bytes_max, lanes };
    let came = cut(&app, &call, &body.bytes, &reading, &mark)?;
    let count = came.len();
    if let Err(reply) = limited::take_events(&app, &call, count) {
        return Ok(reply);
    }
    let id = key.as_ref().map(|key| identify(&call, key, &body.bytes));
    let beside = app.beside.as_ref().filter(|_| matches!(came, Came::Halves(_)) && mark.is_alone());
    let mut held = Held { memory: Some(body.memory), running: None, beside: beside.cloned() };
    if let Some(id) = id.as_ref().filter(|_| !terms.dry_run) {
        held.running = Some(app.running.mark(&id.key)?);
    }
    let spare = spare();
    // Making room for it takes as long as reading a hundred events.
    let events = if count > HELD_UP_MAX {
        tokio::task::block_in_place(|| came.read(&reading, spare))
    } else {
        came.read(&reading, spare)
    };
    let (single, dry_run, unread) = (came.is_single(), terms.dry_run, Vec::new());
    // What was scanned is read, and takes as much memory as the body: it does not wait with the request.
    drop(came);
    let caller = terms.caller.clone();
    let submission = Submission { stream, documents: unread, events: Arc::new(events), terms, single, event_bytes_max };
    let request = Request { now: call.now, spare, jitter: Jitter::NONE, caller, id, ask: Ask::Submit(submission) };
    let waits = app.awake.as_ref().map(Awake::begin);
    let answer = app.inbox.ask(request, held).await?;
    drop(waits);
    if answer.replayed {
        app.metrics.replayed();
    }
    let reply = reply(&answer, single, key.as_deref());
    if dry_run || matches!(answer.receipts(), [receipt] if is_silent(receipt)) {
        return Ok(reply);
    }
    let (stream, trace) = (call.param("stream").to_owned(), trace(&call).to_owned());
    Ok(reply.then(move || tell(&stream, &trace, answer.receipts())))
}

/// Cuts a body into documents; in halves if it is large and the only one under way. Whoever shares the processors with others would lose
/// with a second thread what it gains.
fn cut<'b>(app: &App, call: &Call, body: &'b Bytes, reading: &Reading, mark: &Mark<'_>) -> Result<Came<'b>, Problem> {
    let (headers, max) = (&call.head.headers, app.limits.batch_events_max);
    let beside = app.beside.as_ref().filter(|_| mark.is_alone() && Documents::is_json(headers));
    match beside.and_then(|beside| Halves::begin(body, max, reading, beside)) {
        Some(halves) => Ok(Came::Halves(halves)),
        None => Documents::of(headers, body, max).map(Came::Whole),
    }
}

/// Reads documents, into a list with room for so many events more. The random bits of the door are the first one's.
pub(super) fn read_all(documents: &Documents<'_>, version: &Version, door: &Door<'_>, more: usize) -> Vec<Event> {
    let mut reader = Reader::new(version, documents.len());
    let one = |index: usize| {
        let document = Arc::from(documents.get(index).unwrap_or_default());
        let door = Door { spare: door.spare.wrapping_add(index as u128), ..*door };
        match documents.node(index) {
            Some(node) => reader.read_scanned(document, node, &door),
            None => reader.read(document, &door),
        }
    };
    let mut events = Vec::with_capacity(documents.len() + more);
    events.extend((0..documents.len()).map(one));
    events
}

fn reply(answer: &Answer, single: bool, key: Option<&str>) -> Reply {
    let mut reply = Reply::answer(answer);
    reply = match key {
        Some(key) => reply.with("idempotency-key", echoed(key)),
        None => reply.with("hapax-warning", "no-idempotency-key"),
    };
    match duplicate_of(answer).filter(|_| single) {
        Some(id) => reply.with("hapax-duplicate-of", id.clone()).with("x-duplicate-of", id),
        None => reply,
    }
}

/// What an HTTP header cannot carry as it is.
const AWKWARD: &AsciiSet = &CONTROLS.add(b'%');

/// The id of the original, if the one event was a duplicate.
fn duplicate_of(answer: &Answer) -> Option<String> {
    let id = match answer.receipts() {
        [Receipt::Other { attempt, original, .. }] if attempt.verdict == Verdict::Duplicate => {
            original.as_ref().map(|original| original.id.to_string())
        }
        // A request that was answered before has its body, and that says it.
        [] if answer.replayed => {
            let body: serde_json::Value = serde_json::from_slice(&answer.body).ok()?;
            let id = (body["verdict"] == "duplicate").then(|| body["original"]["id"].as_str()).flatten();
            id.map(str::to_owned)
        }
        _ => None,
    }?;
    Some(utf8_percent_encode(&id, AWKWARD).to_string())
}

fn terms(call: &Call) -> Result<Terms, Problem> {
    let mut forced = false;
    for name in OVERRIDES {
        forced |= call.header(name).is_some_and(|value| value.eq_ignore_ascii_case("true"));
    }
    if forced && call.access.role != Role::Admin {
        return Err(Problem::new(ProblemCode::OverrideNotAllowed, "only an admin's key may override"));
    }
    let caller = Caller { forced, ..call.caller() };
    let (atomic, dry_run, brief) = (call.flag("atomic")?, call.flag("dry_run")?, call.flag("brief")?);
    Ok(Terms { atomic, dry_run, brief, caller, lanes: call.access.lanes.clone() })
}

/// The trace that a request belongs to (W3C `traceparent`); empty if it says none.
fn trace(call: &Call) -> &str {
    let id = call.header("traceparent").and_then(|parent| parent.split('-').nth(1)).unwrap_or_default();
    if id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()) { id } else { "" }
}

/// A request of anything but events, handed to the writer.
pub(super) async fn ask(
    app: &App,
    call: &Call,
    body: Option<body::Unpacked>,
    key: Option<String>,
    ask: Ask,
) -> Result<Answer, Problem> {
    let bytes = body.as_ref().map(|body| body.bytes.clone()).unwrap_or_default();
    let id = key.as_ref().map(|key| identify(call, key, &bytes));
    let running = id.as_ref().map(|id| app.running.mark(&id.key)).transpose()?;
    let held = Held { memory: body.map(|body| body.memory), running, beside: None };
    let [low, high] = random();
    let jitter = Jitter::thousandths(u16::from_le_bytes([low, high]) % 101);
    let spare = spare();
    let request = Request { now: call.now, spare, jitter, caller: call.caller(), id, ask };
    let answer = app.inbox.ask(request, held).await?;
    if answer.replayed {
        app.metrics.replayed();
    }
    Ok(answer)
}

/// The answer to such a request.
pub(super) fn answered(answer: &Answer, key: Option<&str>) -> Reply {
    let reply = Reply::answer(answer);
    match key {
        Some(key) => reply.with("idempotency-key", echoed(key)),
        None => reply.with("hapax-warning", "no-idempotency-key"),
    }
}

/// A lane that the caller's key does not cover.
pub(super) fn lane_forbidden() -> Problem {
    forbidden("the key does not cover this lane")
}
