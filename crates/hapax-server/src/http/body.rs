//! A request's body: its size, its coding, its size again, and its share of the memory.
//!
//! What holds: nothing is set aside by a length that a client sent, but only for bytes that came; room is made for a first 64 KiB, and then for
//! a few times what came, if so much is announced; no more than the limit is ever unpacked, so a small body that unpacks to a
//! large one costs what the limit says; a body that comes too slowly is nobody who wants an answer.

use std::future::poll_fn;
use std::io::Read;
use std::sync::Arc;
use std::task::Poll;

use bytes::{Bytes, BytesMut};
use hapax_core::problem::{Problem, ProblemCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{App, BrokenOff, Call, malformed};
use crate::config::Limits;
use crate::connection::headers::{Headers, text};
use crate::connection::incoming::Incoming;
use crate::connection::pace::Pace;
use crate::writer::busy;

/// The largest window of a zstd frame: 8 MiB, what RFC 8878 asks every decoder to take. It is the decoder's memory, so
/// only [`UNPACKED_AT_ONCE_MAX`] of them work at a time.
const WINDOW_LOG_MAX: u32 = 23;
/// Bodies that are unpacked at the same time; others wait, and not for long.
pub(super) const UNPACKED_AT_ONCE_MAX: usize = 8;
/// Room is made for so many times what has come, if so much is announced: else a body would be copied again and again as it grows.
const AHEAD: usize = 7;
/// What is unpacked between two looks at the memory, and the first room for a body.
const PIECE_BYTES: usize = 64 << 10;
/// The least room for what comes of a body.
const PIECE_MIN: usize = 4 << 10;

/// A body, unpacked, and its share of the memory.
pub(super) struct Unpacked {
    pub(super) bytes: Bytes,
    pub(super) memory: OwnedSemaphorePermit,
}

/// How a body is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// Not at all.
    Plain,
    /// As one gzip member.
    Gzip,
    /// As one zstd frame.
    Zstd,
}

/// Reads the body of a request.
pub(super) async fn read(app: &App, call: &mut Call) -> Result<Unpacked, Problem> {
    let coding = coding_of(&call.head.headers)?;
    let max = app.limits.body_bytes_max;
    if call.body.length_min() > max as u64 {
        return Err(too_large(max));
    }
    let mut share = Share::new(&app.memory)?;
    let packed = match call.body.whole() {
        Some(whole) => {
            share.grow(whole.len())?;
            whole
        }
        None => {
            let late = |_| too_late("the body did not arrive in time");
            let reading = collect(&mut call.body, &app.limits, &mut share);
            tokio::time::timeout(app.limits.body_timeout, reading).await.map_err(late)??
        }
    };
    let bytes = match coding {
        Coding::Plain => packed,
        Coding::Gzip | Coding::Zstd => {
            let _place = app.unpacking.acquire().await.map_err(|_| busy("the server is stopping"))?;
            tokio::task::block_in_place(|| unpack(coding, &packed, max, &mut share))?
        }
    };
    Ok(Unpacked { memory: share.of(bytes.len()), bytes })
}

/// A share of the memory for bodies, as large as what is there.
pub struct Share {
    memory: Arc<Semaphore>,
    held: OwnedSemaphorePermit,
}

impl Share {
    /// The smallest share.
    pub fn new(memory: &Arc<Semaphore>) -> Result<Self, Problem> {
        let held = Arc::clone(memory).try_acquire_many_owned(1).map_err(|_| no_room())?;
        Ok(Self { memory: Arc::clone(memory), held })
    }

    /// For so many bytes.
    fn grow(&mut self, bytes: usize) -> Result<(), Problem> {
        let more = bytes.div_ceil(1024).saturating_sub(self.held.num_permits());
        if more > 0 {
            let more = u32::try_from(more).unwrap_or(u32::MAX);
            self.held.merge(Arc::clone(&self.memory).try_acquire_many_owned(more).map_err(|_| no_room())?);
        }
        Ok(())
    }

    /// What is left when only so many bytes stay.
    fn of(mut self, bytes: usize) -> OwnedSemaphorePermit {
        let spare = self.held.num_permits().saturating_sub(bytes.div_ceil(1024).max(1));
        drop(self.held.split(spare));
        self.held
    }
}

fn no_room() -> Problem {
    busy("the bodies that wait fill the memory that is set aside for them")
}

fn too_late(detail: &str) -> Problem {
    Problem::new(ProblemCode::RequestTimeout, detail)
}

