//! One connection: what comes over it, for how long, and what is answered to what is no request at all.
//!
//! ```text
//! bytes ▶ door (whole, strict heads; deadlines) ▶ App::answer ▶ head and body of the answer ▶ bytes
//! ```
//!
//! What holds: requests are answered one after the other, in their order; a body is read when it is asked for and not before; a
//! head that two could read in two ways (two lengths, a length and chunks, lines that end in a bare LF) is refused, and
//! whatever is refused here is a problem like any other. Generic over the bytes' way, so that TLS can be one.
//!
//! HTTP/1.1 and 1.0, and of them what an API needs: no upgrades, no trailers, no compressed answers. Not here: accepting, and who may
//! connect how often.

pub mod chunks;
mod door;
pub mod head;
pub mod headers;
pub mod incoming;
pub(crate) mod pace;
pub(crate) mod places;
mod written;

use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use hapax_core::problem::Problem;
use http::Method;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::watch;

use self::door::{Came, Door};
use self::head::{Asked, Head};
use self::incoming::{Incoming, Passage};
use self::written::{Framed, Written};
use crate::http::{App, BrokenOff, Pieces, Reply, Stream};

/// Who was refused is listened to for so long, because closing at once could take the answer away again.
const LINGER: Duration = Duration::from_secs(1);
/// Answers up to this size are copied behind their heads.
const COPIED_MAX: usize = 4 << 10;

/// Serves a connection until either side ends it.
pub(crate) async fn serve<I>(io: I, peer: IpAddr, app: Arc<App>)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let stopping = app.stopping();
    let connection = Connection { door: Door::new(io, &app.limits), written: Written::default(), stopping };
    let refused = |status| app.metrics.refused(status);
    let answer = |head: Box<Head>, body| {
        let app = Arc::clone(&app);
        async move { app.answer(head, body, peer).await }
    };
    // A connection that breaks off is the client's affair.
    _ = connection.run(answer, refused).await;
}

struct Connection<I> {
    door: Door<I>,
    written: Written,
    stopping: watch::Receiver<bool>,
}

impl<I: AsyncRead + AsyncWrite + Unpin> Connection<I> {
    /// Answers one request after the other.
    async fn run<F>(mut self, answer: impl Fn(Box<Head>, Incoming) -> F, refused: impl Fn(u16)) -> io::Result<()>
    where
        F: Future<Output = Reply>,
    {
        let mut stopping = self.stopping.clone();
        let mut stop = pin!(stopping.wait_for(|stops| *stops));
        let mut stops = false;
        loop {
            let came = poll_fn(|context| {
                if let Poll::Ready(came) = self.door.poll_head(context) {
                    return Poll::Ready(came);
                }
                // A request of which something is here is still answered.
                stops = stops || stop.as_mut().poll(context).is_ready();
                if stops && self.door.is_empty() { Poll::Ready(Came::Over) } else { Poll::Pending }
            });
            let asked = match came.await {
                Came::Request(asked) => asked,
                Came::Refused(problem) => {
                    refused(problem.status);
                    self.door.write(&mut [IoSlice::new(&answer_of(&problem))]).await?;
                    self.door.end(true).await;
                    return Ok(());
                }
                Came::Over => {
                    self.door.end(false).await;
                    return Ok(());
                }
            };
            let Asked { head, is_11, is_last, .. } = asked;
            let is_head = head.method == Method::HEAD;
            let (body, passage) = self.door.body();
            let Some(mut reply) = self.answered(answer(head, body), passage.as_ref()).await else { return Ok(()) };
            let after = reply.take_after();
            let is_endless = !is_11 && matches!(reply.pieces(), Pieces::Streamed(_));
            let ends = is_last || is_endless || reply.closes() || !self.door.can_go_on() || *self.stopping.borrow();
            if !self.tell(reply, Framed { is_head, is_11, ends }).await? {
                self.door.end(false).await;
                return Ok(());
            }
            drop(after);
            if !self.door.pass_by().await {
                self.door.end(true).await;
                return Ok(());
            }
        }
    }

