//! What the counters of a contract would count of a document.

use std::borrow::Cow;
use std::sync::Arc;

use super::parts::{Part, json_array};
use super::read::{applies, name_of};
use super::{Counted, NAME_BYTES_MAX};
use crate::amount::{Amount, AmountFault};
use crate::contract::CounterRules;
use crate::json::{self, Kind, Node};
use crate::pointer::Pointer;
use crate::refusal::Refusal;

/// What one counter would count; nothing if it does not apply.
pub(super) fn counted(root: Node<'_>, place: usize, rules: &CounterRules) -> Result<Option<Counted>, Refusal> {
    if rules.when.as_ref().is_some_and(|when| !applies(root, when)) {
        return Ok(None);
    }
    let parts = rules.key.iter().map(|pointer| key_part(root, pointer)).collect::<Result<Vec<_>, _>>()?;
    Ok(Some(Counted { counter: place, key: json_array(&parts), amount: amount(root, &rules.amount) }))
}

/// A part of a counter's key: absent counts as null, so that what cannot be attributed is still counted.
fn key_part<'d>(root: Node<'d>, pointer: &Pointer) -> Result<Part<'d>, Refusal> {
    const A_KEY: &str = "a string of at most 256 bytes without U+0000, a number, true, false or null";
    let Some(node) = root.at(pointer) else { return Ok(Part::Null) };
    let part = match node.kind() {
        Kind::Null => Some(Part::Null),
        Kind::Bool => node.as_bool().map(Part::Bool),
        Kind::Number if node.raw().len() <= NAME_BYTES_MAX => node.as_number().map(Part::Number),
        Kind::String => {
            node.as_str().filter(|text| text.len() <= NAME_BYTES_MAX && !text.contains('\0')).map(Part::Text)
        }
        Kind::Number | Kind::Array | Kind::Object => None,
    };
    part.ok_or_else(|| {
        let found = match node.as_str() {
            Some(text) if text.contains('\0') => "a string with U+0000".to_owned(),
            Some(text) => format!("a string of {} bytes", text.len()),
            None => name_of(node.kind()).to_owned(),
        };
        Refusal::schema(pointer.to_string(), A_KEY, found)
    })
}

/// The text of a counter's key as the ledger writes it, from a JSON array that somebody wrote.
pub fn counter_key(text: &[u8]) -> Option<Arc<str>> {
    let document = json::parse(text).ok()?;
    let root = document.root();
    if root.kind() != Kind::Array {
        return None;
    }
    let whole = Pointer::parse("").ok()?;
    let parts = root.items().map(|item| key_part(item, &whole)).collect::<Result<Vec<_>, _>>().ok()?;
    Some(json_array(&parts))
}

fn amount(root: Node<'_>, pointer: &Pointer) -> Result<Amount, String> {
    let Some(node) = root.at(pointer) else { return Err(format!("there is none at {pointer}")) };
    let text = match node.kind() {
        Kind::Number => Cow::Borrowed(node.raw()),
        Kind::String => node.as_str().unwrap_or_default(),
        Kind::Null | Kind::Bool | Kind::Array | Kind::Object => {
            return Err(format!("{} at {pointer} is not a number", name_of(node.kind())));
        }
    };
    Amount::parse(&text).map_err(|fault: AmountFault| format!("{fault} (at {pointer})"))
}
