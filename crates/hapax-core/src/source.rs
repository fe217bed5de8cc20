//! A written configuration as a tree that remembers where each part stands.
//!
//! Contracts and scenarios are written by people, in TOML or JSON, and a mistake in them must be answered with a line
//! and a key. So both are read into this one tree first. Numbers keep the text they were written with.
//!
//! Not here: what the keys mean. A [`Reader`] takes them one by one and complains about what is left over.

mod reader;
mod text;

pub use reader::{List, Reader, Table, nearest};

use serde::ser::{Error as _, SerializeMap as _};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::json::write_string;

/// A place in the text: line and column count from 1; line 0 means that nobody wrote it (a default, a preset).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The column, in characters.
    pub column: u32,
}

/// One thing that is wrong with a written configuration.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Problem {
    /// The key, dotted from the top: `time.future`.
    pub key: String,
    /// What is wrong, and what was expected.
    pub why: String,
    /// Where it stands.
    #[serde(skip)]
    pub at: Place,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.at.line > 0 {
            write!(f, "line {}: ", self.at.line)?;
        }
        if self.key.is_empty() { f.write_str(&self.why) } else { write!(f, "{}: {}", shown(&self.key), self.why) }
    }
}

impl Problem {
    /// Finds the line of a problem that only knows its key: that of the key, or of the nearest table around it.
    pub fn locate(&mut self, written: &Node) {
        if self.at.line > 0 {
            return;
        }
        let mut node = written;
        for part in self.key.split('.') {
            match node.get(part) {
                Some(inner) => node = inner,
                None => break,
            }
        }
        self.at = node.at;
    }
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where it begins.
    pub at: Place,
}

/// A written value.
#[derive(Clone, Debug)]
pub enum Value {
    /// JSON's null.
    Null,
    /// true or false
    Bool(bool),
    /// A number as JSON would write it.
    Number(String),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A table, in the order written.
    Table(Vec<(String, Node)>),
}

impl Node {
    /// A value that nobody wrote.
    pub fn implied(value: Value) -> Self {
        Self { value, at: Place::default() }
    }

    /// The member with this key, if this is a table that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        match &self.value {
            Value::Table(members) => members.iter().find(|(name, _)| name == key).map(|(_, node)| node),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_) => None,
        }
    }

    /// What it is, in the words of a message.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Value::Null => "null",
            Value::Bool(true) => "true",
            Value::Bool(false) => "false",
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }

    /// What was found, in the words of a message: a text or a number itself, of anything else what it is.
    pub fn found(&self) -> String {
        match &self.value {
            Value::Text(text) => format!("\"{}\"", shown(text)),
            Value::Number(text) => shown(text),
            Value::Null | Value::Bool(_) | Value::List(_) | Value::Table(_) => self.kind().to_owned(),
        }
    }

    /// Lays what was written over a preset: tables merge key by key, everything else replaces. A table with a `field`
    /// is one value (`{ field, … }`) and replaces as well, and so does an empty one in its place.
    #[must_use]
    pub fn over(self, preset: Self) -> Self {
        match (self.value, preset.value) {
            (Value::Table(written), Value::Table(base)) if !is_single(&written) && !is_single(&base) => {
                let mut merged = base;
                for (key, node) in written {
                    if let Some(place) = merged.iter().position(|(name, _)| *name == key) {
                        let under = std::mem::replace(&mut merged[place].1, Node::implied(Value::Null));
                        merged[place].1 = node.over(under);
                    } else {
                        merged.push((key, node));
                    }
                }
                Self { value: Value::Table(merged), at: self.at }
            }
            (written, _) => Self { value: written, at: self.at },
        }
    }

    /// The value as compact JSON.
    pub fn to_json(&self) -> String {
        let mut out = Vec::new();
        self.write_json(&mut out);
        // Made of texts and punctuation alone.
        String::from_utf8(out).unwrap_or_default()
    }

    fn write_json(&self, out: &mut Vec<u8>) {
        match &self.value {
            Value::Null => out.extend_from_slice(b"null"),
            Value::Bool(yes) => out.extend_from_slice(if *yes { b"true" } else { b"false" }),
            Value::Number(text) => out.extend_from_slice(text.as_bytes()),
            Value::Text(text) => write_string(out, text),
            Value::List(items) => {
                out.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    item.write_json(out);
                }
                out.push(b']');
            }
            Value::Table(members) => {
                out.push(b'{');
                for (index, (key, node)) in members.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    write_string(out, key);
                    out.push(b':');
                    node.write_json(out);
                }
                out.push(b'}');
            }
        }
    }
}

/// A counter may be called `field`; only a `field` that is no table makes its table one value.
fn is_single(members: &[(String, Node)]) -> bool {
    members.iter().any(|(key, node)| key == "field" && !matches!(node.value, Value::Table(_)))
}

/// Longer texts are cut in messages: a message must not grow with what somebody wrote.
const SHOWN_CHARS: usize = 64;

/// A text inside a message: one line, no control characters, cut.
fn shown(text: &str) -> String {
    let mut out = String::new();
    for (index, letter) in text.chars().enumerate() {
        if index == SHOWN_CHARS {
            out.push('…');
            break;
        }
        if letter.is_control() { out.extend(letter.escape_default()) } else { out.push(letter) }
    }
    out
}

/// As JSON, with every number as it was written.
impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.value {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(yes) => serializer.serialize_bool(*yes),
            Value::Number(text) => RawValue::from_string(text.clone()).map_err(S::Error::custom)?.serialize(serializer),
            Value::Text(text) => serializer.serialize_str(text),
            Value::List(items) => serializer.collect_seq(items),
            Value::Table(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (key, node) in members {
                    map.serialize_entry(key, node)?;
                }
                map.end()
            }
        }
    }
}

#[cfg(test)]
mod tests;
