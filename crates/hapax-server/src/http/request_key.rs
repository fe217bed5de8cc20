//! `Idempotency-Key`: the name of a request, never of an event.

use std::sync::Arc;

use hapax_core::problem::Problem;
use hapax_store::seam::RequestKey;
use hapax_store::turn::RequestId;
use sha2::{Digest as _, Sha256};

use super::{Call, malformed};
use crate::connection::headers::{Headers, text};

/// The header of the draft standard, and the one that came before it.
const NAMES: [&str; 2] = ["idempotency-key", "x-idempotency-key"];
/// The longest key.
const KEY_BYTES_MAX: usize = 255;

/// The headers that lift refusals; they are part of what a request is.
pub(super) const OVERRIDES: [&str; 2] = ["hapax-force-override", "x-force-override"];

/// The key of a request, if it has one.
pub(super) fn key_of(call: &Call) -> Result<Option<String>, Problem> {
    key_in(&call.head.headers)
}

/// The one key that the headers name, if they do.
pub fn key_in(headers: &Headers) -> Result<Option<String>, Problem> {
    let mut found: Option<String> = None;
    for name in NAMES {
        for value in headers.all(name) {
            let text = text(value).ok_or_else(|| malformed("the Idempotency-Key is not ASCII"))?;
            let key = unquoted(text.trim())?;
            if found.as_ref().is_some_and(|other| *other != key) {
                return Err(malformed("the request has two Idempotency-Keys"));
            }
            found = Some(key);
        }
    }
    Ok(found)
}

/// A quoted string (RFC 8941), or a bare word: both name the same key.
fn unquoted(text: &str) -> Result<String, Problem> {
    let wrong = || {
        malformed(format!(
            "an Idempotency-Key is 1 to {KEY_BYTES_MAX} visible characters in double quotes, or a bare word of letters, digits and . _ : ~ -"
        ))
    };
    let key = match text.strip_prefix('"') {
        Some(rest) => {
            let inner = rest.strip_suffix('"').ok_or_else(wrong)?;
            let mut key = String::with_capacity(inner.len());
            let mut letters = inner.chars();
            while let Some(letter) = letters.next() {
                match letter {
                    '\\' => key.push(letters.next().filter(|it| matches!(it, '"' | '\\')).ok_or_else(wrong)?),
                    '"' => return Err(wrong()),
                    ' '..='~' => key.push(letter),
                    _ => return Err(wrong()),
                }
            }
            key
        }
        None if text.chars().all(|it| it.is_ascii_alphanumeric() || "._:~-".contains(it)) => text.to_owned(),
        None => return Err(wrong()),
    };
    if key.is_empty() || key.len() > KEY_BYTES_MAX { Err(wrong()) } else { Ok(key) }
}

/// The key in its scope, with a hash of everything that makes the request what it is.
pub(super) fn identify(call: &Call, key: &str, body: &[u8]) -> RequestId {
    let mut hasher = Sha256::new();
    let overrides = OVERRIDES.map(|name| call.header(name).unwrap_or_default());
    let kind = call.header("content-type").unwrap_or_default();
    let mut ce: Vec<_> = call.head.headers.beginning_with("ce-").collect();
    ce.sort_by(|(one, _), (other, _)| one.cmp(other));
    let texts = [call.head.uri.query().unwrap_or_default(), kind, overrides[0], overrides[1]];
    let headers = ce.iter().flat_map(|(name, value)| [name.as_bytes(), *value]);
    for part in texts.iter().map(|text| text.as_bytes()).chain(headers).chain([body]) {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    let target = Arc::from(format!("{} {}", call.head.method, call.head.uri.path()));
    let key = RequestKey { tenant: Arc::clone(&call.tenant), target, key: Arc::from(key) };
    RequestId { key, fingerprint: hasher.finalize().into() }
}

/// The key as it is sent back: always quoted.
pub fn echoed(key: &str) -> String {
    format!("\"{}\"", key.replace('\\', "\\\\").replace('"', "\\\""))
}
