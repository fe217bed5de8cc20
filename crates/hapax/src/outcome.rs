//! How a command ended, and what the shell is told.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// All is well.
    Fine,
    /// Something does not hold.
    Failed,
    /// A file or an argument is wrong, so nothing can be said.
    Wrong,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Fine => Self::from(0),
            Outcome::Failed => Self::from(1),
            Outcome::Wrong => Self::from(2),
        }
    }
}
