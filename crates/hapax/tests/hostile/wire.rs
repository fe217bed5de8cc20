//! Bytes over a socket, exactly as written, and what comes back.

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use crate::process::Server;

/// Whoever waits longer for an answer waits for ever.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks.
const MOMENT: Duration = Duration::from_millis(20);

/// A connection.
pub struct Wire {
    socket: TcpStream,
    heard: Vec<u8>,
    is_over: bool,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Heard {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Heard {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {} {}", self.head, self.text()))
    }

    /// It is this problem, in the form that every problem has.
    #[track_caller]
    pub fn problem(&self, status: u16, code: &str, what: &str) {
        assert!(self.head.contains("content-type: application/problem+json"), "{what}: {} {}", self.head, self.text());
        let problem = self.json();
        assert_eq!((self.status, problem["code"].as_str()), (status, Some(code)), "{what}: {problem}");
        assert_eq!(problem["status"], status, "{what}");
        assert_eq!(problem["effect"], "none", "{what}");
        let type_ = format!("/problems/{code}");
        assert_eq!(problem["type"].as_str(), Some(type_.as_str()), "{what}");
    }
}

impl Wire {
    pub fn to(server: &Server) -> Self {
        Self::over(TcpStream::connect(server.address).expect("a connection"))
    }

    /// From another address of this machine.
    pub fn from(address: &str, server: &Server) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let address: IpAddr = address.parse().expect("an address");
        let socket = runtime.block_on(async {
            let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
            socket.bind(SocketAddr::new(address, 0)).expect("an address of this machine");
            socket.connect(server.address).await.expect("a connection").into_std().expect("a socket")
        });
        socket.set_nonblocking(false).expect("a socket that waits");
        Self::over(socket)
    }

    fn over(socket: TcpStream) -> Self {
        socket.set_nodelay(true).expect("no delay");
        socket.set_read_timeout(Some(MOMENT)).expect("a deadline");
        socket.set_write_timeout(Some(PATIENCE)).expect("a deadline");
        Self { socket, heard: Vec::new(), is_over: false }
    }

    /// Sends bytes; false if nobody takes them any more.
    pub fn say(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.socket.write_all(bytes.as_ref()).is_ok()
    }

    /// Listens for a moment. False if the other side has closed.
    pub fn listen(&mut self) -> bool {
        let mut bytes = [0; 64 << 10];
        match self.socket.read(&mut bytes) {
            Ok(0) => self.is_over = true,
            Ok(count) => self.heard.extend_from_slice(&bytes[..count]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => self.is_over = true,
        }
        !self.is_over
    }

    /// Sends and listens in turns until an answer is there.
    pub fn drip(&mut self, mut piece: impl FnMut(usize) -> Vec<u8>) -> Heard {
        let looks = PATIENCE.as_millis() / MOMENT.as_millis();
        for number in 0..looks as usize {
            if let Some(heard) = self.take() {
                return heard;
            }
            let piece = piece(number);
            if !piece.is_empty() {
                self.say(piece);
            }
            self.listen();
            assert!(!self.is_over || !self.heard.is_empty(), "closed without an answer");
        }
        panic!("no answer within {PATIENCE:?}");
    }

    /// The next answer, unless the other side only closes.
    pub fn try_hear(&mut self) -> Option<Heard> {
        let looks = PATIENCE.as_millis() / MOMENT.as_millis();
        for _ in 0..looks {
            let is_open = self.listen();
            let heard = self.take();
            if heard.is_some() || !is_open {
                return heard;
            }
        }
        panic!("no answer within {PATIENCE:?}");
    }

    /// The next answer.
    pub fn hear(&mut self) -> Heard {
        self.drip(|_| Vec::new())
    }

    /// Everything until the other side closes.
    pub fn hear_all(&mut self) -> Vec<u8> {
        let looks = PATIENCE.as_millis() / MOMENT.as_millis();
        for _ in 0..looks {
            if !self.listen() {
                return std::mem::take(&mut self.heard);
            }
        }
        panic!("still open after {PATIENCE:?}");
    }

    /// Waits until the other side closes, and has nothing more to say.
    #[track_caller]
    pub fn is_closed(&mut self, what: &str) {
        let rest = self.hear_all();
        assert!(rest.is_empty(), "{what}: {}", String::from_utf8_lossy(&rest));
    }

    /// An answer, if it is there as a whole.
    fn take(&mut self) -> Option<Heard> {
        let end = self.heard.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
        let head = String::from_utf8_lossy(&self.heard[..end]).to_lowercase();
        let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).expect("a status");
        let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned));
        let (body, used) = if let Some(length) = field("content-length: ") {
            let length: usize = length.trim().parse().expect("a length");
            (self.heard.get(end..end + length)?.to_vec(), end + length)
        } else {
            chunked(&self.heard, end)?
        };
        self.heard.drain(..used);
        Some(Heard { status, head, body })
    }
}

fn chunked(bytes: &[u8], mut at: usize) -> Option<(Vec<u8>, usize)> {
    let mut body = Vec::new();
    loop {
        let end = at + bytes.get(at..)?.windows(2).position(|two| two == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[at..end]).ok()?, 16).ok()?;
        body.extend_from_slice(bytes.get(end + 2..end + 2 + size)?);
        at = end + 2 + size + 2;
        if size == 0 {
            return (bytes.len() >= at).then_some((body, at));
        }
    }
}

/// A request with a body, on a connection of its own.
pub fn ask(server: &Server, line: &str, headers: &[(&str, &str)], body: &[u8]) -> Heard {
    let mut wire = Wire::to(server);
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!("{line} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n{headers}\r\n", body.len());
    wire.say(head);
    wire.say(body);
    wire.hear()
}

/// Memory of the server in bytes: now, and at its highest.
pub fn memory(server: &Server) -> (u64, u64) {
    let status = fs::read_to_string(format!("/proc/{}/status", server.id())).expect("the server's process");
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a field");
        line.trim().trim_end_matches("kB").trim().parse::<u64>().expect("a number") << 10
    };
    (field("VmRSS:"), field("VmHWM:"))
}

/// Open files and sockets of the server.
pub fn open_files(server: &Server) -> usize {
    fs::read_dir(format!("/proc/{}/fd", server.id())).expect("the server's process").count()
}

/// Looks again and again until it holds.
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let looks = PATIENCE.as_millis() / MOMENT.as_millis();
    let (_waker, timer) = std::sync::mpsc::channel::<()>();
    for _ in 0..looks {
        if holds() {
            return;
        }
        // Nobody sends: it is a pause between two looks.
        _ = timer.recv_timeout(MOMENT);
    }
    panic!("not within {PATIENCE:?}: {what}");
}
