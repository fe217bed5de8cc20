//! HTTP by hand: just enough to say exactly what goes over the wire.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;

/// A connection that stays open.
pub struct Client {
    stream: BufReader<TcpStream>,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The code of a problem or of a receipt.
    pub fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }
}

impl Client {
    pub fn new(address: SocketAddr) -> Self {
        Self::on(TcpStream::connect(address).expect("a connection"))
    }

    /// On a connection that is there.
    pub fn on(stream: TcpStream) -> Self {
        stream.set_nodelay(true).expect("no delay");
        Self { stream: BufReader::new(stream) }
    }

    /// A request that must be answered.
    pub fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        self.try_send(method, path, headers, body).expect("an answer")
    }

    /// A request that may be cut off.
    pub fn try_send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> io::Result<Reply> {
        let mut out = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers {
            out += &format!("{name}: {value}\r\n");
        }
        out += "\r\n";
        let mut bytes = out.into_bytes();
        bytes.extend_from_slice(body);
        self.stream.get_mut().write_all(&bytes)?;
        self.read()
    }

    /// One line of a body that goes on.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("a line");
        line.trim_end().to_owned()
    }

    /// Sends a request and reads the head of its answer only.
    pub fn open(&mut self, path: &str, headers: &[(&str, &str)]) -> u16 {
        let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let out = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{more}\r\n");
        self.stream.get_mut().write_all(out.as_bytes()).expect("a request");
        self.head().expect("a head").0
    }

    fn head(&mut self) -> io::Result<(u16, Vec<(String, String)>)> {
        let mut line = String::new();
        let gone = || io::Error::from(io::ErrorKind::UnexpectedEof);
        if self.stream.read_line(&mut line)? == 0 {
            return Err(gone());
        }
        let status = line.split(' ').nth(1).and_then(|it| it.parse().ok()).ok_or_else(gone)?;
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(gone());
            }
            match line.trim_end().split_once(": ") {
                Some((name, value)) => headers.push((name.to_lowercase(), value.to_owned())),
                None => return Ok((status, headers)),
            }
        }
    }

    fn read(&mut self) -> io::Result<Reply> {
        let (status, headers) = self.head()?;
        let find = |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let mut body = Vec::new();
        if let Some(length) = find("content-length") {
            body.resize(length.parse().expect("a length"), 0);
            self.stream.read_exact(&mut body)?;
        } else if find("transfer-encoding").is_some() {
            loop {
                let mut size = String::new();
                self.stream.read_line(&mut size)?;
                let size = usize::from_str_radix(size.trim(), 16).map_err(io::Error::other)?;
                let mut piece = vec![0; size + 2];
                self.stream.read_exact(&mut piece)?;
                body.extend_from_slice(&piece[..size]);
                if size == 0 {
                    break;
                }
            }
        }
        Ok(Reply { status, headers, body })
    }
}
