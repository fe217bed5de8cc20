//! Running the program.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What the program said, and how it ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Said {
    /// To standard output.
    pub out: String,
    /// To standard error.
    pub err: String,
    /// The exit code.
    pub code: i32,
}

/// A folder of its own for a test.
pub fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cli").join(name);
    // What an earlier run left would otherwise be found by this one.
    _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

/// Runs the program in a folder that holds these files.
pub fn run(test: &str, files: &[(&str, &[u8])], arguments: &[&str], input: &str) -> Said {
    let folder = folder(test);
    for (name, content) in files {
        fs::write(folder.join(name), content).expect("a file for the test");
    }
    let mut program = Command::new(env!("CARGO_BIN_EXE_hapax"));
    program.args(arguments).current_dir(folder).env("NO_COLOR", "1");
    run_in(&mut program, input)
}

/// Runs a program that is ready to be run, with this on standard input.
pub fn run_in(program: &mut Command, input: &str) -> Said {
    let mut child =
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program runs");
    // A program that refuses its arguments does not read, and that is its right.
    _ = child.stdin.take().expect("standard input").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("the program ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let said = Said { out: text(output.stdout), err: text(output.stderr), code: output.status.code().expect("a code") };
    assert!(!said.err.contains("panicked"), "{}", said.err);
    assert!(!said.out.contains('\u{1b}') && !said.err.contains('\u{1b}'), "no colours, whatever was written");
    said
}
