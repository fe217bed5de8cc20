//! Keys: who may do what, and where.

use crate::client::Reply;
use crate::process::{Server, folder, run};

/// Makes a key in a store that no server has open.
pub fn key(store: &str, arguments: &[&str]) -> String {
    let output = run(&[&["keys", "create", "--store", store], arguments].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn with(server: &Server, key: &str, method: &str, path: &str, body: &str) -> Reply {
    let bearer = format!("Bearer {key}");
    let kind = if path.contains("/events") { "application/json" } else { "application/toml" };
    let kind = if path.contains("keys") { "application/json" } else { kind };
    server.client().send(method, path, &[("authorization", &bearer), ("content-type", kind)], body.as_bytes())
}

fn code(reply: &Reply) -> (u16, String) {
    (reply.status, reply.code())
}

#[test]
fn a_key_opens_what_it_was_made_for_and_nothing_else() {
    let place = folder("keys").join("store");
    let store = place.to_str().expect("a path");
    let refused = run(&["keys", "create", "--store", store, "--role", "read"]);
    assert!(!refused.status.success(), "the first key is an admin's");
    let admin = key(store, &["--role", "admin"]);
    let ingest = key(store, &["--role", "ingest", "--stream", "s*", "--lane", "mine-*"]);
    let reader = key(store, &["--role", "read", "--lane", "mine-*"]);
    let other = key(store, &["--role", "admin", "--tenant", "other"]);

    let server = Server::on(&place, &[]);
    assert_eq!(code(&server.get("/v1/streams")), (401, "KEY_REQUIRED".into()));
    assert_eq!(code(&with(&server, "hapax_no", "GET", "/v1/streams", "")), (401, "KEY_INVALID".into()));
    assert_eq!(server.get("/livez").status, 200, "whether it lives is no secret");
    let contract = "identity.required = true\nsequence.source = \"server\"";
    assert_eq!(with(&server, &admin, "PUT", "/v1/streams/s1", contract).status, 201);
    assert_eq!(with(&server, &admin, "PUT", "/v1/streams/t1", contract).status, 201);

    let send = |key: &str, stream: &str, event: &str| {
        with(&server, key, "POST", &format!("/v1/streams/{stream}/events"), event)
    };
    assert_eq!(send(&ingest, "s1", r#"{"id":"a","lane":"mine-1"}"#).status, 201);
    assert_eq!(code(&send(&ingest, "s1", r#"{"id":"b","lane":"yours"}"#)), (403, "LANE_FORBIDDEN".into()));
    assert_eq!(code(&send(&ingest, "t1", r#"{"id":"a","lane":"mine-1"}"#)), (403, "FORBIDDEN".into()));
    assert_eq!(code(&with(&server, &ingest, "GET", "/v1/streams/s1/events", "")), (403, "FORBIDDEN".into()));
    assert_eq!(code(&with(&server, &ingest, "PUT", "/v1/streams/s1", contract)), (403, "FORBIDDEN".into()));

    // An original in a lane that the key does not cover is not shown.
    assert_eq!(send(&admin, "s1", r#"{"id":"secret","lane":"yours","n":1}"#).status, 201);
    let conflict = send(&ingest, "s1", r#"{"id":"secret","lane":"mine-1","n":2}"#);
    assert_eq!(code(&conflict), (409, "PAYLOAD_CONFLICT".into()));
    assert!(conflict.json().get("original").is_none() && conflict.json().get("diff").is_none());
    let seen = with(&server, &reader, "GET", "/v1/streams/s1/events", "").json();
    let ids: Vec<_> = seen["events"].as_array().expect("events").iter().map(|it| it["id"].clone()).collect();
    assert_eq!(ids, ["a"], "a reader of some lanes sees those");

    // Another tenant's things cannot be told from missing ones.
    let theirs = with(&server, &other, "GET", "/v1/streams/s1", "");
    let missing = with(&server, &other, "GET", "/v1/streams/none", "");
    assert_eq!(code(&theirs), (404, "STREAM_NOT_FOUND".into()));
    assert_eq!(theirs.text().replace("s1", "none"), missing.text());
    assert_eq!(with(&server, &other, "GET", "/v1/streams", "").json()["streams"], serde_json::json!([]));

    // A key that is confined makes none, and changes nothing for lanes that it does not cover.
    let made = with(&server, &admin, "POST", "/v1/keys", r#"{"role":"admin","lanes":["mine-*"]}"#).json();
    let confined = made["key"].as_str().expect("a key");
    assert_eq!(code(&with(&server, confined, "POST", "/v1/keys", r#"{"role":"admin"}"#)), (403, "FORBIDDEN".into()));
    assert_eq!(code(&with(&server, confined, "PUT", "/v1/streams/s1", contract)), (403, "FORBIDDEN".into()));
    let path = "/v1/streams/s1/lanes/yours/gaps/acknowledge";
    assert_eq!(
        code(&with(&server, confined, "POST", path, r#"{"from":1,"to":1,"reason":"x"}"#)),
        (403, "FORBIDDEN".into())
    );
    assert_eq!(code(&with(&server, confined, "GET", "/metrics", "")), (403, "FORBIDDEN".into()));

    // A key is shown once, and a revoked one opens nothing.
    let made = with(&server, &admin, "POST", "/v1/keys", r#"{"role":"read"}"#).json();
    let (id, secret) = (made["id"].as_str().expect("an id"), made["key"].as_str().expect("a key"));
    assert_eq!(with(&server, secret, "GET", "/v1/streams", "").status, 200);
    let listed = with(&server, &admin, "GET", "/v1/keys", "").text();
    assert!(listed.contains(id) && !listed.contains(secret) && !listed.contains("hash"));
    assert_eq!(with(&server, &admin, "DELETE", &format!("/v1/keys/{id}"), "").status, 200);
    assert_eq!(code(&with(&server, secret, "GET", "/v1/streams", "")), (401, "KEY_INVALID".into()));
    // Without any key that holds, nobody gets in: the server does not open by itself.
    let all = with(&server, &admin, "GET", "/v1/keys", "").json();
    let ids = all["keys"].as_array().expect("keys").iter().filter_map(|it| it["id"].as_str().map(str::to_owned));
    let own = ids.filter(|id| with(&server, &admin, "DELETE", &format!("/v1/keys/{id}"), "").status != 200).count();
    assert!(own > 0, "the admin's own key was revoked on the way");
    assert_eq!(code(&server.get("/v1/streams")), (401, "KEY_REQUIRED".into()));
    let store = server.kill();
    let server = Server::on(&store, &[]);
    assert_eq!(code(&with(&server, secret, "GET", "/v1/streams", "")), (401, "KEY_INVALID".into()));
}

#[test]
fn beyond_this_machine_it_listens_only_with_keys_or_when_told() {
    let place = folder("exposed").join("store");
    let store = place.to_str().expect("a path");
    let output = run(&["serve", "--listen", "0.0.0.0:0", "--store", store]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("no keys are needed"), "{said}");
    key(store, &["--role", "admin"]);
    Server::on(&place, &["--insecure"]).stop();
}
