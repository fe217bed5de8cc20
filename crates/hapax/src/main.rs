//! The command line: one file per command.
//!
//! Exit codes are the same for every command: 0 all is well, 1 something does not hold, 2 a file or an argument is wrong,
//! or the server cannot be reached.

mod attempts;
mod backup;
mod bench;
mod completions;
mod contract;
mod counters;
mod demo;
mod explain;
mod field;
mod handlers;
mod key_store;
mod keys;
mod lanes;
mod log;
mod migrate;
mod outcome;
mod pages;
mod paint;
mod place;
mod progress;
mod rebuild;
mod recount;
mod remote;
mod say;
mod scenario;
mod send;
mod serve;
mod settings;
mod signals;
mod streams;
mod table;
mod tail;
mod test;
mod verify;
mod whatif;
mod work;
mod written;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use outcome::Outcome;

/// The event ledger: every event gets exactly one explicit verdict, under a contract that you wrote.
///
/// Every command ends with 0 if all is well, 1 if something does not hold (an event was refused, a scenario failed), and 2 if
/// a file or an argument is wrong or the server cannot be reached.
#[derive(Parser)]
#[command(version, propagate_version = true, arg_required_else_help = true)]
struct Hapax {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Demo(demo::Demo),
    /// Run the server: events in over HTTP, receipts out, the ledger in a directory or in Postgres.
    Serve(serve::Serve),
    /// Print the configuration that `serve` would run with, and where each value comes from.
    Config(settings::Settings),
    Send(send::Send),
    Tail(tail::Tail),
    Streams(streams::Streams),
    Lanes(lanes::Lanes),
    Counters(counters::Counters),
    Attempts(attempts::Attempts),
    Explain(explain::Explain),
    Whatif(whatif::Whatif),
    Handlers(handlers::Handlers),
    Work(work::Work),
    #[command(subcommand)]
    Keys(keys::Keys),
    Migrate(migrate::Migrate),
    Verify(verify::Verify),
    Recount(recount::Recount),
    Rebuild(rebuild::Rebuild),
    Backup(backup::Backup),
    Restore(backup::Restore),
    Bench(bench::Bench),
    /// Run scenarios: stories about events, and the answers that must come.
    Test(test::Test),
    /// Look at contracts.
    #[command(subcommand)]
    Contract(contract::Contract),
    Completions(completions::Completions),
}

/// Documents are made in one thread and dropped in another, thousands at a time; the system's allocator minds that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let outcome = match Hapax::parse().command {
        Command::Demo(command) => command.run(),
        Command::Serve(command) => command.run(),
        Command::Config(command) => command.run(),
        Command::Send(command) => command.run(),
        Command::Tail(command) => command.run(),
        Command::Streams(command) => command.run(),
        Command::Lanes(command) => command.run(),
        Command::Counters(command) => command.run(),
        Command::Attempts(command) => command.run(),
        Command::Explain(command) => command.run(),
        Command::Whatif(command) => command.run(),
        Command::Handlers(command) => command.run(),
        Command::Work(command) => command.run(),
        Command::Keys(command) => command.run(),
        Command::Migrate(command) => command.run(),
        Command::Verify(command) => command.run(),
        Command::Recount(command) => command.run(),
        Command::Rebuild(command) => command.run(),
        Command::Backup(command) => command.run(),
        Command::Restore(command) => command.run(),
        Command::Bench(command) => command.run(),
        Command::Test(command) => command.run(),
        Command::Contract(command) => command.run(),
        Command::Completions(command) => command.run(),
    };
    match outcome {
        Ok(outcome) => outcome.into(),
        Err(error) => {
            eprintln!("hapax: {error:#}");
            Outcome::Wrong.into()
        }
    }
}
