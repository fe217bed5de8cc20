//! A JSON value that stands alone: owned, exact, comparable.
//!
//! For what outlives its document or never had one: values in a contract, parts of a key. Documents themselves are
//! compared through [`crate::payload`], which copies less.

use std::collections::BTreeMap;

use crate::json::{Kind, Node, write_string};
use crate::number::Number;

#[cfg(test)]
mod tests;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    Array(Vec<Value>),
    Object(BTreeMap<String, Value>),
}

impl From<Node<'_>> for Value {
    fn from(node: Node<'_>) -> Value {
        match node.kind() {
            Kind::Null => Value::Null,
            Kind::Bool => Value::Bool(node.as_bool().unwrap_or_default()),
            Kind::Number => Value::Number(node.as_number().expect("the parser accepts only numbers that can be read")),
            Kind::String => Value::String(node.as_str().unwrap_or_default().into_owned()),
            Kind::Array => Value::Array(node.items().map(Value::from).collect()),
            Kind::Object => {
                Value::Object(node.members().map(|(key, value)| (key.into_owned(), Value::from(value))).collect())
            }
        }
    }
}

impl Value {
    /// Writes the canonical form: equal values give equal bytes, unequal ones never do. Escapes and the order of
    /// members are those of RFC 8785; numbers are exact decimals, where RFC 8785 would make floats of them.
    pub fn write_canonical(&self, out: &mut Vec<u8>) {
        match self {
            Value::Null => out.extend_from_slice(b"null"),
            Value::Bool(true) => out.extend_from_slice(b"true"),
            Value::Bool(false) => out.extend_from_slice(b"false"),
            Value::Number(number) => out.extend_from_slice(number.to_string().as_bytes()),
            Value::String(text) => write_string(out, text),
            Value::Array(items) => {
                out.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    item.write_canonical(out);
                }
                out.push(b']');
            }
            Value::Object(members) => write_members(members, out),
        }
    }
}

fn write_members(members: &BTreeMap<String, Value>, out: &mut Vec<u8>) {
    let mut sorted: Vec<(&String, &Value)> = members.iter().collect();
    // The map is in the order of UTF-8, the RFC wants that of UTF-16; they differ beyond the basic plane.
    sorted.sort_by(|left, right| left.0.encode_utf16().cmp(right.0.encode_utf16()));
    out.push(b'{');
    for (index, (key, value)) in sorted.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_string(out, key);
        out.push(b':');
        value.write_canonical(out);
    }
    out.push(b'}');
}
