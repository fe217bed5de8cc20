//! Strings between their two forms: as written in JSON, and as the characters they mean.
//!
//! Reading trusts the scanner: an escape that reaches [`unescape`] was checked once and is not checked again, so
//! nothing here can fail. Writing is RFC 8785: the shortest escapes, and only where JSON demands one.

use std::borrow::Cow;

/// Writes a string with its quotes, escaped as RFC 8785 has it.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    write_inner(out, text);
    out.push(b'"');
}

/// Writes what stands between the quotes. The parts of a string may be written one by one: no escape looks beyond its
/// character.
pub(crate) fn write_inner(out: &mut Vec<u8>, text: &str) {
    if is_plain(text.as_bytes()) {
        out.extend_from_slice(text.as_bytes());
    } else {
        write_escaped(out, text);
    }
}

/// Can it stand between quotes as it is? Nearly all ids and lanes can, so this looks at eight bytes at a time.
fn is_plain(bytes: &[u8]) -> bool {
    // The last eight may have been looked at in part; again is quicker than one by one.
    match bytes.last_chunk::<8>() {
        Some(last) => bytes.as_chunks::<8>().0.iter().fold(awkward(*last), |hits, eight| hits | awkward(*eight)) == 0,
        None => bytes.iter().all(|byte| *byte >= 0x20 && *byte != b'"' && *byte != b'\\'),
    }
}

/// Not zero if one of eight bytes is a quote, a backslash or a control character.
fn awkward(bytes: [u8; 8]) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let word = u64::from_le_bytes(bytes);
    let quote = word ^ (ONES * b'"' as u64);
    let backslash = word ^ (ONES * b'\\' as u64);
    // Each term sets the high bit of a byte that is zero, or below a space. A borrow can set more of them, but only where
    // there is one.
    ((quote.wrapping_sub(ONES) & !quote)
        | (backslash.wrapping_sub(ONES) & !backslash)
        | (word.wrapping_sub(ONES * 0x20) & !word))
        & HIGHS
}

fn write_escaped(out: &mut Vec<u8>, text: &str) {
    let mut written = 0;
    for (at, byte) in text.bytes().enumerate() {
        let short = match byte {
            b'"' => b'"',
            b'\\' => b'\\',
            0x08 => b'b',
            0x09 => b't',
            0x0a => b'n',
            0x0c => b'f',
            0x0d => b'r',
            0x00..0x20 => b'u',
            _ => continue,
        };
        out.extend_from_slice(&text.as_bytes()[written..at]);
        out.extend_from_slice(&[b'\\', short]);
        if short == b'u' {
            out.extend_from_slice(&[b'0', b'0', hex_digit(byte >> 4), hex_digit(byte & 15)]);
        }
        written = at + 1;
    }
    out.extend_from_slice(&text.as_bytes()[written..]);
}

fn hex_digit(value: u8) -> u8 {
    if value < 10 { b'0' + value } else { b'a' + value - 10 }
}

/// The characters that the inside of a scanned string means; borrowed if it has no escapes.
pub(super) fn unescape(inner: &str) -> Cow<'_, str> {
    let Some(first) = inner.find('\\') else { return Cow::Borrowed(inner) };
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    let mut next = Some(first);
    while let Some(at) = next {
        out.push_str(&rest[..at]);
        let (char, length) = escape(&rest[at..]);
        out.push(char);
        rest = &rest[at + length..];
        next = rest.find('\\');
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The character that the escape at the beginning of `text` means, and how many bytes it takes.
fn escape(text: &str) -> (char, usize) {
    let bytes = text.as_bytes();
    match bytes.get(1) {
        Some(b'b') => ('\u{8}', 2),
        Some(b't') => ('\t', 2),
        Some(b'n') => ('\n', 2),
        Some(b'f') => ('\u{c}', 2),
        Some(b'r') => ('\r', 2),
        Some(b'u') => {
            let unit = hex4(bytes, 2).unwrap_or(0xfffd);
            if !(0xd800..0xdc00).contains(&unit) {
                return (char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER), 6);
            }
            let low = hex4(bytes, 8).unwrap_or(0xfffd);
            (join(unit, low).unwrap_or(char::REPLACEMENT_CHARACTER), 12)
        }
        // Quote, backslash and slash mean themselves, and the scanner lets nothing else through.
        Some(other) => (char::from(*other), 2),
        None => (char::REPLACEMENT_CHARACTER, 1),
    }
}

/// The character of a surrogate pair, if it is one.
pub(super) fn join(high: u32, low: u32) -> Option<char> {
    let is_pair = (0xd800..0xdc00).contains(&high) && (0xdc00..0xe000).contains(&low);
    if is_pair { char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)) } else { None }
}

/// Four hexadecimal digits at `at`.
pub(super) fn hex4(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 4)?;
    digits.iter().try_fold(0, |value, &digit| Some(value << 4 | char::from(digit).to_digit(16)?))
}
