//! The tables in a section's directory: where records end, callers, names. Any row is found without the others.

use std::ops::Range;
use std::sync::Arc;

use hapax_core::entry::Caller;

use super::fault::{Fault, Part, Undecodable};
use super::take::Take;
use super::{DIRECTORY_AT, FORMAT, RECORDS_AT, caller};

/// A section of which the directory was found.
#[derive(Clone, Debug)]
pub(super) struct Tables<'b> {
    section: &'b [u8],
    part: Part,
    directory_at: usize,
    records: Rows,
    callers: Rows,
    names: Rows,
    /// All names and callers, if all were read: then equal ones share their memory.
    read: (Vec<Arc<str>>, Vec<Caller>),
}

/// Where the tables stand in the directory alone.
#[derive(Clone, Debug)]
pub(super) struct Apart {
    part: Part,
    directory_at: usize,
    records: Rows,
    callers: Rows,
    names: Rows,
}

impl Apart {
    /// The tables, over the bytes of the directory. Records are found, but not read.
    pub(super) fn over<'t>(&self, tail: &'t [u8]) -> Tables<'t> {
        let Self { part, directory_at, records, callers, names } = self.clone();
        Tables { section: tail, part, directory_at, records, callers, names, read: Default::default() }
    }
}

/// Things of any length, one after another, and where each ends.
#[derive(Clone, Debug)]
struct Rows {
    count: u64,
    /// Where the first begins.
    start: usize,
    /// Where they must have ended.
    limit: usize,
    /// Where the list of ends begins, and how wide each is.
    ends_at: usize,
    width: usize,
}

impl<'b> Tables<'b> {
    /// Finds the tables. What follows them in the directory is left to be read.
    pub(super) fn open(section: &'b [u8], part: Part) -> Result<(Self, Take<'b>), Undecodable> {
        let mut head = Take::new(section, 0..section.len(), part)?;
        let version = head.byte()?;
        if version != FORMAT {
            return head.fault_at(0, Fault::Version(version));
        }
        let place = head.array().map(u64::from_le_bytes)?;
        let directory_at = match usize::try_from(place) {
            Ok(at) if (RECORDS_AT..section.len()).contains(&at) => at,
            _ => return head.fault_at(DIRECTORY_AT, Fault::Reference("directory")),
        };
        let mut take = Take::new(section, directory_at..section.len(), part)?;
        let mut records = Rows::ends(&mut take)?;
        (records.start, records.limit) = (RECORDS_AT, directory_at);
        let callers = Rows::read(&mut take, section)?;
        let names = Rows::read(&mut take, section)?;
        let tables = Self { section, part, directory_at, records, callers, names, read: Default::default() };
        Ok((tables, take))
    }

    /// Where they stand in the directory alone, and its bytes.
    pub(super) fn apart(self) -> (Apart, &'b [u8]) {
        let Self { section, part, directory_at, mut records, mut callers, mut names, read: _ } = self;
        for rows in [&mut callers, &mut names] {
            rows.start -= directory_at;
            rows.limit -= directory_at;
        }
        for rows in [&mut records, &mut callers, &mut names] {
            rows.ends_at -= directory_at;
        }
        (Apart { part, directory_at, records, callers, names }, &section[directory_at..])
    }

    /// Reads all names and callers at once.
    pub(super) fn read_all(&mut self) -> Result<(), Undecodable> {
        let names = (0..self.names.count).map(|place| self.read_name(place));
        self.read.0 = names.collect::<Result<_, _>>()?;
        let callers = (0..self.callers.count).map(|place| self.read_caller(place));
        self.read.1 = callers.collect::<Result<_, _>>()?;
        Ok(())
    }

    /// How many records there are.
    pub(super) fn records(&self) -> u64 {
        self.records.count
    }

    /// Where a record stands.
    pub(super) fn record(&self, place: u64) -> Result<Range<usize>, Undecodable> {
        self.records.range(self.section, place, "record").map_err(|fault| self.in_directory(fault))
    }

