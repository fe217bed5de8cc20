//! Why a text was refused, and where: the byte, and the JSON Pointer of the value being read.
//!
//! The sentences are for people and go into answers, so they say what is wrong with the text and nothing about the
//! parser. A fault quotes nothing but a repeated key, shortened.

use std::fmt;

use super::{DEPTH_MAX, TEXT_MAX, text};

/// A refusal. Display is a plain sentence without the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The offset of the first byte that cannot stand where it stands.
    pub at: usize,
    pub what: FaultKind,
    /// The innermost value that was being read, as a JSON Pointer; empty for the whole text.
    pub pointer: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    Empty,
    TooLarge,
    ByteOrderMark,
    NotUtf8,
    UnexpectedEnd,
    Unexpected { expected: &'static str },
    Trailing,
    TooDeep,
    DuplicateKey(Box<str>),
    ControlCharacter,
    BadEscape,
    LoneSurrogate,
    LeadingZero,
    ExponentRange,
}

/// Longer keys are cut in sentences: a message must not grow with what a client sent.
const KEY_SHOWN_CHARS: usize = 64;

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.what.fmt(f)
    }
}

impl std::error::Error for Fault {}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultKind::Empty => f.write_str("the text is empty"),
            FaultKind::TooLarge => write!(f, "the text is longer than {TEXT_MAX} bytes"),
            FaultKind::ByteOrderMark => f.write_str("the text begins with a byte order mark"),
            FaultKind::NotUtf8 => f.write_str("the text is not valid UTF-8"),
            FaultKind::UnexpectedEnd => f.write_str("the text ends too early"),
            FaultKind::Unexpected { expected } => write!(f, "something else than {expected}"),
            FaultKind::Trailing => f.write_str("something follows the document"),
            FaultKind::TooDeep => write!(f, "nesting deeper than {DEPTH_MAX}"),
            FaultKind::DuplicateKey(key) => write!(f, "duplicate key {}", quoted(key)),
            FaultKind::ControlCharacter => f.write_str("a raw control character in a string"),
            FaultKind::BadEscape => f.write_str("an unknown escape in a string"),
            FaultKind::LoneSurrogate => f.write_str("a lone surrogate"),
            FaultKind::LeadingZero => f.write_str("a number with a leading zero"),
            FaultKind::ExponentRange => f.write_str("exponent out of range"),
        }
    }
}

fn quoted(key: &str) -> String {
    let mut shown: String = key.chars().take(KEY_SHOWN_CHARS).collect();
    if shown.len() < key.len() {
        shown.push('…');
    }
    let mut out = Vec::with_capacity(shown.len() + 2);
    text::write_string(&mut out, &shown);
    String::from_utf8_lossy(&out).into_owned()
}
