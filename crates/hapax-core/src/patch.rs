//! The difference between two documents as a JSON Patch (RFC 6902), for the person who has to resolve a conflict.
//!
//! What holds: applied to the original, the patch gives a document with the same payload as the submitted one; it is
//! empty exactly if [`payload::same`]; every value is the submitted text, numbers as written; and what the contract calls
//! equal does not appear, except where the patch could not be applied without it (an ancestor that the original lacks, an
//! item that others stand behind).
//!
//! Not here: `move`, `copy` and `test`, and any search for the smallest patch. Arrays are compared index by index.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::json::{Document, Node};
use crate::payload::{Payload, PayloadRules};
use crate::pointer::Pointer;

mod part;
mod walk;

#[cfg(test)]
mod tests;

/// One operation, as it is sent.
#[derive(Clone, Debug, Serialize)]
pub struct Op {
    pub op: OpKind,
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Box<RawValue>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OpKind {
    Add,
    Remove,
    Replace,
}

/// The patch from the original to the submitted document, under the contract's idea of what is equal.
pub fn diff(rules: &PayloadRules, original: &Document<'_>, submitted: &Document<'_>) -> Vec<Op> {
    steps(rules, original, submitted).into_iter().map(Step::into_op).collect()
}

/// An operation whose place and value are still those of the documents.
struct Step<'d> {
    op: OpKind,
    path: Pointer,
    value: Option<Node<'d>>,
}

impl Step<'_> {
    fn into_op(self) -> Op {
        let raw = |node: Node<'_>| {
            RawValue::from_string(node.raw().to_owned()).expect("the text of a parsed value is valid JSON")
        };
        Op { op: self.op, path: self.path.to_string(), value: self.value.map(raw) }
    }
}

fn steps<'d>(rules: &PayloadRules, original: &'d Document<'_>, submitted: &'d Document<'_>) -> Vec<Step<'d>> {
    let before = Payload::of(rules, original);
    let after = Payload::of(rules, submitted);
    // A number means something only together with its unit, and several numbers may share one. Where the patch changes
    // one side, the other must arrive as it was written too, until no step touches a pair that is not yet written out.
    let mut written = BTreeSet::new();
    loop {
        let steps = applicable(part::compare(original, submitted, &before, &after, &written));
        let known = written.len();
        for rule in &rules.units {
            let is_touched =
                |step: &Step<'_>| step.path.is_prefix_of(&rule.field) || step.path.is_prefix_of(&rule.unit);
            if steps.iter().any(is_touched) {
                written.insert(rule.field.clone());
                written.insert(rule.unit.clone());
            }
        }
        if written.len() == known {
            return steps;
        }
    }
}

/// Drops what another step already does: the same place again, or a place inside one that is put or removed as a whole.
/// Parts that lie side by side can ask for both.
fn applicable(mut steps: Vec<Step<'_>>) -> Vec<Step<'_>> {
    let all: BTreeSet<Vec<String>> = steps.iter().map(|step| step.path.tokens().to_vec()).collect();
    let mut seen = BTreeSet::new();
    steps.retain(|step| {
        let tokens = step.path.tokens();
        let is_inside = (0..tokens.len()).any(|length| all.contains(&tokens[..length]));
        !is_inside && seen.insert(step.path.clone())
    });
    steps
}
