//! What must never be told: keys and documents, whatever is done with them. Each place that a caller can write to gets a
//! word of its own, the server is run as talkative as it can be, and everything that it leaves behind is searched.
//!
//! May be in the log: names of streams and handlers, ids, lanes, the trace, codes. Nothing else that a caller sent is.

use std::fs;
use std::path::Path;

use crate::client::Reply;
use crate::process::{Server, folder, run};
use crate::rights::key;

/// Words that may be in the log; that they are shows that the search finds something.
const TOLD: [&str; 3] = ["canary-id", "canary-lane", "canarystream"];

/// Words that must not, each in a place of its own.
const UNTOLD: [&str; 27] = [
    "canary-value",
    "canary-member",
    "canary-other-value",
    "canary-nonce",
    "canary-time",
    "canary-amount",
    "canary-schema",
    "canary-broken-json",
    "canary-broken-line",
    "canary-broken-gzip",
    "canary-request-key",
    "canary-request-id",
    "canary-path",
    "canary-query-value",
    "canary-query-name",
    "canary-ce-value",
    "canary-ce-data",
    "canary-agent",
    "canary-cookie",
    "canary-content-type",
    "canary-result",
    "canary-error",
    "canary-reason",
    "canary-owner",
    "canary-contract",
    "canary-note",
    "canary-what-if",
];

/// What a test did: every key that it knows of, and every answer that it got.
struct Story {
    server: Server,
    admin: String,
    secrets: Vec<String>,
    replies: Vec<Reply>,
}

