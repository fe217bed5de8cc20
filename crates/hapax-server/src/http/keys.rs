//! Keys over HTTP. A key is shown in the answer that makes it, and never again.

use std::sync::Arc;

use hapax_core::access::{Access, Deed, Patterns, Rates, Role};
use hapax_core::problem::Problem;
use hapax_store::seam::Key;
use hapax_store::turn::Ask;
use serde::{Deserialize, Serialize};

use super::call::{checked_name, forbidden};
use super::events::ask;
use super::lanes::read_json;
use super::route::{Route, action};
use super::{App, Call, Reply, body, invalid, malformed, unread};
use crate::keys::make;

pub(super) const ROUTES: &[Route] = &[
    Route {
        method: "POST",
        path: "/v1/keys",
        deed: Some(Deed::Rule),
        about: "Makes a key. The first one must be an admin's; from then on every request needs one.",
        takes: &[],
        body: Some("{role, streams?, lanes?, note?, tenant?, rate_requests?, rate_events?}"),
        answers: "the key, this once",
        action: action!(create),
    },
    Route {
        method: "GET",
        path: "/v1/keys",
        deed: Some(Deed::Rule),
        about: "Lists the keys, without the keys themselves.",
        takes: &[("limit", "how many, 1 to 1000"), ("after", "the `next` of the page before")],
        body: None,
        answers: "keys",
        action: action!(list),
    },
    Route {
        method: "DELETE",
        path: "/v1/keys/{id}",
        deed: Some(Deed::Rule),
        about: "Revokes a key.",
        takes: &[],
        body: None,
        answers: "the key's record",
        action: action!(revoke),
    },
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    role: String,
    streams: Option<Vec<String>>,
    lanes: Option<Vec<String>>,
    note: Option<String>,
    tenant: Option<String>,
    rate_requests: Option<u32>,
    rate_events: Option<u32>,
}

/// The most patterns of a key, and the longest.
const PATTERNS_MAX: usize = 100;
const PATTERN_BYTES_MAX: usize = 256;

fn patterns(written: Option<Vec<String>>, of: &str) -> Result<Patterns, Problem> {
    let Some(written) = written else { return Ok(Patterns::all()) };
    let fits = |pattern: &String| !pattern.is_empty() && pattern.len() <= PATTERN_BYTES_MAX;
    if written.is_empty() || written.len() > PATTERNS_MAX || !written.iter().all(fits) {
        return Err(invalid(format!("{of}: 1 to {PATTERNS_MAX} patterns of 1 to {PATTERN_BYTES_MAX} bytes each")));
    }
    Ok(Patterns::new(written))
}

/// A key makes no key that reaches further than itself.
fn unconfined(call: &Call) -> Result<(), Problem> {
    call.all_lanes()?;
    if call.access.streams.is_all() { Ok(()) } else { Err(forbidden("the key is confined to some streams")) }
}

async fn create(app: Arc<App>, mut call: Call) -> Result<Reply, Problem> {
    unconfined(&call)?;
    let body = body::read(&app, &mut call).await?;
    let Wanted { role, streams, lanes, note, tenant, rate_requests, rate_events } = read_json(&body.bytes)?;
    let unknown = || invalid(format!("there is no role {role:?}; there is ingest, read, consume, admin"));
    let role = Role::named(&role).ok_or_else(unknown)?;
    let access = Access { role, streams: patterns(streams, "streams")?, lanes: patterns(lanes, "lanes")? };
    let rates = Rates { requests: rate_requests, events: rate_events };
    let tenant = match tenant {
        // Nothing crosses from one tenant to another; who needs no key is not confined to one yet.
        Some(other) if call.key.is_some() && *other != *call.tenant => {
            return Err(invalid(
                "a key makes keys of its own tenant; `hapax keys create --store` makes those of others",
            ));
        }
        Some(tenant) => Arc::from(checked_name(&tenant, "tenant")?),
        None => Arc::clone(&call.tenant),
    };
    if note.as_ref().is_some_and(|note| note.len() > 256) {
        return Err(invalid("a note is at most 256 bytes"));
    }
    let (secret, record) = make(tenant, access, rates, note.map(Arc::from), call.now);
    // Never under an Idempotency-Key: the answer holds the key, and answers are kept.
    let answer = ask(&app, &call, Some(body), None, Ask::PutKey(Box::new(record.clone()))).await?;
    if answer.problem {
        return Ok(Reply::answer(&answer));
    }
    #[derive(Serialize)]
    struct Shape<'k> {
        key: &'k str,
        #[serde(flatten)]
        record: &'k Key,
    }
    Ok(Reply::json(201, &Shape { key: &secret, record: &record }).with("cache-control", "no-store".to_owned()))
}

async fn list(app: Arc<App>, call: Call) -> Result<Reply, Problem> {
    unconfined(&call)?;
    #[derive(Serialize)]
    struct List {
        keys: Vec<Key>,
        next: Option<Arc<str>>,
    }
    let (limit, after) = (call.limit()?, call.query("after"));
    let mut keys = app.reader.keys(&call.tenant).map_err(unread)?;
    if let Some(after) = after {
        let place = keys.iter().position(|key| *key.id == *after);
        let place = place.ok_or_else(|| malformed("after is the `next` of the page before"))?;
        keys.drain(..=place);
    }
    let more = keys.len() > limit;
    keys.truncate(limit);
    let next = keys.last().filter(|_| more).map(|key| Arc::clone(&key.id));
    Ok(Reply::json(200, &List { keys, next }))
}

async fn revoke(app: Arc<App>, call: Call) -> Result<Reply, Problem> {
    unconfined(&call)?;
    let (tenant, id) = (Arc::clone(&call.tenant), Arc::from(call.param("id")));
    let answer = ask(&app, &call, None, None, Ask::RevokeKey { tenant, id }).await?;
    Ok(Reply::answer(&answer))
}