    /// A reader of a record.
    pub(super) fn open_record(&self, place: u64) -> Result<Take<'b>, Undecodable> {
        Take::new(self.section, self.record(place)?, self.part)
    }

    /// A reader of what stands between the records and the directory.
    pub(super) fn changes(&self) -> Result<Take<'b>, Undecodable> {
        let start = match self.records.count {
            0 => RECORDS_AT,
            count => self.record(count - 1)?.end,
        };
        Take::new(self.section, start..self.directory_at, self.part)
    }

    /// The name that is referred to next.
    pub(super) fn name(&self, take: &mut Take<'b>) -> Result<Arc<str>, Undecodable> {
        let start = take.at();
        let place = take.number()?;
        match usize::try_from(place).ok().and_then(|place| self.read.0.get(place)) {
            Some(name) => Ok(Arc::clone(name)),
            None if place < self.names.count => self.read_name(place),
            None => take.fault_at(start, Fault::Reference("name")),
        }
    }

    /// The same, and mostly it is this one, which then need not be made.
    pub(super) fn name_like(&self, take: &mut Take<'b>, like: &Arc<str>) -> Result<Arc<str>, Undecodable> {
        let mut ahead = take.clone();
        let place = ahead.number()?;
        let range = self.names.range(self.section, place, "name").ok();
        if range.and_then(|range| self.section.get(range)).is_some_and(|name| name == like.as_bytes()) {
            *take = ahead;
            return Ok(Arc::clone(like));
        }
        self.name(take)
    }

    fn read_name(&self, place: u64) -> Result<Arc<str>, Undecodable> {
        let range = self.names.range(self.section, place, "name").map_err(|fault| self.in_directory(fault))?;
        let at = range.start;
        let fault = || Undecodable { part: self.part, at, fault: Fault::NotText };
        self.section.get(range).and_then(|bytes| str::from_utf8(bytes).ok()).map(Arc::from).ok_or_else(fault)
    }

    /// The caller that is referred to next.
    pub(super) fn caller(&self, take: &mut Take<'b>) -> Result<Caller, Undecodable> {
        let start = take.at();
        let Some(place) = take.number()?.checked_sub(1) else { return Ok(Caller::default()) };
        match usize::try_from(place).ok().and_then(|place| self.read.1.get(place)) {
            Some(caller) => Ok(caller.clone()),
            None if place < self.callers.count => self.read_caller(place),
            None => take.fault_at(start, Fault::Reference("caller")),
        }
    }

    fn read_caller(&self, place: u64) -> Result<Caller, Undecodable> {
        let range = self.callers.range(self.section, place, "caller").map_err(|fault| self.in_directory(fault))?;
        let mut take = Take::new(self.section, range, self.part)?;
        let flags = take.bits("caller", caller::KEY | caller::REQUEST | caller::FORCED)?;
        let key = take.when(flags & caller::KEY != 0, |take| self.name(take))?;
        let request = take.when(flags & caller::REQUEST != 0, |take| take.text().map(Arc::from))?;
        take.finish()?;
        Ok(Caller { key, request, forced: flags & caller::FORCED != 0 })
    }

    fn in_directory(&self, fault: Fault) -> Undecodable {
        Undecodable { part: self.part, at: self.directory_at, fault }
    }
}

impl Rows {
    /// How many, and where each ends.
    fn ends(take: &mut Take<'_>) -> Result<Self, Undecodable> {
        let count = take.number()?;
        let mut rows = Self { count, start: 0, limit: 0, ends_at: take.at(), width: 1 };
        if count > 0 {
            let start = take.at();
            rows.width = match take.byte()? {
                width @ 1..=8 => usize::from(width),
                width => return take.fault_at(start, Fault::Tag { of: "width", tag: u64::from(width) }),
            };
            rows.ends_at = take.at();
            take.raw(count.saturating_mul(rows.width as u64))?;
        }
        Ok(rows)
    }

    /// The ends, and then the rows themselves.
    fn read(take: &mut Take<'_>, section: &[u8]) -> Result<Self, Undecodable> {
        let mut rows = Self::ends(take)?;
        rows.start = take.at();
        let length = rows.count.checked_sub(1).map_or(0, |last| rows.end(section, last));
        take.raw(length)?;
        rows.limit = take.at();
        Ok(rows)
    }

    fn end(&self, section: &[u8], place: u64) -> u64 {
        // The list of ends was found whole, so it holds every place below `count`, and so many bytes fit a `usize`.
        let at = self.ends_at + place as usize * self.width;
        let bytes = section.get(at..at + self.width).unwrap_or_default();
        bytes.iter().rev().fold(0, |end, byte| end << 8 | u64::from(*byte))
    }

    fn range(&self, section: &[u8], place: u64, of: &'static str) -> Result<Range<usize>, Fault> {
        if place >= self.count {
            return Err(Fault::Reference(of));
        }
        let start = place.checked_sub(1).map_or(0, |before| self.end(section, before));
        let end = self.end(section, place);
        let room = (self.limit - self.start) as u64;
        if start > end || end > room {
            return Err(Fault::Reference(of));
        }
        // Both are at most `room`, which came from a `usize`.
        Ok(self.start + start as usize..self.start + end as usize)
    }
}
