//! Following a server that hangs up in the middle.

use crate::Stop;
use crate::fake::{Fake, Line, PASSING, problem};

fn streamed(body: &str) -> Line {
    Line::Say { status: 200, headers: "content-type: text/event-stream\r\n", body: body.to_owned() }
}

fn message(offset: u64) -> String {
    format!(
        "id: {offset}\ndata: {{\"offset\":{offset},\"id\":\"e-{offset}\",\"lane\":\"a\",\"document\":{{\"n\":1.0}}}}\n\n"
    )
}

#[test]
fn a_reader_that_was_cut_off_goes_on_after_the_last_entry() {
    let half = &message(3)[..20];
    let server = Fake::new(vec![
        streamed(&format!(": hello\n\n{}{}{half}", message(1), message(2))),
        problem(503, "DRAINING", PASSING),
        // A server that begins too early repeats itself, and the reader does not.
        streamed(&format!("{}{}", message(2), message(3))),
    ]);
    let entries: Vec<_> = server
        .client()
        .follow("s", Some("a"), 0, Stop::new())
        .take(3)
        .map(|entry| entry.expect("an entry"))
        .map(|entry| (entry.offset, entry.document.get().to_owned()))
        .collect();
    let document = "{\"n\":1.0}".to_owned();
    assert_eq!(entries, [(1, document.clone()), (2, document.clone()), (3, document)]);
    let asked: Vec<_> = server.heard().iter().map(|it| it.header("last-event-id").map(str::to_owned)).collect();
    assert_eq!(asked, [Some("0".to_owned()), Some("2".to_owned()), Some("2".to_owned())]);
    assert_eq!(server.heard()[1].line, "GET /v1/streams/s/events?follow=true&lane=a&after=2");
}

#[test]
fn a_reader_that_is_asked_to_stop_ends() {
    let server = Fake::new(vec![streamed(&message(1))]);
    let stop = Stop::new();
    let mut follow = server.client().follow("s", None, 0, stop.clone());
    assert!(follow.next().is_some());
    stop.set();
    assert!(follow.next().is_none());
}
