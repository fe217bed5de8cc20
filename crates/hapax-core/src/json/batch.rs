//! The elements of one array, scanned in one pass: where each lies, and what is in it.
//!
//! What holds: [`Batch::of`] takes what `serde_json` takes as an array of raw values, and finds the same elements. An
//! element that breaks a rule of ours alone (a repeated key, a lone surrogate) is still an element: it has its place
//! and no cells, and whoever parses it for itself is told what is wrong. So has one that comes when the tape is as long
//! as it may become: what a batch costs in memory must not grow with how its elements are written.
//!
//! A large one can be scanned by two at a time, in [halves](Batch::middle).
//!
//! Not here: why a text is no array of values. Whoever must say it asks `serde_json`.

mod halves;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::scan::{Scan, Stop, checked};
use super::{FaultKind, Node, Tape};

/// The longest tape of a batch, in cells: 4 MiB, which is ten thousand events of twenty-six values and keys each.
const CELLS_MAX: usize = 1 << 18;

/// Elements of one text.
#[derive(Debug)]
pub struct Batch<'t> {
    text: &'t str,
    tape: Tape,
    elements: Vec<Element>,
}

#[derive(Clone, Copy, Debug)]
struct Element {
    start: u32,
    end: u32,
    /// Its cell; none if it has no cells.
    cell: Option<u32>,
}

/// Why there is no batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoBatch {
    /// There are more elements than were asked for; what follows them was not looked at.
    TooMany,
    /// It is not JSON, or something else than an array.
    NotOne,
}

impl<'t> Batch<'t> {
    /// The elements of an array, at most so many.
    pub fn of(bytes: &'t [u8], max: usize) -> Result<Batch<'t>, NoBatch> {
        Batch::between(bytes, &[b"["], &[b"]"], max)
    }

    /// The elements of the array that is the only member, of this name, of an object.
    pub fn of_member(bytes: &'t [u8], name: &str, max: usize) -> Result<Batch<'t>, NoBatch> {
        let name = format!("\"{name}\"");
        Batch::between(bytes, &[b"{", name.as_bytes(), b":", b"["], &[b"]", b"}"], max)
    }

    /// One value as its own batch.
    pub fn of_one(bytes: &'t [u8]) -> Result<Batch<'t>, NoBatch> {
        let mut scan = begin(bytes)?;
        let mut elements = Vec::with_capacity(1);
        scan.space();
        element(&mut scan, &mut elements)?;
        finish(scan, elements)
    }

    fn between(bytes: &'t [u8], before: &[&[u8]], after: &[&[u8]], max: usize) -> Result<Batch<'t>, NoBatch> {
        let mut scan = begin(bytes)?;
        let mut elements = Vec::new();
        before.iter().try_for_each(|word| step(&mut scan, word))?;
        scan.space();
        if scan.peek() != Some(b']') {
            list(&mut scan, &mut elements, max)?;
        }
        after.iter().try_for_each(|word| step(&mut scan, word))?;
        finish(scan, elements)
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// Each as written, in their order.
    pub fn raw(&self) -> impl ExactSizeIterator<Item = &'t str> {
        let text = self.text;
        self.elements.iter().map(move |it| &text[it.start as usize..it.end as usize])
    }

    /// One of them as written.
    pub fn raw_at(&self, index: usize) -> Option<&'t str> {
        let text = self.text;
        self.elements.get(index).map(|it| &text[it.start as usize..it.end as usize])
    }

    /// What is in an element, if that is known.
    pub fn node(&self, index: usize) -> Option<Node<'_>> {
        let cell = self.elements.get(index)?.cell?;
        Some(Node::new(self.text, &self.tape.cells, cell as usize))
    }
}

fn begin(bytes: &[u8]) -> Result<Scan<'_>, NoBatch> {
    let text = checked(bytes).map_err(|_| NoBatch::NotOne)?;
    // An event has a cell for ten bytes or so.
    let cells = Vec::with_capacity((text.len() / 10).min(CELLS_MAX));
    let mut scan = Scan::new(text, Tape { cells, frames: Vec::new() });
    scan.cells_max = CELLS_MAX;
    Ok(scan)
}

fn finish<'t>(mut scan: Scan<'t>, elements: Vec<Element>) -> Result<Batch<'t>, NoBatch> {
    scan.space();
    if scan.peek().is_some() {
        return Err(NoBatch::NotOne);
    }
    Ok(Batch { text: scan.text, tape: scan.tape, elements })
}

/// Steps over white space and a word.
fn step(scan: &mut Scan<'_>, word: &[u8]) -> Result<(), NoBatch> {
    scan.space();
    if !scan.text.as_bytes()[scan.at..].starts_with(word) {
        return Err(NoBatch::NotOne);
    }
    scan.at += word.len();
    Ok(())
}

/// Elements with commas between them, up to where none follows, or to a comma that the text ends with.
fn list(scan: &mut Scan<'_>, elements: &mut Vec<Element>, max: usize) -> Result<(), NoBatch> {
    loop {
        let is_one_too_many = elements.len() == max;
        // Another must be one to be one too many.
        element(scan, elements)?;
        if is_one_too_many {
            return Err(NoBatch::TooMany);
        }
        scan.space();
        if scan.peek() != Some(b',') {
            return Ok(());
        }
        scan.at += 1;
        scan.space();
        if scan.peek().is_none() {
            return Ok(());
        }
    }
}

/// The element that begins here.
fn element(scan: &mut Scan<'_>, elements: &mut Vec<Element>) -> Result<(), NoBatch> {
    let (start, cell) = (scan.at, scan.tape.cells.len());
    let known = match scan.value() {
        Ok(()) => true,
        Err(Stop) => {
            if !scan.cut.take().is_some_and(|(_, fault)| is_ours_alone(&fault)) {
                return Err(NoBatch::NotOne);
            }
            let mut reader = serde_json::Deserializer::from_str(&scan.text[start..]);
            let raw = <&RawValue>::deserialize(&mut reader).map_err(|_| NoBatch::NotOne)?;
            scan.at = start + raw.get().len();
            false
        }
    };
    if !known {
        scan.tape.cells.truncate(cell);
    }
    elements.push(Element { start: start as u32, end: scan.at as u32, cell: known.then_some(cell as u32) });
    Ok(())
}

/// Does a text with this fault still have an end that every reader of JSON finds?
fn is_ours_alone(fault: &FaultKind) -> bool {
    match fault {
        FaultKind::TooDeep
        | FaultKind::TooLarge
        | FaultKind::DuplicateKey(_)
        | FaultKind::LoneSurrogate
        | FaultKind::ExponentRange => true,
        FaultKind::Empty
        | FaultKind::ByteOrderMark
        | FaultKind::NotUtf8
        | FaultKind::UnexpectedEnd
        | FaultKind::Unexpected { .. }
        | FaultKind::Trailing
        | FaultKind::ControlCharacter
        | FaultKind::BadEscape
        | FaultKind::LeadingZero => false,
    }
}

#[cfg(test)]
mod tests;
