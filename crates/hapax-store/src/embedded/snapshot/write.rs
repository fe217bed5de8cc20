//! Writing a snapshot, one piece a call, so that commits and other work go on in between.

use std::io;

use serde_json::json;
use sha2::{Digest, Sha256};

use super::gather::{Part, Piece, gather};
use super::pieces::{Header, Kind, begin};
use super::{UNFINISHED, all, name, path};
use crate::codec::{Sections, encode};
use crate::embedded::disk::{Disk, DiskFile};
use crate::embedded::index::DIR;
use crate::embedded::log::FrameNumber;
use crate::embedded::reader::Shared;
use crate::seam::StoreError;

/// A snapshot that is being written.
pub(in crate::embedded) struct Writing<F> {
    file: F,
    header: Header,
    part: Part,
    /// The last frame of which the pieces may show something.
    shows: FrameNumber,
    /// About so many things are in a piece.
    things: usize,
    /// How many pieces there are, and how many bytes.
    pieces: u64,
    bytes: u64,
    sections: Sections,
}

impl<F: DiskFile> Writing<F> {
    /// Begins a snapshot of the state as it is and becomes.
    pub(in crate::embedded) fn begin<D: Disk<File = F>>(shared: &Shared<D>, things: usize) -> Result<Self, StoreError> {
        let frame = shared.live().applied;
        shared.durable.wait(frame)?;
        let digest = match frame {
            FrameNumber::ORIGIN => [0; 32],
            frame => Sha256::digest(&shared.frames.get(frame)?.lasting).into(),
        };
        let header = Header { log: shared.id, frame, digest };
        let begun = || -> io::Result<F> {
            let path = path(UNFINISHED);
            // One that an error left; else there is none, and that is no error.
            let _ = shared.disk.remove(&path);
            let file = shared.disk.create(&path)?;
            file.write_at(0, &header.encode())?;
            Ok(file)
        };
        let file = begun().map_err(writing)?;
        let bytes = header.encode().len() as u64;
        Ok(Self {
            file,
            header,
            part: Part::Registry,
            shows: frame,
            things,
            pieces: 0,
            bytes,
            sections: Sections::default(),
        })
    }

    /// The frame that it was begun with.
    pub(in crate::embedded) fn frame(&self) -> FrameNumber {
        self.header.frame
    }

    /// Writes one piece. Answers with the size of the snapshot once it has its name.
    pub(in crate::embedded) fn step<D: Disk<File = F>>(
        &mut self,
        shared: &Shared<D>,
    ) -> Result<Option<u64>, StoreError> {
        if !matches!(self.part, Part::Done) {
            let Piece { write, passed, .. } = {
                let live = shared.live();
                self.shows = live.applied;
                gather(&live.state, &mut self.part, self.things)
            };
            if !write.is_empty() {
                encode(&write, &mut self.sections);
                let Sections { lasting, expiring } = std::mem::take(&mut self.sections);
                self.put(Kind::Commit, &lasting, &expiring).map_err(writing)?;
                self.sections = Sections { lasting, expiring };
            }
            if !passed.is_empty() {
                let rows = passed.iter().map(|(key, ranges)| json!([key.tenant, key.handler, ranges]));
                let text = serde_json::Value::from_iter(rows).to_string();
                self.put(Kind::Passed, text.as_bytes(), &[]).map_err(writing)?;
            }
            return Ok(None);
        }
        // Nothing that it shows may be lost once it has its name. What expires is known as of the same frame.
        shared.durable.wait(self.shows)?;
        let (segments, end) = {
            let live = shared.live();
            (live.expiries.encode(), live.settled.0.to_le_bytes())
        };
        self.put(Kind::Segments, &segments, &[]).map_err(writing)?;
        self.put(Kind::End, &end, &[]).map_err(writing)?;
        self.finish(&shared.disk).map_err(writing)?;
        Ok(Some(self.bytes))
    }

    fn put(&mut self, kind: Kind, first: &[u8], second: &[u8]) -> io::Result<()> {
        let mut piece = begin(kind, &self.header, self.pieces, first, second).to_vec();
        piece.extend_from_slice(first);
        piece.extend_from_slice(second);
        self.file.write_at(self.bytes, &piece)?;
        self.bytes += piece.len() as u64;
        self.pieces += 1;
        Ok(())
    }

    /// Gives it its name, and removes those before it.
    fn finish<D: Disk<File = F>>(&self, disk: &D) -> io::Result<()> {
        self.file.sync_data()?;
        disk.rename(&path(UNFINISHED), &path(&name(self.header.frame)))?;
        disk.sync_dir(DIR)?;
        for older in all(disk)?.into_iter().filter(|frame| *frame != self.header.frame) {
            // One that stays is older than this one, and the next start removes it.
            let _ = disk.remove(&path(&name(older)));
        }
        Ok(())
    }
}

fn writing(error: io::Error) -> StoreError {
    StoreError::Unreachable(format!("writing a snapshot failed: {error}"))
}