impl Story {
    /// A request with a key.
    fn call(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> u16 {
        let bearer = format!("Bearer {}", self.admin);
        let headers = [&[("authorization", &*bearer)], headers].concat();
        self.bare(method, path, &headers, body.as_bytes())
    }

    /// A request as it is.
    fn bare(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> u16 {
        let reply = self.server.client().send(method, path, headers, body);
        let status = reply.status;
        self.replies.push(reply);
        status
    }

    fn post(&mut self, path: &str, body: &str) -> u16 {
        self.call("POST", path, &[("content-type", "application/json")], body)
    }

    fn last(&self) -> String {
        self.replies.last().map(Reply::text).unwrap_or_default()
    }
}

const EVENTS: &str = "/v1/streams/canarystream/events";

/// Everything that callers do and get wrong with events.
fn send_events(story: &mut Story) {
    let contract = "envelope.nonce = \"/nonce\"\nidentity.required = true\n[counters.sum]\namount = \"/amount\"\n";
    let toml = [("content-type", "application/toml")];
    assert_eq!(story.call("PUT", "/v1/streams/canarystream", &toml, contract), 201, "{}", story.last());
    assert_eq!(story.call("PUT", "/v1/streams/bad", &toml, "identity.canary-contract = \"canary-contract\""), 422);
    let event = |value: &str| {
        format!(
            r#"{{"id":"canary-id","lane":"canary-lane","nonce":"canary-nonce","amount":1,"canary-member":"{value}"}}"#
        )
    };
    let keyed = [("content-type", "application/json"), ("idempotency-key", "canary-request-key")];
    let more = [("x-request-id", "canary-request-id"), ("user-agent", "canary-agent"), ("cookie", "canary-cookie")];
    let keyed = [&keyed[..], &more].concat();
    assert_eq!(story.call("POST", EVENTS, &keyed, &event("canary-value")), 201, "{}", story.last());
    assert_eq!(story.call("POST", EVENTS, &keyed, &event("canary-value")), 201, "replayed");
    assert_eq!(story.call("POST", EVENTS, &keyed, &event("canary-other-value")), 422, "the key of another request");
    assert_eq!(story.post(EVENTS, &event("canary-value")), 200, "a duplicate");
    assert_eq!(story.post(EVENTS, &event("canary-other-value")), 409, "a conflict with a diff");
    assert!(story.last().contains("canary-other-value"), "the diff shows it to the caller");
    for (refused, status) in [
        (r#"{"id":"n-1","lane":"canary-lane","nonce":"canary-nonce","amount":1}"#, 409),
        (r#"{"id":"n-2","lane":"l","time":"canary-time","amount":1}"#, 400),
        (r#"{"id":"n-3","lane":"l","amount":"canary-amount"}"#, 422),
        (r#"{"id":["canary-schema"],"lane":"l","amount":1}"#, 400),
        (r#"{"canary-broken-json": canary-broken-json"#, 400),
    ] {
        assert_eq!(story.post(EVENTS, refused), status, "{}", story.last());
    }
    let lines = "{\"id\":\"n-4\",\"lane\":\"l\",\"amount\":1}\ncanary-broken-line\n";
    assert_eq!(story.call("POST", EVENTS, &[("content-type", "application/x-ndjson")], lines), 200);
    let gzip = [("content-type", "application/json"), ("content-encoding", "gzip")];
    assert_eq!(story.call("POST", EVENTS, &gzip, "canary-broken-gzip"), 400);
    assert_eq!(story.call("POST", EVENTS, &[("content-type", "canary-content-type/x")], "{}"), 415);
    let binary = [("ce-specversion", "1.0"), ("ce-type", "t"), ("ce-id", "n-5"), ("ce-source", "canary-ce-value")];
    let binary = [&binary[..], &[("content-type", "application/json")]].concat();
    story.call("POST", EVENTS, &binary, r#"{"told":"canary-ce-data"}"#);
    let broken = [("ce-specversion", "canary-ce-value"), ("ce-id", "%canary-ce-value")];
    assert_eq!(story.call("POST", EVENTS, &broken, "{}"), 400, "{}", story.last());
}

/// Everything else that callers write.
fn ask_around(story: &mut Story) {
    assert_eq!(story.call("GET", "/canary-path", &[], ""), 404);
    assert_eq!(story.call("GET", &format!("{EVENTS}/canary-path"), &[], ""), 404);
    assert_eq!(story.call("GET", &format!("{EVENTS}?limit=canary-query-value"), &[], ""), 400);
    assert_eq!(story.call("GET", &format!("{EVENTS}?canary-query-name=1"), &[], ""), 400);
    assert_eq!(story.call("GET", &format!("{EVENTS}?mark=canary-query-value"), &[], ""), 400);
    let handler = r#"{"stream":"canarystream","attempts_max":1}"#;
    assert_eq!(story.call("PUT", "/v1/handlers/h", &[("content-type", "application/json")], handler), 201);
    let claims = "/v1/handlers/h/claims";
    assert_eq!(story.post(claims, r#"{"event_id":"canary-id","owner":"canary-owner"}"#), 200);
    assert_eq!(
        story.post(&format!("{claims}/canary-id/done"), r#"{"fence":1,"result":{"told":"canary-result"}}"#),
        200
    );
    assert_eq!(story.post(claims, r#"{"event_id":"n-4"}"#), 200, "{}", story.last());
    assert_eq!(
        story.post(&format!("{claims}/n-4/failed"), r#"{"fence":2,"error":"canary-error"}"#),
        200,
        "{}",
        story.last()
    );
    let skip = "/v1/handlers/h/dead/n-4/skip";
    assert_eq!(story.post(skip, r#"{"reason":"canary-reason"}"#), 200, "{}", story.last());
    assert_eq!(story.post("/v1/streams/canarystream/whatif", r#"{"contract":"canary-what-if = 1"}"#), 422);
    for path in ["/events", "/attempts", "/events/canary-id/explain", "/lanes"] {
        assert_eq!(story.call("GET", &format!("/v1/streams/canarystream{path}"), &[], ""), 200, "{path}");
    }
}

/// Keys: right, wrong, revoked, in the wrong place and in the wrong form.
fn show_keys(story: &mut Story) {
    let keyed = [("content-type", "application/json"), ("idempotency-key", "k-1")];
    assert_eq!(story.call("POST", "/v1/keys", &keyed, r#"{"role":"read","note":"canary-note"}"#), 201);
    // The one answer that shows a key.
    let made = story.replies.pop().expect("an answer").json();
    let (id, revoked) = (made["id"].as_str().expect("an id"), made["key"].as_str().expect("a key").to_owned());
    assert_eq!(story.call("DELETE", &format!("/v1/keys/{id}"), &[], ""), 200);
    let wrong = format!("hapax_{}", "c0ffee".repeat(10));
    let admin = story.admin.clone();
    for header in [
        format!("Bearer {revoked}"),
        format!("Bearer {wrong}"),
        format!("bearer  {wrong} {admin}"),
        format!("Basic {wrong}"),
        format!("Basic {admin}"),
        admin.clone(),
        wrong.clone(),
    ] {
        let status = story.bare("GET", "/v1/streams", &[("authorization", &header)], b"");
        assert_eq!(status, 401, "{}", story.last());
    }
    assert_eq!(story.call("GET", "/v1/keys", &[], ""), 200);
    story.secrets.extend([revoked, wrong]);
}

/// Does anything of it stand in a text? Keys are also looked for without what all keys begin with.
fn assert_untold(place: &str, text: &str, secrets: &[String], words: &[&str]) {
    for secret in secrets {
        let bare = secret.trim_start_matches("hapax_");
        assert!(!text.contains(bare), "a key is in {place}");
    }
    for word in words {
        assert!(!text.contains(word), "{word} is in {place}:\n{text}");
    }
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() { found.extend(files(&entry)) } else { found.push(entry) }
    }
    found
}

fn holds(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|window| window == word.as_bytes())
}

#[test]
fn neither_keys_nor_documents_are_told_to_anybody_else() {
    let place = folder("canary").join("store");
    let admin = key(place.to_str().expect("a path"), &["--role", "admin", "--name", "canary-note"]);
    let server = Server::loud(&place, "trace", &["--log-format", "json"]);
    let mut story = Story { server, secrets: vec![admin.clone()], admin, replies: Vec::new() };
    send_events(&mut story);
    ask_around(&mut story);
    show_keys(&mut story);
    assert_eq!(story.call("GET", "/metrics", &[], ""), 200);
    assert_untold("the metrics", &story.last(), &story.secrets, &[&UNTOLD[..], &TOLD[..2]].concat());
    for reply in &story.replies {
        assert_untold("an answer", &format!("{:?}{}", reply.headers, reply.text()), &story.secrets, &[]);
    }
    let Story { server, secrets, .. } = story;
    let (store, log) = server.stop_with_log();
    let log = log.join("\n");
    for word in TOLD {
        assert!(log.contains(word), "{word} is not in the log, so nothing would be found there:\n{log}");
    }
    assert_untold("the log", &log, &secrets, &UNTOLD);

    // In the store there are documents, and of keys only hashes.
    let files = files(&store);
    let all: Vec<_> = files.iter().map(|file| fs::read(file).expect("a file")).collect();
    assert!(all.iter().any(|bytes| holds(bytes, "canary-value")), "what is searched is the store");
    for (file, bytes) in files.iter().zip(&all) {
        for secret in &secrets {
            assert!(!holds(bytes, secret.trim_start_matches("hapax_")), "a key is in {}", file.display());
        }
    }
    damaged(&store, &files, &secrets);
}

/// A store that is damaged inside a document says where, and not what.
fn damaged(store: &Path, files: &[std::path::PathBuf], secrets: &[String]) {
    let mut count = 0;
    for file in files {
        let mut bytes = fs::read(file).expect("a file");
        let word = b"canary-other-value";
        while let Some(at) = bytes.windows(word.len()).position(|window| window == word) {
            bytes[at + 7] ^= 1;
            count += 1;
        }
        fs::write(file, bytes).expect("a file");
    }
    assert!(count > 0, "there is something to damage");
    let store = store.to_str().expect("a path");
    for command in [&["verify", "--store", store][..], &["rebuild", "--store", store]] {
        let output = run(command);
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(!output.status.success() && !said.is_empty(), "{command:?}: {said}");
        assert_untold(command[0], &said, secrets, &UNTOLD);
    }
}
