//! Reading all of a log that can be read, and naming what cannot. For proving a ledger, not for serving it.
//!
//! What holds: nothing is refused, cut, repaired or written, and no lock is taken, so it works on a damaged log and
//! beside a running server. What a running server has not finished is no damage: frames above the witness, as it was
//! when the survey began, may break off.
//!
//! Not here: what the sections mean.

use std::io;

use super::error::What;
use super::format::{HEADER, Header, LogId, SECTOR};
use super::segment::{DIR, FIRST, first_of, head, path};
use super::window::{FAR, Window};
use super::witness::Witness;
use super::{Frame, FrameNumber};
use crate::embedded::disk::{Disk, DiskFile};

/// What a survey meets.
#[derive(Debug)]
pub enum Met<'s> {
    /// A frame that is whole and continues the one before.
    Frame(&'s Frame),
    /// A place where one should be.
    Damaged {
        /// The file.
        segment: &'s str,
        /// The frame that should be there.
        frame: FrameNumber,
        /// What is wrong.
        what: What,
        /// What lasts, as it stands, if its place is known: not to be believed.
        lasting: Option<&'s [u8]>,
    },
}

/// What there was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surveyed {
    /// The last frame that was whole.
    pub last: FrameNumber,
    /// The frame that the witness named when the survey began, if it could be read.
    pub witness: Option<FrameNumber>,
}

/// How many bytes the segments have.
pub fn bytes<D: Disk>(disk: &D) -> io::Result<u64> {
    let names = disk.list(DIR)?;
    names.iter().filter(|name| first_of(name).is_some()).map(|name| disk.open(&path(name))?.size()).sum()
}

/// Meets everything in the log, from its first frame to its last. `read` is told how many bytes are behind.
pub fn survey<D: Disk>(disk: &D, mut meet: impl FnMut(Met<'_>), mut read: impl FnMut(u64)) -> io::Result<Surveyed> {
    let mut segments: Vec<_> =
        disk.list(DIR)?.iter().filter_map(|name| Some((first_of(name)?, name.clone()))).collect();
    segments.sort();
    let mut known: Option<LogId> = None;
    for (_, name) in &segments {
        let mut window = Window::new(disk.open(&path(name))?, FAR)?;
        if let Ok(mark) = head(&mut window)? {
            known = Some(mark.id);
            break;
        }
    }
    let Some(id) = known else {
        let what = What::SegmentHeader;
        for (frame, name) in &segments {
            meet(Met::Damaged { segment: name, frame: *frame, what, lasting: None });
        }
        return Ok(Surveyed { last: FrameNumber::ORIGIN, witness: None });
    };
    let witness = Witness::open(disk, DIR, id).ok().and_then(|(_, mark)| mark).map(|mark| mark.frame);
    // First the witness, then the segments: what it names is in them.
    segments = disk.list(DIR)?.iter().filter_map(|name| Some((first_of(name)?, name.clone()))).collect();
    segments.sort();
    let mut walk = Walk { id, next: FrameNumber::ORIGIN.next(), last: FrameNumber::ORIGIN, link: id.origin(), witness };
    let mut behind = 0;
    for (place, (first, name)) in segments.iter().enumerate() {
        let mut window = Window::new(disk.open(&path(name))?, FAR)?;
        let size = window.size();
        match head(&mut window)? {
            Ok(mark) if mark.id == id => {}
            Ok(_) => meet(Met::Damaged { segment: name, frame: *first, what: What::SegmentHeader, lasting: None }),
            Err(what) => meet(Met::Damaged { segment: name, frame: *first, what, lasting: None }),
        }
        let end = segments.get(place + 1).map(|(next, _)| *next);
        walk.segment(&mut window, name, end, &mut meet, |at| read(behind + at))?;
        behind += size;
    }
    Ok(Surveyed { last: walk.last, witness })
}

struct Walk {
    id: LogId,
    next: FrameNumber,
    last: FrameNumber,
    link: [u8; 32],
    witness: Option<FrameNumber>,
}

impl Walk {
    /// Walks a segment; `end` is the first frame of the next one.
    fn segment<F: DiskFile>(
        &mut self,
        window: &mut Window<F>,
        name: &str,
        end: Option<FrameNumber>,
        meet: &mut impl FnMut(Met<'_>),
        mut read: impl FnMut(u64),
    ) -> io::Result<()> {
        let mut at = FIRST;
        loop {
            read(at);
            let wrong = match window.frame(at, &self.id)? {
                Ok(whole) => {
                    let header = whole.header.clone();
                    let (lasting, expiring) = (whole.lasting().to_vec(), whole.expiring().to_vec());
                    if header.number != self.next {
                        self.damaged(meet, name, What::Number(header.number.0), None);
                    } else if header.previous != self.link {
                        self.damaged(meet, name, What::Chain, None);
                    }
                    meet(Met::Frame(&Frame { number: header.number, lasting, expiring }));
                    at += header.extent();
                    self.pass(&header);
                    continue;
                }
                Err(wrong) => wrong,
            };
            // A header that holds says where the next frame is, whatever became of this one.
            let known = window.header(at, &self.id)?.ok();
            let is_end = matches!(wrong, What::Absent) && end.is_none_or(|end| end <= self.next);
            let unfinished = end.is_none() && self.witness.is_some_and(|witness| self.next > witness);
            if is_end || (known.is_none() && unfinished) {
                return Ok(());
            }
            match known {
                Some(header) => {
                    let lasting = window.bytes(at + HEADER as u64, header.lasting.bytes as usize)?.map(<[u8]>::to_vec);
                    if !unfinished {
                        self.damaged(meet, name, wrong, lasting.as_deref());
                    }
                    at += header.extent();
                    self.pass(&header);
                }
                None => {
                    self.damaged(meet, name, wrong, None);
                    match self.search(window, at + SECTOR)? {
                        Some((place, header)) => {
                            at = place;
                            // The link cannot be checked across the hole.
                            (self.next, self.link) = (header.number, header.previous);
                        }
                        None => {
                            self.next = end.unwrap_or(self.next);
                            return Ok(());
                        }
                    }
                }
            }
        }
    }

    fn pass(&mut self, header: &Header) {
        self.last = self.last.max(header.number);
        self.link = header.link(&self.id);
        self.next = header.number.next();
    }

    /// The next place that holds a header of this log with a later number.
    fn search<F: DiskFile>(&self, window: &mut Window<F>, from: u64) -> io::Result<Option<(u64, Header)>> {
        let mut at = from;
        while at < window.size() {
            if let Ok(header) = window.header(at, &self.id)?
                && header.number > self.next
            {
                return Ok(Some((at, header)));
            }
            at += SECTOR;
        }
        Ok(None)
    }

    fn damaged(&self, meet: &mut impl FnMut(Met<'_>), segment: &str, what: What, lasting: Option<&[u8]>) {
        meet(Met::Damaged { segment, frame: self.next, what, lasting });
    }
}
