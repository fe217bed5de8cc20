//! Texts that are made of several values: composite lanes and the keys of counters, as JSON arrays.

use std::borrow::Cow;
use std::sync::Arc;

use crate::json::write_string;
use crate::number::Number;

/// One value of a composite text.
pub(super) enum Part<'d> {
    Text(Cow<'d, str>),
    Integer(i128),
    Number(Number),
    Bool(bool),
    Null,
}

/// An integer of 64 bits, signed or not, as written without point or exponent.
pub(super) fn integer(text: &str) -> Option<i128> {
    let number: i128 = text.parse().ok()?;
    (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&number).then_some(number)
}

/// The JSON array of the parts, without white space.
pub(super) fn json_array(parts: &[Part<'_>]) -> Arc<str> {
    let mut out = vec![b'['];
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        match part {
            Part::Text(text) => write_string(&mut out, text),
            Part::Integer(number) => out.extend_from_slice(number.to_string().as_bytes()),
            Part::Number(number) => out.extend_from_slice(number.to_string().as_bytes()),
            Part::Bool(yes) => out.extend_from_slice(if *yes { b"true" } else { b"false" }),
            Part::Null => out.extend_from_slice(b"null"),
        }
    }
    out.push(b']');
    String::from_utf8(out).unwrap_or_default().into()
}