    /// Waits for the answer, and reads the body for it. Nothing if the client is gone before.
    async fn answered(&mut self, answer: impl Future<Output = Reply>, passage: Option<&Passage>) -> Option<Reply> {
        let mut answer = pin!(answer);
        poll_fn(|context| {
            loop {
                if let Poll::Ready(reply) = answer.as_mut().poll(context) {
                    return Poll::Ready(Some(reply));
                }
                let Some((passage, mut lent)) = passage.and_then(|it| it.lent().map(|lent| (it, lent))) else {
                    return self.door.poll_gone(context).map(|()| None);
                };
                match self.door.poll_body(context, &mut lent) {
                    Poll::Ready(came) => passage.fill(lent, came),
                    Poll::Pending => {
                        passage.keep(lent);
                        return Poll::Pending;
                    }
                }
            }
        })
        .await
    }

    /// Writes an answer. False if the connection ends with it.
    async fn tell(&mut self, reply: Reply, framed: Framed) -> io::Result<bool> {
        let head = self.written.begin(&reply, &framed);
        match reply.into_pieces() {
            // Copied behind the head it is one write; a large one is not copied.
            Pieces::Whole(body) if framed.is_head || body.len() <= COPIED_MAX => {
                head.extend_from_slice(if framed.is_head { b"" } else { &body });
                self.door.write(&mut [IoSlice::new(head)]).await?;
            }
            Pieces::Whole(body) => self.door.write(&mut [IoSlice::new(head), IoSlice::new(&body)]).await?,
            Pieces::Streamed(pieces) => {
                self.door.write(&mut [IoSlice::new(head)]).await?;
                if !framed.is_head {
                    self.stream(pieces, framed.is_11).await?;
                }
            }
        }
        Ok(!framed.ends)
    }

    /// Writes pieces as they come, in chunks where there are chunks.
    async fn stream(&mut self, mut pieces: Stream, is_11: bool) -> io::Result<()> {
        while let Some(piece) = self.next(&mut pieces).await {
            // What breaks off is cut off, so that nobody takes a part for the whole.
            let piece = piece.map_err(|_| io::Error::from(io::ErrorKind::UnexpectedEof))?;
            match (piece.len(), is_11) {
                (0, _) => {}
                (length, true) => {
                    let line = format!("{length:x}\r\n");
                    let mut parts = [line.as_bytes(), &piece, b"\r\n"].map(IoSlice::new);
                    self.door.write(&mut parts).await?;
                }
                (_, false) => self.door.write(&mut [IoSlice::new(&piece)]).await?,
            }
        }
        if is_11 {
            self.door.write(&mut [IoSlice::new(b"0\r\n\r\n")]).await?;
        }
        Ok(())
    }

    /// The next piece of an answer, and nothing at its end. An error if nobody is there to hear it.
    async fn next(&mut self, pieces: &mut Stream) -> Option<Result<Bytes, BrokenOff>> {
        poll_fn(|context| {
            if let Poll::Ready(piece) = pieces.poll_recv(context) {
                return Poll::Ready(piece);
            }
            self.door.poll_gone(context).map(|()| Some(Err(BrokenOff)))
        })
        .await
    }
}

/// Tells a client that it is one too many, as far as that goes in a moment, and closes.
pub(crate) async fn refuse<I: AsyncRead + AsyncWrite + Unpin>(mut io: I, problem: &Problem) {
    let telling = async {
        io.write_all(&answer_of(problem)).await?;
        io.shutdown().await?;
        let mut rest = [0; 1024];
        while io.read(&mut rest).await? > 0 {}
        Ok::<_, io::Error>(())
    };
    // Whether it was heard is the client's affair.
    _ = tokio::time::timeout(LINGER, telling).await;
}

/// A problem as the last answer of a connection, for where there is no request.
fn answer_of(problem: &Problem) -> Vec<u8> {
    let reply = Reply::problem(problem);
    let mut written = Written::default();
    let answer = written.begin(&reply, &Framed { is_head: false, is_11: true, ends: true });
    if let Pieces::Whole(body) = reply.into_pieces() {
        answer.extend_from_slice(&body);
    }
    std::mem::take(answer)
}

#[cfg(test)]
mod tests;
