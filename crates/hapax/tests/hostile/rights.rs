//! Keys, on every route that there is: wrong, revoked, of another tenant, with too small a role, confined elsewhere.

use hapax_core::access::Role;
use hapax_server::http::routes;
use serde_json::Value;

use crate::process::{Server, folder, run};
use crate::wire::{Heard, ask};

/// In every name and document that a key must not see.
const SECRET: &str = "TOPSECRET";

fn key(store: &str, arguments: &[&str]) -> String {
    let output = run(&[&["keys", "create", "--store", store], arguments].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn with(server: &Server, key: &str, line: &str, body: &str) -> Heard {
    let bearer = format!("Bearer {key}");
    ask(server, line, &[("authorization", &bearer), ("content-type", "application/json")], body.as_bytes())
}

/// Every operation that needs a key, from the server's own description, with an address and a body that would be taken.
fn operations(server: &Server) -> Vec<(String, String, String)> {
    let described = ask(server, "GET /openapi.json", &[], b"").json();
    let mut operations = Vec::new();
    for (path, methods) in described["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            if operation.get("security").is_none() {
                continue;
            }
            let mut address = path.clone();
            for (name, value) in [
                ("{stream}", "TOPSECRET-stream"),
                ("{lane}", "TOPSECRET-lane"),
                ("{counter}", "usage"),
                ("{handler}", "TOPSECRET-handler"),
                ("{event_id}", "TOPSECRET-event"),
                ("{id}", "TOPSECRET-event"),
            ] {
                address = address.replace(name, value);
            }
            assert!(!address.contains('{'), "say what stands in {address}");
            let method = method.to_uppercase();
            let row = routes().find(|route| route.method == method && route.path.replace("{*", "{") == *path);
            let deed = row.unwrap_or_else(|| panic!("{method} {path}")).deed.expect("a right");
            let may = Role::ALL.iter().filter(|role| role.may(deed)).map(|role| role.name()).collect::<Vec<_>>();
            operations.push((format!("{method} {address}"), path.clone(), may.join(" ")));
        }
    }
    let needing = routes().filter(|route| route.deed.is_some()).count();
    assert_eq!(operations.len(), needing, "the description has every route");
    operations
}

