//! The scanner: text in, tape out, one pass.
//!
//! It descends by recursion, which [`DEPTH_MAX`] bounds; the failing path carries two words and looks for the pointer
//! only at the end. Strings are skipped eight bytes at a time, because that is where an event's bytes are.

use super::{Cell, DEPTH_MAX, Document, Fault, FaultKind, TEXT_MAX, keys, place, text};

const NULL: u32 = 0;
const BOOL: u32 = 1;
const NUMBER: u32 = 2;
const STRING: u32 = 3;
const ARRAY: u32 = 4;
const OBJECT: u32 = 5;

/// Where and why the scanner stopped.
type Cut = (usize, FaultKind);

/// Scans a text onto empty cells; a refusal hands the cells back.
pub(super) fn run(bytes: &[u8], cells: Vec<Cell>) -> Result<Document<'_>, (Fault, Vec<Cell>)> {
    let refuse = |at, what, cells| Err((Fault { at, what, pointer: String::new() }, cells));
    if bytes.len() > TEXT_MAX {
        return refuse(TEXT_MAX, FaultKind::TooLarge, cells);
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return refuse(error.valid_up_to(), FaultKind::NotUtf8, cells),
    };
    if bytes.starts_with(b"\xef\xbb\xbf") {
        return refuse(0, FaultKind::ByteOrderMark, cells);
    }
    let mut scan = Scan { text, bytes, at: 0, cells };
    match scan.document() {
        Ok(()) => Ok(Document { text, cells: scan.cells }),
        Err((at, what)) => {
            let pointer = place::pointer(text, &scan.cells, at);
            Err((Fault { at, what, pointer }, scan.cells))
        }
    }
}

struct Scan<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    cells: Vec<Cell>,
}

