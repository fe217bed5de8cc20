//! `hapax completions`: what a shell needs to complete commands and options.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::outcome::Outcome;
use crate::say;

/// Print a shell's completions.
///
/// Example: hapax completions bash > /etc/bash_completion.d/hapax
#[derive(Args)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut crate::Hapax::command(), "hapax", &mut script);
        say::text(String::from_utf8_lossy(&script));
        Ok(Outcome::Fine)
    }
}
