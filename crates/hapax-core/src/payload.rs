//! What "same payload" means: two documents are equal after the contract's rules, or they are not.
//!
//! The rules apply in one order: include, exclude, units, decimals, utc, lowercase. Pointers always mean places in the
//! document as sent, so excluding an item does not renumber its neighbours for the rules after it. A rule whose place is
//! absent, excluded, outside the included parts or of another type leaves everything as it stands; no rule can fail.
//!
//! Not here: which payloads are compared and what follows from it (the judge), and how the difference is shown
//! ([`crate::patch`]).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::json::{Document, Node};
use crate::number::Number;
use crate::pointer::Pointer;

mod tree;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use tree::{Shape, Tree};

/// `[identity.payload]` of a contract. The default compares whole documents.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PayloadRules {
    pub include: Vec<Pointer>,
    pub exclude: Vec<Pointer>,
    pub lowercase: Vec<Pointer>,
    pub utc: Vec<Pointer>,
    pub decimals: Vec<Decimals>,
    pub units: Vec<Units>,
}

/// A number that is compared after rounding half even.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decimals {
    pub field: Pointer,
    pub places: u32,
}

/// A number and its unit that are compared as converted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Units {
    pub field: Pointer,
    pub unit: Pointer,
    pub to: String,
    pub factors: BTreeMap<String, Number>,
}

/// Do the two documents carry the same payload?
pub fn same(rules: &PayloadRules, original: &Document<'_>, submitted: &Document<'_>) -> bool {
    // Equal bytes are equal under any rules, and that is what nearly every retry sends.
    if original.text() == submitted.text() {
        return true;
    }
    let (original, submitted) = (Payload::of(rules, original), Payload::of(rules, submitted));
    original.parts.iter().zip(&submitted.parts).all(|(left, right)| match (&left.tree, &right.tree) {
        (Some(left), Some(right)) => left.equals(right),
        (left, right) => left.is_none() && right.is_none(),
    })
}

/// The part of a document that is compared, after the rules. Which parts there are depends on the rules alone, so the
/// payloads of two documents have the same parts in the same order.
pub(crate) struct Payload<'d> {
    pub(crate) parts: Vec<Part<'d>>,
}

/// What lies at one included pointer; `None` if nothing does, which is a value to compare like any other.
pub(crate) struct Part<'d> {
    pub(crate) pointer: Pointer,
    pub(crate) tree: Option<Tree<'d>>,
}

impl<'d> Payload<'d> {
    pub(crate) fn of(rules: &PayloadRules, document: &'d Document<'_>) -> Payload<'d> {
        let root = document.root();
        let parts = included(&rules.include)
            .into_iter()
            .filter(|pointer| !rules.exclude.iter().any(|excluded| excluded.is_prefix_of(pointer)))
            .map(|pointer| Part { tree: root.at(&pointer).map(Tree::of), pointer })
            .collect();
        let mut payload = Payload { parts };
        payload.leave_out_default_type(root);
        for pointer in &rules.exclude {
            payload.remove(pointer);
        }
        for rule in &rules.units {
            payload.convert(rule);
        }
        for rule in &rules.decimals {
            payload.change(&rule.field, |shape| {
                shape.as_number().map(|number| Shape::Number(number.round_half_even(rule.places)))
            });
        }
        for pointer in &rules.utc {
            payload.change(pointer, |shape| shape.as_text().and_then(crate::time::parse_any).map(Shape::Instant));
        }
        for pointer in &rules.lowercase {
            payload.change(pointer, |shape| shape.as_text().map(|text| Shape::Text(lowercase(text).into())));
        }
        payload
    }

    /// A CloudEvent that says it is `application/json` says what its silence would mean.
    fn leave_out_default_type(&mut self, root: Node<'_>) {
        let says = |name: &str, text: &str| root.get(name).and_then(|node| node.as_str()).is_some_and(|it| it == text);
        if says("specversion", "1.0") && says("datacontenttype", "application/json") {
            self.remove(&Pointer::from(vec!["datacontenttype".to_owned()]));
        }
    }

    fn convert(&mut self, rule: &Units) {
        let Some(unit) = self.find(&rule.unit).and_then(|tree| tree.shape.as_text()) else { return };
        if unit == rule.to {
            return;
        }
        let Some(factor) = rule.factors.get(unit) else { return };
        let Some(number) = self.find(&rule.field).and_then(|tree| tree.shape.as_number()) else { return };
        let converted = number.times(factor);
        self.change(&rule.field, |_| Some(Shape::Number(converted)));
        self.change(&rule.unit, |_| Some(Shape::Text(rule.to.clone().into())));
    }

    /// Replaces what is at the pointer, if something is and `how` has something to put there.
    fn change(&mut self, pointer: &Pointer, how: impl FnOnce(&Shape<'d>) -> Option<Shape<'d>>) {
        if let Some(tree) = self.find(pointer)
            && let Some(shape) = how(&tree.shape)
        {
            tree.shape = shape;
        }
    }

    fn remove(&mut self, pointer: &Pointer) {
        let Some((last, above)) = pointer.tokens().split_last() else { return };
        if let Some(tree) = self.find(&Pointer::from(above.to_vec())) {
            tree.remove(last);
        }
    }

    /// The tree at a pointer, in the part that it lies in. No two parts overlap, so there is at most one.
    fn find(&mut self, pointer: &Pointer) -> Option<&mut Tree<'d>> {
        let part = self.parts.iter_mut().find(|part| part.pointer.is_prefix_of(pointer))?;
        let inside = &pointer.tokens()[part.pointer.tokens().len()..];
        inside.iter().try_fold(part.tree.as_mut()?, |tree, token| tree.child_mut(token))
    }
}

/// The included pointers without those that lie at or below another one.
fn included(include: &[Pointer]) -> Vec<Pointer> {
    if include.is_empty() {
        return vec![Pointer::default()];
    }
    let mut sorted = include.to_vec();
    // In this order a pointer comes directly before all that lies below it.
    sorted.sort_unstable();
    sorted.dedup_by(|below, above| above.is_prefix_of(below));
    sorted
}

/// Without case, character by character. Context-free on purpose: with the rule for a final sigma the case of one letter
/// would depend on its neighbours.
fn lowercase(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}
