//! The id of an entry: mostly it stands in the entry's own document, and then its place there is all that is written.

use std::sync::Arc;

use super::fault::{Fault, Undecodable};
use super::put::Put;
use super::take::Take;

/// How far into a document its id is looked for. Producers write it first; a search without end would cost more than
/// the few bytes are worth.
const SEARCHED: usize = 128;

/// Where an id stands in the beginning of its document. Any place with the same bytes is as good.
pub(super) fn find(document: &[u8], id: &str) -> Option<usize> {
    let (first, length) = (*id.as_bytes().first()?, id.len());
    let window = document.get(..SEARCHED + length).unwrap_or(document);
    let fits = |place: usize| window.get(place..place + length) == Some(id.as_bytes());
    window.iter().enumerate().find(|(place, byte)| **byte == first && fits(*place)).map(|(place, _)| place)
}

/// Writes an id that stands at a place of the document, or in none.
pub(super) fn write(out: &mut Vec<u8>, id: &str, place: Option<usize>) {
    match place {
        Some(place) => {
            out.number(place as u64);
            out.number(id.len() as u64);
        }
        None => out.text(id),
    }
}

/// An id that was read, but for the document.
pub(super) enum Id<'b> {
    /// So many bytes of the document; and where this was written.
    Inside { at: usize, place: u64, length: u64 },
    /// By itself.
    Text(&'b str),
}

impl<'b> Id<'b> {
    pub(super) fn read(take: &mut Take<'b>, is_inside: bool) -> Result<Self, Undecodable> {
        if !is_inside {
            return take.text().map(Self::Text);
        }
        Ok(Self::Inside { at: take.at(), place: take.number()?, length: take.number()? })
    }

    /// The id of this document.
    pub(super) fn of(self, take: &Take<'_>, document: &[u8]) -> Result<Arc<str>, Undecodable> {
        match self {
            Self::Text(text) => Ok(text.into()),
            Self::Inside { at, place, length } => match inside(document, place, length) {
                Some(text) => Ok(text.into()),
                None => take.fault_at(at, Fault::Reference("text in the document")),
            },
        }
    }

    /// The id of this document, which somebody has read: in the same way, unless its length says otherwise.
    pub(super) fn like(self, take: &Take<'_>, document: &[u8], like: &Arc<str>) -> Result<Arc<str>, Undecodable> {
        let is_it = match self {
            Self::Text(text) => *text == **like,
            Self::Inside { length, .. } => length == like.len() as u64,
        };
        if is_it { Ok(Arc::clone(like)) } else { self.of(take, document) }
    }
}

fn inside(document: &[u8], place: u64, length: u64) -> Option<&str> {
    let start = usize::try_from(place).ok()?;
    let end = start.checked_add(usize::try_from(length).ok()?)?;
    str::from_utf8(document.get(start..end)?).ok()
}
