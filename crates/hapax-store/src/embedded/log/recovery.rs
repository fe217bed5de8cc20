//! How a log begins, and how it begins again.
//!
//! What holds: [`create`] builds everything under another name and renames it when it is durable. [`open`] refuses a
//! bad frame that can not be the tail of a write that was never acknowledged, and cuts it otherwise. Both may be
//! interrupted at any point and repeated.
//!
//! What is read at a start is not always what is durable: a process that died between write and sync, or whose sync
//! failed, leaves in memory what the disk does not have. Only the last frame can be of that sort, since each is
//! written after the sync of the one before. So if the witness has not seen it, it is written again and synced before
//! anyone is told of it; and the directories are synced before anything in them is built upon.

use std::io;
use std::sync::{Arc, Mutex};

use super::error::{Because, Corrupt, Failure, LogError, What};
use super::format::{Link, LogId, Mark, SECTOR};
use super::read::{Known, KnownSegment, Reader};
use super::reserve::{RESERVE, Reserve};
use super::segment::{self, DIR, Walk};
use super::spare::Slot;
use super::tail::{self, Settled};
use super::window::{FAR, Window};
use super::witness::Witness;
use super::{Check, FrameNumber, Log, Options};
use crate::embedded::disk::{Disk, DiskFile, Sectors};

/// What a log is built in before it has its name.
const BUILDING: &str = "log.tmp";

/// What a start found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// How many frames there are.
    pub frames: u64,
    /// The torn tail that was cut, if there was one.
    pub cut: Option<Cut>,
    /// What an operator should know.
    pub warnings: Vec<Warning>,
}

/// A torn tail, gone now. Nobody was told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The file of the segment.
    pub segment: String,
    /// The frame that would have been next.
    pub frame: FrameNumber,
    /// What was wrong with it.
    pub what: What,
    /// How many bytes were overwritten with zeros.
    pub bytes: u64,
}

/// What an operator should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warning {
    /// There was no witness; a new one was made. A tail that was damaged, and not torn, may have been cut.
    WitnessMissing,
    /// Neither slot of the witness could be read. The same holds.
    WitnessUnreadable,
}

pub(super) fn create<D: Disk>(disk: D, options: Options, id: LogId) -> Result<Log<D>, LogError> {
    let lock = lock(&disk)?;
    let creating = |it: io::Error| LogError::Io(Failure::new("creating the log", &it));
    let names = disk.list("").map_err(creating)?;
    if names.iter().any(|it| it == DIR) {
        return Err(creating(io::ErrorKind::AlreadyExists.into()));
    }
    build(&disk, &options, id, &names).map_err(creating)?;
    // What was built is opened as any other log: there is one way in.
    enter(disk, options, lock).map(|it| it.0)
}

fn build<D: Disk>(disk: &D, options: &Options, id: LogId, names: &[String]) -> io::Result<()> {
    if names.iter().any(|it| it == BUILDING) {
        for name in disk.list(BUILDING)? {
            disk.remove(&format!("{BUILDING}/{name}"))?;
        }
        disk.remove_dir(BUILDING)?;
    }
    disk.create_dir(BUILDING)?;
    let mark = Mark { id, frame: FrameNumber(1), link: id.origin() };
    segment::make(disk, BUILDING, &mark, segment::bytes(options))?;
    Witness::make(disk, BUILDING, id)?;
    let reserve = disk.create(&format!("{BUILDING}/{RESERVE}"))?;
    reserve.allocate(options.reserve_bytes)?;
    reserve.sync_data()?;
    disk.sync_dir(BUILDING)?;
    disk.rename(BUILDING, DIR)?;
    disk.sync_dir("")
}

pub(super) fn open<D: Disk>(disk: D, options: Options) -> Result<(Log<D>, Opened), LogError> {
    let lock = lock(&disk)?;
    enter(disk, options, lock)
}

fn enter<D: Disk>(disk: D, options: Options, lock: D::Lock) -> Result<(Log<D>, Opened), LogError> {
    let opening = |it: io::Error| LogError::Io(Failure::new("opening the log", &it));
    if !disk.list("").map_err(opening)?.iter().any(|it| it == DIR) {
        return Err(LogError::Missing);
    }
    let names = settle(&disk).map_err(opening)?;
    let heads = heads(&disk, &names)?;
    let id = heads[0].id;
    let (witness, seen, warnings) = witness(&disk, id, &names).map_err(opening)?;

    let (segments, walk, window) = walk_all(&disk, &heads, &seen, options.check)?;
    let active = segment::name(heads[heads.len() - 1].frame);
    let Settled { file, cut } = tail::settle(window, &id, &walk, &seen, &active)?;
    let capacity = file.size().map_err(opening)? / SECTOR * SECTOR;

    let last = FrameNumber(walk.next.0 - 1);
    if seen.frame != last || !warnings.is_empty() {
        witness.put(last, &walk.link).map_err(opening)?;
    }
    let reserve = Arc::new(Mutex::new(Reserve::found(options.reserve_bytes, options.low_water_bytes, &names)));
    let (next, link, end) = (walk.next, walk.link, walk.end);
    let known = Known { segments, last };
    let reader = Reader::new(disk, id, known);
    let (spare, compacting, lock) = (Slot::new(), Arc::default(), Arc::new(lock));
    spare.filled(end, capacity);
    let buffer = Sectors::default();
    let log =
        Log { reader, options, file, witness, reserve, spare, compacting, next, link, end, capacity, buffer, lock };
    Ok((log, Opened { frames: last.0, cut, warnings }))
}

