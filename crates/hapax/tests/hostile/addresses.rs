//! Odd addresses, methods and headers, and names that are not the server's.

use crate::process::{Server, folder, run};
use crate::wire::{Wire, ask};

#[test]
fn odd_addresses_and_methods_are_problems() {
    let server = Server::new("hostile-addresses");
    server.put("s", "");
    let lane = r#"{"id":"a","lane":"a/b ü"}"#;
    assert_eq!(server.post("/v1/streams/s/events", lane).status, 201);
    let found = ask(&server, "GET /v1/streams/s/lanes/a%2Fb%20%c3%bc", &[], b"");
    assert_eq!((found.status, found.json()["lane"].as_str()), (200, Some("a/b ü")), "{}", found.text());
    let long = format!("GET /v1/streams/{}", "a".repeat(10_000));
    for (line, status, code) in [
        ("GET /v1/streams/s/lanes/a/b", 404, "NOT_FOUND"),
        ("GET //", 404, "NOT_FOUND"),
        ("GET //v1/streams", 404, "NOT_FOUND"),
        ("GET /v1//streams", 404, "NOT_FOUND"),
        ("GET /v1/streams/", 404, "NOT_FOUND"),
        ("GET /v1/streams/../keys", 404, "NOT_FOUND"),
        ("GET /v1/streams/%2e%2e/head", 404, "STREAM_NOT_FOUND"),
        ("GET /v1/streams/..%2f..%2fetc", 404, "STREAM_NOT_FOUND"),
        ("PUT /v1/streams/..%2f..%2fetc", 422, "REQUEST_INVALID"),
        ("GET /v1/streams/%zz", 400, "MALFORMED"),
        ("GET /v1/streams/%", 400, "MALFORMED"),
        ("GET /v1/streams/%ff", 400, "MALFORMED"),
        ("GET /v1/streams/%00", 400, "MALFORMED"),
        ("GET /v1/streams/%ed%a0%80", 400, "MALFORMED"),
        ("GET /v1/streams?limit=%zz", 400, "MALFORMED"),
        ("GET /v1/streams?limit=0", 400, "MALFORMED"),
        ("GET /v1/streams?limit=1&limit=1", 400, "MALFORMED"),
        ("GET /v1/streams?limit=99999999999999999999", 400, "MALFORMED"),
        ("GET /v1/streams?nothing=1", 400, "MALFORMED"),
        ("GET /v1/streams/s/events?after=-1", 400, "MALFORMED"),
        (&long, 404, "STREAM_NOT_FOUND"),
        ("TRACE /livez", 405, "METHOD_NOT_ALLOWED"),
        ("BREW /v1/streams", 405, "METHOD_NOT_ALLOWED"),
        ("get /livez", 405, "METHOD_NOT_ALLOWED"),
        ("OPTIONS *", 404, "NOT_FOUND"),
        ("CONNECT localhost:80", 404, "NOT_FOUND"),
        ("GET nowhere", 400, "MALFORMED"),
    ] {
        ask(&server, line, &[], b"").problem(status, code, line);
    }
}

#[test]
fn a_request_has_one_readable_key_of_its_own() {
    let server = Server::new("hostile-request-keys");
    server.put("s", "");
    let post = |headers: &[(&str, &str)]| ask(&server, "POST /v1/streams/s/events", headers, b"{}");
    let long = "k".repeat(256);
    for key in
        ["", "\"", "\"abc", "abc\"", "a b", "\"a\"b\"", "\"\\x\"", "\"\"", "caf\u{e9}", "\"caf\u{e9}\"", &long, "a,b"]
    {
        post(&[("idempotency-key", key)]).problem(400, "MALFORMED", key);
    }
    post(&[("idempotency-key", "a"), ("idempotency-key", "b")]).problem(400, "MALFORMED", "two");
    post(&[("idempotency-key", "a"), ("x-idempotency-key", "b")]).problem(400, "MALFORMED", "two");
    assert_eq!(post(&[("idempotency-key", "\"a\""), ("x-idempotency-key", "a")]).status, 201, "one, twice");
}

fn with_host(server: &Server, host: &str, more: &str) -> crate::wire::Heard {
    let mut wire = Wire::to(server);
    wire.say(format!("GET /v1/streams HTTP/1.1\r\nhost: {host}\r\n{more}\r\n"));
    wire.hear()
}

#[test]
fn without_keys_a_page_reaches_the_server_under_no_name_of_its_own() {
    let place = folder("hostile-rebinding").join("store");
    let server = Server::on(&place, &["--hosts", "ledger.example, other.example"]);
    let port = server.address.port();
    for host in
        ["127.0.0.1", &format!("127.0.0.1:{port}"), "localhost:1", "[::1]", "ledger.example", "OTHER.example:80"]
    {
        assert_eq!(with_host(&server, host, "").status, 200, "{host}");
    }
    for host in ["evil.example", &format!("evil.example:{port}"), "127.0.0.1.evil.example", ""] {
        with_host(&server, host, "").problem(421, "HOST_UNKNOWN", host);
    }
    let own = format!("127.0.0.1:{port}");
    with_host(&server, &own, "origin: http://evil.example\r\n").problem(403, "FORBIDDEN", "a foreign page");
    with_host(&server, &own, "origin: null\r\n").problem(403, "FORBIDDEN", "a page of nowhere");
    assert_eq!(with_host(&server, &own, &format!("origin: http://{own}\r\n")).status, 200);
    let store = server.kill();
    // With keys the name does not matter: a page has no key.
    let made = run(&["keys", "create", "--role", "admin", "--store", store.to_str().expect("a path")]);
    let key = String::from_utf8_lossy(&made.stdout).trim().to_owned();
    let server = Server::on(&store, &[]);
    with_host(&server, "evil.example", "").problem(401, "KEY_REQUIRED", "without a key");
    assert_eq!(with_host(&server, "any.example", &format!("authorization: Bearer {key}\r\n")).status, 200);
}
