//! A scenario: a contract, what arrives when, and the answers that must come.
//!
//! The format is described in `docs/scenarios.md`. A file is read whole before anything runs, so that a mistake in its
//! last step is found before its first one is judged.

mod action;
mod explain;
mod file;
mod matching;
mod run;

pub(crate) use file::{Scenario, Step};
pub(crate) use run::{Failure, Report};

#[cfg(test)]
mod tests;
