//! The door of a connection: bytes come in here and are read as whole, checked heads and the bodies behind them; answers go out.
//!
//! What holds: nobody sees a byte of a head that was refused; the end of each body is known, because a head says one thing and
//! chunks are read along, so the next head is always found where it begins.
//!
//! Deadlines: for the first head from the start, for each further one from its first byte, for the pause between two
//! requests, and for a reader of answers that does not read. The deadline of bodies is where they are read.

use std::future::{Future as _, poll_fn};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, BytesMut};
use hapax_core::problem::{Problem, ProblemCode};
use memchr::memchr;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::{Instant, Sleep};
use tokio_util::io::poll_read_buf;

use super::LINGER;
use super::chunks::Chunks;
use super::head::{self, Asked, Framing};
use super::incoming::{Incoming, Passage};
use super::pace::Pace;
use crate::config::Limits;
use crate::http::{BrokenOff, malformed};

/// What is read at once: a usual head, and an event behind it. Every connection holds so much, also while nothing comes.
const READ_BYTES: usize = 8 << 10;
/// The most of a body that nobody reads, and that is let pass by to keep the connection.
const PASSED_BY_MAX: u64 = 64 << 10;
/// Said to who waits for a word before it sends a body.
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// The bytes' way, with a guard.
pub(super) struct Door<I> {
    io: I,
    limits: Limits,
    /// Read, and not handed on.
    held: BytesMut,
    /// How much of the held bytes was looked at for the end of a head.
    looked_at: usize,
    /// Where the line begins that is looked at.
    line: usize,
    body: Left,
    /// What is still to be said before the body comes.
    owed: &'static [u8],
    is_first: bool,
    waits_for: Wait,
    until: Instant,
    /// Ends at `until` or before; then it is set anew. To set it for each request would cost more than to let it end for nothing.
    sleep: Pin<Box<Sleep>>,
    writing: Pace,
}

/// What is left of the body.
enum Left {
    Length(u64),
    Chunks(Chunks),
    /// It is no body, and nothing after it can be read.
    Broken,
}

/// What the deadline is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    Nothing,
    FirstByte,
    NextRequest,
    RestOfHead,
}

/// What came.
pub(super) enum Came {
    Request(Asked),
    /// What is no request, and why.
    Refused(Problem),
    /// Nothing more.
    Over,
}

impl<I: AsyncRead + AsyncWrite + Unpin> Door<I> {
    pub(super) fn new(io: I, limits: &Limits) -> Self {
        let until = Instant::now() + limits.header_timeout;
        Self {
            io,
            limits: limits.clone(),
            held: BytesMut::new(),
            looked_at: 0,
            line: 0,
            body: Left::Length(0),
            owed: b"",
            is_first: true,
            waits_for: Wait::FirstByte,
            until,
            sleep: Box::pin(tokio::time::sleep_until(until)),
            writing: Pace::new(limits.write_timeout, limits.body_rate_min),
        }
    }

    /// Is nothing of a request here?
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Waits for a whole head.
    pub(super) fn poll_head(&mut self, context: &mut Context<'_>) -> Poll<Came> {
        loop {
            match self.look() {
                Ok(Some(asked)) => {
                    (self.looked_at, self.line) = (0, 0);
                    (self.is_first, self.waits_for) = (false, Wait::Nothing);
                    self.body = match asked.framing {
                        Framing::Length(length) => Left::Length(length),
                        Framing::Chunked => Left::Chunks(Chunks::new()),
                    };
                    self.owed = if asked.expects && self.is_unread() { CONTINUE } else { b"" };
                    return Poll::Ready(Came::Request(asked));
                }
                Ok(None) => {}
                Err(problem) => return Poll::Ready(Came::Refused(problem)),
            }
            match self.poll_held(context) {
                Poll::Ready(Ok(1..)) => {}
                Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(Came::Over),
                Poll::Pending => {
                    ready!(self.poll_late(context));
                    if self.held.is_empty() {
                        return Poll::Ready(Came::Over);
                    }
                    let late = "the request's line and headers did not arrive in time";
                    return Poll::Ready(Came::Refused(Problem::new(ProblemCode::RequestTimeout, late)));
                }
            }
        }
    }

