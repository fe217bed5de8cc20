//! The scanner: text in, tape out, one pass.
//!
//! It does not recurse: what is open stands in frames, at most [`DEPTH_MAX`] of them. The failing path carries two words
//! and looks for the pointer only at the end. Strings are skipped eight bytes at a time, because that is where an event's
//! bytes are.

use super::keys::{self, Seen};
use super::{Cell, DEPTH_MAX, Document, Fault, FaultKind, TEXT_MAX, Tape, place, text};

const NULL: u32 = 0;
const BOOL: u32 = 1;
const NUMBER: u32 = 2;
const STRING: u32 = 3;
const ARRAY: u32 = 4;
const OBJECT: u32 = 5;

/// Where and why the scanner stopped.
pub(super) type Cut = (usize, FaultKind);

/// It stopped: the cut says why. Nothing else travels up, so that going on costs nothing.
#[derive(Debug)]
pub(super) struct Stop;

/// Scans a text onto an empty tape; a refusal hands the tape back.
pub(super) fn run(bytes: &[u8], tape: Tape) -> Result<Document<'_>, (Fault, Tape)> {
    let refuse = |at, what, tape| Err((Fault { at, what, pointer: String::new() }, tape));
    let text = match checked(bytes) {
        Ok(text) => text,
        Err((at, what)) => return refuse(at, what, tape),
    };
    let mut scan = Scan::new(text, tape);
    match scan.document() {
        Ok(()) => Ok(Document { text, tape: scan.tape }),
        Err(Stop) => {
            // Nothing stops without a cut.
            let (at, what) = scan.cut.unwrap_or((0, FaultKind::Empty));
            let pointer = place::pointer(text, &scan.tape.cells, at);
            Err((Fault { at, what, pointer }, scan.tape))
        }
    }
}

/// The text of some bytes, if it is one that the tape can hold.
pub(super) fn checked(bytes: &[u8]) -> Result<&str, Cut> {
    if bytes.len() > TEXT_MAX {
        return Err((TEXT_MAX, FaultKind::TooLarge));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| (error.valid_up_to(), FaultKind::NotUtf8))?;
    if bytes.starts_with(b"\xef\xbb\xbf") { Err((0, FaultKind::ByteOrderMark)) } else { Ok(text) }
}

pub(super) struct Scan<'t> {
    pub(super) text: &'t str,
    bytes: &'t [u8],
    pub(super) at: usize,
    pub(super) tape: Tape,
    /// The longest tape.
    pub(super) cells_max: usize,
    pub(super) cut: Option<Cut>,
}

/// A container that is open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// Its cell.
    open: usize,
    count: usize,
    holds: Holds,
    seen: Seen,
}

/// What a container has inside; nothing is the place of the value that is scanned as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Holds {
    Nothing,
    Items,
    Members,
}

