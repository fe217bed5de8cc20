//! A connection for a measurement: bytes that were made before go out, an answer is read to its end, and kept.
//!
//! What holds: while the clock runs nothing is parsed but where an answer ends, and nothing is set aside: the memory for the
//! answers was touched before. Whatever the client costs is taken from what it measures. Not here: who takes turns (`drive`).

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use crate::clock::now;

/// Silence for so long is no answer any more.
pub(super) const SILENCE_MAX: Duration = Duration::from_secs(60);

const READ_BYTES: usize = 64 << 10;

/// Knows where answers end.
pub(super) trait Listener: Send {
    /// So many parts make an answer from now on.
    fn expect(&mut self, parts: usize);

    /// Is this, from the beginning of an answer on, a whole one? Asked again with more until it is.
    fn is_whole(&mut self, answer: &[u8]) -> anyhow::Result<bool>;
}

/// A connection, and what was heard on it.
pub(super) struct Line {
    pub(super) socket: TcpStream,
    listener: Box<dyn Listener>,
    /// Room for answers; as far as `filled` there are some.
    heard: Vec<u8>,
    filled: usize,
    ends: Vec<usize>,
    /// How long each answer took.
    pub(super) waits: Vec<Duration>,
}

/// A request on its way.
pub(super) struct Asked<'a> {
    request: &'a [u8],
    written: usize,
    at: Instant,
}

impl<'a> Asked<'a> {
    pub(super) fn new(request: &'a [u8]) -> Asked<'a> {
        Asked { request, written: 0, at: now() }
    }
}

impl Line {
    pub(super) fn connect(address: SocketAddr, listener: impl Listener + 'static) -> anyhow::Result<Line> {
        let socket = TcpStream::connect(address).with_context(|| format!("nobody answers at {address}"))?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(SILENCE_MAX))?;
        socket.set_write_timeout(Some(SILENCE_MAX))?;
        let heard = vec![1; READ_BYTES];
        Ok(Line { socket, listener: Box::new(listener), heard, filled: 0, ends: Vec::new(), waits: Vec::new() })
    }

    /// Asks, and forgets the answer as soon as it is given.
    pub(super) fn ask(&mut self, request: &[u8], parts: usize) -> anyhow::Result<Vec<u8>> {
        self.listener.expect(parts);
        self.talk(&[request])?;
        let answer = self.heard[..self.filled].to_vec();
        (self.filled, self.ends, self.waits) = (0, Vec::new(), Vec::new());
        Ok(answer)
    }

    /// Touches the memory for answers like this one, of so many parts each.
    pub(super) fn make_ready(&mut self, answers: usize, bytes_each: usize, parts: usize) {
        self.listener.expect(parts);
        self.heard = vec![1; answers * (bytes_each + bytes_each / 8) + 2 * READ_BYTES];
        self.ends.reserve(answers);
        self.waits.reserve(answers);
    }

    /// Asks one after the other, on a socket that blocks.
    pub(super) fn talk(&mut self, requests: &[impl AsRef<[u8]>]) -> anyhow::Result<()> {
        for request in requests {
            let mut asked = Asked::new(request.as_ref());
            if !self.go_on(&mut asked)? {
                bail!("no answer for {SILENCE_MAX:?}");
            }
        }
        Ok(())
    }

    /// Writes as far as the socket allows.
    pub(super) fn say(&mut self, asked: &mut Asked<'_>) -> anyhow::Result<()> {
        while asked.written < asked.request.len() {
            match self.socket.write(&asked.request[asked.written..]) {
                Ok(bytes) => asked.written += bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Writes and reads as far as the socket allows. True if the answer is whole.
    pub(super) fn go_on(&mut self, asked: &mut Asked<'_>) -> anyhow::Result<bool> {
        self.say(asked)?;
        loop {
            if self.heard.len() - self.filled < READ_BYTES {
                self.heard.resize(2 * self.heard.len(), 1);
            }
            match self.socket.read(&mut self.heard[self.filled..]) {
                Ok(0) => bail!("the server has closed the connection"),
                Ok(bytes) => self.filled += bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            }
            let begin = self.ends.last().copied().unwrap_or(0);
            if self.listener.is_whole(&self.heard[begin..self.filled])? {
                self.ends.push(self.filled);
                self.waits.push(asked.at.elapsed());
                return Ok(true);
            }
        }
    }

    /// All answers since the last question that was forgotten.
    pub(super) fn answers(&self) -> impl Iterator<Item = &[u8]> {
        let begins = [0].into_iter().chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, end)| &self.heard[begin..*end])
    }
}
