//! The head of an answer, as bytes.
//!
//! The memory is used again for each answer of a connection, and the date is written once a second.

use std::time::{Duration, UNIX_EPOCH};

use http::StatusCode;

use crate::clock::seconds;
use crate::http::{Pieces, Reply};

/// Memory for heads.
#[derive(Debug, Default)]
pub(super) struct Written {
    bytes: Vec<u8>,
    /// The date, and the second that it is of.
    date: String,
    second: u64,
}

/// What decides how an answer is framed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Framed {
    /// Is only the head asked for?
    pub(super) is_head: bool,
    /// Is it HTTP/1.1, and not 1.0?
    pub(super) is_11: bool,
    /// Does the connection end with it?
    pub(super) ends: bool,
}

impl Written {
    /// Begins an answer with its head.
    pub(super) fn begin(&mut self, reply: &Reply, framed: &Framed) -> &mut Vec<u8> {
        self.renew_date();
        let bytes = &mut self.bytes;
        bytes.clear();
        let status = StatusCode::from_u16(reply.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        bytes.extend_from_slice(if framed.is_11 { b"HTTP/1.1 " } else { b"HTTP/1.0 " });
        bytes.extend_from_slice(status.as_str().as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(status.canonical_reason().unwrap_or_default().as_bytes());
        bytes.extend_from_slice(b"\r\n");
        let mut add = |name: &str, value: &str| {
            for part in [name, ": ", value, "\r\n"] {
                bytes.extend_from_slice(part.as_bytes());
            }
        };
        for (name, value) in reply.headers().filter(|(name, _)| *name != "connection") {
            add(name, value);
        }
        match (reply.pieces(), framed.is_11) {
            (Pieces::Whole(body), _) => add("content-length", &body.len().to_string()),
            (Pieces::Streamed(_), true) => add("transfer-encoding", "chunked"),
            // It ends with the connection.
            (Pieces::Streamed(_), false) => {}
        }
        match (framed.ends, framed.is_11) {
            (true, _) => add("connection", "close"),
            (false, true) => {}
            (false, false) => add("connection", "keep-alive"),
        }
        add("date", &self.date);
        bytes.extend_from_slice(b"\r\n");
        bytes
    }

    fn renew_date(&mut self) {
        let now = seconds();
        if now != self.second || self.date.is_empty() {
            self.second = now;
            self.date = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(now));
        }
    }
}