impl<'t> Scan<'t> {
    pub(super) fn new(text: &'t str, tape: Tape) -> Scan<'t> {
        Scan { text, bytes: text.as_bytes(), at: 0, tape, cells_max: usize::MAX, cut: None }
    }

    fn document(&mut self) -> Result<(), Stop> {
        self.space();
        if self.at == self.bytes.len() {
            return Err(self.stop(self.at, FaultKind::Empty));
        }
        self.value()?;
        self.space();
        if self.at < self.bytes.len() { Err(self.stop(self.at, FaultKind::Trailing)) } else { Ok(()) }
    }

    /// One value and all that is inside it.
    ///
    /// Its place is a variable of its own and not the scanner's: every step waits for the one before it, and would wait
    /// for memory.
    pub(super) fn value(&mut self) -> Result<(), Stop> {
        let bytes = self.bytes;
        self.tape.frames.clear();
        let mut frame = Frame { open: 0, count: 0, holds: Holds::Nothing, seen: Seen::default() };
        let mut at = self.at;
        loop {
            if frame.holds == Holds::Members {
                at = self.key(at, &mut frame)?;
            }
            match byte(bytes, at) {
                b'"' => {
                    let (end, tag) = self.string(at)?;
                    self.leaf(at, end, tag);
                    at = end;
                }
                b'{' => {
                    frame = self.open(at, frame, OBJECT, Holds::Members)?;
                    at = behind_space(bytes, at + 1);
                    if byte(bytes, at) != b'}' {
                        continue;
                    }
                    frame = self.close(at, frame)?;
                    at += 1;
                }
                b'[' => {
                    frame = self.open(at, frame, ARRAY, Holds::Items)?;
                    at = behind_space(bytes, at + 1);
                    if byte(bytes, at) != b']' {
                        continue;
                    }
                    frame = self.close(at, frame)?;
                    at += 1;
                }
                b'-' | b'0'..=b'9' => {
                    let end = self.number(at)?;
                    self.leaf(at, end, NUMBER);
                    at = end;
                }
                b't' => at = self.word(at, b"true", BOOL)?,
                b'f' => at = self.word(at, b"false", BOOL)?,
                b'n' => at = self.word(at, b"null", NULL)?,
                _ => return Err(self.unexpected(at, "a value")),
            }
            if self.tape.cells.len() > self.cells_max {
                return Err(self.stop(at, FaultKind::TooLarge));
            }
            // What may follow a value depends on what it stands in; a container that ends is a value again.
            loop {
                frame.count += 1;
                let (closing, expected) = match frame.holds {
                    Holds::Members => (b'}', "a comma or a closing brace"),
                    Holds::Items => (b']', "a comma or a closing bracket"),
                    Holds::Nothing => {
                        self.at = at;
                        return Ok(());
                    }
                };
                at = behind_space(bytes, at);
                let next = byte(bytes, at);
                if next == b',' {
                    at = behind_space(bytes, at + 1);
                    break;
                }
                if next != closing {
                    return Err(self.unexpected(at, expected));
                }
                frame = self.close(at, frame)?;
                at += 1;
            }
        }
    }

    /// Goes inside a container. What it stands in waits until it is closed.
    fn open(&mut self, at: usize, outer: Frame, tag: u32, holds: Holds) -> Result<Frame, Stop> {
        if self.tape.frames.len() == DEPTH_MAX {
            return Err(self.stop(at, FaultKind::TooDeep));
        }
        self.tape.frames.push(outer);
        let open = self.tape.cells.len();
        self.tape.cells.push(Cell { start: at as u32, end: 0, next: 0, tag });
        Ok(Frame { open, count: 0, holds, seen: Seen::default() })
    }

    /// Completes the cell of a container whose closing bracket is here; what it stands in goes on.
    fn close(&mut self, at: usize, frame: Frame) -> Result<Frame, Stop> {
        let Frame { open, count, seen, .. } = frame;
        if let Some(key) = keys::repeated(self.text, &self.tape.cells, open, count, seen) {
            let cell = self.tape.cells[key];
            let name = text::unescape(cell.inner(self.text)).into();
            return Err(self.stop(cell.start as usize, FaultKind::DuplicateKey(name)));
        }
        let next = self.tape.cells.len() as u32;
        let cell = &mut self.tape.cells[open];
        cell.end = at as u32 + 1;
        cell.next = next;
        cell.tag |= (count as u32) << Cell::LENGTH_SHIFT;
        // As many frames wait as containers are open.
        Ok(self.tape.frames.pop().unwrap_or(frame))
    }

    /// A key and the colon after it; answers with where the value begins.
    #[inline(always)]
    fn key(&mut self, start: usize, frame: &mut Frame) -> Result<usize, Stop> {
        let bytes = self.bytes;
        if byte(bytes, start) != b'"' {
            return Err(self.unexpected(start, "a key in quotes"));
        }
        let (end, tag) = self.string(start)?;
        let inner = &bytes[start + 1..end - 1];
        let hash = keys::hash(inner);
        if tag == STRING {
            frame.seen.note(bytes, &self.tape.cells, frame.open, frame.count, hash, inner);
        } else {
            frame.seen.note_escaped();
        }
        // A key is followed by its value, so it needs no index of what is next.
        self.tape.cells.push(Cell { start: start as u32, end: end as u32, next: hash, tag });
        let colon = behind_space(bytes, end);
        if byte(bytes, colon) != b':' {
            return Err(self.unexpected(colon, "a colon after a key"));
        }
        Ok(behind_space(bytes, colon + 1))
    }

    #[inline(always)]
    fn leaf(&mut self, start: usize, end: usize, tag: u32) {
        let next = self.tape.cells.len() as u32 + 1;
        self.tape.cells.push(Cell { start: start as u32, end: end as u32, next, tag });
    }

    fn word(&mut self, start: usize, word: &'static [u8], tag: u32) -> Result<usize, Stop> {
        if !self.bytes[start..].starts_with(word) {
            return Err(self.stop(start, FaultKind::Unexpected { expected: "a value" }));
        }
        let end = start + word.len();
        self.leaf(start, end, tag);
        Ok(end)
    }

    /// Where the string that begins here ends, and its tag.
    #[inline(always)]
    fn string(&mut self, start: usize) -> Result<(usize, u32), Stop> {
        let mut at = start + 1;
        while let Some(word) = self.bytes.get(at..at + 8).and_then(<[u8]>::first_chunk) {
            let word = u64::from_le_bytes(*word);
            let hits = unplain(word);
            if hits != 0 {
                let place = hits.trailing_zeros() & !7;
                at += place as usize / 8;
                if (word >> place) as u8 == b'"' {
                    return Ok((at + 1, STRING));
                }
                break;
            }
            at += 8;
        }
        self.string_from(at)
    }

    /// The rest of a string: it has escapes, or it is among the last bytes of the text.
    #[cold]
    #[inline(never)]
    fn string_from(&mut self, at: usize) -> Result<(usize, u32), Stop> {
        let mut tag = STRING;
        self.at = at;
        loop {
            self.at += plain_run(&self.bytes[self.at..]);
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                Some(_) => return Err(self.stop(self.at, FaultKind::ControlCharacter)),
                None => return Err(self.stop(self.at, FaultKind::UnexpectedEnd)),
            }
            tag = STRING | Cell::ESCAPED;
        }
        Ok((self.at + 1, tag))
    }

