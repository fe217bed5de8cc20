//! A body cut into documents. Each is judged as the bytes that came.
//!
//! A body is scanned once: what a document says stays on the tape of its batch until it is read. Whether it is JSON at
//! all, and what is said of one that is not, is `serde_json`'s: a body that cannot be scanned is given to it.
//!
//! Documents are parts of the body. Whoever reads one copies it then, because it is hashed next and should be near.

use std::borrow::Cow;

use hapax_core::json::{Batch, NoBatch, Node};
use hapax_core::problem::{Problem, ProblemCode};
use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::{cloudevents, malformed};
use crate::connection::headers::Headers;

/// The documents of a request.
#[derive(Debug)]
pub struct Documents<'b> {
    /// One event is answered with its receipt, several with a batch.
    pub single: bool,
    form: Form<'b>,
}

/// How far they were looked at.
#[derive(Debug)]
enum Form<'b> {
    /// Into each of them.
    Scanned(Batch<'b>),
    /// Where they begin and end.
    Cut(Vec<Cow<'b, [u8]>>),
}

impl<'b> Documents<'b> {
    /// A body cut up as its headers say, into at most so many.
    pub fn of(headers: &Headers, body: &'b [u8], max: usize) -> Result<Self, Problem> {
        let kind = kind(headers);
        match essence(kind).as_deref() {
            Some("application/cloudevents-batch+json") => Self::array(body, max)?.of_cloud_events(),
            Some("application/cloudevents+json") => Self::whole(body)?.of_cloud_events(),
            Some(other) if other.starts_with("application/cloudevents") => Err(unsupported(other)),
            _ if cloudevents::is_binary(headers) => Ok(Self::one(cloudevents::structured(headers, kind, body)?)),
            Some("application/x-ndjson" | "application/jsonl" | "application/ndjson") => Self::lines(body, max),
            Some("application/json") | None => Self::json(body, max),
            Some(other) => Err(unsupported(other)),
        }
    }

    fn of_cloud_events(self) -> Result<Self, Problem> {
        self.iter().try_for_each(cloudevents::check_structured)?;
        Ok(self)
    }

    /// Do its headers say that a body is plain JSON?
    pub(super) fn is_json(headers: &Headers) -> bool {
        matches!(essence(kind(headers)).as_deref(), Some("application/json") | None) && !cloudevents::is_binary(headers)
    }

    /// One event.
    pub fn one(document: impl Into<Cow<'b, [u8]>>) -> Self {
        Self { single: true, form: Form::Cut(vec![document.into()]) }
    }

    /// Each of them scanned.
    pub(super) fn scanned(batch: Batch<'b>, single: bool) -> Self {
        Self { single, form: Form::Scanned(batch) }
    }

    /// How many.
    pub fn len(&self) -> usize {
        match &self.form {
            Form::Scanned(batch) => batch.len(),
            Form::Cut(list) => list.len(),
        }
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Each as the bytes that came, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// One of them.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        match &self.form {
            Form::Scanned(batch) => batch.raw_at(index).map(str::as_bytes),
            Form::Cut(list) => list.get(index).map(|it| &**it),
        }
    }

    /// What a document says, if it was scanned and is strict JSON.
    pub fn node(&self, index: usize) -> Option<Node<'_>> {
        match &self.form {
            Form::Scanned(batch) => batch.node(index),
            Form::Cut(_) => None,
        }
    }

    /// JSON: an object is one event; an array, or an object whose only member is the array `events`, is a batch.
    pub fn json(body: &'b [u8], max: usize) -> Result<Self, Problem> {
        let start = body.iter().position(|byte| !byte.is_ascii_whitespace());
        match start.map(|at| body[at]) {
            None => Err(malformed("the body is empty; send an event as a JSON object, or a batch as an array")),
            Some(b'[') => Self::array(body, max),
            Some(b'{') if may_be_events(body) => {
                if let Ok(batch) = Batch::of_member(body, "events", max) {
                    return Ok(Self::scanned(batch, false));
                }
                // It may still be one: too large, with another rule broken, or with the name written in escapes.
                match serde_json::from_slice::<Top<'_>>(body) {
                    Ok(Top(Some(list))) => Self::array(list.get().as_bytes(), max),
                    Ok(Top(None)) | Err(_) => Self::whole(body),
                }
            }
            Some(_) => Self::whole(body),
        }
    }

    /// One event, whatever it looks like. It may break a rule that only the judge knows; what is no JSON at all is turned
    /// away here.
    pub fn whole(body: &'b [u8]) -> Result<Self, Problem> {
        if let Ok(batch) = Batch::of_one(body) {
            return Ok(Self::scanned(batch, true));
        }
        serde_json::from_slice::<&RawValue>(body).map_err(|error| not_json(&error))?;
        Ok(Self::one(trimmed(body)))
    }

    /// A batch as an array, and nothing else.
    pub fn array(body: &'b [u8], max: usize) -> Result<Self, Problem> {
        match Batch::of(body, max) {
            Ok(batch) => Ok(Self::scanned(batch, false)),
            Err(NoBatch::TooMany) => Err(too_many(max)),
            Err(NoBatch::NotOne) => Ok(Self { single: false, form: Form::Cut(elements(body, max)?) }),
        }
    }

    /// NDJSON: a document a line. A bad line is judged as such; a body without any good one is turned away.
    pub fn lines(body: &'b [u8], max: usize) -> Result<Self, Problem> {
        let lines = body.split(|byte| *byte == b'\n').map(trimmed).filter(|line| !line.is_empty());
        // One more than is taken is enough to be refused.
        let list: Vec<Cow<'b, [u8]>> = lines.take(max.saturating_add(1)).map(Cow::from).collect();
        if list.len() > max {
            return Err(too_many(max));
        }
        if !list.is_empty() && !list.iter().any(|line| serde_json::from_slice::<&RawValue>(line).is_ok()) {
            return Err(malformed("no line of the body is JSON"));
        }
        Ok(Self { single: false, form: Form::Cut(list) })
    }
}

