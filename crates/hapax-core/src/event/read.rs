//! The first check: is the document what the contract needs?

use std::borrow::Cow;
use std::sync::Arc;

use super::counted::counted;
use super::identify::identify;
use super::parts::{Part, integer, json_array};
use super::{DEFAULT_LANE, Event, IdSource, Identity, NAME_BYTES_MAX, NonceKey, Stamp, digest};
use crate::contract::{Contract, First, Mode, Source, Version, When};
use crate::json::{self, Kind, Node};
use crate::pointer::Pointer;
use crate::refusal::{Refusal, Why};
use crate::time::{self, Time};
use crate::value::Value;
use crate::words::Code;

/// What the door knows beside the document.
#[derive(Clone, Copy)]
pub struct Door<'d> {
    /// The tenant's salt for derived ids.
    pub salt: &'d [u8; 32],
    /// When the request came.
    pub now: Time,
    /// Random bits, in case an id must be assigned: randomness enters as data, like time.
    pub spare: u128,
    /// The longest document, in bytes.
    pub event_bytes_max: usize,
    /// Does the caller's key cover this lane?
    pub covers: &'d (dyn Fn(&str) -> bool + Sync),
}

impl std::fmt::Debug for Door<'_> {
    /// The salt stays out of every log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Door").field("now", &self.now).finish_non_exhaustive()
    }
}

/// Reads a document under a contract.
pub fn read(document: Arc<[u8]>, version: &Version, door: &Door<'_>) -> Event {
    let mut event = Event {
        digest: digest(&document),
        version: version.number,
        id: None,
        id_source: IdSource::Given,
        identity: Identity::default(),
        lane: None,
        seq: None,
        epoch: 0,
        expected: None,
        expected_required: false,
        time: Stamp::Absent,
        nonce: None,
        counted: Vec::new(),
        refusal: None,
        document,
    };
    let bytes = Arc::clone(&event.document);
    let outcome = if bytes.len() > door.event_bytes_max {
        Err(Refusal::schema("", format!("at most {} bytes", door.event_bytes_max), format!("{}", bytes.len())))
    } else {
        match json::parse(&bytes) {
            Err(fault) => Err(Refusal::schema(fault.pointer.clone(), "strict JSON", fault.to_string())),
            Ok(document) if document.root().kind() != Kind::Object => {
                Err(Refusal::schema("", "a JSON object", name_of(document.root().kind())))
            }
            Ok(document) => read_object(&mut event, document.root(), &version.contract, door),
        }
    };
    event.refusal = outcome.err().map(Box::new);
    event
}

/// Fills the event field by field. It stops at the first refusal, with the id and the lane read first, so that the
/// audit can be asked for them.
fn read_object(event: &mut Event, root: Node<'_>, contract: &Contract, door: &Door<'_>) -> Result<(), Refusal> {
    let envelope = &contract.envelope;
    let id = name(root, envelope.id.as_ref());
    if let Ok(Some(id)) = &id {
        event.id = Some(Arc::from(id.as_ref()));
    }
    let lane = lane(root, contract);
    if let Ok(lane) = &lane {
        event.lane = Some(Arc::clone(lane));
    }
    id?;
    let lane = lane?;
    if !(door.covers)(&lane) {
        return Err(Refusal::new(Code::LaneForbidden, Why::Lane));
    }
    event.time = stamp(root, contract);
    identify(event, root, contract, door)?;
    sequence(event, root, contract)?;
    nonce(event, root, contract, &lane)?;
    for (place, counter) in contract.counters.iter().enumerate() {
        if let Some(counted) = counted(root, place, counter)? {
            event.counted.push(counted);
        }
    }
    Ok(())
}

/// The node at a pointer; in the envelope null means absent.
fn present<'d>(root: Node<'d>, pointer: Option<&Pointer>) -> Option<Node<'d>> {
    root.at(pointer?).filter(|node| !node.is_null())
}

pub(super) const A_NAME: &str = "a string of 1 to 256 bytes without U+0000";

/// A string that names something.
fn name<'d>(root: Node<'d>, pointer: Option<&Pointer>) -> Result<Option<Cow<'d, str>>, Refusal> {
    let (Some(pointer), Some(node)) = (pointer, present(root, pointer)) else { return Ok(None) };
    checked_name(node, pointer, A_NAME).map(Some)
}

fn checked_name<'d>(node: Node<'d>, pointer: &Pointer, expected: &str) -> Result<Cow<'d, str>, Refusal> {
    let found = match node.as_str() {
        None => name_of(node.kind()).to_owned(),
        Some(text) if text.is_empty() => "an empty string".to_owned(),
        Some(text) if text.len() > NAME_BYTES_MAX => format!("a string of {} bytes", text.len()),
        Some(text) if text.contains('\0') => "a string with U+0000".to_owned(),
        Some(text) => return Ok(text),
    };
    Err(Refusal::schema(pointer.to_string(), expected, found))
}

