//! A command that runs for one entry.
//!
//! What holds: when this returns, the command has ended. It is killed when the claim is lost or somebody insists. What it
//! prints is kept within bounds: results up to 64 KiB, of its errors the last 4 KiB.

use std::io::{Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use hapax_client::{Claim, Entry, Stop};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::value::RawValue;

/// A result is at most this on the wire.
const RESULT_BYTES_MAX: usize = 64 * 1024;
/// Of an error the server keeps this much, and the end of it says what went wrong.
const ERROR_BYTES_MAX: usize = 4 * 1024;
/// How often to look whether the command has ended or must end: a short one is not held up, a long one costs little.
const LOOK_FIRST: Duration = Duration::from_millis(1);
const LOOK_LONGEST: Duration = Duration::from_millis(50);

/// Runs a command, again and again.
pub(super) struct Runner {
    program: String,
    arguments: Vec<String>,
    kill: Stop,
}

impl Runner {
    pub(super) fn new(command: &[String], kill: Stop) -> Runner {
        let (program, arguments) =
            command.split_first().map(|(first, rest)| (first.clone(), rest.to_vec())).unwrap_or_default();
        Runner { program, arguments, kill }
    }

    /// Runs it for one entry.
    pub(super) fn run_once(&self, entry: &Entry, claim: &Claim) -> Result<Option<Box<RawValue>>, String> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env("HAPAX_FENCE", claim.fence().to_string())
            .env("HAPAX_EVENT_ID", &entry.id)
            .env("HAPAX_OFFSET", entry.offset.to_string())
            .env("HAPAX_LANE", &entry.lane)
            .env("HAPAX_ATTEMPT", claim.attempt().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // Ctrl-C at a terminal goes to a whole group, and the command should end its work all the same. Killed it is as a
        // group too: what a shell has started must not go on without it.
        command.process_group(0);
        let mut child = command.spawn().map_err(|error| format!("{} cannot be run: {error}", self.program))?;
        let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        std::thread::scope(|threads| {
            threads.spawn(move || {
                // A command that does not read its input is free to do so.
                if let Some(mut input) = input {
                    _ = input.write_all(entry.raw.get().as_bytes());
                    _ = input.write_all(b"\n");
                }
            });
            let output = threads.spawn(move || beginning(output, RESULT_BYTES_MAX + 1));
            let errors = threads.spawn(move || end(errors, ERROR_BYTES_MAX));
            let ended = self.wait(&mut child, claim);
            let output = output.join().unwrap_or_default();
            let errors = errors.join().unwrap_or_default();
            conclude(ended?, &output, &errors)
        })
    }

    fn wait(&self, child: &mut Child, claim: &Claim) -> Result<ExitStatus, String> {
        let lost = |error: std::io::Error| format!("cannot wait for {}: {error}", self.program);
        let mut look = LOOK_FIRST;
        loop {
            if let Some(status) = child.try_wait().map_err(lost)? {
                return Ok(status);
            }
            if claim.lost().is_set() || self.kill.wait(look) {
                // It may have ended in this very moment.
                _ = kill_process_group(Pid::from_child(child), Signal::KILL);
                return child.wait().map_err(lost);
            }
            look = (look * 2).min(LOOK_LONGEST);
        }
    }
}

/// What a command did, as the registry is told.
fn conclude(status: ExitStatus, output: &[u8], errors: &[u8]) -> Result<Option<Box<RawValue>>, String> {
    if status.success() {
        let text = std::str::from_utf8(output).ok().map(str::trim).filter(|text| text.len() <= RESULT_BYTES_MAX);
        return Ok(text.and_then(|text| RawValue::from_string(text.to_owned()).ok()));
    }
    let words = String::from_utf8_lossy(errors);
    let words = words.trim();
    let ended = status.to_string();
    Err(if words.is_empty() { ended } else { words.to_owned() })
}

/// Reads all, and keeps the beginning.
fn beginning(pipe: Option<impl Read>, most: usize) -> Vec<u8> {
    let mut kept = Vec::new();
    drain(pipe, |bytes| kept.extend_from_slice(&bytes[..bytes.len().min(most - kept.len())]));
    kept
}

/// Reads all, and keeps the end.
fn end(pipe: Option<impl Read>, most: usize) -> Vec<u8> {
    let mut kept = Vec::new();
    drain(pipe, |bytes| {
        kept.extend_from_slice(bytes);
        let surplus = kept.len().saturating_sub(most);
        kept.drain(..surplus);
    });
    kept
}

fn drain(pipe: Option<impl Read>, mut each: impl FnMut(&[u8])) {
    let Some(mut pipe) = pipe else { return };
    let mut buffer = [0; 8192];
    while let Ok(read @ 1..) = pipe.read(&mut buffer) {
        each(&buffer[..read]);
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{RESULT_BYTES_MAX, beginning, conclude, end};

    /// What the registry is told about a command.
    fn told(script: &str) -> Result<Option<String>, String> {
        let output = Command::new("sh").args(["-c", script]).output().expect("a shell");
        let kept = beginning(Some(output.stdout.as_slice()), RESULT_BYTES_MAX + 1);
        let words = end(Some(output.stderr.as_slice()), 16);
        conclude(output.status, &kept, &words).map(|result| result.map(|raw| raw.get().to_owned()))
    }

    #[test]
    fn what_a_command_prints_is_its_result_if_it_is_json() {
        assert_eq!(told("echo ' {\"n\": 1.0}'"), Ok(Some("{\"n\": 1.0}".to_owned())));
        assert_eq!(told("echo sent"), Ok(None));
        assert_eq!(told("true"), Ok(None));
        assert_eq!(told("echo '\"x\" \"y\"'"), Ok(None));
    }

    #[test]
    fn a_result_that_is_too_long_is_none() {
        assert_eq!(told("printf '\"'; head -c 70000 /dev/zero | tr '\\0' x; printf '\"'"), Ok(None));
    }

    #[test]
    fn of_an_error_the_end_is_kept() {
        assert_eq!(told("echo a long story about what happened >&2; exit 3"), Err("t what happened".to_owned()));
        assert_eq!(told("exit 3"), Err("exit status: 3".to_owned()));
        assert_eq!(told("kill -9 $$"), Err("signal: 9 (SIGKILL)".to_owned()));
    }
}
