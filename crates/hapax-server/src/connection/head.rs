//! A request's line and headers, as bytes: do they say one thing, and say it plainly?
//!
//! Stricter than the parser behind it on purpose. What two parsers could read in two ways (RFC 9112, section 11.2) is
//! not read here at all.

use hapax_core::problem::{Problem, ProblemCode};
use hyper::Uri;

use crate::http::malformed;

/// The most header lines. hyper takes no more.
const LINES_MAX: usize = 100;

/// How the body behind a head is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// By its length; none is a length of 0.
    Length(u64),
    /// By its chunks.
    Chunked,
}

/// Reads a whole head, up to and with the empty line. Every LF in it follows a CR; the door has seen to that.
pub fn check(head: &[u8]) -> Result<Framing, Problem> {
    let mut lines = head.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let is_11 = request_line(lines.next().unwrap_or_default())?;
    let (mut hosts, mut length, mut is_chunked) = (0, None, false);
    for (number, line) in lines.take_while(|line| !line.is_empty()).enumerate() {
        if number == LINES_MAX {
            return Err(too_large(&format!("a request has at most {LINES_MAX} headers")));
        }
        let (name, value) = header(line)?;
        if name.eq_ignore_ascii_case(b"host") {
            hosts += 1;
        } else if name.eq_ignore_ascii_case(b"content-length") {
            if length.is_some() {
                return Err(malformed("the request has two Content-Lengths"));
            }
            length = Some(decimal(value).ok_or_else(|| malformed("the Content-Length is not a number"))?);
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            if is_chunked || !value.eq_ignore_ascii_case(b"chunked") {
                return Err(malformed("the only Transfer-Encoding is chunked, once"));
            }
            is_chunked = true;
        }
    }
    if hosts > 1 || (hosts == 0 && is_11) {
        return Err(malformed("a request has one Host"));
    }
    match (length, is_chunked) {
        (Some(_), true) => Err(malformed("the request has a Content-Length and a Transfer-Encoding")),
        (None, true) if !is_11 => Err(malformed("HTTP/1.0 has no Transfer-Encoding")),
        (None, true) => Ok(Framing::Chunked),
        (length, false) => Ok(Framing::Length(length.unwrap_or(0))),
    }
}

/// More than is taken.
pub(super) fn too_large(detail: &str) -> Problem {
    Problem::new(ProblemCode::HeadersTooLarge, detail)
}

/// Is it HTTP/1.1, and not 1.0?
fn request_line(line: &[u8]) -> Result<bool, Problem> {
    let mut parts = line.split(|byte| *byte == b' ');
    let (Some(method), Some(target), Some(version), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(malformed("a request's line is a method, an address and a version, with one space between them"));
    };
    if method.is_empty() || !method.iter().all(|byte| is_token(*byte)) {
        return Err(malformed("the method is no word"));
    }
    if !is_plain_path(target) {
        let unreadable = || malformed("the address cannot be read");
        let uri = Uri::try_from(target).map_err(|_| unreadable())?;
        // A name alone is an address only for tunnels.
        let is_name = uri.scheme().is_none() && uri.authority().is_some() && method != b"CONNECT";
        if is_name || !target.iter().all(u8::is_ascii_graphic) {
            return Err(unreadable());
        }
    }
    match version {
        b"HTTP/1.1" => Ok(true),
        b"HTTP/1.0" => Ok(false),
        _ => Err(malformed("this server speaks HTTP/1.1 and HTTP/1.0")),
    }
}

/// A path as nearly all are, which nobody reads in two ways.
fn is_plain_path(target: &[u8]) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(byte);
    target.starts_with(b"/") && target.iter().all(is_plain)
}

/// Name and value of a header.
fn header(line: &[u8]) -> Result<(&[u8], &[u8]), Problem> {
    let colon = line.iter().position(|byte| *byte == b':').ok_or_else(|| malformed("a header has no colon"))?;
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    // Also what continues the line before, and whitespace before the colon.
    if name.is_empty() || !name.iter().all(|byte| is_token(*byte)) {
        return Err(malformed("the name of a header is no word"));
    }
    let is_text = |byte: &u8| *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f);
    if !value.iter().all(is_text) {
        return Err(malformed("a header contains a control character"));
    }
    Ok((name, value.trim_ascii()))
}

fn decimal(digits: &[u8]) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| std::str::from_utf8(digits).ok()?.parse().ok()).flatten()
}

fn is_token(byte: u8) -> bool {
    TOKEN[usize::from(byte)]
}

/// Which bytes a word is made of. Every byte of every name of a header is looked up here.
const TOKEN: [bool; 256] = {
    let marks = b"!#$%&'*+-.^_`|~";
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
};

#[cfg(test)]
mod tests;
