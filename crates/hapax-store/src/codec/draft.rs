//! A section while it is written: records first, then changes, then the directory that says where everything is.
//!
//! The directory comes last because only then it is known; so a section is written in one pass, and a single place in
//! it is filled in afterwards. Names that repeat (tenants, streams, lanes, counters, handlers, keys) stand in the
//! directory once and are referred to by their place there.

use std::collections::HashMap;

use hapax_core::entry::Caller;
use hapax_core::facts::Spread;

use super::put::{Put, bits};
use super::{DIRECTORY_AT, RECORDS_AT, caller};

/// A section that is being written.
pub(super) struct Draft<'w, 'o> {
    pub(super) out: &'o mut Vec<u8>,
    names: Names<'w>,
    callers: Vec<&'w Caller>,
    /// Where each record ends, counted from the first.
    pub(super) ends: Vec<u64>,
}

/// Names, each once.
struct Names<'w> {
    places: HashMap<&'w str, u64, Spread>,
    list: Vec<&'w str>,
    /// Those asked for lately, by where they lie: the events of a request share the names of their lanes.
    lately: [Option<(&'w str, u64)>; LATELY],
}

/// As many as the lanes of a usual batch; two that meet push each other out.
const LATELY: usize = 64;

impl<'w> Names<'w> {
    fn place(&mut self, name: &'w str) -> u64 {
        // Names are at least so far apart in memory.
        let slot = (name.as_ptr().addr() >> 5) % LATELY;
        if let Some((known, place)) = self.lately[slot]
            && std::ptr::eq(known, name)
        {
            return place;
        }
        let place = *self.places.entry(name).or_insert_with(|| {
            self.list.push(name);
            self.list.len() as u64 - 1
        });
        self.lately[slot] = Some((name, place));
        place
    }
}

impl<'w, 'o> Draft<'w, 'o> {
    /// Begins a section in a buffer, which is emptied. `records` and `names` are how many to expect.
    pub(super) fn begin(out: &'o mut Vec<u8>, version: u8, records: usize, names: usize) -> Self {
        out.clear();
        out.push(version);
        out.extend_from_slice(&[0; RECORDS_AT - DIRECTORY_AT]);
        let names = Names {
            places: HashMap::with_capacity_and_hasher(names, Spread::default()),
            list: Vec::with_capacity(names),
            lately: [None; LATELY],
        };
        Self { out, names, callers: Vec::new(), ends: Vec::with_capacity(records) }
    }

    /// Refers to a name.
    pub(super) fn name(&mut self, name: &'w str) {
        let place = self.names.place(name);
        self.out.number(place);
    }

    /// How a caller is referred to: 0 is the default one. Events of one request follow each other, so looking at the
    /// last caller finds nearly every repetition.
    pub(super) fn caller(&mut self, caller: &'w Caller) -> u64 {
        if *caller == Caller::default() {
            return 0;
        }
        if self.callers.last().is_none_or(|last| *last != caller) {
            self.callers.push(caller);
        }
        self.callers.len() as u64
    }

    /// How many there are, and each; nothing if there are none, which a presence bit says.
    pub(super) fn list<T>(&mut self, items: &'w [T], write: impl FnMut(&mut Self, &'w T)) {
        if !items.is_empty() {
            self.counted(items, write);
        }
    }

    /// How many there are, and each.
    pub(super) fn counted<T>(&mut self, items: &'w [T], mut write: impl FnMut(&mut Self, &'w T)) {
        self.out.number(items.len() as u64);
        items.iter().for_each(|item| write(self, item));
    }

    /// A record ends here.
    pub(super) fn end_record(&mut self) {
        self.ends.push((self.out.len() - RECORDS_AT) as u64);
    }

    /// Ends the section, but for the rows of its directory: these follow. `names` are those that the rows will need.
    pub(super) fn directory(&mut self, names: impl Iterator<Item = &'w str>) {
        let at = self.out.len() as u64;
        self.out[DIRECTORY_AT..RECORDS_AT].copy_from_slice(&at.to_le_bytes());
        names.for_each(|name| _ = self.names.place(name));
        put_ends(self.out, &self.ends);

        let (mut rows, mut ends) = (Vec::new(), Vec::new());
        for Caller { key, request, forced } in &self.callers {
            let flags = [(key.is_some(), caller::KEY), (request.is_some(), caller::REQUEST), (*forced, caller::FORCED)];
            rows.number(bits(flags));
            key.iter().for_each(|key| rows.number(self.names.place(key)));
            request.iter().for_each(|request| rows.text(request));
            ends.push(rows.len() as u64);
        }
        put_ends(self.out, &ends);
        self.out.extend_from_slice(&rows);

        ends.clear();
        ends.extend(self.names.list.iter().scan(0, |end, name| {
            *end += name.len() as u64;
            Some(*end)
        }));
        put_ends(self.out, &ends);
        self.names.list.iter().for_each(|name| self.out.extend_from_slice(name.as_bytes()));
    }
}

/// How many, and where each ends. All are as wide as the last needs, so that any one is found without the others.
fn put_ends(out: &mut Vec<u8>, ends: &[u64]) {
    out.number(ends.len() as u64);
    let Some(last) = ends.last() else { return };
    let width = (u64::BITS - last.leading_zeros()).div_ceil(8).max(1);
    out.push(width as u8);
    for end in ends {
        out.extend_from_slice(&end.to_le_bytes()[..width as usize]);
    }
}
