//! `/openapi.json`: the table of routes, written as OpenAPI 3.1. It cannot drift from the router: both are the table.

use std::sync::Arc;

use hapax_core::access::{Deed, Role};
use hapax_core::problem::{Problem, ProblemCode};
use serde_json::{Map, Value, json};

use super::route::{Route, action, routes};
use super::{App, Call, Reply};

pub(super) const ROUTES: &[Route] = &[Route {
    method: "GET",
    path: "/openapi.json",
    deed: None,
    about: "This API, as OpenAPI 3.1.",
    takes: &[],
    body: None,
    answers: "the description",
    action: action!(show),
}];

async fn show(_: Arc<App>, _: Call) -> Result<Reply, Problem> {
    Ok(Reply::json(200, &description()))
}

fn description() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in routes() {
        let path = paths.entry(route.path.replace("{*", "{")).or_insert_with(|| json!({}));
        path[route.method.to_lowercase()] = operation(route);
    }
    let codes: Vec<_> = ProblemCode::ALL.iter().map(|code| code.name()).collect();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Hapax",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "An event ledger: every event gets exactly one explicit verdict.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "paths": paths,
        "components": {
            "securitySchemes": { "key": { "type": "http", "scheme": "bearer" } },
            "schemas": { "Problem": {
                "type": "object",
                "description": "Everything that is not an answer about an event (RFC 9457).",
                "required": ["type", "title", "status", "code", "effect", "detail"],
                "properties": {
                    "type": { "type": "string", "format": "uri-reference" },
                    "title": { "type": "string" },
                    "status": { "type": "integer" },
                    "code": { "type": "string", "examples": codes },
                    "effect": { "enum": ["none", "unknown"] },
                    "detail": { "type": "string" },
                    "problems": { "type": "array", "items": { "type": "object" } },
                },
            } },
        },
    })
}

fn operation(route: &Route) -> Value {
    let in_path = route.path.split(['{', '}']).skip(1).step_by(2).map(|name| {
        json!({ "name": name.trim_start_matches('*'), "in": "path", "required": true, "schema": { "type": "string" } })
    });
    let in_query = route.takes.iter().map(
        |(name, about)| json!({ "name": name, "in": "query", "description": about, "schema": { "type": "string" } }),
    );
    let parameters: Vec<Value> = in_path.chain(in_query).collect();
    let mut operation = json!({
        "summary": route.about,
        "operationId": format!("{} {}", route.method, route.path),
        "tags": [tag(route.path)],
        "parameters": parameters,
        "responses": {
            "2XX": { "description": route.answers },
            "default": {
                "description": "A problem.",
                "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } },
            },
        },
    });
    if let Some(body) = route.body {
        let any = json!({ "schema": {}, });
        operation["requestBody"] = json!({ "description": body, "content": { "application/json": any } });
    }
    if let Some(deed) = route.deed {
        operation["security"] = json!([{ "key": [] }]);
        operation["description"] =
            Value::from(format!("Needs a key with the role {}, where keys are needed.", roles(deed)));
    }
    operation
}

fn roles(deed: Deed) -> String {
    let may: Vec<_> = Role::ALL.iter().filter(|role| role.may(deed)).map(|role| role.name()).collect();
    may.join(" or ")
}

/// What a path is about: its last word that is fixed and names a thing.
fn tag(path: &str) -> &str {
    const THINGS: [&str; 8] = ["counters", "lanes", "attempts", "whatif", "events", "handlers", "keys", "streams"];
    THINGS.into_iter().find(|thing| path.split('/').any(|part| part == *thing)).unwrap_or("server")
}