pub(super) fn missing(pointer: Option<&Pointer>, expected: &str) -> Refusal {
    let pointer = pointer.map_or_else(String::new, ToString::to_string);
    Refusal::schema(pointer, expected, "nothing")
}

/// What a kind of value is called in a message.
pub(super) const fn name_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Null => "null",
        Kind::Bool => "true or false",
        Kind::Number => "a number",
        Kind::String => "a string",
        Kind::Array => "an array",
        Kind::Object => "an object",
    }
}

/// The lane's text: the string itself, or, if it is composite, an integer, or begins with `[`, its JSON array. So two
/// lanes have the same text only if they have the same parts.
fn lane(root: Node<'_>, contract: &Contract) -> Result<Arc<str>, Refusal> {
    const A_LANE: &str = "a string of 1 to 256 bytes without U+0000, or an integer of 64 bits";
    let pointers = &contract.envelope.lane;
    let mut parts = Vec::with_capacity(pointers.len());
    let mut absent = None;
    for pointer in pointers {
        match present(root, Some(pointer)) {
            None => absent = absent.or(Some(pointer)),
            Some(node) if node.kind() == Kind::Number => match integer(node.number_text().unwrap_or_default()) {
                Some(number) => parts.push(Part::Integer(number)),
                None => return Err(Refusal::schema(pointer.to_string(), A_LANE, node.raw())),
            },
            Some(node) => parts.push(Part::Text(checked_name(node, pointer, A_LANE)?)),
        }
    }
    match (absent, parts.as_slice()) {
        (Some(pointer), _) if contract.reads_lanes() => Err(missing(Some(pointer), A_LANE)),
        (Some(_), _) | (None, []) => Ok(Arc::from(DEFAULT_LANE)),
        (None, [Part::Text(text)]) if !text.starts_with('[') => Ok(Arc::from(text.as_ref())),
        (None, parts) => Ok(json_array(parts)),
    }
}

fn stamp(root: Node<'_>, contract: &Contract) -> Stamp {
    let Some(node) = present(root, contract.envelope.time.as_ref()) else { return Stamp::Absent };
    let Some(text) = node.as_str() else { return Stamp::NotText(name_of(node.kind())) };
    match time::parse(&text, contract.time.utc_only) {
        Ok(time) => Stamp::Read(time),
        Err(fault) => Stamp::Unreadable(fault),
    }
}

const A_NUMBER: &str = "an integer from 0 to 18446744073709551615";

fn count(root: Node<'_>, pointer: Option<&Pointer>) -> Result<Option<u64>, Refusal> {
    let (Some(pointer), Some(node)) = (pointer, present(root, pointer)) else { return Ok(None) };
    let refuse = || {
        let found = if node.kind() == Kind::Number { node.raw() } else { name_of(node.kind()) };
        Refusal::schema(pointer.to_string(), A_NUMBER, found)
    };
    node.as_u64().map(Some).ok_or_else(refuse)
}

/// The numbers that the contract's source reads; a pointer that no rule reads is not looked at.
fn sequence(event: &mut Event, root: Node<'_>, contract: &Contract) -> Result<(), Refusal> {
    let (envelope, rules) = (&contract.envelope, &contract.sequence);
    match rules.source {
        Source::None => {}
        Source::Producer => {
            let seq = count(root, envelope.seq.as_ref())?.ok_or_else(|| missing(envelope.seq.as_ref(), A_NUMBER))?;
            if let First::Number(first) = rules.first
                && seq < first
            {
                let pointer = envelope.seq.as_ref().map_or_else(String::new, ToString::to_string);
                return Err(Refusal::schema(pointer, format!("a number from {first}"), seq.to_string()));
            }
            event.seq = Some(seq);
            event.epoch = count(root, envelope.epoch.as_ref())?.unwrap_or(0);
        }
        Source::Server => {
            event.expected = count(root, envelope.expected.as_ref())?;
            event.expected_required = rules.expected_required_for.as_ref().is_some_and(|when| applies(root, when));
        }
    }
    Ok(())
}

fn nonce(event: &mut Event, root: Node<'_>, contract: &Contract, lane: &str) -> Result<(), Refusal> {
    if contract.mode == Mode::Off {
        return Ok(());
    }
    let pointer = contract.envelope.nonce.as_ref();
    match name(root, pointer)? {
        Some(nonce) => event.nonce = Some(NonceKey::of(lane, &nonce)),
        // In shadow a missing nonce is remarked on by the judge, and refuses nothing.
        None if contract.nonce.required && contract.mode == Mode::Enforce => return Err(missing_nonce(contract)),
        None => {}
    }
    Ok(())
}

/// The refusal of an event without its nonce.
pub(crate) fn missing_nonce(contract: &Contract) -> Refusal {
    missing(contract.envelope.nonce.as_ref(), A_NAME)
}

pub(super) fn applies(root: Node<'_>, when: &When) -> bool {
    root.at(&when.field).map(Value::from).is_some_and(|value| when.values.contains(&value))
}
