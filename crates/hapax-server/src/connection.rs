//! One connection: what comes over it, for how long, and what is answered to what is no request at all.
//!
//! ```text
//! bytes ▶ door (whole, strict heads; deadlines) ▶ hyper ▶ App::answer
//! ```
//!
//! What holds: hyper sees only heads that say one thing, so nothing that it would settle silently (two lengths, a length
//! and chunks, lines that end in a bare LF) is ever settled; whatever is refused here is a problem like any other.
//! Generic over the bytes' way, so that TLS can be one. Not here: accepting, and who may connect how often.

mod answering;
pub mod chunks;
mod door;
pub mod head;
pub(crate) mod pace;
pub(crate) mod places;

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use hapax_core::problem::Problem;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::Watcher;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

pub use self::answering::Answered;
use self::answering::Answering;
use self::door::Door;
use crate::http::App;

/// hyper's buffer. A head must fit, and the larger it is the fewer reads a body takes.
const BUFFER_BYTES: usize = 64 << 10;
/// Who was refused is listened to for so long, because closing at once could take the answer away again.
const LINGER: Duration = Duration::from_secs(1);

/// Serves a connection until either side ends it.
pub(crate) async fn serve<I>(io: I, peer: IpAddr, app: Arc<App>, watcher: Watcher)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let answering = Answering::default();
    let door = Door::new(io, &app.limits, Arc::clone(&app.metrics), answering.clone());
    let buffer = BUFFER_BYTES.max(app.limits.header_bytes_max.saturating_mul(2));
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let (app, answered) = (Arc::clone(&app), answering.until_dropped());
        async move { Ok::<_, Infallible>(app.answer(request, peer).await.map(|body| body.holding(answered))) }
    });
    let connection = http1::Builder::new()
        // The door has the deadlines.
        .header_read_timeout(None)
        .max_buf_size(buffer)
        .serve_connection(TokioIo::new(door), service);
    // A connection that breaks off is the client's affair.
    _ = watcher.watch(connection).await;
}

/// Tells a client that it is one too many, as far as that goes in a moment, and closes.
pub(crate) async fn refuse<I: AsyncRead + AsyncWrite + Unpin>(mut io: I, problem: &Problem) {
    let telling = async {
        io.write_all(&answer_of(problem)).await?;
        io.shutdown().await?;
        let mut rest = [0; 1024];
        while io.read(&mut rest).await? > 0 {}
        Ok::<_, std::io::Error>(())
    };
    // Whether it was heard is the client's affair.
    _ = tokio::time::timeout(LINGER, telling).await;
}

/// A problem as the last answer of a connection, for where there is no request that hyper could answer.
fn answer_of(problem: &Problem) -> Vec<u8> {
    let body = serde_json::to_vec(problem).unwrap_or_default();
    let reason = hyper::StatusCode::from_u16(problem.status).ok().and_then(|status| status.canonical_reason());
    let again = if problem.status == 503 { "retry-after: 1\r\n" } else { "" };
    let mut answer = format!(
        "HTTP/1.1 {} {}\r\ncontent-type: application/problem+json\r\n{again}connection: close\r\ncontent-length: {}\r\n\r\n",
        problem.status,
        reason.unwrap_or_default(),
        body.len()
    )
    .into_bytes();
    answer.extend_from_slice(&body);
    answer
}
