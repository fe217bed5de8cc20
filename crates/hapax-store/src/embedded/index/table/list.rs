//! The records of a table in memory, in pieces: no record is ever moved, and a piece can be made before it is needed.
//!
//! Memory that nobody has touched yet is dear: on a virtual machine a new page can cost more than all that is written into
//! it. So whoever has time [makes](Piece::new) pieces ahead, and inserts find them ready. If nobody does, an insert makes its own.

use std::ops::Range;

use super::record::{RECORD, Raw};

/// A record, and which one with the same key came before it.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) raw: Raw,
    pub(super) before: u32,
}

/// There is none before.
pub(super) const NONE: u32 = u32::MAX;

/// Records of a piece: 160 KiB, which one who has to make it in a hurry does in a fraction of a millisecond. In tests so few that tables
/// have several.
pub(super) const PIECE: usize = if cfg!(test) { 8 } else { 4096 };

/// Room for some records, and their tags beside them.
pub(super) struct Piece {
    entries: Box<[Entry]>,
    tags: Box<[u32]>,
}

impl Piece {
    /// All of it is written, so that it is there when it is used.
    pub(super) fn new() -> Self {
        let nothing = Entry { raw: [0; RECORD], before: NONE };
        Self { entries: vec![nothing; PIECE].into(), tags: vec![NONE; PIECE].into() }
    }
}

/// Records in the order in which they came, each with a tag.
#[derive(Default)]
pub(super) struct List {
    pieces: Vec<Piece>,
    len: usize,
}

impl List {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn push(&mut self, entry: Entry, tag: u32) {
        let (piece, at) = (self.len / PIECE, self.len % PIECE);
        if piece == self.pieces.len() {
            self.pieces.push(Piece::new());
        }
        let piece = &mut self.pieces[piece];
        (piece.entries[at], piece.tags[at]) = (entry, tag);
        self.len += 1;
    }

    #[inline]
    pub(super) fn get(&self, at: u32) -> &Entry {
        let at = at as usize;
        &self.pieces[at / PIECE].entries[at % PIECE]
    }

    /// For how many more records there is room.
    pub(super) fn room(&self) -> usize {
        self.pieces.len() * PIECE - self.len
    }

    /// Takes a piece that was made ahead.
    pub(super) fn add(&mut self, piece: Piece) {
        self.pieces.push(piece);
    }

    /// The entries at these places and their tags, as they lie side by side.
    pub(super) fn within(&self, places: Range<usize>) -> impl Iterator<Item = (&[Entry], &[u32])> {
        let places = places.start..places.end.min(self.len);
        let pieces = self.pieces.iter().zip((0..).step_by(PIECE)).skip(places.start / PIECE);
        pieces.map_while(move |(piece, begin)| {
            let (from, to) = (places.start.max(begin) - begin, places.end.min(begin + PIECE).checked_sub(begin)?);
            (from < to).then(|| (&piece.entries[from..to], &piece.tags[from..to]))
        })
    }

    /// Forgets every record, and keeps the room.
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    pub(super) fn bytes(&self) -> usize {
        self.pieces.len() * PIECE * (size_of::<Entry>() + size_of::<u32>())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Beside a vector, for stretches that begin and end anywhere, with pieces made ahead and in a hurry.
        #[test]
        fn it_holds_what_a_vector_does(len in 0_usize..3 * PIECE, ahead in 0_usize..3, from in 0_usize..3 * PIECE, to in 0_usize..4 * PIECE) {
            let mut list = List::default();
            (0..ahead).for_each(|_| list.add(Piece::new()));
            prop_assert_eq!(list.room(), ahead * PIECE);
            let model: Vec<u32> = (0..u32::try_from(len).expect("few")).collect();
            model.iter().for_each(|it| list.push(Entry { raw: [0; RECORD], before: *it }, it + 1));
            let to = to.min(len);
            let wanted = model.get(from.min(to)..to).unwrap_or_default();
            let entries: Vec<u32> = list.within(from..to).flat_map(|(entries, _)| entries).map(|it| it.before).collect();
            let tags: Vec<u32> = list.within(from..to).flat_map(|(_, tags)| tags).map(|it| it - 1).collect();
            prop_assert_eq!(&entries, wanted);
            prop_assert_eq!(&tags, wanted);
            prop_assert!(model.iter().all(|it| list.get(*it).before == *it));
        }
    }
}
