//! Strict JSON: one pass over the bytes, one flat tape of cells, nothing copied.
//!
//! What holds: a [`Document`] is valid RFC 8259 and UTF-8, no object in it has the same key twice (compared after
//! unescaping), it nests at most [`DEPTH_MAX`] containers, every string is a Unicode string (no lone surrogates) and
//! every exponent fits an `i32`. Two readers of a document can therefore never disagree about what it says, and
//! nothing after the parser has to check any of this again.
//!
//! What is deliberately not here: no tree, no numbers (a number stays the text that was written, see
//! [`crate::number`]), no repair of bad input, no streaming. A document is hashed, parsed and stored as the same bytes.

mod batch;
mod fault;
mod keys;
mod node;
mod place;
mod scan;
mod text;

#[cfg(test)]
mod tests;

pub use batch::{Batch, NoBatch};
pub use fault::{Fault, FaultKind};
pub(crate) use keys::hash as short_hash;
pub use node::{Found, Items, Kind, Members, Names, Node};
pub(crate) use text::write_inner;
pub use text::write_string;

/// How many containers may be open at once; the top-level one is the first. It also bounds every recursion in this
/// crate that follows a document.
pub const DEPTH_MAX: usize = 64;

/// The longest text in bytes. Offsets are 32 bits and an element count has the 28 bits its tag leaves over, so 256 MiB
/// is where the tape ends; the door's own limit is sixteen times lower.
pub const TEXT_MAX: usize = (1 << 28) - 1;

/// A parsed text: the text itself, borrowed, and the tape that says where everything in it lies.
#[derive(Debug)]
pub struct Document<'t> {
    text: &'t str,
    tape: Tape,
}

impl<'t> Document<'t> {
    /// The top-level value.
    pub fn root(&self) -> Node<'_> {
        Node::new(self.text, &self.tape.cells, 0)
    }

    /// The bytes as they were sent, surrounding white space included.
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// Gives the tape's memory back for the next [`parse_with`].
    pub fn recycle(self, tape: &mut Tape) {
        *tape = self.tape;
    }
}

/// Memory that one parse leaves to the next, so that a steady flow of events allocates nothing.
#[derive(Debug, Default)]
pub struct Tape {
    cells: Vec<Cell>,
    /// The containers that are open while a text is scanned.
    frames: Vec<scan::Frame>,
}

/// Parses a text on a tape of its own.
pub fn parse(text: &[u8]) -> Result<Document<'_>, Fault> {
    // A cell per eight bytes is what events of short members need; the cap keeps a large text from reserving far more
    // than it will use.
    let cells = Vec::with_capacity((text.len() / 8 + 4).min(4096));
    scan::run(text, Tape { cells, frames: Vec::new() }).map_err(|(fault, _)| fault)
}

/// Parses a text on a tape that was used before. The tape is empty until [`Document::recycle`] returns it; a refused
/// text returns it at once.
pub fn parse_with<'t>(text: &'t [u8], tape: &mut Tape) -> Result<Document<'t>, Fault> {
    let mut used = std::mem::take(tape);
    used.cells.clear();
    scan::run(text, used).map_err(|(fault, used)| {
        *tape = used;
        fault
    })
}

/// One value, or one key, on the tape. An object's cell is followed by key, value, key, value; an array's by its
/// items; each container by all that is inside it.
#[derive(Clone, Copy, Debug)]
struct Cell {
    /// The first byte, quotes and brackets included.
    start: u32,
    /// The byte after the last; zero while a container is open.
    end: u32,
    /// The index of the cell after this one and all that is inside it; of a key without escapes, its hash.
    next: u32,
    /// The kind in three bits, whether a string has escapes in one, and a container's length in the rest.
    tag: u32,
}

impl Cell {
    const ESCAPED: u32 = 1 << 3;
    const LENGTH_SHIFT: u32 = 4;

    fn kind(self) -> Kind {
        // Eight patterns for six kinds: the scanner writes no others.
        match self.tag & 7 {
            0 => Kind::Null,
            1 => Kind::Bool,
            2 => Kind::Number,
            3 => Kind::String,
            4 => Kind::Array,
            _ => Kind::Object,
        }
    }

    fn is_escaped(self) -> bool {
        self.tag & Cell::ESCAPED != 0
    }

    fn is_open(self) -> bool {
        self.end == 0
    }

    fn is_container(self) -> bool {
        self.tag & 4 != 0
    }

    fn length(self) -> usize {
        (self.tag >> Cell::LENGTH_SHIFT) as usize
    }

    fn raw(self, text: &str) -> &str {
        &text[self.start as usize..self.end as usize]
    }

    /// What is between the quotes, escapes as written.
    fn inner(self, text: &str) -> &str {
        &text[self.start as usize + 1..self.end as usize - 1]
    }

    /// The same as bytes, for comparing: it spares the check that the cut is between characters.
    fn inner_bytes(self, text: &str) -> &[u8] {
        &text.as_bytes()[self.start as usize + 1..self.end as usize - 1]
    }
}