/// The one coding that the headers name.
pub fn coding_of(headers: &Headers) -> Result<Coding, Problem> {
    let mut codings = headers.all("content-encoding");
    let first = codings.next().map(|value| text(value).unwrap_or("?").trim().to_ascii_lowercase());
    let unknown = || {
        let detail = "a body is plain, or has one coding: gzip or zstd";
        Problem::new(ProblemCode::UnsupportedMediaType, detail)
    };
    if codings.next().is_some() {
        return Err(unknown());
    }
    match first.as_deref() {
        None | Some("identity") => Ok(Coding::Plain),
        Some("gzip" | "x-gzip") => Ok(Coding::Gzip),
        Some("zstd") => Ok(Coding::Zstd),
        Some(_) => Err(unknown()),
    }
}

/// The bytes as they come, if they come quickly enough.
async fn collect(body: &mut Incoming, limits: &Limits, share: &mut Share) -> Result<Bytes, Problem> {
    let max = limits.body_bytes_max;
    let announced = usize::try_from(body.length_min()).unwrap_or(max).min(max);
    let mut pace = Pace::new(limits.body_rate_window, limits.body_rate_min);
    let mut all = BytesMut::new();
    loop {
        if all.len() == all.capacity() {
            // One more than is announced, so that the end is seen without more room.
            let to_come = (announced - all.len().min(announced) + 1).max(PIECE_MIN);
            all.reserve(to_come.min(PIECE_BYTES.max(AHEAD * all.len())));
        }
        let next = poll_fn(|context| match body.poll_more(&mut all) {
            Poll::Ready(came) => Poll::Ready(Ok(came)),
            Poll::Pending if pace.is_late(context) => Poll::Ready(Err(too_late("the body comes too slowly"))),
            Poll::Pending => Poll::Pending,
        });
        let came = next.await?.map_err(|BrokenOff| malformed("the body broke off"))?;
        if came == 0 {
            return Ok(all.freeze());
        }
        pace.moved(came);
        if all.len() > max {
            return Err(too_large(max));
        }
        share.grow(all.len())?;
    }
}

/// Unpacks a body, to at most so many bytes, with nothing behind it.
pub fn unpack(coding: Coding, packed: &[u8], max: usize, share: &mut Share) -> Result<Bytes, Problem> {
    let broken = |_| malformed("the body does not unpack as its Content-Encoding says");
    let (unpacked, left) = match coding {
        Coding::Plain => return Ok(Bytes::copy_from_slice(packed)),
        Coding::Gzip => {
            let mut reader = flate2::bufread::GzDecoder::new(packed);
            let unpacked = read_all(&mut reader, packed.len(), max, share)?;
            (unpacked, reader.into_inner().len())
        }
        Coding::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(packed).map_err(broken)?;
            // A frame may ask for a window far larger than anything it holds.
            decoder.window_log_max(WINDOW_LOG_MAX).map_err(broken)?;
            let mut reader = decoder.single_frame();
            let unpacked = read_all(&mut reader, packed.len(), max, share)?;
            (unpacked, reader.finish().len())
        }
    };
    if left > 0 { Err(malformed("something follows the packed body")) } else { Ok(Bytes::from(unpacked)) }
}

fn read_all(reader: &mut impl Read, packed: usize, max: usize, share: &mut Share) -> Result<Vec<u8>, Problem> {
    // Pieces, and not one buffer that grows: growing would take as much again, and leave it to the allocator in blocks that
    // nothing else fits into.
    let (mut pieces, mut length) = (Vec::new(), 0);
    loop {
        let mut piece = Vec::with_capacity(PIECE_BYTES);
        let read = reader.by_ref().take(PIECE_BYTES as u64).read_to_end(&mut piece);
        read.map_err(|_| malformed("the body does not unpack as its Content-Encoding says"))?;
        length += piece.len();
        if length > max {
            return Err(too_large(max));
        }
        if piece.is_empty() {
            return Ok(joined(pieces, length));
        }
        share.grow(packed + length)?;
        pieces.push(piece);
    }
}

/// One buffer with all of it; each piece is let go when it was copied.
fn joined(mut pieces: Vec<Vec<u8>>, length: usize) -> Vec<u8> {
    if pieces.len() == 1 {
        return pieces.remove(0);
    }
    let mut all = Vec::with_capacity(length);
    pieces.into_iter().for_each(|piece| all.extend_from_slice(&piece));
    all
}

fn too_large(max: usize) -> Problem {
    Problem::new(ProblemCode::TooLarge, format!("a body is at most {max} bytes, also after unpacking"))
}
