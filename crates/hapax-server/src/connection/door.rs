//! The door of a connection: bytes come in here, and go on to hyper as whole, checked heads and the bodies behind them.
//!
//! What holds: hyper never sees a byte of a head that was refused; while a request is answered the next one waits here;
//! the end of each body is known, because a head says one thing and chunks are read along. So the next head is always
//! found where hyper looks for it.
//!
//! Deadlines: for the first head from the start, for each further one from its first byte, for the pause between two
//! requests, and for a reader of answers that does not read. The deadline of bodies is where they are read.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, BytesMut};
use hapax_core::problem::{Problem, ProblemCode};
use memchr::memchr;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};
use tokio_util::io::poll_read_buf;

use super::answering::Answering;
use super::chunks::Chunks;
use super::head::{self, Framing};
use super::pace::Pace;
use super::{LINGER, answer_of};
use crate::config::Limits;
use crate::http::malformed;
use crate::metrics::Metrics;

/// What is read at once: a usual head, and an event behind it. Every connection holds so much, also while nothing comes.
const READ_BYTES: usize = 8 << 10;
/// The most that is read at once into hyper's own buffer.
const PIECE_BYTES: u64 = 64 << 10;

/// The bytes' way, with a guard.
pub(super) struct Door<I> {
    io: I,
    limits: Limits,
    metrics: Arc<Metrics>,
    answering: Answering,
    /// Read, and not handed on.
    held: BytesMut,
    /// So many of the held bytes are a head that was found good.
    good: usize,
    /// How much of the held bytes was looked at for the end of a head.
    looked_at: usize,
    /// Where the line begins that is looked at.
    line: usize,
    body: Left,
    is_first: bool,
    waits_for: Wait,
    sleep: Pin<Box<Sleep>>,
    writing: Pace,
    end: End,
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

/// How the connection ends.
enum End {
    NotYet,
    /// With an answer that is still to be written.
    Refused(Vec<u8>),
    /// By listening for a while.
    Lingering,
    Over,
}

impl<I: AsyncRead + AsyncWrite + Unpin> Door<I> {
    pub(super) fn new(io: I, limits: &Limits, metrics: Arc<Metrics>, answering: Answering) -> Self {
        Self {
            io,
            limits: limits.clone(),
            metrics,
            answering,
            held: BytesMut::new(),
            good: 0,
            looked_at: 0,
            line: 0,
            body: Left::Length(0),
            is_first: true,
            waits_for: Wait::FirstByte,
            sleep: Box::pin(tokio::time::sleep(limits.header_timeout)),
            writing: Pace::new(limits.write_timeout, limits.body_rate_min),
            end: End::NotYet,
        }
    }

