//! A request's body: its share of the memory, its size, its coding, its size again.
//!
//! What holds: nothing is allocated by a length that a client sent, and no more than the limit is ever unpacked, so a
//! small body that unpacks to a large one costs what the limit says.

use std::io::Read as _;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use hapax_core::problem::{Problem, ProblemCode};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::header::CONTENT_ENCODING;
use tokio::sync::OwnedSemaphorePermit;

use super::{App, Call, malformed};
use crate::writer::busy;

/// The largest window of a zstd frame: 16 MiB.
const WINDOW_LOG_MAX: u32 = 24;

/// A body, unpacked, and its share of the memory.
pub(super) struct Unpacked {
    pub(super) bytes: Bytes,
    pub(super) memory: OwnedSemaphorePermit,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Coding {
    Plain,
    Gzip,
    Zstd,
}

/// Reads the body of a request.
pub(super) async fn read(app: &App, call: &mut Call) -> Result<Unpacked, Problem> {
    let coding = coding_of(call)?;
    let max = app.limits.body_bytes_max;
    let announced = call.body.size_hint().exact().map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    if announced.is_some_and(|bytes| bytes > max) {
        return Err(too_large(max));
    }
    // What is packed, or does not say how long it is, may become as large as the limit.
    let share = announced.filter(|_| coding == Coding::Plain).unwrap_or(max).div_ceil(1024).max(1);
    let share = u32::try_from(share).unwrap_or(u32::MAX);
    let memory = Arc::clone(&app.memory).try_acquire_many_owned(share);
    let memory = memory.map_err(|_| busy("the bodies that wait fill the memory that is set aside for them"))?;
    let reading = collect(&mut call.body, max);
    let late = || Problem::new(ProblemCode::RequestTimeout, "the body did not arrive in time");
    let packed = tokio::time::timeout(app.limits.body_timeout, reading).await.map_err(|_| late())??;
    let bytes = match coding {
        Coding::Plain => packed,
        Coding::Gzip | Coding::Zstd => tokio::task::block_in_place(|| unpack(coding, &packed, max))?,
    };
    Ok(Unpacked { bytes, memory })
}

fn coding_of(call: &Call) -> Result<Coding, Problem> {
    let mut codings = call.parts.headers.get_all(CONTENT_ENCODING).iter();
    let first = codings.next().map(|value| value.to_str().unwrap_or("?").trim().to_ascii_lowercase());
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

async fn collect(body: &mut Incoming, max: usize) -> Result<Bytes, Problem> {
    let broken = |_| malformed("the body broke off");
    let Some(first) = body.frame().await else { return Ok(Bytes::new()) };
    let first = first.map_err(broken)?.into_data().unwrap_or_default();
    let mut all: Option<BytesMut> = None;
    let mut length = first.len();
    while let Some(frame) = body.frame().await {
        let piece = frame.map_err(broken)?.into_data().unwrap_or_default();
        length += piece.len();
        if length > max {
            return Err(too_large(max));
        }
        all.get_or_insert_with(|| BytesMut::from(&first[..])).extend_from_slice(&piece);
    }
    if length > max { Err(too_large(max)) } else { Ok(all.map_or(first, BytesMut::freeze)) }
}

fn unpack(coding: Coding, packed: &[u8], max: usize) -> Result<Bytes, Problem> {
    let broken = |_| malformed("the body does not unpack as its Content-Encoding says");
    let mut unpacked = Vec::new();
    // One byte more than allowed tells "too large" from "exactly as large".
    let limit = max as u64 + 1;
    let left = match coding {
        Coding::Plain => return Ok(Bytes::copy_from_slice(packed)),
        Coding::Gzip => {
            let mut reader = flate2::bufread::GzDecoder::new(packed).take(limit);
            reader.read_to_end(&mut unpacked).map_err(broken)?;
            reader.into_inner().into_inner().len()
        }
        Coding::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(packed).map_err(broken)?;
            // A frame may ask for a window far larger than anything it holds.
            decoder.window_log_max(WINDOW_LOG_MAX).map_err(broken)?;
            let mut reader = decoder.single_frame().take(limit);
            reader.read_to_end(&mut unpacked).map_err(broken)?;
            reader.into_inner().finish().len()
        }
    };
    if unpacked.len() > max {
        return Err(too_large(max));
    }
    if left > 0 { Err(malformed("something follows the packed body")) } else { Ok(Bytes::from(unpacked)) }
}

fn too_large(max: usize) -> Problem {
    Problem::new(ProblemCode::TooLarge, format!("a body is at most {max} bytes, also after unpacking"))
}
