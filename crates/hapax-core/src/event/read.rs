//! The first check: is the document what the contract needs?

use std::borrow::Cow;
use std::sync::Arc;

use super::counted::counted;
use super::fields::{Fields, Found};
use super::identify::identify;
use super::lanes::Lanes;
use super::parts::{Part, integer, json_array};
use super::{DEFAULT_LANE, Digest, Event, IdSource, Identity, NAME_BYTES_MAX, NonceKey, Stamp, digest};
use crate::chain::content_hash;
use crate::contract::{Contract, First, Mode, Source, Version, When};
use crate::json::{self, Kind, Node, Tape};
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

/// Reads a document under a contract. Whoever has several does better with a [`Reader`].
pub fn read(document: Arc<[u8]>, version: &Version, door: &Door<'_>) -> Event {
    Reader::new(version, 1).read(document, door)
}

/// Reads documents under one contract, and keeps what one of them can leave to the next: the memory of a tape, and the
/// lanes, which are the same again and again.
#[derive(Debug)]
pub struct Reader<'v> {
    version: &'v Version,
    fields: Fields<'v>,
    lanes: Lanes,
    tape: Tape,
}

impl<'v> Reader<'v> {
    /// For about so many documents.
    pub fn new(version: &'v Version, count: usize) -> Self {
        let fields = Fields::new(&version.contract.envelope);
        Self { version, fields, lanes: Lanes::new(count), tape: Tape::default() }
    }

    /// Reads a document.
    pub fn read(&mut self, document: Arc<[u8]>, door: &Door<'_>) -> Event {
        let mut event = self.blank(&document);
        let outcome = size(&document, door).and_then(|()| match json::parse_with(&document, &mut self.tape) {
            Err(fault) => Err(Refusal::schema(fault.pointer.clone(), "strict JSON", fault.to_string())),
            Ok(parsed) => {
                let outcome = self.object(&mut event, parsed.root(), door);
                parsed.recycle(&mut self.tape);
                outcome
            }
        });
        event.refusal = outcome.err().map(Box::new);
        event.document = Some(document);
        event
    }

    /// Reads a document that was scanned already: its value is this.
    pub fn read_scanned(&mut self, document: Arc<[u8]>, root: Node<'_>, door: &Door<'_>) -> Event {
        debug_assert_eq!(&*document, root.raw().as_bytes(), "the value is the document's");
        let mut event = self.blank(&document);
        let outcome = size(&document, door).and_then(|()| self.object(&mut event, root, door));
        event.refusal = outcome.err().map(Box::new);
        event.document = Some(document);
        event
    }

    fn blank(&self, document: &[u8]) -> Event {
        Event {
            digest: digest(document),
            content: Digest::default(),
            version: self.version.number,
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
            document: None,
        }
    }

    /// Fills the event field by field. It stops at the first refusal, with the id and the lane read first, so that the
    /// audit can be asked for them.
    fn object(&mut self, event: &mut Event, root: Node<'_>, door: &Door<'_>) -> Result<(), Refusal> {
        if root.kind() != Kind::Object {
            return Err(Refusal::schema("", "a JSON object", name_of(root.kind())));
        }
        let contract = &*self.version.contract;
        let found = &self.fields.find(root);
        let id = name(found.id());
        if let Ok(Some(id)) = &id {
            event.id = Some(Arc::from(id.as_ref()));
        }
        let lane = lane(found, contract, &mut self.lanes);
        if let Ok(lane) = &lane {
            event.lane = Some(Arc::clone(lane));
        }
        id?;
        let lane = lane?;
        if !(door.covers)(&lane) {
            return Err(Refusal::new(Code::LaneForbidden, Why::Lane));
        }
        event.time = stamp(found, contract);
        identify(event, root, contract, door)?;
        sequence(event, root, found, contract)?;
        nonce(event, found, contract, &lane)?;
        for (place, counter) in contract.counters.iter().enumerate() {
            if let Some(counted) = counted(root, place, counter)? {
                event.counted.push(counted);
            }
        }
        let id = event.id.as_deref().unwrap_or_default();
        event.content = content_hash(&event.digest, event.epoch, &lane, id);
        Ok(())
    }
}

fn size(document: &[u8], door: &Door<'_>) -> Result<(), Refusal> {
    if document.len() <= door.event_bytes_max {
        return Ok(());
    }
    Err(Refusal::schema("", format!("at most {} bytes", door.event_bytes_max), format!("{}", document.len())))
}

pub(super) const A_NAME: &str = "a string of 1 to 256 bytes without U+0000";

/// A string that names something.
fn name<'d>(found: Option<(&Pointer, Node<'d>)>) -> Result<Option<Cow<'d, str>>, Refusal> {
    found.map(|(pointer, node)| checked_name(node, pointer, A_NAME)).transpose()
}

