//! Being told what was compared with what. The judge says it once; whoever explains listens.

use serde::Serialize;

use crate::words::vocabulary;
use serde::Serializer;

vocabulary! {
    /// What a check led to.
    Outcome {
        /// Nothing to remark.
        Passed = "passed",
        /// Accepted, with a remark.
        Marked = "marked",
        /// It decided: the event is not (newly) accepted.
        Refused = "refused",
        /// It would have refused, and an admin lifted that.
        Lifted = "lifted",
        /// It would have refused under `enforce`.
        WouldRefuse = "would_refuse",
        /// Not looked at.
        Skipped = "skipped",
    }
}

/// One check of one event.
#[derive(Clone, Debug, Serialize)]
pub struct Rule {
    /// Which check.
    pub rule: &'static str,
    /// What it led to.
    pub outcome: Outcome,
    /// What was compared with what.
    pub compared: String,
    /// The words of the contract that decided.
    pub because: String,
}

/// Whoever is told. The texts are made only for those who want them.
pub trait Witness {
    /// A check was made.
    fn saw(
        &mut self,
        rule: &'static str,
        outcome: Outcome,
        compared: impl FnOnce() -> String,
        because: impl FnOnce() -> String,
    );
}

/// Nobody: what the writer uses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Witness for Silent {
    fn saw(&mut self, _: &'static str, _: Outcome, _: impl FnOnce() -> String, _: impl FnOnce() -> String) {}
}

/// Someone who writes everything down.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// What was said, in order.
    pub rules: Vec<Rule>,
}

impl Witness for Told {
    fn saw(
        &mut self,
        rule: &'static str,
        outcome: Outcome,
        compared: impl FnOnce() -> String,
        because: impl FnOnce() -> String,
    ) {
        self.rules.push(Rule { rule, outcome, compared: compared(), because: because() });
    }
}
