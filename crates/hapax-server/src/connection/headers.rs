//! The headers of a request, where they came: a list of places in its head.
//!
//! A request has a handful of them, and of each a few are asked for. To compare lengths, and then names, costs less than a table
//! that is made for each request. Names are compared without case; values are the bytes that came, without the space around them.

use std::ops::Range;

use bytes::Bytes;

/// Room is made for so many at once.
const USUAL: usize = 8;

/// Names and values, in the order in which they came.
#[derive(Clone, Debug, Default)]
pub struct Headers {
    head: Bytes,
    lines: Vec<Line>,
    /// A bit for each length of a name: most that are asked for are not there, and no name is as long.
    lengths: u64,
}

/// Where a header is. A head is far shorter than a `u32` can say.
#[derive(Clone, Copy, Debug)]
struct Line {
    name: (u32, u32),
    value: (u32, u32),
}

impl Headers {
    /// None yet, of a head with these bytes.
    pub(super) fn of(head: Bytes) -> Self {
        Self { head, lines: Vec::with_capacity(USUAL), lengths: 0 }
    }

    /// One more, at these places.
    pub(super) fn add(&mut self, name: Range<usize>, value: Range<usize>) {
        self.lengths |= bit(name.len());
        let place = |range: Range<usize>| (range.start as u32, range.end as u32);
        self.lines.push(Line { name: place(name), value: place(value) });
    }

    fn at(&self, (from, to): (u32, u32)) -> &[u8] {
        &self.head[from as usize..to as usize]
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Each name, as it was written, with its value.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.lines.iter().map(|line| (self.at(line.name), self.at(line.value)))
    }

    /// Every value of this name.
    pub fn all<'h>(&'h self, name: &str) -> impl Iterator<Item = &'h [u8]> {
        let lines = if self.lengths & bit(name.len()) == 0 { &[] } else { &self.lines[..] };
        lines.iter().filter(move |line| is_same(self.at(line.name), name)).map(|line| self.at(line.value))
    }

    /// The first value of this name.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.all(name).next()
    }

    /// The first value of this name, if it is text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(text)
    }

    /// Every name that begins with this, in small letters, with its value.
    pub fn beginning_with(&self, start: &str) -> impl Iterator<Item = (String, &[u8])> {
        self.iter().filter_map(move |(name, value)| {
            let begins = name.get(..start.len()).is_some_and(|it| it.eq_ignore_ascii_case(start.as_bytes()));
            // A name is made of letters, digits and a few marks, all of them ASCII.
            begins.then(|| (String::from_utf8_lossy(name).to_ascii_lowercase(), value))
        })
    }
}

fn bit(length: usize) -> u64 {
    1 << (length % 64)
}

/// Are two names the same? Most are written as they are asked for.
pub(super) fn is_same(name: &[u8], known: &str) -> bool {
    name.len() == known.len() && (name == known.as_bytes() || name.eq_ignore_ascii_case(known.as_bytes()))
}

/// A value as text: ASCII, and nothing of it a control character but tabs.
pub fn text(value: &[u8]) -> Option<&str> {
    // All of them are looked at, because that is done many at a time.
    let is_text = value.iter().fold(true, |so_far, byte| so_far & matches!(byte, b' '..=b'~' | b'\t'));
    if is_text { std::str::from_utf8(value).ok() } else { None }
}

/// Headers that did not come over a connection.
impl<N: AsRef<[u8]>, V: AsRef<[u8]>> FromIterator<(N, V)> for Headers {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        let (mut head, mut headers) = (Vec::new(), Self::default());
        for (name, value) in pairs {
            let start = head.len();
            head.extend_from_slice(name.as_ref());
            let middle = head.len();
            head.extend_from_slice(value.as_ref());
            headers.add(start..middle, middle..head.len());
        }
        headers.head = Bytes::from(head);
        headers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_no_case_and_values_are_as_they_came() {
        let headers: Headers = [("Host", "a"), ("X-A", "1"), ("x-a", "2"), ("CE-Id", "e\u{e9}")].into_iter().collect();
        assert_eq!(headers.get("host"), Some(&b"a"[..]));
        assert_eq!(headers.all("x-a").collect::<Vec<_>>(), [b"1", b"2"]);
        assert_eq!((headers.get("x-"), headers.get("x-ab"), headers.get("")), (None, None, None));
        assert_eq!((headers.text("host"), headers.text("ce-id")), (Some("a"), None), "text is ASCII");
        let ce: Vec<_> = headers.beginning_with("ce-").collect();
        assert_eq!(ce, [("ce-id".to_owned(), "e\u{e9}".as_bytes())]);
        assert_eq!((headers.len(), headers.is_empty()), (4, false));
    }
}
