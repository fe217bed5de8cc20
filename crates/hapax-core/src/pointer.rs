//! JSON Pointers (RFC 6901): where in a document something is.
//!
//! A pointer is its tokens, unescaped; its text is made from them. `""` is the whole document. A token names a member
//! of an object or, if it is written as an index without leading zeros, an item of an array; which of the two is decided
//! by the document. `-`, the item after the last, names nothing here, because nothing here appends.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pointer {
    tokens: Vec<String>,
}

/// Why a text is no pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointerError {
    NoSlash,
    /// A `~` that is followed by neither `0` nor `1`, at this byte.
    BadTilde(usize),
}

impl Pointer {
    pub fn parse(text: &str) -> Result<Pointer, PointerError> {
        if text.is_empty() {
            return Ok(Pointer::default());
        }
        let Some(rest) = text.strip_prefix('/') else { return Err(PointerError::NoSlash) };
        for (at, _) in text.match_indices('~') {
            if !matches!(text.as_bytes().get(at + 1), Some(b'0' | b'1')) {
                return Err(PointerError::BadTilde(at));
            }
        }
        // `~1` first, so that `~01` becomes `~1` and not a slash.
        let tokens = rest.split('/').map(|token| token.replace("~1", "/").replace("~0", "~")).collect();
        Ok(Pointer { tokens })
    }

    pub fn tokens(&self) -> &[String] {
        &self.tokens
    }

    /// Is this the whole document?
    pub fn is_root(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Does the other lie at or below this one?
    pub fn is_prefix_of(&self, other: &Pointer) -> bool {
        other.tokens.starts_with(&self.tokens)
    }

    /// The pointer one token further down.
    pub fn join(&self, token: &str) -> Pointer {
        let mut tokens = self.tokens.clone();
        tokens.push(token.to_owned());
        Pointer { tokens }
    }
}

/// The index that a token names in an array: digits without leading zeros.
pub fn index(token: &str) -> Option<usize> {
    let is_plain = token.bytes().all(|byte| byte.is_ascii_digit()) && (token == "0" || !token.starts_with('0'));
    if is_plain { token.parse().ok() } else { None }
}

impl From<Vec<String>> for Pointer {
    fn from(tokens: Vec<String>) -> Pointer {
        Pointer { tokens }
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for token in &self.tokens {
            // `~` first, for the reason in `parse`, turned round.
            write!(f, "/{}", token.replace('~', "~0").replace('/', "~1"))?;
        }
        Ok(())
    }
}

impl fmt::Display for PointerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PointerError::NoSlash => f.write_str("a JSON Pointer is empty or begins with a slash"),
            PointerError::BadTilde(at) => {
                write!(f, "in a JSON Pointer ~ is written ~0 and / is written ~1 (byte {at})")
            }
        }
    }
}

impl std::error::Error for PointerError {}

impl FromStr for Pointer {
    type Err = PointerError;

    fn from_str(text: &str) -> Result<Pointer, PointerError> {
        Pointer::parse(text)
    }
}

impl TryFrom<String> for Pointer {
    type Error = PointerError;

    fn try_from(text: String) -> Result<Pointer, PointerError> {
        Pointer::parse(&text)
    }
}

impl From<Pointer> for String {
    fn from(pointer: Pointer) -> String {
        pointer.to_string()
    }
}