fn checked_name<'d>(node: Node<'d>, pointer: &Pointer, expected: &str) -> Result<Cow<'d, str>, Refusal> {
    let found = match node.as_str() {
        None => name_of(node.kind()).to_owned(),
        Some(text) if text.is_empty() => "an empty string".to_owned(),
        Some(text) if text.len() > NAME_BYTES_MAX => format!("a string of {} bytes", text.len()),
        // Raw it cannot be there, so only a string with escapes has it.
        Some(Cow::Owned(text)) if text.contains('\0') => "a string with U+0000".to_owned(),
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

const A_LANE: &str = "a string of 1 to 256 bytes without U+0000, or an integer of 64 bits";

/// The lane's text: the string itself, or, if it is composite, an integer, or begins with `[`, its JSON array. So two
/// lanes have the same text only if they have the same parts.
fn lane(found: &Found<'_, '_>, contract: &Contract, lanes: &mut Lanes) -> Result<Arc<str>, Refusal> {
    let mut absent = None;
    let mut parts = Vec::new();
    for (pointer, node) in found.lane() {
        match node {
            None => absent = absent.or(Some(pointer)),
            Some(node) if contract.envelope.lane.len() == 1 => {
                return Ok(match lane_part(pointer, node)? {
                    Part::Text(text) if !text.starts_with('[') => lanes.of(&text),
                    part @ (Part::Text(_) | Part::Integer(_) | Part::Number(_) | Part::Bool(_) | Part::Null) => {
                        json_array(&[part])
                    }
                });
            }
            Some(node) => parts.push(lane_part(pointer, node)?),
        }
    }
    match absent {
        Some(pointer) if contract.reads_lanes() => Err(missing(Some(pointer), A_LANE)),
        Some(_) => Ok(lanes.of(DEFAULT_LANE)),
        None if parts.is_empty() => Ok(lanes.of(DEFAULT_LANE)),
        None => Ok(json_array(&parts)),
    }
}

fn lane_part<'d>(pointer: &Pointer, node: Node<'d>) -> Result<Part<'d>, Refusal> {
    let Some(text) = node.number_text() else { return checked_name(node, pointer, A_LANE).map(Part::Text) };
    integer(text).map(Part::Integer).ok_or_else(|| Refusal::schema(pointer.to_string(), A_LANE, text))
}

fn stamp(found: &Found<'_, '_>, contract: &Contract) -> Stamp {
    let Some((_, node)) = found.time() else { return Stamp::Absent };
    let Some(text) = node.as_str() else { return Stamp::NotText(name_of(node.kind())) };
    match time::parse(&text, contract.time.utc_only) {
        Ok(time) => Stamp::Read(time),
        Err(fault) => Stamp::Unreadable(fault),
    }
}

const A_NUMBER: &str = "an integer from 0 to 18446744073709551615";

fn count(found: Option<(&Pointer, Node<'_>)>) -> Result<Option<u64>, Refusal> {
    let Some((pointer, node)) = found else { return Ok(None) };
    let refuse = || {
        let found = if node.kind() == Kind::Number { node.raw() } else { name_of(node.kind()) };
        Refusal::schema(pointer.to_string(), A_NUMBER, found)
    };
    node.as_u64().map(Some).ok_or_else(refuse)
}

/// The numbers that the contract's source reads; a pointer that no rule reads is not looked at.
fn sequence(event: &mut Event, root: Node<'_>, found: &Found<'_, '_>, contract: &Contract) -> Result<(), Refusal> {
    let (envelope, rules) = (&contract.envelope, &contract.sequence);
    match rules.source {
        Source::None => {}
        Source::Producer => {
            let seq = count(found.seq())?.ok_or_else(|| missing(envelope.seq.as_ref(), A_NUMBER))?;
            if let First::Number(first) = rules.first
                && seq < first
            {
                let pointer = envelope.seq.as_ref().map_or_else(String::new, ToString::to_string);
                return Err(Refusal::schema(pointer, format!("a number from {first}"), seq.to_string()));
            }
            event.seq = Some(seq);
            event.epoch = count(found.epoch())?.unwrap_or(0);
        }
        Source::Server => {
            event.expected = count(found.expected())?;
            event.expected_required = rules.expected_required_for.as_ref().is_some_and(|when| applies(root, when));
        }
    }
    Ok(())
}

fn nonce(event: &mut Event, found: &Found<'_, '_>, contract: &Contract, lane: &str) -> Result<(), Refusal> {
    if contract.mode == Mode::Off {
        return Ok(());
    }
    match name(found.nonce())? {
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