    /// Waits for a whole head. Answers whether there is one; if not, the connection ends.
    fn poll_head(&mut self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        loop {
            if !matches!(self.end, End::NotYet) {
                return Poll::Ready(Ok(false));
            }
            if self.answering.is_running(context) {
                return self.poll_gone(context);
            }
            match self.look() {
                Ok(Some((end, framing))) => {
                    (self.good, self.looked_at, self.line) = (end, 0, 0);
                    (self.is_first, self.waits_for) = (false, Wait::Nothing);
                    self.body = match framing {
                        Framing::Length(length) => Left::Length(length),
                        Framing::Chunked => Left::Chunks(Chunks::new()),
                    };
                    self.answering.begin();
                    return Poll::Ready(Ok(true));
                }
                Ok(None) => {}
                Err(problem) => {
                    self.refuse(&problem);
                    continue;
                }
            }
            match self.poll_more(context) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Ok(false)),
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    ready!(self.poll_late(context));
                    if !self.held.is_empty() {
                        let late = "the request's line and headers did not arrive in time";
                        self.refuse(&Problem::new(ProblemCode::RequestTimeout, late));
                    } else {
                        self.end = End::Over;
                    }
                }
            }
        }
    }

    /// While a request is answered: is the client still there? What it sends meanwhile is kept, up to a head's size.
    fn poll_gone(&mut self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        self.waits_for = Wait::Nothing;
        while self.held.len() < self.limits.header_bytes_max {
            if ready!(self.poll_more(context))? == 0 {
                return Poll::Ready(Ok(false));
            }
        }
        Poll::Pending
    }

    /// Looks for the end of a head in what is held.
    fn look(&mut self) -> Result<Option<(usize, Framing)>, Problem> {
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
                let head = head::check(&self.held[..self.looked_at])?;
                return Ok(Some((self.looked_at, head)));
            }
        }
        if self.looked_at.max(self.held.len()) > max {
            return Err(head::too_large(&format!("a request's line and headers are at most {max} bytes")));
        }
        self.looked_at = self.held.len();
        Ok(None)
    }

    /// Reads something more. Answers how much; nothing is the end.
    fn poll_more(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.held.reserve(READ_BYTES);
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
            self.sleep.as_mut().reset(Instant::now() + time);
        }
        self.sleep.as_mut().poll(context)
    }

    /// Ends the connection with an answer, once hyper has no other to give.
    fn refuse(&mut self, problem: &Problem) {
        self.metrics.refused(problem.status);
        self.end = End::Refused(answer_of(problem));
    }

    /// Hands on a part of the body.
    fn poll_body(&mut self, context: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.held.is_empty() && matches!(self.body, Left::Length(_)) {
            return self.poll_straight(context, out);
        }
        if self.held.is_empty() && ready!(self.poll_more(context))? == 0 {
            return Poll::Ready(Ok(()));
        }
        let here = self.held.len().min(out.remaining());
        let count = match &mut self.body {
            Left::Length(left) => {
                let count = usize::try_from(*left).map_or(here, |left| left.min(here));
                *left -= count as u64;
                count
            }
            Left::Chunks(chunks) => match chunks.read(&self.held[..here]) {
                Ok(count) => count,
                Err(_) => {
                    // hyper sees the body break off, and the request is answered so.
                    self.body = Left::Broken;
                    0
                }
            },
            Left::Broken => 0,
        };
        self.hand_on(count, out);
        Poll::Ready(Ok(()))
    }

    /// Reads a body of known length without holding it in between.
    fn poll_straight(&mut self, context: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Left::Length(left) = &mut self.body else { return Poll::Ready(Ok(())) };
        let before = out.filled().len();
        let mut piece = (&mut self.io).take((*left).min(PIECE_BYTES));
        ready!(Pin::new(&mut piece).poll_read(context, out))?;
        *left -= (out.filled().len() - before) as u64;
        Poll::Ready(Ok(()))
    }

    fn hand_on(&mut self, count: usize, out: &mut ReadBuf<'_>) {
        out.put_slice(&self.held[..count]);
        self.held.advance(count);
    }

    /// Is something of the request still to come?
    fn is_unread(&self) -> bool {
        match &self.body {
            Left::Length(left) => *left > 0,
            Left::Chunks(chunks) => !chunks.is_end(),
            Left::Broken => true,
        }
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin> AsyncRead for Door<I> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if out.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        if this.good == 0 {
            if this.is_unread() {
                return this.poll_body(context, out);
            }
            if !ready!(this.poll_head(context))? {
                return Poll::Ready(Ok(()));
            }
        }
        let count = this.good.min(out.remaining());
        this.good -= count;
        this.hand_on(count, out);
        Poll::Ready(Ok(()))
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin> Door<I> {
    /// Has nothing moved for too long?
    fn in_time<T>(&mut self, context: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if polled.is_pending() && self.writing.is_late(context) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        polled
    }

    fn wrote(&mut self, context: &mut Context<'_>, polled: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = &polled {
            self.writing.moved(*bytes);
        }
        self.in_time(context, polled)
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Door<I> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.io).poll_write(context, bytes);
        self.wrote(context, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.io).poll_write_vectored(context, slices);
        self.wrote(context, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.io).poll_flush(context);
        if polled.is_ready() {
            // hyper asks for it when it has nothing more to write.
            self.writing.rest();
        }
        self.in_time(context, polled)
    }

    /// hyper has said all that it had to say.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            match &mut this.end {
                End::Refused(answer) if !answer.is_empty() => {
                    let polled = Pin::new(&mut this.io).poll_write(context, answer);
                    if let Poll::Ready(Ok(count)) = &polled {
                        answer.drain(..*count);
                        if *count == 0 {
                            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
                        }
                    }
                    ready!(this.wrote(context, polled))?;
                }
                End::Refused(_) | End::NotYet => {
                    let polled = Pin::new(&mut this.io).poll_shutdown(context);
                    ready!(this.in_time(context, polled))?;
                    let has_more = matches!(this.end, End::Refused(_)) || this.is_unread();
                    this.end = if has_more { End::Lingering } else { End::Over };
                    this.sleep.as_mut().reset(Instant::now() + LINGER);
                }
                End::Lingering => {
                    this.held.clear();
                    let polled = this.poll_more(context);
                    let is_over = match polled {
                        Poll::Ready(Ok(count)) => count == 0,
                        Poll::Ready(Err(_)) => true,
                        Poll::Pending => {
                            ready!(this.sleep.as_mut().poll(context));
                            true
                        }
                    };
                    if is_over || this.sleep.is_elapsed() {
                        this.end = End::Over;
                    }
                }
                End::Over => return Pin::new(&mut this.io).poll_shutdown(context),
            }
        }
    }
}

#[cfg(test)]
mod tests;
