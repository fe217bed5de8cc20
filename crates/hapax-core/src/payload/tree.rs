//! A document on its way through the rules: its values, each with the place it came from.
//!
//! Items keep the index they were sent with and every value keeps its node, so that a difference found here can be
//! shown in the words of the document. Strings are borrowed until a rule changes them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::json::{Kind, Node};
use crate::number::Number;
use crate::pointer;
use crate::time::Time;

#[derive(Debug)]
pub(crate) struct Tree<'d> {
    /// What was sent; no rule changes it.
    pub(crate) raw: Node<'d>,
    /// What is compared.
    pub(crate) shape: Shape<'d>,
}

#[derive(Debug)]
pub(crate) enum Shape<'d> {
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'d, str>),
    /// A string that a rule reads as a time. It equals no string, because a string that means a time became one too.
    Instant(Time),
    /// Items with the index they have in the document, ascending.
    Array(Vec<(usize, Tree<'d>)>),
    Object(BTreeMap<Cow<'d, str>, Tree<'d>>),
}

impl<'d> Tree<'d> {
    /// The value as it stands. The recursion is as deep as the document, which the parser bounds.
    pub(crate) fn of(raw: Node<'d>) -> Tree<'d> {
        let shape = match raw.kind() {
            Kind::Null => Shape::Null,
            Kind::Bool => Shape::Bool(raw.as_bool().unwrap_or_default()),
            Kind::Number => Shape::Number(raw.as_number().expect("the parser accepts only numbers that can be read")),
            Kind::String => Shape::Text(raw.as_str().unwrap_or_default()),
            Kind::Array => Shape::Array(raw.items().map(Tree::of).enumerate().collect()),
            Kind::Object => Shape::Object(raw.members().map(|(key, value)| (key, Tree::of(value))).collect()),
        };
        Tree { raw, shape }
    }

    /// Equal after the rules: where the values came from, and how they were written, is not looked at.
    pub(crate) fn equals(&self, other: &Tree<'_>) -> bool {
        match (&self.shape, &other.shape) {
            (Shape::Null, Shape::Null) => true,
            (Shape::Bool(left), Shape::Bool(right)) => left == right,
            (Shape::Number(left), Shape::Number(right)) => left == right,
            (Shape::Text(left), Shape::Text(right)) => left == right,
            (Shape::Instant(left), Shape::Instant(right)) => left == right,
            (Shape::Array(left), Shape::Array(right)) => {
                left.len() == right.len() && left.iter().zip(right).all(|(left, right)| left.1.equals(&right.1))
            }
            (Shape::Object(left), Shape::Object(right)) => {
                left.len() == right.len()
                    && left.iter().zip(right).all(|(left, right)| left.0 == right.0 && left.1.equals(right.1))
            }
            _ => false,
        }
    }

    pub(crate) fn child_mut(&mut self, token: &str) -> Option<&mut Tree<'d>> {
        match &mut self.shape {
            Shape::Object(members) => members.get_mut(token),
            Shape::Array(items) => {
                let at = position(items, token)?;
                items.get_mut(at).map(|(_, tree)| tree)
            }
            Shape::Null | Shape::Bool(_) | Shape::Number(_) | Shape::Text(_) | Shape::Instant(_) => None,
        }
    }

    pub(crate) fn remove(&mut self, token: &str) {
        match &mut self.shape {
            Shape::Object(members) => {
                members.remove(token);
            }
            Shape::Array(items) => {
                if let Some(at) = position(items, token) {
                    items.remove(at);
                }
            }
            Shape::Null | Shape::Bool(_) | Shape::Number(_) | Shape::Text(_) | Shape::Instant(_) => {}
        }
    }
}

fn position(items: &[(usize, Tree<'_>)], token: &str) -> Option<usize> {
    let index = pointer::index(token)?;
    items.binary_search_by_key(&index, |item| item.0).ok()
}

impl Shape<'_> {
    pub(crate) fn as_text(&self) -> Option<&str> {
        if let Shape::Text(text) = self { Some(text) } else { None }
    }

    pub(crate) fn as_number(&self) -> Option<&Number> {
        if let Shape::Number(number) = self { Some(number) } else { None }
    }

    pub(crate) fn is_leaf(&self) -> bool {
        !matches!(self, Shape::Array(_) | Shape::Object(_))
    }
}
