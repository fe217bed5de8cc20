//! The canonical tuple from which an identity is derived: typed, length-prefixed, versioned.
//!
//! What holds: two tuples have the same bytes only if they have the same parts. No separator exists that a value could
//! contain, absent differs from null, `5` from `"5"`, and a time from the text or number that it looks like.
//!
//! ```text
//! "hapax.identity.v1"  count u64  { kind u8  length u64  bytes }*      integers big endian
//! kind 0 absent, 1 null, 2 bool (0 or 1), 3 number (canonical text), 4 text, 5 instant (i64), 6 JSON (canonical text)
//! ```
//!
//! Not here: the salt, the hash, and the choice of the parts.

use crate::number::Number;

#[cfg(test)]
mod tests;

/// The first bytes. Ids that were derived once must be derived alike for ever, so another layout is another tag.
pub const TAG: &[u8] = b"hapax.identity.v1";

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TuplePart<'p> {
    Absent,
    Null,
    Bool(bool),
    Number(&'p Number),
    Text(&'p str),
    /// Nanoseconds since 1970.
    Instant(i64),
    /// An array or an object as [`crate::value::Value::write_canonical`] writes it.
    Json(&'p [u8]),
}

pub fn canonical(parts: &[TuplePart<'_>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(TAG.len() + 8 + parts.len() * 32);
    out.extend_from_slice(TAG);
    out.extend_from_slice(&(parts.len() as u64).to_be_bytes());
    for part in parts {
        match part {
            TuplePart::Absent => write_part(&mut out, 0, &[]),
            TuplePart::Null => write_part(&mut out, 1, &[]),
            TuplePart::Bool(value) => write_part(&mut out, 2, &[u8::from(*value)]),
            TuplePart::Number(number) => write_part(&mut out, 3, number.to_string().as_bytes()),
            TuplePart::Text(text) => write_part(&mut out, 4, text.as_bytes()),
            TuplePart::Instant(nanos) => write_part(&mut out, 5, &nanos.to_be_bytes()),
            TuplePart::Json(bytes) => write_part(&mut out, 6, bytes),
        }
    }
    out
}

fn write_part(out: &mut Vec<u8>, kind: u8, bytes: &[u8]) {
    out.push(kind);
    out.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
    out.extend_from_slice(bytes);
}