/// What a body is, as its headers say.
fn kind(headers: &Headers) -> Option<&str> {
    headers.text("content-type")
}

/// The same without its parameters.
fn essence(kind: Option<&str>) -> Option<Cow<'_, str>> {
    let kind = kind.and_then(|kind| kind.split(';').next())?.trim();
    Some(if kind.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(kind.to_ascii_lowercase())
    } else {
        Cow::Borrowed(kind)
    })
}

fn unsupported(kind: &str) -> Problem {
    let form = "application/x-www-form-urlencoded";
    let hint = if kind == form { " (curl -d says so unless told otherwise)" } else { "" };
    let detail = format!(
        "the body is {kind}{hint}; send -H 'Content-Type: application/json', application/x-ndjson or CloudEvents"
    );
    Problem::new(ProblemCode::UnsupportedMediaType, detail)
}

/// The elements of an array; one more than is taken ends the reading.
fn elements(body: &[u8], max: usize) -> Result<Vec<Cow<'_, [u8]>>, Problem> {
    struct Elements<'l, 'b> {
        list: &'l mut Vec<Cow<'b, [u8]>>,
        max: usize,
    }

    impl<'de> Visitor<'de> for Elements<'_, 'de> {
        type Value = ();

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an array")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
            while let Some(element) = elements.next_element::<&'de RawValue>()? {
                self.list.push(Cow::from(element.get().as_bytes()));
                if self.list.len() > self.max {
                    return Err(A::Error::custom("too many"));
                }
            }
            Ok(())
        }
    }

    let mut list = Vec::new();
    let mut reader = serde_json::Deserializer::from_slice(body);
    let read = reader.deserialize_seq(Elements { list: &mut list, max }).and_then(|()| reader.end());
    match read {
        Err(_) if list.len() > max => Err(too_many(max)),
        Err(error) => Err(not_json(&error)),
        Ok(()) => Ok(list),
    }
}

fn too_many(max: usize) -> Problem {
    Problem::new(ProblemCode::TooLarge, format!("a batch has at most {max} events"))
}

fn not_json(error: &serde_json::Error) -> Problem {
    malformed(format!("the body is not JSON: {error}"))
}

/// Is the first member of an object `events`, or written with escapes, so that it may be?
fn may_be_events(body: &[u8]) -> bool {
    let mut parts = body.trim_ascii_start().splitn(3, |byte| *byte == b'"');
    parts.nth(1).is_some_and(|name| name == b"events" || name.contains(&b'\\'))
}

fn trimmed(bytes: &[u8]) -> &[u8] {
    bytes.trim_ascii()
}

/// The array of an object whose only member is `events`.
struct Top<'b>(Option<&'b RawValue>);

impl<'de> Deserialize<'de> for Top<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Top<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Top<'de>, A::Error> {
                let mut list = None;
                let mut members = 0;
                while let Some(Name(name)) = map.next_key::<Name<'de>>()? {
                    members += 1;
                    if members == 1 && name == "events" {
                        list = Some(map.next_value::<&'de RawValue>()?);
                    } else {
                        list = None;
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(Top(list.filter(|it| it.get().starts_with('['))))
            }
        }

        deserializer.deserialize_map(Members)
    }
}

/// A member's name, borrowed if it is written without escapes.
#[derive(serde::Deserialize)]
struct Name<'n>(#[serde(borrow)] Cow<'n, str>);

#[cfg(test)]
mod tests;
