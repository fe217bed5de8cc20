//! A server for tests: it answers one connection after the other with what the test wrote, and keeps what it heard.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::{Client, Retry};

/// A server with a script.
pub(crate) struct Fake {
    url: String,
    heard: Arc<Mutex<Vec<Heard>>>,
}

/// A request as it came.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Heard {
    /// The method and the target.
    pub(crate) line: String,
    /// The headers, their names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    /// The body.
    pub(crate) body: String,
}

impl Heard {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }
}

/// What to do with one connection: hang up, or answer with a status line, headers and a body, and then hang up.
pub(crate) enum Line {
    HangUp,
    Say { status: u16, headers: &'static str, body: String },
}

/// An answer in JSON.
pub(crate) fn say(status: u16, body: &str) -> Line {
    Line::Say { status, headers: "content-type: application/json\r\n", body: body.to_owned() }
}

/// A problem; `after` is what the server asks for, in seconds.
pub(crate) fn problem(status: u16, code: &str, headers: &'static str) -> Line {
    let body = format!("{{\"status\":{status},\"code\":\"{code}\",\"detail\":\"Not so.\",\"effect\":\"none\"}}");
    Line::Say { status, headers, body }
}

/// The headers of a problem.
pub(crate) const PROBLEM: &str = "content-type: application/problem+json\r\n";
/// The headers of a problem that passes.
pub(crate) const PASSING: &str = "content-type: application/problem+json\r\nretry-after: 0\r\n";

impl Fake {
    /// A server that answers in this order. Afterwards nobody listens.
    pub(crate) fn new(script: Vec<Line>) -> Fake {
        let mut script = script.into_iter();
        Fake::answering(move |_| script.next())
    }

    /// A server that thinks about each request.
    pub(crate) fn answering(mut answer: impl FnMut(&Heard) -> Option<Line> + Send + 'static) -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let heard = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&heard);
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let mut connection = connection.expect("a connection");
                let Some(request) = hear(&connection) else { continue };
                let line = answer(&request);
                keep.lock().expect("the list").push(request);
                match line {
                    Some(Line::Say { status, headers, body }) => {
                        let length = body.len();
                        let head = format!(
                            "HTTP/1.1 {status} X\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n"
                        );
                        // A client may have gone away meanwhile.
                        _ = connection.write_all(&[head.as_bytes(), body.as_bytes()].concat());
                    }
                    Some(Line::HangUp) => {}
                    None => return,
                }
            }
        });
        Fake { url, heard }
    }

    /// A client that does not wait long.
    pub(crate) fn client(&self) -> Client {
        let brief = Duration::from_millis(1);
        let retry = Retry { tries_max: 4, first: brief, longest: brief };
        Client::new(&self.url, Some("secret")).expect("a URL").with_retry(retry)
    }

    /// What it heard so far.
    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.heard.lock().expect("the list").clone()
    }
}

fn hear(connection: &TcpStream) -> Option<Heard> {
    let mut reader = BufReader::new(connection);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut heard = Heard { line: line.trim_end().trim_end_matches(" HTTP/1.1").to_owned(), ..Heard::default() };
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        heard.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = heard.header("content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    heard.body = String::from_utf8(body).expect("UTF-8");
    Some(heard)
}