impl Scan<'_> {
    fn document(&mut self) -> Result<(), Cut> {
        self.space();
        if self.at == self.bytes.len() {
            return Err((self.at, FaultKind::Empty));
        }
        self.value(0)?;
        self.space();
        if self.at < self.bytes.len() { Err((self.at, FaultKind::Trailing)) } else { Ok(()) }
    }

    fn value(&mut self, depth: usize) -> Result<(), Cut> {
        match self.peek() {
            Some(b'"') => self.string(),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word(b"true", BOOL),
            Some(b'f') => self.word(b"false", BOOL),
            Some(b'n') => self.word(b"null", NULL),
            Some(_) | None => Err(self.unexpected("a value")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<(), Cut> {
        let open = self.open(depth, OBJECT)?;
        let mut count = 0;
        self.space();
        if self.peek() != Some(b'}') {
            loop {
                if self.peek() != Some(b'"') {
                    return Err(self.unexpected("a key in quotes"));
                }
                self.string()?;
                self.space();
                self.expect(b':', "a colon after a key")?;
                self.space();
                self.value(depth + 1)?;
                count += 1;
                self.space();
                match self.peek() {
                    Some(b',') => self.at += 1,
                    Some(b'}') => break,
                    Some(_) | None => return Err(self.unexpected("a comma or a closing brace")),
                }
                self.space();
            }
        }
        if let Some(key) = keys::repeated(self.text, &self.cells, open, count) {
            let cell = self.cells[key];
            let name = text::unescape(cell.inner(self.text)).into();
            return Err((cell.start as usize, FaultKind::DuplicateKey(name)));
        }
        self.close(open, count);
        Ok(())
    }

    fn array(&mut self, depth: usize) -> Result<(), Cut> {
        let open = self.open(depth, ARRAY)?;
        let mut count = 0;
        self.space();
        if self.peek() != Some(b']') {
            loop {
                self.value(depth + 1)?;
                count += 1;
                self.space();
                match self.peek() {
                    Some(b',') => self.at += 1,
                    Some(b']') => break,
                    Some(_) | None => return Err(self.unexpected("a comma or a closing bracket")),
                }
                self.space();
            }
        }
        self.close(open, count);
        Ok(())
    }

    fn open(&mut self, depth: usize, tag: u32) -> Result<usize, Cut> {
        if depth == DEPTH_MAX {
            return Err((self.at, FaultKind::TooDeep));
        }
        let index = self.cells.len();
        self.cells.push(Cell { start: self.at as u32, end: 0, next: 0, tag });
        self.at += 1;
        Ok(index)
    }

    /// Steps over the closing bracket and completes the container's cell.
    fn close(&mut self, open: usize, count: usize) {
        self.at += 1;
        let next = self.cells.len() as u32;
        let cell = &mut self.cells[open];
        cell.end = self.at as u32;
        cell.next = next;
        cell.tag |= (count as u32) << Cell::LENGTH_SHIFT;
    }

    fn leaf(&mut self, start: usize, tag: u32) {
        let next = self.cells.len() as u32 + 1;
        self.cells.push(Cell { start: start as u32, end: self.at as u32, next, tag });
    }

    fn word(&mut self, word: &'static [u8], tag: u32) -> Result<(), Cut> {
        if !self.bytes[self.at..].starts_with(word) {
            return Err((self.at, FaultKind::Unexpected { expected: "a value" }));
        }
        let start = self.at;
        self.at += word.len();
        self.leaf(start, tag);
        Ok(())
    }

    fn string(&mut self) -> Result<(), Cut> {
        let start = self.at;
        self.at += 1;
        let mut tag = STRING;
        loop {
            self.at += plain_run(&self.bytes[self.at..]);
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                Some(_) => return Err((self.at, FaultKind::ControlCharacter)),
                None => return Err((self.at, FaultKind::UnexpectedEnd)),
            }
            tag = STRING | Cell::ESCAPED;
        }
        self.at += 1;
        self.leaf(start, tag);
        Ok(())
    }

    fn escape(&mut self) -> Result<(), Cut> {
        let start = self.at;
        match self.bytes.get(start + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') => {
                let unit = text::hex4(self.bytes, start + 2).ok_or((start, FaultKind::BadEscape))?;
                self.at += 6;
                if (0xd800..0xe000).contains(&unit) {
                    let is_escape = self.bytes[self.at..].starts_with(b"\\u");
                    let low = if is_escape { text::hex4(self.bytes, self.at + 2) } else { None };
                    low.and_then(|low| text::join(unit, low)).ok_or((start, FaultKind::LoneSurrogate))?;
                    self.at += 6;
                }
            }
            Some(_) => return Err((start, FaultKind::BadEscape)),
            None => return Err((self.bytes.len(), FaultKind::UnexpectedEnd)),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), Cut> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let whole = self.at;
        self.digits()?;
        if self.bytes[whole] == b'0' && self.at > whole + 1 {
            return Err((whole, FaultKind::LeadingZero));
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            let exponent = self.at;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
            if self.text[exponent..self.at].parse::<i32>().is_err() {
                return Err((start, FaultKind::ExponentRange));
            }
        }
        self.leaf(start, NUMBER);
        Ok(())
    }

    /// One digit or more.
    fn digits(&mut self) -> Result<(), Cut> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start { Err(self.unexpected("a digit")) } else { Ok(()) }
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), Cut> {
        if self.peek() != Some(byte) {
            return Err(self.unexpected(expected));
        }
        self.at += 1;
        Ok(())
    }

    fn unexpected(&self, expected: &'static str) -> Cut {
        let is_end = self.at >= self.bytes.len();
        (self.at, if is_end { FaultKind::UnexpectedEnd } else { FaultKind::Unexpected { expected } })
    }
}

/// How many bytes at the beginning need no look of their own: no quote, no backslash, no control character.
fn plain_run(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let mut run = 0;
    while let Some(chunk) = bytes[run..].first_chunk::<8>() {
        let word = u64::from_le_bytes(*chunk);
        let quote = word ^ (ONES * b'"' as u64);
        let backslash = word ^ (ONES * b'\\' as u64);
        // Each term sets the high bit of a byte that is zero, or below a space. A borrow can set further bits above a
        // true one but never below, and only the lowest is read.
        let hits = ((quote.wrapping_sub(ONES) & !quote)
            | (backslash.wrapping_sub(ONES) & !backslash)
            | (word.wrapping_sub(ONES * 0x20) & !word))
            & HIGHS;
        if hits != 0 {
            return run + hits.trailing_zeros() as usize / 8;
        }
        run += 8;
    }
    let is_plain = |byte: &&u8| **byte >= 0x20 && **byte != b'"' && **byte != b'\\';
    run + bytes[run..].iter().take_while(is_plain).count()
}
