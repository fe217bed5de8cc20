//! Pages for people: what is going on, the API to browse, and what each problem means. No script comes from elsewhere.

use std::fmt::Write as _;
use std::sync::Arc;

use hapax_core::claim::ClaimFault;
use hapax_core::problem::{Problem, ProblemCode, title};

use super::route::{Route, action, routes};
use super::{App, Call, Reply, unread};
use crate::writer::DEFAULT_TENANT;

const HTML: &str = "text/html; charset=utf-8";

const fn page(path: &'static str, about: &'static str, action: super::route::Action) -> Route {
    Route { method: "GET", path, deed: None, about, takes: &[], body: None, answers: "a page", action }
}

pub(super) const ROUTES: &[Route] = &[
    page("/", "What is going on: streams, verdicts, handlers.", action!(start)),
    page("/api", "This API, to browse and to try.", action!(api)),
    page("/problems", "Every problem that this server can answer with.", action!(problems)),
    page("/problems/{code}", "What a problem means, and what to do.", action!(problem)),
];

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}\
    table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #ddd}\
    code,pre{font:14px/1.4 ui-monospace,monospace;background:#f4f4f2}pre{padding:.8rem;overflow:auto}\
    a{color:#0b5}h1 small{font-weight:normal;color:#777}details{border-bottom:1px solid #ddd;padding:.4rem 0}\
    @media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}code,pre{background:#262626}\
    td,th,details{border-color:#444}}";

/// Nothing from elsewhere is loaded, run or framed.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

fn html(status: u16, heading: &str, body: &str) -> Reply {
    let text = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>\
         <title>{heading} · Hapax</title><style>{STYLE}</style><h1>{heading}</h1>{body}"
    );
    Reply::bytes(status, HTML, text).with("content-security-policy", POLICY.to_owned())
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

async fn start(app: Arc<App>, _: Call) -> Result<Reply, Problem> {
    let mut out = String::from(
        "<p>An event ledger: every event gets exactly one explicit verdict. \
         <a href=/api>The API</a> · <a href=/problems>Problems</a> · <a href=/metrics>Metrics</a></p>",
    );
    if app.reader.needs_keys().map_err(unread)? {
        out.push_str(
            "<p>Keys are needed here, so this page shows no more. Ask with <code>Authorization: Bearer KEY</code>.</p>",
        );
        return Ok(html(200, "Hapax", &out));
    }
    let figures = app.reader.figures().map_err(unread)?;
    let mine: Vec<_> = figures.streams.iter().filter(|it| *it.key.tenant == *DEFAULT_TENANT).collect();
    // Writing to a string cannot fail.
    if mine.is_empty() {
        out.push_str(
            "<p>There is no stream yet. Make one, and send an event:</p><pre>\
             curl -X PUT http://127.0.0.1:4090/v1/streams/first -H 'Content-Type: application/toml' -d 'preset = \"telemetry-tolerant\"'\n\
             curl http://127.0.0.1:4090/v1/streams/first/events -H 'Content-Type: application/json' \\\n  \
             -d '{\"event_id\": \"e-1\", \"component_instance_id\": \"a\", \"sequence\": 1, \"observed_at\": \"'$(date -u +%FT%TZ)'\"}'</pre>",
        );
    } else {
        out.push_str(
            "<h2>Streams</h2><table><tr><th>stream<th>entries<th>attempts<th>lanes<th>open gaps<th>last entry",
        );
        for stream in mine {
            let name = escaped(&stream.key.stream);
            let at = stream.head.at.map(|at| at.to_string()).unwrap_or_default();
            let (offset, attempts) = (stream.head.offset, stream.head.attempts);
            let (lanes, gaps) = (stream.lanes, stream.gaps_open);
            _ = write!(
                out,
                "<tr><td><a href='/v1/streams/{name}'>{name}</a><td><a href='/v1/streams/{name}/events'>{offset}</a>\
                 <td><a href='/v1/streams/{name}/attempts'>{attempts}</a><td><a href='/v1/streams/{name}/lanes'>{lanes}</a>\
                 <td><a href='/v1/streams/{name}/lanes?gaps=open'>{gaps}</a><td>{at}"
            );
        }
        out.push_str("</table>");
    }
    let handlers: Vec<_> = figures.handlers.iter().filter(|(key, _)| *key.tenant == *DEFAULT_TENANT).collect();
    if !handlers.is_empty() {
        out.push_str("<h2>Handlers</h2><table><tr><th>handler<th>lag<th>held<th>dead");
        for (key, handler) in handlers {
            let name = escaped(&key.handler);
            let (lag, held, dead) = (handler.lag, handler.held, handler.dead);
            _ = write!(
                out,
                "<tr><td><a href='/v1/handlers/{name}'>{name}</a><td>{lag}<td>{held}<td><a href='/v1/handlers/{name}/dead'>{dead}</a>"
            );
        }
        out.push_str("</table>");
    }
    Ok(html(200, "Hapax", &out))
}

async fn api(_: Arc<App>, _: Call) -> Result<Reply, Problem> {
    let mut out = String::from("<p>Also as <a href=/openapi.json>OpenAPI 3.1</a>.</p>");
    for route in routes() {
        let (method, path, about) = (route.method, escaped(route.path), escaped(route.about));
        _ = write!(out, "<details><summary><code>{method} {path}</code> {about}</summary>");
        if let Some(body) = route.body {
            _ = write!(out, "<p>Body: {}</p>", escaped(body));
        }
        if !route.takes.is_empty() {
            out.push_str("<table>");
            for (name, about) in route.takes {
                _ = write!(out, "<tr><td><code>{name}</code><td>{}", escaped(about));
            }
            out.push_str("</table>");
        }
        _ = write!(out, "<p>Answers: {}</p>", escaped(route.answers));
        let body = if route.body.is_some() { " -H 'Content-Type: application/json' -d '…'" } else { "" };
        let method = if method == "GET" { String::new() } else { format!(" -X {method}") };
        _ = write!(out, "<pre>curl{method} http://127.0.0.1:4090{path}{}</pre></details>", escaped(body));
    }
    Ok(html(200, "The API of Hapax", &out))
}

/// Every code with its status and its sentence.
fn all() -> Vec<(&'static str, u16, &'static str, String)> {
    let problems =
        ProblemCode::ALL.iter().map(|it| (it.name(), it.status(), it.effect().name(), it.meaning().to_owned()));
    let faults = ClaimFault::ALL.iter().map(|it| (it.code(), it.status(), "none", it.to_string()));
    problems.chain(faults).collect()
}

async fn problems(_: Arc<App>, _: Call) -> Result<Reply, Problem> {
    let mut out = String::from("<table><tr><th>code<th>status<th>written<th>meaning");
    for (code, status, effect, meaning) in all() {
        let meaning = escaped(&meaning);
        _ = write!(out, "<tr><td><a href='/problems/{code}'>{code}</a><td>{status}<td>{effect}<td>{meaning}");
    }
    out.push_str("</table>");
    Ok(html(200, "Problems", &out))
}

async fn problem(_: Arc<App>, call: Call) -> Result<Reply, Problem> {
    let code = call.param("code");
    let found = all().into_iter().find(|(known, ..)| *known == code);
    let Some((code, status, effect, meaning)) = found else {
        return Err(Problem::new(ProblemCode::NotFound, "there is no such problem; /problems lists them"));
    };
    let effect = match effect {
        "unknown" => "Nobody knows whether it was written: send it again, identity makes that safe.",
        _ => "Nothing was written.",
    };
    let body = format!(
        "<p><code>{code}</code>, status {status}. {}</p><p>{effect}</p><p><a href=/problems>All problems</a></p>",
        escaped(&meaning)
    );
    Ok(html(200, &title(code), &body))
}
