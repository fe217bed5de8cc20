//! The door with hyper behind it, against a reading of the same bytes that is as plain as can be.

mod plain;

use std::convert::Infallible;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use proptest::prelude::*;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;
use plain::{Seen, read_plainly};

/// What hyper saw behind the door, and what came back, when these pieces were sent and `answers` were waited for.
fn talk(pieces: &[Vec<u8>], answers: usize, limits: &Limits) -> (Vec<Seen>, String) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let _within = runtime.enter();
    let (here, there) = tokio::io::duplex(256);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let answering = Answering::default();
    let door = Door::new(there, limits, Arc::default(), answering.clone());
    let service = service_fn(|request: hyper::Request<Incoming>| {
        let (seen, answered) = (Arc::clone(&seen), answering.until_dropped());
        async move {
            let (parts, body) = request.into_parts();
            let headers = parts.headers.iter().map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()));
            let line = format!("{} {}", parts.method, parts.uri);
            let body = body.collect().await.ok().map(|it| it.to_bytes().to_vec());
            seen.lock().expect("a lock").push(Seen { line, headers: headers.collect(), body });
            drop(answered);
            Ok::<_, Infallible>(hyper::Response::new(Full::new(Bytes::from_static(b"yes"))))
        }
    });
    let serving = http1::Builder::new()
        .header_read_timeout(None)
        .auto_date_header(false)
        .serve_connection(TokioIo::new(door), service);
    let asking = async move {
        let (mut reading, mut writing) = tokio::io::split(here);
        let sending = async {
            for piece in pieces {
                // Whoever is refused may not be listened to any more.
                _ = writing.write_all(piece).await;
                tokio::task::yield_now().await;
            }
        };
        let hearing = async {
            let (mut heard, mut bytes) = (Vec::new(), [0; 4096]);
            loop {
                let text = String::from_utf8_lossy(&heard).into_owned();
                if text.matches("yes").count() + text.matches("}").count() >= answers && answers > 0 {
                    return text;
                }
                match reading.read(&mut bytes).await {
                    Ok(count @ 1..) => heard.extend_from_slice(&bytes[..count]),
                    Ok(0) | Err(_) => return text,
                }
            }
        };
        if answers == 0 {
            sending.await;
            return String::new();
        }
        let ((), heard) = tokio::join!(sending, hearing);
        heard
    };
    let (_, heard) = runtime.block_on(async { tokio::join!(serving, asking) });
    let seen = std::mem::take(&mut *seen.lock().expect("a lock"));
    (seen, heard)
}

/// Everything that is sent is read as the plain reader reads it.
fn check(bytes: &[u8], cuts: &[usize]) {
    let plain = read_plainly(bytes);
    let mut cuts: Vec<_> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).chain([0, bytes.len()]).collect();
    cuts.sort_unstable();
    let pieces: Vec<_> = cuts.windows(2).map(|pair| bytes[pair[0]..pair[1]].to_vec()).collect();
    let whole = plain.seen.iter().filter(|it| it.body.is_some()).count();
    let (seen, heard) = talk(&pieces, whole + usize::from(plain.is_refused), &Limits::default());
    let shown = String::from_utf8_lossy(bytes);
    assert_eq!(seen, plain.seen, "{shown:?} {heard}");
    assert_eq!(heard.contains("MALFORMED"), plain.is_refused, "{shown:?} {heard}");
}

fn request() -> impl Strategy<Value = Vec<u8>> {
    let method = prop_oneof![Just("GET"), Just("POST"), Just("PUT"), Just("X-Y")];
    let header = ("x-[a-z]{1,6}", "[ -~]{0,12}").prop_map(|(name, value)| format!("{name}: {}\r\n", value.trim()));
    let body = prop::collection::vec(any::<u8>(), 0..40);
    let framing = prop_oneof![Just(0), Just(1), Just(2)];
    let extension = prop_oneof![Just(""), Just(";a"), Just(";a=\"b c\"")];
    (method, "/[a-z0-9/?=%_-]{0,12}", prop::collection::vec(header, 0..4), body, framing, extension).prop_map(
        |(method, path, headers, body, framing, extension)| {
            let path = path.replace('%', "%41");
            let mut out = format!("{method} {path} HTTP/1.1\r\nhost: a\r\n{}", headers.concat()).into_bytes();
            match framing {
                0 => out.extend_from_slice(b"\r\n"),
                1 => {
                    out.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
                    out.extend_from_slice(&body);
                }
                _ => {
                    out.extend_from_slice(b"transfer-encoding: chunked\r\n\r\n");
                    for piece in body.chunks(7) {
                        out.extend_from_slice(format!("{:x}{extension}\r\n", piece.len()).as_bytes());
                        out.extend_from_slice(piece);
                        out.extend_from_slice(b"\r\n");
                    }
                    out.extend_from_slice(b"0\r\n\r\n");
                }
            }
            out
        },
    )
}