    /// Looks for the end of a head in what is held.
    fn look(&mut self) -> Result<Option<Asked>, Problem> {
        let max = self.limits.header_bytes_max;
        while let Some(more) = memchr(b'\n', &self.held[self.looked_at..]) {
            let end = self.looked_at + more;
            if end == 0 || self.held[end - 1] != b'\r' {
                return Err(malformed("a line ends in a bare LF"));
            }
            self.looked_at = end + 1;
            if end - 1 > self.line {
                self.line = end + 1;
            } else if self.line == 0 {
                // An empty line before a request is nothing.
                self.held.advance(2);
                self.looked_at = 0;
            } else if self.looked_at > max {
                break;
            } else {
                let head = self.held.split_to(self.looked_at).freeze();
                return head::read(&head).map(Some);
            }
        }
        if self.looked_at.max(self.held.len()) > max {
            return Err(head::too_large(&format!("a request's line and headers are at most {max} bytes")));
        }
        self.looked_at = self.held.len();
        Ok(None)
    }

    /// Reads something more into what is held. Answers how much; nothing is the end.
    fn poll_held(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        // Memory that was handed on is used again once it was let go; while it is not, what is left of it will do.
        if self.held.capacity() - self.held.len() < READ_BYTES / 2 {
            self.held.reserve(READ_BYTES);
        }
        poll_read_buf(Pin::new(&mut self.io), context, &mut self.held)
    }

    /// Ready when the deadline is over for what is waited for now.
    fn poll_late(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let (wait, time) = match (self.is_first, self.held.is_empty()) {
            (true, true) => (Wait::FirstByte, self.limits.header_timeout),
            // From the start of the connection on: a first byte gains no time.
            (true, false) => (self.waits_for, self.limits.header_timeout),
            (false, true) => (Wait::NextRequest, self.limits.idle_timeout),
            (false, false) => (Wait::RestOfHead, self.limits.header_timeout),
        };
        if wait != self.waits_for {
            self.waits_for = wait;
            self.until = Instant::now() + time;
        }
        if self.sleep.deadline() > self.until {
            self.sleep.as_mut().reset(self.until);
        }
        loop {
            ready!(self.sleep.as_mut().poll(context));
            if self.sleep.deadline() >= self.until {
                return Poll::Ready(());
            }
            self.sleep.as_mut().reset(self.until);
        }
    }

    /// The body of the request whose head was read, and the passage that it goes through if not all of it is here.
    pub(super) fn body(&mut self) -> (Incoming, Option<Passage>) {
        let here = self.held.len() as u64;
        let passing = |length_min| {
            let passage = Passage::default();
            (Incoming::passing(length_min, passage.clone()), Some(passage))
        };
        match &mut self.body {
            Left::Length(length) if *length <= here => {
                // No longer than what is held.
                let count = std::mem::take(length) as usize;
                self.owed = b"";
                (Incoming::here(self.held.split_to(count).freeze()), None)
            }
            Left::Length(length) => passing(*length),
            Left::Chunks(_) | Left::Broken => passing(0),
        }
    }

    /// Reads a part of the body into this memory. Answers how much it was; nothing is the end.
    pub(super) fn poll_body(
        &mut self,
        context: &mut Context<'_>,
        into: &mut BytesMut,
    ) -> Poll<Result<usize, BrokenOff>> {
        let broken = |_| BrokenOff;
        while !self.owed.is_empty() {
            let polled = Pin::new(&mut self.io).poll_write(context, self.owed);
            let count = ready!(self.wrote(context, polled)).map_err(broken)?;
            self.owed = &self.owed[count..];
            if self.owed.is_empty() {
                ready!(Pin::new(&mut self.io).poll_flush(context)).map_err(broken)?;
            }
        }
        loop {
            if !self.is_unread() {
                return Poll::Ready(Ok(0));
            }
            if self.held.is_empty()
                && let Left::Length(left) = &mut self.body
            {
                let mut piece = (&mut self.io).take(*left);
                let count = ready!(poll_read_buf(Pin::new(&mut piece), context, into)).map_err(broken)?;
                *left -= count as u64;
                return Poll::Ready(if count == 0 { Err(BrokenOff) } else { Ok(count) });
            }
            if self.held.is_empty() && ready!(self.poll_held(context)).map_err(broken)? == 0 {
                return Poll::Ready(Err(BrokenOff));
            }
            let before = into.len();
            let count = match &mut self.body {
                Left::Length(left) => {
                    let count = usize::try_from(*left).map_or(self.held.len(), |left| left.min(self.held.len()));
                    into.extend_from_slice(&self.held[..count]);
                    *left -= count as u64;
                    count
                }
                Left::Chunks(chunks) => match chunks.read(&self.held, |data| into.extend_from_slice(data)) {
                    Ok(count) => count,
                    Err(_) => {
                        self.body = Left::Broken;
                        return Poll::Ready(Err(BrokenOff));
                    }
                },
                Left::Broken => return Poll::Ready(Err(BrokenOff)),
            };
            self.held.advance(count);
            // A piece of a chunk's line holds nothing.
            if into.len() > before {
                return Poll::Ready(Ok(into.len() - before));
            }
        }
    }

