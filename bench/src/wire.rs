//! One connection that speaks as little HTTP as a measurement needs: whole requests out, whole answers in.
//!
//! What holds: a request is one write of bytes that were made before, and an answer is read to its end. Whatever the
//! client costs is taken from what it measures.

use std::net::SocketAddr;

use anyhow::{Context as _, bail};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const HEADERS_MAX: usize = 32;

/// A connection.
pub(crate) struct Wire {
    socket: TcpStream,
}

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// The body, if the status says that all went well.
    pub(crate) fn fine(self) -> anyhow::Result<Vec<u8>> {
        if self.status >= 300 {
            bail!("the server answers {}: {}", self.status, String::from_utf8_lossy(&self.body));
        }
        Ok(self.body)
    }
}

/// A whole request.
pub(crate) fn request(method: &str, path: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

impl Wire {
    pub(crate) async fn connect(address: SocketAddr) -> anyhow::Result<Wire> {
        let socket = TcpStream::connect(address).await.with_context(|| format!("nobody answers at {address}"))?;
        socket.set_nodelay(true)?;
        Ok(Wire { socket })
    }

    /// Sends a request and reads its answer.
    pub(crate) async fn ask(&mut self, request: &[u8]) -> anyhow::Result<Answer> {
        self.socket.write_all(request).await?;
        let mut bytes = Vec::with_capacity(16 << 10);
        let head = loop {
            if self.socket.read_buf(&mut bytes).await? == 0 {
                bail!("the server has closed the connection");
            }
            if let Some(head) = Head::read(&bytes)? {
                break head;
            }
        };
        bytes.drain(..head.length);
        bytes.reserve_exact(head.body_length.saturating_sub(bytes.len()));
        while bytes.len() < head.body_length {
            if self.socket.read_buf(&mut bytes).await? == 0 {
                bail!("an answer broke off");
            }
        }
        Ok(Answer { status: head.status, body: bytes })
    }
}

/// What stands before a body.
pub(crate) struct Head {
    pub(crate) status: u16,
    /// Of itself.
    pub(crate) length: usize,
    pub(crate) body_length: usize,
}

impl Head {
    /// None if there is more to come.
    pub(crate) fn read(bytes: &[u8]) -> anyhow::Result<Option<Head>> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut response = httparse::Response::new(&mut headers);
        let httparse::Status::Complete(length) = response.parse(bytes)? else { return Ok(None) };
        let body = response.headers.iter().find(|header| header.name.eq_ignore_ascii_case("content-length"));
        let body = body.context("an answer without a length")?;
        let body_length = std::str::from_utf8(body.value)?.parse()?;
        Ok(Some(Head { status: response.code.context("an answer without a status")?, length, body_length }))
    }
}
