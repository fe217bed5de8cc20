//! A request's headers and body: whatever they are, they are cut into documents or refused with a problem that is the
//! sender's, and the documents get a verdict each.
//!
//! The input is lines of headers, `name: value`, an empty line, and the body. One that begins with a request's line is read
//! as what comes over a connection ([`wire`]).

mod wire;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;

use hapax_core::contract::Contract;
use hapax_core::json::{Kind, parse};
use hapax_core::problem::Problem;
use hapax_server::connection::headers::Headers;
use hapax_server::http::body::{self, Coding, Share, coding_of};
use hapax_server::http::cloudevents::is_binary;
use hapax_server::http::documents::Documents;
use hapax_server::http::request_key::{echoed, key_in};
use http::header::{HeaderName, HeaderValue};
use serde_json::value::RawValue;
use tokio::sync::Semaphore;

use super::judge::judged;
use crate::allocations::at_most;

/// The longest body, and the longest batch.
const BODY_BYTES_MAX: usize = 64 << 10;
const EVENTS_MAX: usize = 8;
/// A buffer that grows doubles; nothing else is larger than what was unpacked. A document of one byte costs a pointer.
const AT_ONCE_BYTES_MAX: usize = 16 * BODY_BYTES_MAX;

/// Checks it.
pub fn check(input: &[u8]) {
    if wire::is_meant(input) {
        return wire::check(input);
    }
    let (headers, body) = split(input);
    key(&headers);
    let coding = match coding_of(&headers) {
        Ok(coding) => coding,
        Err(problem) => return of_the_sender(&problem),
    };
    let bytes = match at_most(AT_ONCE_BYTES_MAX, || unpack(coding, body, BODY_BYTES_MAX)) {
        Ok(bytes) => bytes,
        Err(problem) => return of_the_sender(&problem),
    };
    unpacked(coding, body, &bytes);
    match at_most(AT_ONCE_BYTES_MAX, || Documents::of(&headers, &bytes, EVENTS_MAX)) {
        Ok(documents) => cut(&headers, &bytes, &documents),
        Err(problem) => of_the_sender(&problem),
    }
}

/// With more memory than any body needs.
fn unpack(coding: Coding, packed: &[u8], max: usize) -> Result<Vec<u8>, Problem> {
    let mut share = Share::new(&Arc::new(Semaphore::new(1 << 20)))?;
    body::unpack(coding, packed, max, &mut share).map(|it| it.to_vec())
}

fn split(input: &[u8]) -> (Headers, &[u8]) {
    let mut headers = Vec::new();
    let mut rest = input;
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let line = &rest[..end];
        rest = &rest[end + 1..];
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { break };
        let name = HeaderName::from_bytes(&line[..colon]);
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii());
        if let (Ok(name), Ok(value)) = (name, value)
            && headers.len() < 64
        {
            headers.push((name, value));
        }
    }
    let pairs = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    (pairs.collect(), rest)
}

fn of_the_sender(problem: &Problem) {
    assert!((400..500).contains(&problem.status), "{problem:?}");
    assert!(!problem.detail.is_empty());
}

/// A key names one request, however it is written.
fn key(headers: &Headers) {
    match key_in(headers) {
        Ok(None) => assert!(headers.get("idempotency-key").is_none(), "a key that is there is read or refused"),
        Ok(Some(key)) => {
            assert!((1..=255).contains(&key.len()) && key.bytes().all(|it| (b' '..=b'~').contains(&it)), "{key:?}");
            let echo = HeaderValue::from_str(&echoed(&key)).expect("an echo is a header");
            let echo: Headers = [("idempotency-key", echo.as_bytes())].into_iter().collect();
            assert_eq!(key_in(&echo).ok().flatten(), Some(key), "an echo names the same request");
        }
        Err(problem) => of_the_sender(&problem),
    }
}

/// What was unpacked is exactly what fits, and what is packed here is unpacked to the same.
fn unpacked(coding: Coding, packed: &[u8], bytes: &[u8]) {
    let pack = match coding {
        Coding::Plain => return assert_eq!(packed, bytes, "a plain body is what it is"),
        Coding::Gzip => {
            let mut pack = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            pack.write_all(bytes).expect("memory takes it");
            pack.finish().expect("memory takes it")
        }
        Coding::Zstd => zstd::stream::encode_all(bytes, 1).expect("memory takes it"),
    };
    assert!(bytes.len() <= BODY_BYTES_MAX);
    assert_eq!(unpack(coding, packed, bytes.len()).expect("it fits exactly"), bytes);
    assert_eq!(unpack(coding, &pack, bytes.len()).expect("what was packed is unpacked"), bytes);
    if let Some(less) = bytes.len().checked_sub(1) {
        assert_eq!(unpack(coding, packed, less).expect_err("a byte too much").status, 413);
    }
    let trailing = [packed, b"{"].concat();
    assert!(unpack(coding, &trailing, BODY_BYTES_MAX).is_err(), "nothing follows a packed body");
}

