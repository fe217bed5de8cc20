//! The command line: one file per command.
//!
//! Exit codes are the same for every command: 0 all is well, 1 something does not hold, 2 a file or an argument is wrong.

mod contract;
mod outcome;
mod say;
mod scenario;
mod serve;
mod settings;
mod test;
mod written;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use outcome::Outcome;

/// The event ledger: every event gets exactly one explicit verdict, under a contract that you wrote.
#[derive(Parser)]
#[command(version, propagate_version = true, arg_required_else_help = true)]
struct Hapax {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run scenarios: stories about events, and the answers that must come.
    Test(test::Test),
    /// Run the server: events in over HTTP, receipts out, the ledger in a directory.
    Serve(serve::Serve),
    /// Print the configuration that `serve` would run with, and where each value comes from.
    Config(settings::Settings),
    /// Look at contracts.
    #[command(subcommand)]
    Contract(contract::Contract),
}

fn main() -> ExitCode {
    let outcome = match Hapax::parse().command {
        Command::Test(command) => command.run(),
        Command::Serve(command) => command.run(),
        Command::Config(command) => command.run(),
        Command::Contract(command) => command.run(),
    };
    match outcome {
        Ok(outcome) => outcome.into(),
        Err(error) => {
            eprintln!("hapax: {error:#}");
            Outcome::Wrong.into()
        }
    }
}