    /// Is something of the request still to come?
    fn is_unread(&self) -> bool {
        match &self.body {
            Left::Length(left) => *left > 0,
            Left::Chunks(chunks) => !chunks.is_end(),
            Left::Broken => true,
        }
    }

    /// Can there be another request after this one, whose body nobody will read any more?
    pub(super) fn can_go_on(&self) -> bool {
        match &self.body {
            Left::Length(left) => *left == 0 || *left <= PASSED_BY_MAX && self.owed.is_empty(),
            Left::Chunks(chunks) => chunks.is_end(),
            Left::Broken => false,
        }
    }

    /// Lets pass by what is left of the body. False if it does not come.
    pub(super) async fn pass_by(&mut self) -> bool {
        if !self.is_unread() {
            return true;
        }
        let mut scrap = BytesMut::new();
        let deadline = Instant::now() + self.limits.header_timeout;
        while self.is_unread() {
            scrap.clear();
            scrap.reserve(READ_BYTES);
            let piece = poll_fn(|context| self.poll_body(context, &mut scrap));
            if !matches!(tokio::time::timeout_at(deadline, piece).await, Ok(Ok(1..))) {
                return false;
            }
        }
        true
    }

    /// While a request is answered: ready when the client is gone. What it sends meanwhile is kept, up to a head's size.
    pub(super) fn poll_gone(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.is_unread() {
            return Poll::Pending;
        }
        while self.held.len() < self.limits.header_bytes_max {
            if !matches!(ready!(self.poll_held(context)), Ok(1..)) {
                return Poll::Ready(());
            }
        }
        Poll::Pending
    }

    /// Has nothing moved for too long?
    fn wrote(&mut self, context: &mut Context<'_>, polled: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match polled {
            Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
            Poll::Ready(Ok(bytes)) => self.writing.moved(bytes),
            Poll::Ready(Err(_)) => {}
            Poll::Pending if self.writing.is_late(context) => {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            Poll::Pending => {}
        }
        polled
    }

    /// Writes one part behind the other; none of them is empty.
    pub(super) async fn write(&mut self, mut parts: &mut [IoSlice<'_>]) -> io::Result<()> {
        while !parts.is_empty() {
            let count = poll_fn(|context| {
                let io = Pin::new(&mut self.io);
                let polled = match &*parts {
                    [part] => io.poll_write(context, part),
                    parts => io.poll_write_vectored(context, parts),
                };
                self.wrote(context, polled)
            });
            let count = count.await?;
            IoSlice::advance_slices(&mut parts, count);
        }
        let flushed = poll_fn(|context| {
            let polled = Pin::new(&mut self.io).poll_flush(context);
            self.wrote(context, polled.map_ok(|()| 1))
        });
        flushed.await?;
        self.writing.rest();
        Ok(())
    }

    /// Ends the connection. Who has more to say is listened to for a moment, because closing at once could take the answer away.
    pub(super) async fn end(&mut self, listens: bool) {
        // Whether any of it was heard is the client's affair.
        let ending = async {
            self.io.shutdown().await?;
            while listens || self.is_unread() {
                self.held.clear();
                self.held.reserve(READ_BYTES);
                if self.io.read_buf(&mut self.held).await? == 0 {
                    break;
                }
            }
            Ok::<_, io::Error>(())
        };
        _ = tokio::time::timeout(LINGER, ending).await;
    }
}
