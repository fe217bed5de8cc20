//! One included part that the two documents have or lack, and how the original gets there.
//!
//! A part inside both is compared by [`super::walk`]. One that is missing on one side may lack ancestors as well, or stand
//! in an array whose items cannot be taken out without moving others; what is put or removed is then more than the part.

use std::collections::BTreeSet;

use super::walk::Walk;
use super::{OpKind, Step};
use crate::json::{Document, Kind, Node};
use crate::payload::Payload;
use crate::pointer::{self, Pointer};

/// The steps of all parts. `written` are the places that are compared as written.
pub(super) fn compare<'d>(
    original: &'d Document<'_>,
    submitted: &'d Document<'_>,
    before: &Payload<'d>,
    after: &Payload<'d>,
    written: &BTreeSet<Pointer>,
) -> Vec<Step<'d>> {
    let mut steps = Vec::new();
    for (left, right) in before.parts.iter().zip(&after.parts) {
        let tokens = left.pointer.tokens();
        match (&left.tree, &right.tree) {
            (Some(left_tree), Some(right_tree)) => {
                let mut walk = Walk { path: tokens.to_vec(), written, steps: &mut steps };
                walk.compare(left_tree, right_tree);
            }
            (None, Some(_)) => put(tokens, original.root(), submitted.root(), &mut steps),
            (Some(_), None) => take(tokens, original.root(), submitted.root(), &mut steps),
            (None, None) => {}
        }
    }
    steps
}

/// Adds what the original lacks, from the first missing ancestor down.
fn put<'d>(tokens: &[String], mut original: Node<'d>, mut submitted: Node<'d>, steps: &mut Vec<Step<'d>>) {
    for (depth, token) in tokens.iter().enumerate() {
        let Some(wanted) = submitted.child(token) else { return };
        if let Some(there) = original.child(token) {
            (original, submitted) = (there, wanted);
            continue;
        }
        let here = Pointer::from(tokens[..depth].to_vec());
        match (original.kind(), submitted.kind(), pointer::index(token)) {
            (Kind::Object, _, _) => {
                steps.push(Step { op: OpKind::Add, path: here.join(token), value: Some(wanted) });
            }
            // An array grows only at its end, so the items before the wanted one come along.
            (Kind::Array, Kind::Array, Some(last)) => {
                for (index, item) in submitted.items().enumerate().take(last + 1).skip(original.len()) {
                    steps.push(Step { op: OpKind::Add, path: here.join(&index.to_string()), value: Some(item) });
                }
            }
            // Nothing of this name can be put into what is there.
            _ => steps.push(Step { op: OpKind::Replace, path: here, value: Some(submitted) }),
        }
        return;
    }
}

/// Removes what the submitted document lacks, and nothing above it.
fn take<'d>(tokens: &[String], original: Node<'d>, submitted: Node<'d>, steps: &mut Vec<Step<'d>>) {
    let Some((last, above)) = tokens.split_last() else { return };
    let descend = |root: Node<'d>| above.iter().try_fold(root, |node, token| node.child(token));
    let Some(parent) = descend(original) else { return };
    let here = Pointer::from(above.to_vec());
    let Some(first) = pointer::index(last).filter(|_| parent.kind() == Kind::Array) else {
        steps.push(Step { op: OpKind::Remove, path: here.join(last), value: None });
        return;
    };
    match descend(submitted).filter(|node| node.kind() == Kind::Object) {
        // An object may lack one number and have a higher one, which no shortened array does.
        Some(object) => steps.push(Step { op: OpKind::Replace, path: here, value: Some(object) }),
        // From the end, so that no removal moves an item that a later one means.
        None => {
            for index in (first..parent.len()).rev() {
                steps.push(Step { op: OpKind::Remove, path: here.join(&index.to_string()), value: None });
            }
        }
    }
}
