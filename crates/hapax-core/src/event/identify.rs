//! The id of an event: given, derived from what it says, or assigned.

use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::read::{A_NAME, Door, missing};
use super::{Event, IdSource, Identity, Stamp};
use crate::contract::{Contract, Scope};
use crate::json::Node;
use crate::planted;
use crate::refusal::Refusal;
use crate::time::Time;
use crate::tuple::{self, TuplePart};
use crate::value::Value;

/// Finds the id, or derives it, or assigns one.
pub(super) fn identify(event: &mut Event, root: Node<'_>, contract: &Contract, door: &Door<'_>) -> Result<(), Refusal> {
    let rules = &contract.identity;
    let id: Arc<str> = match &event.id {
        Some(id) => Arc::clone(id),
        None if !rules.derive.is_empty() => {
            event.id_source = IdSource::Derived;
            derive(root, contract, event.time, door.salt)?.into()
        }
        None if rules.required => return Err(missing(contract.envelope.id.as_ref(), A_NAME)),
        None => {
            event.id_source = IdSource::Assigned;
            uuid_v7(door.now, door.spare).into()
        }
    };
    let lane = event.lane.as_deref().filter(|_| rules.scope == Scope::Lane && !planted!(LaneLeftOut));
    event.identity = Identity::of(lane, &id);
    if planted!(IdLowercased) {
        event.identity = Identity::of(lane, &id.to_lowercase());
    }
    if planted!(IdTrimmed) {
        event.identity = Identity::of(lane, id.trim());
    }
    if planted!(IdNormalised) {
        event.identity = Identity::of(lane, &id.replace("e\u{301}", "\u{e9}"));
    }
    event.id = Some(id);
    Ok(())
}

fn derive(root: Node<'_>, contract: &Contract, stamp: Stamp, salt: &[u8; 32]) -> Result<String, Refusal> {
    let pointers = &contract.identity.derive;
    let values: Vec<Option<Value>> = pointers.iter().map(|pointer| root.at(pointer).map(Value::from)).collect();
    if values.iter().all(Option::is_none) {
        let listed: Vec<_> = pointers.iter().map(ToString::to_string).collect();
        return Err(Refusal::schema(
            "",
            format!("an id, or something to derive it from: {}", listed.join(", ")),
            "neither",
        ));
    }
    let nested: Vec<Vec<u8>> = values.iter().map(|value| canonical_json(value.as_ref())).collect();
    let parts: Vec<TuplePart<'_>> = values
        .iter()
        .zip(pointers)
        .zip(&nested)
        .map(|((value, pointer), nested)| match (value, stamp) {
            (Some(Value::String(_)), Stamp::Read(time)) if contract.envelope.time.as_ref() == Some(pointer) => {
                TuplePart::Instant(time.nanos())
            }
            (None, _) => TuplePart::Absent,
            (Some(Value::Null), _) => TuplePart::Null,
            (Some(Value::Bool(yes)), _) => TuplePart::Bool(*yes),
            (Some(Value::Number(number)), _) => TuplePart::Number(number),
            (Some(Value::String(text)), _) => TuplePart::Text(text),
            (Some(Value::Array(_) | Value::Object(_)), _) => TuplePart::Json(nested),
        })
        .collect();
    // HMAC takes a key of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(salt) else { return Ok(String::new()) };
    mac.update(&tuple::canonical(&parts));
    Ok(base64url(&mac.finalize().into_bytes()))
}

fn canonical_json(value: Option<&Value>) -> Vec<u8> {
    let mut out = Vec::new();
    if let Some(value @ (Value::Array(_) | Value::Object(_))) = value {
        value.write_canonical(&mut out);
    }
    out
}

/// RFC 4648 section 5, without padding.
fn base64url(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0_u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            out.push(char::from(LETTERS[(group >> (18 - 6 * place) & 63) as usize]));
        }
    }
    out
}

/// RFC 9562 version 7: milliseconds, then random bits.
fn uuid_v7(now: Time, spare: u128) -> String {
    let millis = u128::try_from(now.nanos().max(0) / 1_000_000).unwrap_or_default() & ((1 << 48) - 1);
    let random = spare & ((1 << 74) - 1);
    let bits = millis << 80 | 0x7 << 76 | (random >> 62) << 64 | 0b10 << 62 | random & ((1 << 62) - 1);
    let hex = format!("{bits:032x}");
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
