//! A handle on one value of a document: copy it freely, ask it anything, it changes nothing.
//!
//! Looking up a member or an item walks the siblings before it, which is fastest for the few members of an event.
//! Whoever needs all of a large container iterates instead.

use std::borrow::Cow;

use super::{Cell, keys, text};
use crate::number::Number;
use crate::pointer::{self, Pointer};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

#[derive(Clone, Copy)]
pub struct Node<'d> {
    text: &'d str,
    cells: &'d [Cell],
    index: usize,
}

/// Names of members, made ready to be looked for in many objects.
#[derive(Debug)]
pub struct Names<'n> {
    each: Vec<Name<'n>>,
    /// One of 64 bits for each: most keys that nobody looks for have another.
    mask: u64,
}

#[derive(Clone, Copy, Debug)]
struct Name<'n> {
    text: &'n str,
    hash: u32,
}

impl<'n> Names<'n> {
    /// None, with room for so many.
    pub fn with_room(count: usize) -> Self {
        Self { each: Vec::with_capacity(count), mask: 0 }
    }

    /// One more; answers with its place.
    pub fn add(&mut self, text: &'n str) -> usize {
        let hash = keys::hash(text.as_bytes());
        self.mask |= keys::bit(hash);
        self.each.push(Name { text, hash });
        self.each.len() - 1
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.each.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.each.is_empty()
    }
}

/// Where a member is, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found(u32);

impl Found {
    /// There is none: the first cell of a tape is no member.
    pub const NOTHING: Found = Found(0);
}

impl<'d> Node<'d> {
    pub(super) fn new(text: &'d str, cells: &'d [Cell], index: usize) -> Node<'d> {
        Node { text, cells, index }
    }

    fn cell(self) -> Cell {
        self.cells[self.index]
    }

    pub fn kind(self) -> Kind {
        self.cell().kind()
    }

    /// The value as written.
    pub fn raw(self) -> &'d str {
        self.cell().raw(self.text)
    }

    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    pub fn as_bool(self) -> Option<bool> {
        if self.kind() == Kind::Bool { Some(self.raw() == "true") } else { None }
    }

    /// A string's characters; borrowed if it was written without escapes.
    pub fn as_str(self) -> Option<Cow<'d, str>> {
        if self.kind() == Kind::String { Some(characters(self.text, self.cell())) } else { None }
    }

    /// A number as written.
    pub fn number_text(self) -> Option<&'d str> {
        if self.kind() == Kind::Number { Some(self.raw()) } else { None }
    }

    /// A number, exactly.
    pub fn as_number(self) -> Option<Number> {
        Number::parse(self.number_text()?)
    }

    /// A number that is written as a plain non-negative integer and fits. `1.0`, `1e3` and `-0` are none.
    pub fn as_u64(self) -> Option<u64> {
        self.number_text()?.parse().ok()
    }

    /// How many items or members; zero for everything that is no container.
    pub fn len(self) -> usize {
        if self.cell().is_container() { self.cell().length() } else { 0 }
    }

    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// An object's member.
    pub fn get(self, name: &str) -> Option<Node<'d>> {
        if self.kind() != Kind::Object {
            return None;
        }
        let end = self.cell().next as usize;
        let mut at = self.index + 1;
        while at < end {
            let key = self.cells[at];
            let is_it = if key.is_escaped() {
                text::unescape(key.inner(self.text)) == name
            } else {
                key.inner_bytes(self.text) == name.as_bytes()
            };
            if is_it {
                return Some(Node { index: at + 1, ..self });
            }
            at = self.cells[at + 1].next as usize;
        }
        None
    }

    /// An object's members of these names, in one walk: each is put where its name is. Nothing for everything else.
    pub fn gather(self, names: &Names<'_>, found: &mut [Found]) {
        found.fill(Found::NOTHING);
        if self.kind() != Kind::Object {
            return;
        }
        let end = self.cell().next as usize;
        let mut at = self.index + 1;
        while at < end {
            let key = self.cells[at];
            let value = Found(at as u32 + 1);
            if key.is_escaped() {
                let name = text::unescape(key.inner(self.text));
                let each = names.each.iter().zip(&mut *found);
                each.filter(|(it, _)| it.text == name).for_each(|(_, place)| *place = value);
            } else if names.mask & keys::bit(key.next) != 0 {
                for (name, place) in names.each.iter().zip(&mut *found) {
                    if name.hash == key.next && key.inner_bytes(self.text) == name.text.as_bytes() {
                        *place = value;
                    }
                }
            }
            at = self.cells[at + 1].next as usize;
        }
    }

    /// A member that was gathered here.
    pub fn gathered(self, found: Found) -> Option<Node<'d>> {
        (found != Found::NOTHING).then_some(Node { index: found.0 as usize, ..self })
    }

    /// An array's item.
    pub fn item(self, index: usize) -> Option<Node<'d>> {
        self.items().nth(index)
    }

    /// An array's items in order; nothing for everything else.
    pub fn items(self) -> Items<'d> {
        let end = if self.kind() == Kind::Array { self.cell().next as usize } else { 0 };
        Items { inside: self, at: self.index + 1, end }
    }

    /// An object's members in the order written; nothing for everything else.
    pub fn members(self) -> Members<'d> {
        let end = if self.kind() == Kind::Object { self.cell().next as usize } else { 0 };
        Members { inside: self, at: self.index + 1, end }
    }

    /// The member or item that one token of a pointer names.
    pub fn child(self, token: &str) -> Option<Node<'d>> {
        match self.kind() {
            Kind::Object => self.get(token),
            Kind::Array => self.item(pointer::index(token)?),
            Kind::Null | Kind::Bool | Kind::Number | Kind::String => None,
        }
    }

    /// The value at a pointer that begins here.
    pub fn at(self, pointer: &Pointer) -> Option<Node<'d>> {
        pointer.tokens().iter().try_fold(self, |node, token| node.child(token))
    }
}

impl std::fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.raw())
    }
}

fn characters(source: &str, cell: Cell) -> Cow<'_, str> {
    let inner = cell.inner(source);
    if cell.is_escaped() { text::unescape(inner) } else { Cow::Borrowed(inner) }
}

#[derive(Clone, Debug)]
pub struct Items<'d> {
    inside: Node<'d>,
    at: usize,
    end: usize,
}

impl<'d> Iterator for Items<'d> {
    type Item = Node<'d>;

    fn next(&mut self) -> Option<Node<'d>> {
        if self.at >= self.end {
            return None;
        }
        let node = Node { index: self.at, ..self.inside };
        self.at = node.cell().next as usize;
        Some(node)
    }
}

#[derive(Clone, Debug)]
pub struct Members<'d> {
    inside: Node<'d>,
    at: usize,
    end: usize,
}

impl<'d> Iterator for Members<'d> {
    type Item = (Cow<'d, str>, Node<'d>);

    fn next(&mut self) -> Option<(Cow<'d, str>, Node<'d>)> {
        if self.at >= self.end {
            return None;
        }
        let key = characters(self.inside.text, self.inside.cells[self.at]);
        let node = Node { index: self.at + 1, ..self.inside };
        self.at = node.cell().next as usize;
        Some((key, node))
    }
}