    fn escape(&mut self) -> Result<(), Stop> {
        let start = self.at;
        match self.bytes.get(start + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') => {
                let Some(unit) = text::hex4(self.bytes, start + 2) else {
                    return Err(self.stop(start, FaultKind::BadEscape));
                };
                self.at += 6;
                if (0xd800..0xe000).contains(&unit) {
                    let is_escape = self.bytes[self.at..].starts_with(b"\\u");
                    let low = if is_escape { text::hex4(self.bytes, self.at + 2) } else { None };
                    if low.and_then(|low| text::join(unit, low)).is_none() {
                        return Err(self.stop(start, FaultKind::LoneSurrogate));
                    }
                    self.at += 6;
                }
            }
            Some(_) => return Err(self.stop(start, FaultKind::BadEscape)),
            None => return Err(self.stop(self.bytes.len(), FaultKind::UnexpectedEnd)),
        }
        Ok(())
    }

    /// Where the number that begins here ends.
    #[inline]
    fn number(&mut self, start: usize) -> Result<usize, Stop> {
        let bytes = self.bytes;
        let whole = start + usize::from(byte(bytes, start) == b'-');
        let mut at = self.digits(whole)?;
        if bytes[whole] == b'0' && at > whole + 1 {
            return Err(self.stop(whole, FaultKind::LeadingZero));
        }
        if byte(bytes, at) == b'.' {
            at = self.digits(at + 1)?;
        }
        if let b'e' | b'E' = byte(bytes, at) {
            let exponent = at + 1;
            let sign = matches!(byte(bytes, exponent), b'+' | b'-');
            at = self.digits(exponent + usize::from(sign))?;
            if self.text[exponent..at].parse::<i32>().is_err() {
                return Err(self.stop(start, FaultKind::ExponentRange));
            }
        }
        Ok(at)
    }

    /// Where one digit or more end.
    #[inline]
    fn digits(&mut self, start: usize) -> Result<usize, Stop> {
        let mut at = start;
        while byte(self.bytes, at).is_ascii_digit() {
            at += 1;
        }
        if at == start { Err(self.unexpected(at, "a digit")) } else { Ok(at) }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn space(&mut self) {
        self.at = behind_space(self.bytes, self.at);
    }

    #[cold]
    fn unexpected(&mut self, at: usize, expected: &'static str) -> Stop {
        let is_end = at >= self.bytes.len();
        self.stop(at, if is_end { FaultKind::UnexpectedEnd } else { FaultKind::Unexpected { expected } })
    }

    #[cold]
    fn stop(&mut self, at: usize, what: FaultKind) -> Stop {
        self.cut = Some((at, what));
        Stop
    }
}

/// The byte at a place; behind the end a zero, which may stand nowhere.
#[inline(always)]
fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

/// The first place that is no white space. Most texts have none.
#[inline(always)]
fn behind_space(bytes: &[u8], mut at: usize) -> usize {
    while let b' ' | b'\t' | b'\n' | b'\r' = byte(bytes, at) {
        at += 1;
    }
    at
}

/// How many bytes at the beginning need no look of their own: no quote, no backslash, no control character.
fn plain_run(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let hits = unplain(u64::from_le_bytes(*word));
        if hits != 0 {
            return index * 8 + hits.trailing_zeros() as usize / 8;
        }
    }
    let is_plain = |byte: &&u8| **byte >= 0x20 && **byte != b'"' && **byte != b'\\';
    words.len() * 8 + rest.iter().take_while(is_plain).count()
}

/// The lowest bit that is set is the high bit of the first byte that needs a look; zero if none does.
#[inline]
fn unplain(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let quote = word ^ (ONES * b'"' as u64);
    let backslash = word ^ (ONES * b'\\' as u64);
    // Each term sets the high bit of a byte that is zero, or below a space; bytes beyond ASCII are none of them. A borrow
    // can set further bits above a true one but never below, and only the lowest is read.
    let terms = quote.wrapping_sub(ONES) | backslash.wrapping_sub(ONES) | word.wrapping_sub(ONES * 0x20);
    terms & !word & HIGHS
}
