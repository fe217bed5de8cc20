//! The program under `strace`, which lets the n-th call of a kind fail, or kills the program there.
//!
//! What holds: the program is the shipped one, and a child of the test. Calls are counted thread by thread, as `strace`
//! does it: a point is the n-th call of whichever thread comes to it first.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::serve_arguments;

/// Every call that changes something on a disk, of those that the program makes.
pub const CALLS: [&str; 9] =
    ["pwrite64", "fdatasync", "fsync", "rename", "fallocate", "ftruncate", "unlink", "rmdir", "mkdir"];

/// What happens at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// SIGKILL, before the call is made.
    Kill,
    /// The call fails with this error, and those after it work.
    Once(&'static str),
    /// It fails, and so do all after it.
    ForEver(&'static str),
    /// It does nothing and says that it has written a sector, and so do all after it.
    Lie,
}

/// The n-th call of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    pub call: &'static str,
    pub when: u64,
}

/// Only calls on this file count; none for all of them.
pub type Only<'a> = Option<&'a Path>;

/// `hapax serve` with this fault. What was called is written to a file.
pub fn faulty(store: &Path, settings: &[&str], only: Only<'_>, point: &Point, fault: Fault) -> (Command, PathBuf) {
    let Point { call, when } = point;
    let inject = match fault {
        Fault::Kill => format!("inject={call}:signal=SIGKILL:when={when}"),
        Fault::Once(error) => format!("inject={call}:error={error}:when={when}"),
        Fault::ForEver(error) => format!("inject={call}:error={error}:when={when}+"),
        Fault::Lie => format!("inject={call}:retval=512:when={when}+"),
    };
    traced(store, settings, only, &[format!("trace={call}"), inject])
}

/// `hapax serve`, and what it calls is written to a file.
pub fn counted(store: &Path, settings: &[&str], only: Only<'_>) -> (Command, PathBuf) {
    traced(store, settings, only, &[format!("trace={}", CALLS.join(","))])
}

fn traced(store: &Path, settings: &[&str], only: Only<'_>, expressions: &[String]) -> (Command, PathBuf) {
    let trace = store.with_extension("trace");
    let mut command = Command::new("strace");
    // -D: the program is our child, and strace its grandchild, so that signals and its end are the program's.
    command.args(["-D", "-f", "-qq", "-o"]).arg(&trace);
    for expression in expressions {
        command.args(["-e", expression]);
    }
    if let Some(only) = only {
        command.arg("-P").arg(only);
    }
    command.arg(env!("CARGO_BIN_EXE_hapax"));
    serve_arguments(&mut command, store, settings);
    (command, trace)
}

/// Every point of a run that was counted.
pub fn points(trace: &Path) -> Vec<Point> {
    let text = fs::read_to_string(trace).expect("what was traced");
    let mut counts: BTreeMap<(usize, &str), u64> = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some(thread), Some(called)) = (words.next(), words.next()) else { continue };
        if let Some(call) = CALLS.iter().position(|call| called.starts_with(&format!("{call}("))) {
            *counts.entry((call, thread)).or_default() += 1;
        }
    }
    let most = |call: usize| counts.iter().filter(|(key, _)| key.0 == call).map(|(_, count)| *count).max();
    let of = |(index, call): (usize, &&'static str)| {
        (1..=most(index).unwrap_or(0)).map(|when| Point { call, when }).collect::<Vec<_>>()
    };
    CALLS.iter().enumerate().flat_map(of).collect()
}

/// Did a call fail because it was made to?
pub fn was_injected(trace: &Path) -> bool {
    fs::read_to_string(trace).is_ok_and(|text| text.contains("(INJECTED)"))
}
