//! Reading a segment through a window: a piece of the file in memory that moves along.
//!
//! What holds: memory is bounded by the larger of the window and one frame, and a frame is handed out only as the very
//! bytes that were checked. A length is believed only if its header matches its checksum and the file is that long.
//!
//! Not here: what a bad frame means. The window says what is wrong; recovery decides.

use std::io;

use hapax_core::planted;

use super::error::What;
use super::format::{HEADER, Header, LogId};
use crate::embedded::disk::DiskFile;

/// How far ahead is read when a segment is read through: larger reads measured no faster.
pub(super) const FAR: usize = 512 << 10;

/// How far ahead is read for a single frame: as much as lies between two entries of a segment's table.
pub(super) const NEAR: usize = 64 << 10;

/// A piece of a file in memory.
#[derive(Debug)]
pub(super) struct Window<F> {
    file: F,
    size: u64,
    ahead: usize,
    start: u64,
    bytes: Vec<u8>,
}

/// A frame that was found whole, in the window that it was found in.
#[derive(Debug)]
pub(super) struct Whole<'a> {
    pub(super) header: Header,
    /// All of it, without the zeros at its end.
    pub(super) bytes: &'a [u8],
}

impl Whole<'_> {
    pub(super) fn lasting(&self) -> &[u8] {
        &self.bytes[HEADER..HEADER + self.header.lasting.bytes as usize]
    }

    pub(super) fn expiring(&self) -> &[u8] {
        &self.bytes[HEADER + self.header.lasting.bytes as usize..]
    }
}

impl<F: DiskFile> Window<F> {
    pub(super) fn new(file: F, ahead: usize) -> io::Result<Self> {
        let size = file.size()?;
        Ok(Self { file, size, ahead, start: 0, bytes: Vec::new() })
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn into_file(self) -> F {
        self.file
    }

    /// These bytes of the file, or nothing if it is not that long.
    pub(super) fn bytes(&mut self, at: u64, len: usize) -> io::Result<Option<&[u8]>> {
        let left = self.size.saturating_sub(at);
        if left < len as u64 {
            return Ok(None);
        }
        let end = self.start + self.bytes.len() as u64;
        if at < self.start || at + len as u64 > end {
            let ahead = usize::try_from(left).unwrap_or(usize::MAX).min(len.max(self.ahead));
            // Nothing is in the window until the read has come back.
            self.bytes.clear();
            self.bytes.resize(ahead, 0);
            self.start = at;
            if let Err(error) = self.file.read_at(at, &mut self.bytes) {
                self.bytes.clear();
                return Err(error);
            }
        }
        let from = (at - self.start) as usize;
        Ok(Some(&self.bytes[from..from + len]))
    }

    /// The header at this place.
    pub(super) fn header(&mut self, at: u64, id: &LogId) -> io::Result<Result<Header, What>> {
        let Some(bytes) = self.bytes(at, HEADER)? else { return Ok(Err(What::Absent)) };
        let mut header = [0; HEADER];
        header.copy_from_slice(bytes);
        Ok(Header::decode(&header, id))
    }

    /// The frame at this place, checked.
    pub(super) fn frame(&mut self, at: u64, id: &LogId) -> io::Result<Result<Whole<'_>, What>> {
        let header = match self.header(at, id)? {
            Ok(header) => header,
            Err(what) => return Ok(Err(what)),
        };
        let Ok(len) = usize::try_from(header.bytes()) else { return Ok(Err(What::Length)) };
        let Some(bytes) = self.bytes(at, len)? else { return Ok(Err(What::Length)) };
        let whole = Whole { header, bytes };
        if planted!(ChecksumIgnored) {
            return Ok(Ok(whole));
        }
        if !whole.header.lasting.matches(whole.lasting()) {
            return Ok(Err(What::Lasting));
        }
        if !whole.header.expiring.matches(whole.expiring()) {
            return Ok(Err(What::Expiring));
        }
        Ok(Ok(whole))
    }
}
