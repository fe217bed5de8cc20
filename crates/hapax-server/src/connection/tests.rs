//! A connection against a reading of the same bytes that is as plain as can be.

mod plain;

use std::sync::Mutex;

use bytes::BytesMut;
use proptest::prelude::*;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;
use crate::config::Limits;
use plain::{Seen, read_plainly};

/// What was seen behind the door, and what came back, when these pieces were sent and `answers` were waited for.
fn talk(pieces: &[Vec<u8>], answers: usize, limits: &Limits) -> (Vec<Seen>, String) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let _within = runtime.enter();
    let (here, there) = tokio::io::duplex(256);
    let seen = Mutex::new(Vec::new());
    let (_running, stopping) = watch::channel(false);
    let connection = Connection { door: Door::new(there, limits), written: Written::default(), stopping };
    let answer = async |head: Box<Head>, mut body: Incoming| {
        let headers = head.headers.beginning_with("").map(|(name, value)| (name, value.to_vec()));
        let line = format!("{} {}", head.method, head.uri);
        let body = all_of(&mut body).await;
        seen.lock().expect("a lock").push(Seen { line, headers: headers.collect(), body });
        Reply::bytes(200, "text/plain", "yes")
    };
    let serving = connection.run(answer, |_| ());
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
    (seen.into_inner().expect("a lock"), heard)
}

/// A body to its end, if it comes to one.
async fn all_of(body: &mut Incoming) -> Option<Vec<u8>> {
    let mut all = BytesMut::new();
    while poll_fn(|_| body.poll_more(&mut all)).await.ok()? > 0 {}
    Some(all.to_vec())
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

/// A request that is answered without its body being read, and then another.
fn unread(first: &str, pieces: &[&[u8]]) -> (usize, String) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let _within = runtime.enter();
    let (mut here, there) = tokio::io::duplex(256);
    let (_running, stopping) = watch::channel(false);
    let limits = Limits { header_timeout: Duration::from_millis(50), ..Limits::default() };
    let connection = Connection { door: Door::new(there, &limits), written: Written::default(), stopping };
    let asked = Mutex::new(0);
    let answer = async |_: Box<Head>, _: Incoming| {
        *asked.lock().expect("a lock") += 1;
        Reply::bytes(200, "text/plain", "yes")
    };
    let serving = connection.run(answer, |_| ());
    let asking = async {
        _ = here.write_all(first.as_bytes()).await;
        for piece in pieces {
            tokio::task::yield_now().await;
            _ = here.write_all(piece).await;
        }
        _ = here.shutdown().await;
        let mut heard = String::new();
        _ = here.read_to_string(&mut heard).await;
        heard
    };
    let (_, heard) = runtime.block_on(async { tokio::join!(serving, asking) });
    (asked.into_inner().expect("a lock"), heard)
}

#[test]
fn a_body_that_nobody_reads_passes_by_and_the_next_request_is_answered() {
    let next: &[u8] = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";
    for pieces in
        [&[b"12345".as_slice(), next][..], &[b"12", b"345", next], &[b"12345GET / HTTP/1.1\r\nhost: a\r\n\r\n"]]
    {
        let (asked, heard) = unread("PUT / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\n", pieces);
        assert_eq!((asked, heard.matches("200 OK").count()), (2, 2), "{heard}");
        assert!(!heard.contains("connection: close"), "{heard}");
    }
}

#[test]
fn a_body_that_nobody_reads_ends_the_connection_if_it_is_long_or_may_never_come() {
    for (headers, body) in [
        // It waits for a word that does not come.
        ("content-length: 5\r\nexpect: 100-continue", b"".as_slice()),
        ("content-length: 100000", b"12345"),
        ("transfer-encoding: chunked", b"5\r\n12345\r\n0\r\n\r\n"),
    ] {
        let (asked, heard) = unread(&format!("PUT / HTTP/1.1\r\nhost: a\r\n{headers}\r\n\r\n"), &[body]);
        assert_eq!(asked, 1);
        assert!(heard.contains("connection: close") && !heard.contains("100 Continue"), "{headers}: {heard}");
    }
}

#[test]
fn who_waits_for_a_word_hears_it_once_the_body_is_asked_for() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let _within = runtime.enter();
    let (mut here, there) = tokio::io::duplex(256);
    let (_running, stopping) = watch::channel(false);
    let connection = Connection { door: Door::new(there, &Limits::default()), written: Written::default(), stopping };
    let answer = async |_: Box<Head>, mut body: Incoming| {
        let body = all_of(&mut body).await.expect("a body");
        Reply::bytes(200, "text/plain", body)
    };
    let serving = connection.run(answer, |_| ());
    let asking = async {
        let head = b"PUT / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n";
        here.write_all(head).await.expect("a head");
        let mut word = [0; 25];
        here.read_exact(&mut word).await.expect("a word");
        assert_eq!(&word, b"HTTP/1.1 100 Continue\r\n\r\n");
        here.write_all(b"12345").await.expect("a body");
        here.shutdown().await.expect("an end");
        let mut heard = String::new();
        here.read_to_string(&mut heard).await.expect("an answer");
        heard
    };
    let (_, heard) = runtime.block_on(async { tokio::join!(serving, asking) });
    assert!(heard.starts_with("HTTP/1.1 200 OK\r\n") && heard.ends_with("\r\n\r\n12345"), "{heard}");
}

#[test]
fn http_10_ends_with_its_answer_unless_it_asks_to_stay() {
    let twice = |head: &str| [head, head].concat().into_bytes();
    let (seen, heard) = talk(&[twice("GET / HTTP/1.0\r\n\r\n")], 1, &Limits::default());
    assert!(seen.len() == 1 && heard.starts_with("HTTP/1.0 200 OK") && heard.contains("connection: close"), "{heard}");
    let (seen, heard) = talk(&[twice("GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n")], 2, &Limits::default());
    assert!(seen.len() == 2 && heard.contains("connection: keep-alive"), "{heard}");
}