fn lock<D: Disk>(disk: &D) -> Result<D::Lock, LogError> {
    disk.lock().map_err(|it| match it.kind() == io::ErrorKind::WouldBlock {
        true => LogError::Locked,
        false => LogError::Io(Failure::new("locking the store", &it)),
    })
}

/// Makes the names durable that an earlier process saw, removes what it did not finish, and says what is there.
fn settle<D: Disk>(disk: &D) -> io::Result<Vec<String>> {
    disk.sync_dir("")?;
    let mut names = disk.list(DIR)?;
    for name in names.extract_if(.., |it| it.ends_with(".tmp")) {
        disk.remove(&segment::path(&name))?;
    }
    disk.sync_dir(DIR)?;
    Ok(names)
}

/// The headers of all segments in order, which there is at least one of.
fn heads<D: Disk>(disk: &D, names: &[String]) -> Result<Vec<Mark>, LogError> {
    let mut firsts: Vec<FrameNumber> = names.iter().filter_map(|it| segment::first_of(it)).collect();
    firsts.sort();
    if firsts.first() != Some(&FrameNumber(1)) {
        let followed = firsts.first().map_or(Because::Acknowledged, |it| Because::Followed(it.0));
        return Err(corrupt(FrameNumber(1), FrameNumber(1), What::SegmentAbsent, followed));
    }
    let mut heads: Vec<Mark> = Vec::with_capacity(firsts.len());
    for first in firsts {
        let file = disk.open(&segment::path(&segment::name(first))).map_err(reading)?;
        let mut window = Window::new(file, SECTOR as usize).map_err(reading)?;
        let wrong = match segment::head(&mut window).map_err(reading)? {
            Err(what) => what,
            Ok(mark) if mark.frame != first => What::Number(mark.frame.0),
            Ok(mark) if heads.first().is_some_and(|it| it.id != mark.id) => What::SegmentForeign,
            Ok(mark) => {
                heads.push(mark);
                continue;
            }
        };
        // A segment has its name only once its header is durable.
        return Err(corrupt(first, first, wrong, Because::Whole));
    }
    Ok(heads)
}

type Seen<F> = (Witness<F>, Mark, Vec<Warning>);

/// The witness and what it says; one that says nothing has seen nothing.
fn witness<D: Disk>(disk: &D, id: LogId, names: &[String]) -> io::Result<Seen<D::File>> {
    let nothing = Mark { id, frame: FrameNumber::ORIGIN, link: id.origin() };
    if !names.iter().any(|it| it == super::witness::WITNESS) {
        let witness = Witness::make(disk, DIR, id)?;
        disk.sync_dir(DIR)?;
        return Ok((witness, nothing, vec![Warning::WitnessMissing]));
    }
    match Witness::open(disk, DIR, id)? {
        (witness, Some(seen)) => Ok((witness, seen, Vec::new())),
        (witness, None) => Ok((witness, nothing, vec![Warning::WitnessUnreadable])),
    }
}

type Walked<F> = (Vec<KnownSegment>, Walk, Window<F>);

/// Walks as many segments as are to be checked, the last one in any case. Those before it must be whole and lead up to
/// the next: it was begun after their last sync.
fn walk_all<D: Disk>(disk: &D, heads: &[Mark], seen: &Mark, check: Check) -> Result<Walked<D::File>, LogError> {
    let unchecked = match check {
        Check::All => 0,
        Check::Tail => heads.len().saturating_sub(2),
    };
    let mut segments: Vec<KnownSegment> =
        heads[..unchecked].iter().map(|it| KnownSegment { first: it.frame, table: None }).collect();
    let mut heads = heads[unchecked..].iter().peekable();
    let mut before: Option<Link> = None;
    loop {
        let head = heads.next().expect("there is a last segment, and the loop ends with it");
        if before.is_some_and(|it| it != head.link) {
            return Err(corrupt(head.frame, head.frame, What::Chain, Because::Whole));
        }
        let file = disk.open(&segment::path(&segment::name(head.frame))).map_err(reading)?;
        let mut window = Window::new(file, FAR).map_err(reading)?;
        let walk = segment::walk(&mut window, &head.id, (head.frame, head.link), seen.frame).map_err(reading)?;
        if walk.watched.is_some_and(|it| it != seen.link) {
            let because = Because::Witnessed(seen.frame.0);
            return Err(corrupt(head.frame, seen.frame, What::Chain, because));
        }
        segments.push(KnownSegment { first: head.frame, table: Some(walk.table.clone()) });
        before = Some(walk.link);
        match heads.peek() {
            None => return Ok((segments, walk, window)),
            Some(after) if after.frame == walk.next => {}
            Some(after) => return Err(corrupt(head.frame, walk.next, walk.stop, Because::Followed(after.frame.0))),
        }
    }
}

fn corrupt(segment: FrameNumber, frame: FrameNumber, what: What, because: Because) -> LogError {
    LogError::Corrupt(Corrupt { segment: segment::name(segment), frame, what, because })
}

fn reading(error: io::Error) -> LogError {
    LogError::Io(Failure::new("reading a segment", &error))
}
