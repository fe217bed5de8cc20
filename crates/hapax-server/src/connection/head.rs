//! A request's line and headers, as bytes: do they say one thing, and say it plainly?
//!
//! What two parsers could read in two ways (RFC 9112, section 11.2) is not read here at all, and there is no other parser
//! behind this one.

use bytes::Bytes;
use hapax_core::problem::{Problem, ProblemCode};
use http::{Method, Uri};
use memchr::memchr;

use super::headers::{Headers, is_same};
use crate::http::malformed;

/// The most header lines.
const LINES_MAX: usize = 100;

/// A request without its body.
#[derive(Clone, Debug)]
pub struct Head {
    /// What is to be done.
    pub method: Method,
    /// With what.
    pub uri: Uri,
    /// What else is said.
    pub headers: Headers,
}

/// How the body behind a head is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// By its length; none is a length of 0.
    Length(u64),
    /// By its chunks.
    Chunked,
}

/// A head, and what it says about the connection.
#[derive(Debug)]
pub struct Asked {
    /// For whoever answers.
    pub head: Box<Head>,
    /// The body that follows.
    pub framing: Framing,
    /// Is it HTTP/1.1, and not 1.0?
    pub is_11: bool,
    /// Is it the last request of its connection?
    pub is_last: bool,
    /// Does the client wait for a word before it sends the body?
    pub expects: bool,
}

/// Reads a whole head, up to and with the empty line. Every LF in it follows a CR; the door has seen to that.
pub fn read(bytes: &Bytes) -> Result<Asked, Problem> {
    // The line that begins here, and where the next one does.
    let line_at = |from: usize| {
        let end = memchr(b'\n', &bytes[from..]).map_or(bytes.len(), |more| from + more);
        let line = &bytes[from..end];
        (line.strip_suffix(b"\r").unwrap_or(line), bytes.len().min(end + 1))
    };
    let (line, mut next) = line_at(0);
    let (method, uri, is_11) = request_line(bytes, line)?;
    let mut headers = Headers::of(bytes.clone());
    let (mut hosts, mut length, mut is_chunked) = (0, None, false);
    let (mut closes, mut stays, mut expects) = (false, false, false);
    loop {
        let (from, (line, after)) = (next, line_at(next));
        next = after;
        if line.is_empty() {
            break;
        }
        if headers.len() == LINES_MAX {
            return Err(too_large(&format!("a request has at most {LINES_MAX} headers")));
        }
        let (name, start, value) = header(line)?;
        let is = |known| is_same(name, known);
        if is("host") {
            hosts += 1;
        } else if is("content-length") {
            if length.is_some() {
                return Err(malformed("the request has two Content-Lengths"));
            }
            length = Some(decimal(value).ok_or_else(|| malformed("the Content-Length is not a number"))?);
        } else if is("transfer-encoding") {
            if is_chunked || !value.eq_ignore_ascii_case(b"chunked") {
                return Err(malformed("the only Transfer-Encoding is chunked, once"));
            }
            is_chunked = true;
        } else if is("connection") {
            let mut words = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
            closes |= words.clone().any(|word| word.eq_ignore_ascii_case(b"close"));
            stays |= words.any(|word| word.eq_ignore_ascii_case(b"keep-alive"));
        } else if is("expect") {
            expects |= value.eq_ignore_ascii_case(b"100-continue");
        }
        headers.add(from..from + name.len(), from + start..from + start + value.len());
    }
    if hosts > 1 || (hosts == 0 && is_11) {
        return Err(malformed("a request has one Host"));
    }
    let framing = match (length, is_chunked) {
        (Some(_), true) => return Err(malformed("the request has a Content-Length and a Transfer-Encoding")),
        (None, true) if !is_11 => return Err(malformed("HTTP/1.0 has no Transfer-Encoding")),
        (None, true) => Framing::Chunked,
        (length, false) => Framing::Length(length.unwrap_or(0)),
    };
    let is_last = closes || !is_11 && !stays;
    Ok(Asked { head: Box::new(Head { method, uri, headers }), framing, is_11, is_last, expects: expects && is_11 })
}

/// More than is taken.
pub(super) fn too_large(detail: &str) -> Problem {
    Problem::new(ProblemCode::HeadersTooLarge, detail)
}

/// Method and address, and whether it is HTTP/1.1 and not 1.0.
fn request_line(head: &Bytes, line: &[u8]) -> Result<(Method, Uri, bool), Problem> {
    let mut parts = line.split(|byte| *byte == b' ');
    let (Some(method), Some(target), Some(version), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(malformed("a request's line is a method, an address and a version, with one space between them"));
    };
    let no_word = || malformed("the method is no word");
    if method.is_empty() || !method.iter().all(|byte| is_token(*byte)) {
        return Err(no_word());
    }
    let method = Method::from_bytes(method).map_err(|_| no_word())?;
    let unreadable = || malformed("the address cannot be read");
    let uri = Uri::from_maybe_shared(head.slice_ref(target)).map_err(|_| unreadable())?;
    if !is_plain_path(target) {
        // A name alone is an address only for tunnels.
        let is_name = uri.scheme().is_none() && uri.authority().is_some() && method != Method::CONNECT;
        if is_name || !target.iter().all(u8::is_ascii_graphic) {
            return Err(unreadable());
        }
    }
    match version {
        b"HTTP/1.1" => Ok((method, uri, true)),
        b"HTTP/1.0" => Ok((method, uri, false)),
        _ => Err(malformed("this server speaks HTTP/1.1 and HTTP/1.0")),
    }
}

/// A path as nearly all are, which nobody reads in two ways.
fn is_plain_path(target: &[u8]) -> bool {
    target.starts_with(b"/") && target.iter().all(|byte| PLAIN[usize::from(*byte)])
}

/// Name and value of a header, and where in its line the value begins.
fn header(line: &[u8]) -> Result<(&[u8], usize, &[u8]), Problem> {
    // A colon is no part of a word.
    let end = line.iter().position(|byte| !is_token(*byte)).unwrap_or(line.len());
    if end == 0 || line.get(end) != Some(&b':') {
        // Also what continues the line before, and whitespace before the colon.
        let has_colon = line.contains(&b':');
        return Err(malformed(if has_colon { "the name of a header is no word" } else { "a header has no colon" }));
    }
    let (name, value) = (&line[..end], &line[end + 1..]);
    // All bytes are looked at, because that is done many at a time.
    let is_text = |byte: u8| byte == b'\t' || (byte >= b' ' && byte != 0x7f);
    if !value.iter().fold(true, |so_far, byte| so_far & is_text(*byte)) {
        return Err(malformed("a header contains a control character"));
    }
    let value = value.trim_ascii_start();
    Ok((name, line.len() - value.len(), value.trim_ascii_end()))
}

fn decimal(digits: &[u8]) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| std::str::from_utf8(digits).ok()?.parse().ok()).flatten()
}

fn is_token(byte: u8) -> bool {
    TOKEN[usize::from(byte)]
}

/// Which bytes a word is made of. Every byte of every name of a header is looked up here.
const TOKEN: [bool; 256] = letters_digits_and(b"!#$%&'*+-.^_`|~");
/// Which bytes a usual path is made of.
const PLAIN: [bool; 256] = letters_digits_and(b"/-._~");

const fn letters_digits_and(marks: &[u8]) -> [bool; 256] {
    let (mut table, mut byte, mut mark) = ([false; 256], 0, 0);
    while byte < 256 {
        table[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    while mark < marks.len() {
        table[marks[mark] as usize] = true;
        mark += 1;
    }
    table
}

#[cfg(test)]
mod tests;
