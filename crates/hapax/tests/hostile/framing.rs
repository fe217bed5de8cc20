//! What two parsers could read in two ways, and what has no end.

use crate::process::Server;
use crate::wire::{Wire, ask};

const PLAIN: &str = "GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n";

#[test]
fn what_could_be_read_in_two_ways_is_refused_and_closed() {
    let server = Server::new("hostile-framing");
    for raw in [
        "GET /livez HTTP/1.1\r\n\r\n",
        "GET /livez HTTP/1.1\r\nhost: localhost\r\nhost: localhost\r\n\r\n",
        "GET /livez HTTP/1.1\nhost: localhost\n\n",
        "GET /livez HTTP/1.1\r\nhost: localhost\n\r\n",
        "GET /livez HTTP/1.1\r\nhost: localhost\r\n\n",
        "GET /livez HTTP/1.1\r\nhost: localhost\r\nx: a\r\n b\r\n\r\n",
        "GET /livez HTTP/1.1\r\nhost : localhost\r\n\r\n",
        "GET /livez HTTP/1.1\r\nhost: localhost\r\nx\0: a\r\n\r\n",
        "GET /livez HTTP/1.1\r\nhost: localhost\r\nx: \0\r\n\r\n",
        "GET /livez HTTP/2.0\r\nhost: localhost\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\n",
        "POST /v1/keys HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\n{}",
        "POST /v1/keys HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2, 2\r\n\r\n{}",
        "POST /v1/keys HTTP/1.1\r\nhost: localhost\r\ncontent-length: +2\r\n\r\n{}",
        "POST /v1/keys HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999999999999999\r\n\r\n{}",
        "POST /v1/keys HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /v1/keys HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "POST /v1/keys HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: identity\r\n\r\n",
        "POST /v1/keys HTTP/1.0\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /v1/keys HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        "POST /v1/keys HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n2\n{}\r\n0\r\n\r\n",
        "POST /v1/keys HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}x\r\n0\r\n\r\n",
        "POST /v1/keys HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n0\r\nhost: evil\r\n\r\n",
    ] {
        // First in a connection, and after an answer.
        for before in ["", PLAIN] {
            let mut wire = Wire::to(&server);
            wire.say(before.to_owned() + raw + "GET /readyz HTTP/1.1\r\nhost: localhost\r\n\r\n");
            if !before.is_empty() {
                assert_eq!(wire.hear().status, 200, "{raw:?}");
            }
            wire.hear().problem(400, "MALFORMED", raw);
            wire.is_closed(raw);
        }
    }
    assert!(server.get("/v1/keys").text().contains("\"keys\":[]"), "nothing of all that was done");
}

#[test]
fn several_requests_in_one_write_are_answered_in_order() {
    let server = Server::new("hostile-pipeline");
    let mut wire = Wire::to(&server);
    let chunked =
        "POST /nowhere HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\n\r\n";
    let plain = "PUT /livez HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n";
    wire.say(format!("{PLAIN}{plain}{chunked}{PLAIN}"));
    assert_eq!([wire.hear().status, wire.hear().status, wire.hear().status], [200, 405, 404]);
}

#[test]
fn headers_without_an_end_are_refused_with_a_problem() {
    let server = Server::new("hostile-headers");
    let long = "a".repeat(500_000);
    for (what, raw) in [
        ("a header", format!("GET /livez HTTP/1.1\r\nhost: localhost\r\nx: {long}\r\n\r\n")),
        ("a header without an end", format!("GET /livez HTTP/1.1\r\nhost: localhost\r\nx: {long}")),
        ("a name", format!("GET /livez HTTP/1.1\r\nhost: localhost\r\n{long}: x\r\n\r\n")),
        ("an address", format!("GET /{long} HTTP/1.1\r\nhost: localhost\r\n\r\n")),
        ("a method", format!("{long} / HTTP/1.1\r\nhost: localhost\r\n\r\n")),
        ("many", format!("GET /livez HTTP/1.1\r\nhost: localhost\r\n{}\r\n", "x: y\r\n".repeat(101))),
    ] {
        let mut wire = Wire::to(&server);
        wire.say(raw);
        wire.hear().problem(431, "HEADERS_TOO_LARGE", what);
        wire.is_closed(what);
    }
    let just_fits = "a".repeat(15_000);
    assert_eq!(ask(&server, "GET /livez", &[("x", &just_fits)], b"").status, 200);
}
