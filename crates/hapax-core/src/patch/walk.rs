//! Two trees side by side, from the same place down.

use std::collections::BTreeSet;

use super::{OpKind, Step};
use crate::json::Node;
use crate::payload::{Shape, Tree};
use crate::pointer::Pointer;

pub(super) struct Walk<'w, 'd> {
    /// Where both trees are.
    pub(super) path: Vec<String>,
    /// Places that are compared as written, because something that gives them their meaning changes.
    pub(super) written: &'w BTreeSet<Pointer>,
    pub(super) steps: &'w mut Vec<Step<'d>>,
}

type Items<'d> = [(usize, Tree<'d>)];

impl<'d> Walk<'_, 'd> {
    pub(super) fn compare(&mut self, before: &Tree<'d>, after: &Tree<'d>) {
        match (&before.shape, &after.shape) {
            (Shape::Object(left), Shape::Object(right)) => {
                for (key, tree) in left {
                    match right.get(key) {
                        Some(other) => self.inside(key, |walk| walk.compare(tree, other)),
                        None => self.inside(key, |walk| walk.push(OpKind::Remove, None)),
                    }
                }
                for (key, tree) in right.iter().filter(|(key, _)| !left.contains_key(*key)) {
                    self.inside(key, |walk| walk.push(OpKind::Add, Some(tree.raw)));
                }
            }
            (Shape::Array(left), Shape::Array(right)) => self.arrays((before.raw, left), (after.raw, right)),
            (left, right) => {
                let is_equal = if left.is_leaf() && right.is_leaf() && self.is_written() {
                    before.raw.raw() == after.raw.raw()
                } else {
                    before.equals(after)
                };
                if !is_equal {
                    self.push(OpKind::Replace, Some(after.raw));
                }
            }
        }
    }

    /// The rules exclude the same indexes on both sides, so items at the same position have the same index. Excluded items
    /// are added or removed with the others where these could not keep their index without them.
    fn arrays(&mut self, before: (Node<'d>, &Items<'d>), after: (Node<'d>, &Items<'d>)) {
        for ((index, left), (_, right)) in before.1.iter().zip(after.1) {
            self.inside(&index.to_string(), |walk| walk.compare(left, right));
        }
        let common = before.1.len().min(after.1.len());
        if let Some((first, _)) = before.1.get(common) {
            for index in (*first..before.0.len()).rev() {
                self.inside(&index.to_string(), |walk| walk.push(OpKind::Remove, None));
            }
        }
        if after.1.len() > common
            && let Some((last, _)) = after.1.last()
        {
            for (index, item) in after.0.items().enumerate().take(last + 1).skip(before.0.len()) {
                self.inside(&index.to_string(), |walk| walk.push(OpKind::Add, Some(item)));
            }
        }
    }

    fn inside(&mut self, token: &str, act: impl FnOnce(&mut Self)) {
        self.path.push(token.to_owned());
        act(self);
        self.path.pop();
    }

    fn push(&mut self, op: OpKind, value: Option<Node<'d>>) {
        self.steps.push(Step { op, path: Pointer::from(self.path.clone()), value });
    }

    fn is_written(&self) -> bool {
        !self.written.is_empty() && self.written.contains(&Pointer::from(self.path.clone()))
    }
}
