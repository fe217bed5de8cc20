//! Requests against a server that fails a few times.

use std::io::{Read as _, Write as _};

use crate::fake::{Fake, Line, PASSING, PROBLEM, problem, say};
use crate::{Call, Client, Effect, Error, Route};

fn post() -> Call {
    Call::post(Route::stream("s", &["events"])).with("application/x-ndjson", "{}\n")
}

/// How often the server was asked, and under how many keys, until it answered with this script.
fn check(script: Vec<Line>, expect_tries: usize) -> Result<crate::Answer, Error> {
    let server = Fake::new(script);
    let answer = server.client().call(&post());
    let heard = server.heard();
    assert_eq!(heard.len(), expect_tries);
    let first = heard.first().expect("a request");
    assert!(first.header("idempotency-key").is_some_and(|key| key.len() == 32));
    assert!(heard.iter().all(|it| it == first), "every try is the same request: {heard:?}");
    answer
}

#[test]
fn what_passes_is_tried_again_under_the_same_key() {
    let answer = check(
        vec![Line::HangUp, problem(503, "DISK_LOW", PASSING), problem(409, "REQUEST_RUNNING", PASSING), say(200, "{}")],
        4,
    );
    assert_eq!(answer.expect("an answer").status, 200);
    let answer = check(vec![problem(429, "SLOW_DOWN", PASSING), problem(408, "TOO_SLOW", PROBLEM), say(201, "{}")], 3);
    assert_eq!(answer.expect("an answer").status, 201);
}

#[test]
fn what_is_an_answer_is_not_tried_again() {
    let error = check(vec![problem(404, "STREAM_NOT_FOUND", PROBLEM)], 1).expect_err("a problem");
    let Error::Problem(problem_found) = &error else { panic!("{error:?}") };
    assert_eq!((problem_found.status, problem_found.code.as_str()), (404, "STREAM_NOT_FOUND"));
    assert_eq!((problem_found.detail.as_str(), problem_found.effect), ("Not so.", Effect::None));
    assert_eq!(error.to_string(), "Not so. (STREAM_NOT_FOUND)");
    let error = check(vec![problem(409, "LEASE_LOST", PROBLEM)], 1).expect_err("a problem");
    assert_eq!(error.code(), Some("LEASE_LOST"));
}

#[test]
fn the_receipt_of_a_refused_event_is_an_answer() {
    let answer = check(vec![say(422, "{\"verdict\":\"rejected\"}")], 1).expect("a receipt");
    assert_eq!((answer.status, answer.text().as_str()), (422, "{\"verdict\":\"rejected\"}"));
}

#[test]
fn patience_ends() {
    let script = (0..9).map(|_| problem(503, "DISK_LOW", PASSING)).collect();
    assert_eq!(check(script, 4).expect_err("a problem").code(), Some("DISK_LOW"));
}

#[test]
fn a_server_that_is_not_there_is_named_with_its_address() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("an address");
    let client = Client::new(&format!("http://{closed}/"), None).expect("a URL").with_retry(crate::Retry::NEVER);
    let error = client.call(&post()).expect_err("nobody listens");
    assert_eq!(error.to_string(), format!("cannot reach http://{closed}: connection refused"));
}

#[test]
fn a_server_without_tls_is_told_apart_and_not_asked_twice() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("https://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().expect("a connection");
        _ = connection.read(&mut [0; 512]);
        _ = connection.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        // Whoever came a second time would wait here for ever.
        _ = connection.read(&mut [0; 512]);
    });
    let error = Client::new(&url, None).expect("a URL").call(&post()).expect_err("no TLS");
    assert!(error.to_string().starts_with(&format!("cannot reach {url}: it does not speak TLS there")), "{error}");
}

#[test]
fn somebody_else_at_the_address_is_told_apart() {
    let page = Line::Say { status: 404, headers: "content-type: text/html\r\n", body: "<html>".to_owned() };
    let error = check(vec![page], 1).expect_err("no Hapax server");
    assert!(error.to_string().ends_with("does not answer like a Hapax server: status 404, and no problem+json"));
}

#[test]
fn the_key_is_shown_with_every_request() {
    let server = Fake::new(vec![say(200, "{}")]);
    server.client().get(Route::to(&["v1", "streams"])).expect("an answer");
    let heard = server.heard();
    assert_eq!(heard[0].line, "GET /v1/streams");
    assert_eq!(heard[0].header("authorization"), Some("Bearer secret"));
    assert_eq!(heard[0].header("idempotency-key"), None);
}

#[test]
fn a_url_that_is_none_is_told_with_an_example() {
    for url in ["", "127.0.0.1:4090", "ftp://x", "http://", "http://x/?y=z"] {
        let error = Client::new(url, None).err().expect("no URL").to_string();
        assert!(error.ends_with("a server is written like http://127.0.0.1:4090"), "{url}: {error}");
    }
}

#[test]
fn a_file_without_certificates_is_told() {
    let client = || Client::new("https://x", None).expect("a URL");
    let none = client().trusting(b"nothing").err().map(|error| error.to_string());
    assert_eq!(none.as_deref(), Some("there is no certificate in the PEM file"));
}

#[test]
fn pages_are_one_list() {
    let server = Fake::new(vec![
        say(200, "{\"lanes\":[{\"a\":1.50},2],\"next\":\"c/1\"}"),
        say(200, "{\"lanes\":[],\"next\":7}"),
        say(200, "{\"lanes\":[3],\"next\":null}"),
    ]);
    let client = server.client();
    let pages = client.pages(Route::stream("s", &["lanes"]), "lanes", 10);
    let found: Vec<String> = pages.map(|it| it.expect("a member").get().to_owned()).collect();
    assert_eq!(found, ["{\"a\":1.50}", "2", "3"]);
    let lines: Vec<_> = server.heard().into_iter().map(|it| it.line).collect();
    let path = "GET /v1/streams/s/lanes?limit";
    assert_eq!(lines, [format!("{path}=10"), format!("{path}=8&after=c%2F1"), format!("{path}=8&after=7")]);
    let server = Fake::new(vec![say(200, "{\"lanes\":[1],\"next\":9}")]);
    let client = server.client();
    assert_eq!(client.pages(Route::stream("s", &["lanes"]), "lanes", 1).after(4).count(), 1);
    assert_eq!(server.heard()[0].line, format!("{path}=1&after=4"));
}