#[test]
fn every_route_refuses_every_key_that_is_not_for_it_and_tells_nothing() {
    let place = folder("hostile-rights").join("store");
    let store = place.to_str().expect("a path");
    let admin = key(store, &["--role", "admin"]);
    let by_role = Role::ALL.iter().map(|role| (role.name(), key(store, &["--role", role.name()])));
    let by_role: Vec<_> = by_role.collect();
    let elsewhere = key(store, &["--role", "admin", "--stream", "other-*"]);
    let other_lanes = key(store, &["--role", "admin", "--lane", "other-*"]);
    let stranger = key(store, &["--role", "admin", "--tenant", "stranger"]);
    let server = Server::on(&place, &[]);
    let contract = r#"{"identity":{"required":true},"counters":{"usage":{"key":["/k"],"amount":"/n"}}}"#;
    assert_eq!(with(&server, &admin, "PUT /v1/streams/TOPSECRET-stream", contract).status, 201);
    let event = r#"{"id":"TOPSECRET-event","lane":"TOPSECRET-lane","k":"TOPSECRET","n":1}"#;
    assert_eq!(with(&server, &admin, "POST /v1/streams/TOPSECRET-stream/events", event).status, 201);
    let handler = r#"{"stream":"TOPSECRET-stream"}"#;
    assert!(with(&server, &admin, "PUT /v1/handlers/TOPSECRET-handler", handler).status < 300);
    let made = with(&server, &admin, "POST /v1/keys", r#"{"role":"admin","note":"TOPSECRET"}"#).json();
    let (id, revoked) = (made["id"].as_str().expect("an id"), made["key"].as_str().expect("a key"));
    assert_eq!(with(&server, &admin, &format!("DELETE /v1/keys/{id}"), "").status, 200);

    let mut tried = 0;
    for (line, path, may) in operations(&server) {
        tried += 1;
        let body = if line.starts_with("GET") || line.starts_with("DELETE") { "" } else { "{}" };
        ask(&server, &line, &[], body.as_bytes()).problem(401, "KEY_REQUIRED", &line);
        for wrong in ["", "hapax_", &admin[..admin.len() - 1], &format!("{admin}x"), revoked] {
            let what = format!("{line} with a wrong key");
            let heard = with(&server, wrong, &line, body);
            heard.problem(401, "KEY_INVALID", &what);
            quiet(&heard, &line, &what);
        }
        let basic = ask(&server, &line, &[("authorization", &format!("Basic {admin}"))], body.as_bytes());
        basic.problem(401, "KEY_REQUIRED", &line);
        for (role, key) in by_role.iter().filter(|(role, _)| !may.split(' ').any(|it| it == *role)) {
            let heard = with(&server, key, &line, body);
            heard.problem(403, "FORBIDDEN", &format!("{line} as {role}"));
        }
        // Confined to other streams: nothing of this one.
        let heard = with(&server, &elsewhere, &line, body);
        if path.contains("{stream}") || path.contains("{handler}") {
            heard.problem(403, "FORBIDDEN", &format!("{line} for other streams"));
        }
        quiet(&heard, &line, "for other streams");
        // Confined to other lanes: nothing of this one. The stream itself is theirs to see.
        let heard = with(&server, &other_lanes, &line, body);
        if path.contains("{lane}") {
            heard.problem(403, "FORBIDDEN", &format!("{line} for other lanes"));
        }
        let heard = heard.text().replace("TOPSECRET-stream", "").replace("TOPSECRET-handler", "");
        let asked = line.contains("TOPSECRET-event") && heard.contains("TOPSECRET-event");
        assert!(asked || !heard.contains(SECRET), "{line} for other lanes: {heard}");
        // Of another tenant: as if there were nothing.
        let heard = with(&server, &stranger, &line, body);
        assert!(heard.status != 403 || path == "/metrics", "{line} of another tenant: {}", heard.text());
        quiet(&heard, &line, "of another tenant");
    }
    assert!(tried > 25, "{tried}");
    assert_eq!(
        with(&server, &admin, "GET /v1/streams/TOPSECRET-stream/head", "").json()["offset"],
        1,
        "nothing was written"
    );
}

/// It says nothing but what the caller said itself.
#[track_caller]
fn quiet(heard: &Heard, line: &str, what: &str) {
    let mut text = heard.text();
    for word in line.split(['/', ' ', '?']).filter(|word| word.contains(SECRET)) {
        text = text.replace(word, "");
    }
    assert!(!text.contains(SECRET), "{line} {what}: {}", heard.text());
}

#[test]
fn the_next_page_of_a_list_names_nothing_that_the_key_does_not_cover() {
    let place = folder("hostile-next").join("store");
    let store = place.to_str().expect("a path");
    let admin = key(store, &["--role", "admin"]);
    let lanes = key(store, &["--role", "read", "--lane", "mine-*"]);
    let streams = key(store, &["--role", "read", "--stream", "mine-*"]);
    let server = Server::on(&place, &[]);
    let names = ["aTOPSECRET", "mine-1", "mine-2", "mine-2TOPSECRET-not", "mTOPSECRET", "mine-3", "zTOPSECRET"];
    let names =
        names.map(|name| if name.starts_with("mine") { name.replace("2TOPSECRET-not", "4") } else { name.to_owned() });
    for name in &names {
        assert_eq!(with(&server, &admin, &format!("PUT /v1/streams/{name}"), "{}").status, 201);
        let handler = format!(r#"{{"stream":"{name}"}}"#);
        assert!(with(&server, &admin, &format!("PUT /v1/handlers/h-{name}"), &handler).status < 300);
        let event = format!(r#"{{"id":"{name}","lane":"{name}"}}"#);
        assert_eq!(
            with(&server, &admin, "POST /v1/streams/mine-1/events", &event).status,
            if name == "aTOPSECRET" { 404 } else { 201 }
        );
    }
    assert_eq!(
        with(&server, &admin, "POST /v1/streams/mine-1/events", r#"{"id":"first","lane":"aTOPSECRET"}"#).status,
        201
    );
    for (list, of, key) in [
        ("/v1/streams", "streams", &streams),
        ("/v1/handlers", "handlers", &streams),
        ("/v1/streams/mine-1/lanes", "lanes", &lanes),
    ] {
        for limit in [1, 2, 3, 100] {
            let (mut seen, mut after) = (Vec::new(), String::new());
            loop {
                let page = with(&server, key, &format!("GET {list}?limit={limit}{after}"), "");
                assert!(page.status == 200 && !page.text().contains(SECRET), "{list} {limit}: {}", page.text());
                let page = page.json();
                let items = page[of].as_array().expect("a list");
                assert!(items.len() <= limit && !items.is_empty(), "{list}: {page}");
                let name = |it: &Value| it["lane"].as_str().or(it["stream"].as_str()).map(str::to_owned);
                seen.extend(items.iter().filter_map(name));
                match page["next"].as_str() {
                    Some(next) => after = format!("&after={next}"),
                    None => break,
                }
            }
            assert_eq!(seen, ["mine-1", "mine-2", "mine-3", "mine-4"], "{list} {limit}");
        }
    }
}
