//! What comes over a connection before anybody has read it: a head that is let through says one thing about where its body
//! ends, and says the same to another parser; a chunked body ends where another parser finds its end, however it is cut
//! into pieces on the way.

use hapax_server::connection::chunks::Chunks;
use hapax_server::connection::head::{self, Framing};

use super::of_the_sender;

/// The most headers that are let through.
const HEADERS_MAX: usize = 100;

/// Does it begin with the line of a request?
pub(super) fn is_meant(input: &[u8]) -> bool {
    let line = input.split(|byte| *byte == b'\n').next().unwrap_or_default();
    line.windows(7).any(|it| it == b"HTTP/1.")
}

pub(super) fn check(input: &[u8]) {
    let Some(end) = input.windows(4).position(|it| it == b"\r\n\r\n") else { return };
    let (head, rest) = input.split_at(end + 4);
    // The door has seen to these before.
    let is_bare = |at: usize| head[at] == b'\n' && (at == 0 || head[at - 1] != b'\r');
    if head.starts_with(b"\r\n") || (0..head.len()).any(is_bare) {
        return;
    }
    let framing = match head::read(&bytes::Bytes::copy_from_slice(head)) {
        Ok(asked) => asked.framing,
        Err(problem) => return of_the_sender(&problem),
    };
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    let parsed = request.parse(head).expect("what is let through is a head to another parser");
    assert_eq!(parsed, httparse::Status::Complete(head.len()), "of the same length");
    let values = |name: &str| -> Vec<&[u8]> {
        request.headers.iter().filter(|it| it.name.eq_ignore_ascii_case(name)).map(|it| it.value).collect()
    };
    let is_11 = request.version == Some(1);
    assert!(values("host").len() == 1 || (!is_11 && values("host").is_empty()), "one host");
    match (values("content-length").as_slice(), values("transfer-encoding").as_slice(), framing) {
        ([], [], Framing::Length(0)) => {}
        ([length], [], Framing::Length(found)) => {
            assert_eq!(std::str::from_utf8(length).ok().and_then(|it| it.parse().ok()), Some(found), "one length");
        }
        ([], [coding], Framing::Chunked) => {
            assert!(is_11 && coding.eq_ignore_ascii_case(b"chunked"), "one coding");
            chunked(rest);
        }
        (lengths, codings, framing) => panic!("{framing:?} of {lengths:?} and {codings:?}"),
    }
}

fn chunked(body: &[u8]) {
    let read = |cut: usize| {
        let mut chunks = Chunks::new();
        let mut taken = 0;
        for piece in body.chunks(cut) {
            match chunks.read(piece, |_| {}) {
                Ok(count) => taken += count,
                Err(_) => return None,
            }
            if chunks.is_end() {
                break;
            }
        }
        Some((taken, chunks.is_end()))
    };
    let whole = read(body.len().max(1));
    for cut in [1, 2, 7, 64] {
        assert_eq!(read(cut), whole, "in pieces of {cut} it is the same body");
    }
    match whole {
        None => {}
        Some((taken, true)) => assert_eq!(end_of(body), Some(taken), "another parser finds the same end"),
        Some((taken, false)) => assert_eq!(taken, body.len(), "what has not ended takes all there is"),
    }
}

/// Where a chunked body without trailers ends.
fn end_of(body: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let Ok(httparse::Status::Complete((line, size))) = httparse::parse_chunk_size(body.get(at..)?) else {
            return None;
        };
        at = at.checked_add(line)?.checked_add(usize::try_from(size).ok()?)?;
        if body.get(at..at.checked_add(2)?)? != b"\r\n" {
            return None;
        }
        at += 2;
        if size == 0 {
            return Some(at);
        }
    }
}