/// Bytes that mean something to a parser.
const AWKWARD: &[u8] = b"\r\n\0 \t:;,0159aA/";

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn plain_requests_go_through_unchanged(
        requests in prop::collection::vec(request(), 1..5),
        cuts in prop::collection::vec(any::<usize>(), 0..6),
    ) {
        let bytes = requests.concat();
        let plain = read_plainly(&bytes);
        prop_assert_eq!((plain.seen.len(), plain.is_refused), (requests.len(), false), "the reference reads them all");
        check(&bytes, &cuts);
    }

    #[test]
    fn damaged_requests_are_read_as_a_plain_reader_reads_them(
        requests in prop::collection::vec(request(), 1..4),
        cuts in prop::collection::vec(any::<usize>(), 0..4),
        damage in prop::collection::vec((any::<usize>(), 0..3, any::<prop::sample::Index>()), 1..4),
    ) {
        let mut bytes = requests.concat();
        for (at, kind, with) in damage {
            let (at, with) = (at % bytes.len().max(1), AWKWARD[with.index(AWKWARD.len())]);
            match kind {
                0 if at < bytes.len() => bytes[at] = with,
                1 if at < bytes.len() => _ = bytes.remove(at),
                _ => bytes.insert(at, with),
            }
        }
        check(&bytes, &cuts);
    }
}

#[test]
fn what_follows_a_refused_request_is_not_read() {
    let smuggled = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /admin HTTP/1.1\r\nhost: a\r\n\r\n";
    let (seen, heard) = talk(&[smuggled.to_vec()], 1, &Limits::default());
    assert!(seen.is_empty(), "{seen:?}");
    assert!(heard.starts_with("HTTP/1.1 400 Bad Request\r\n") && heard.contains("connection: close"), "{heard}");
    assert_eq!(heard.matches("HTTP/1.1").count(), 1);
}

#[test]
fn an_answer_comes_before_the_refusal_of_the_next_request() {
    let two = b"GET /good HTTP/1.1\r\nhost: a\r\n\r\nGET /bad HTTP/1.1\n\n";
    let (seen, heard) = talk(&[two.to_vec()], 2, &Limits::default());
    assert_eq!(seen.len(), 1);
    assert!(heard.find("200 OK") < heard.find("400 Bad Request"), "{heard}");
}

#[test]
fn headers_have_a_size() {
    let limits = Limits { header_bytes_max: 100, ..Limits::default() };
    let head = |length: usize| {
        let head = "GET / HTTP/1.1\r\nhost: a\r\nx: \r\n\r\n";
        head.replace("x: ", &format!("x: {}", "y".repeat(length - head.len()))).into_bytes()
    };
    assert_eq!(talk(&[head(100)], 1, &limits).0.len(), 1);
    for long in [head(101), head(5000), head(5000)[..2000].to_vec(), vec![b'A'; 1000]] {
        let (seen, heard) = talk(&[long], 1, &limits);
        assert!(
            seen.is_empty() && heard.starts_with("HTTP/1.1 431 ") && heard.contains("HEADERS_TOO_LARGE"),
            "{heard}"
        );
    }
}

#[test]
fn who_sends_nothing_is_let_go_and_who_drips_is_told() {
    let limits = Limits {
        header_timeout: Duration::from_millis(50),
        idle_timeout: Duration::from_millis(50),
        ..Limits::default()
    };
    assert_eq!(talk(&[], 1, &limits), (Vec::new(), String::new()));
    let (_, heard) = talk(&[b"GET / HTTP/1.1\r\nho".to_vec()], 1, &limits);
    assert!(heard.starts_with("HTTP/1.1 408 ") && heard.contains("REQUEST_TIMEOUT"), "{heard}");
    // After an answer the connection is idle, and then it is over without a word.
    let (seen, heard) = talk(&[b"GET / HTTP/1.1\r\nhost: a\r\n\r\n".to_vec()], 2, &limits);
    assert_eq!((seen.len(), heard.matches("HTTP/1.1").count()), (1, 1), "{heard}");
}