fn cut(headers: &Headers, body: &[u8], documents: &Documents) {
    let kind = headers.text("content-type").unwrap_or("application/json");
    let essence = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    assert!(!documents.single || documents.len() == 1, "one event is one document");
    assert!(documents.len() <= EVENTS_MAX, "and a batch has no more than is taken");
    match essence.as_str() {
        "application/cloudevents-batch+json" => {
            if let Ok(read) = parse(body) {
                assert_eq!((read.root().kind(), read.root().len()), (Kind::Array, documents.len()));
            }
        }
        "application/cloudevents+json" => assert_eq!(documents.get(0), Some(body.trim_ascii())),
        _ if is_binary(headers) => structured(headers, kind, &essence, body, documents.get(0).unwrap_or_default()),
        "application/x-ndjson" | "application/jsonl" | "application/ndjson" => {
            let lines: Vec<&[u8]> =
                body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|it| !it.is_empty()).collect();
            assert!(documents.iter().eq(lines), "a line each");
        }
        _ => json(body, documents),
    }
    for (index, document) in documents.iter().enumerate() {
        let is_its_own = documents.node(index).is_none_or(|node| node.raw().as_bytes() == document);
        assert!(is_its_own, "what was scanned is the document");
        assert!(is_binary(headers) || body.windows(document.len().max(1)).any(|it| it == document), "as it came");
    }
    judged(
        Contract::from_toml("preset = \"cloudevents\"").expect("a preset").contract,
        &documents.iter().map(Arc::from).collect::<Vec<_>>(),
    );
}

/// Another parser counts the same documents.
fn json(body: &[u8], documents: &Documents) {
    let Ok(read) = parse(body) else { return };
    let root = read.root();
    let batch = match root.kind() {
        Kind::Array => Some(root),
        Kind::Object if root.len() == 1 => root.get("events").filter(|it| it.kind() == Kind::Array),
        Kind::Object | Kind::Null | Kind::Bool | Kind::Number | Kind::String => None,
    };
    match batch {
        Some(batch) => {
            let raws: Vec<&[u8]> = batch.items().map(|it| it.raw().as_bytes()).collect();
            assert_eq!(raws, documents.iter().collect::<Vec<_>>());
            assert!(!documents.single);
        }
        None => assert!(documents.single && documents.get(0) == Some(body.trim_ascii()), "one event is the body"),
    }
}

/// A CloudEvent in binary mode has the same attributes and the same data in its structured form.
fn structured(headers: &Headers, kind: &str, essence: &str, body: &[u8], document: &[u8]) {
    let members: BTreeMap<String, &RawValue> = serde_json::from_slice(document).expect("the structured form is JSON");
    let text = |name: &str| members.get(name).map(|it| serde_json::from_str::<String>(it.get()).expect("a string"));
    let mut attributes = 0;
    for (name, value) in headers.beginning_with("ce-") {
        let name = &name["ce-".len()..];
        attributes += 1;
        assert_eq!(text(name).expect("every attribute").into_bytes(), percent_decoded(value), "{name}");
    }
    let is_named = headers.get("content-type").is_some() && kind != "application/json";
    assert_eq!(text("datacontenttype").as_deref(), is_named.then_some(kind));
    let data = [members.contains_key("data"), members.contains_key("data_base64")];
    let is_json = essence == "application/json" || essence.ends_with("+json");
    match data {
        [false, false] => assert!(body.is_empty()),
        [true, false] if is_json => assert_eq!(members["data"].get().as_bytes(), body.trim_ascii()),
        [true, false] => assert_eq!(text("data").expect("a text").as_bytes(), body),
        [false, true] => assert_eq!(from_base64(&text("data_base64").expect("a text")), body),
        [true, true] => panic!("data is there once"),
    }
    let others = usize::from(is_named) + data.iter().filter(|it| **it).count();
    assert_eq!(members.len(), attributes + others, "and nothing else");
}

fn percent_decoded(text: &[u8]) -> Vec<u8> {
    let digit = |byte: Option<&u8>| byte.and_then(|it| char::from(*it).to_digit(16));
    let (mut out, mut at) = (Vec::new(), 0);
    while let Some(byte) = text.get(at) {
        match (byte, digit(text.get(at + 1)), digit(text.get(at + 2))) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
            }
            (_, _, _) => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    out
}

fn from_base64(text: &str) -> Vec<u8> {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    assert!(text.len().is_multiple_of(4), "padded");
    let letters = text.trim_end_matches('=');
    let sixes = letters.chars().map(|it| ALPHABET.find(it).expect("a letter of base64") as u32);
    let (mut bits, mut have, mut out) = (0_u32, 0, Vec::new());
    for six in sixes {
        bits = bits << 6 | six;
        have += 6;
        if have >= 8 {
            have -= 8;
            out.push((bits >> have) as u8);
            bits &= (1 << have) - 1;
        }
    }
    out
}
