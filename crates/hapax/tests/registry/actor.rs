//! A process that plays a part: started, heard, told, woken, waited for.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::part::{PART, Part};
use crate::world::until;

/// Nothing here needs as long on the slowest of machines; it is there so that a test that hangs ends.
const PATIENCE: Duration = Duration::from_secs(120);

/// A process, and what it says.
pub struct Actor {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    heard: Vec<String>,
}

/// How a process ended, and all that it said.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub said: Vec<String>,
}

impl Ended {
    /// It did its part to the end.
    pub fn well(self) -> Vec<String> {
        assert!(self.status.success(), "{self:?}");
        self.said
    }

    /// It was killed where it was to be killed, and not before.
    pub fn killed(self) -> Vec<String> {
        assert_eq!(self.status.signal(), Some(9), "{self:?}");
        assert!(self.said.last().is_some_and(|line| line.starts_with("Killed ")), "{self:?}");
        self.said
    }
}

impl Actor {
    /// Starts this binary again, with a part.
    pub fn plays(part: &Part) -> Actor {
        let mut command = Command::new(std::env::current_exe().expect("this binary"));
        command.args(["--exact", "a_process_plays_the_part_that_it_is_given_and_no_other", "--nocapture"]);
        command.env(PART, serde_json::to_string(part).expect("a part as text"));
        Actor::runs(command)
    }

    /// Starts a command; what it says on standard error is heard.
    pub fn runs(mut command: Command) -> Actor {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("a process");
        let (input, errors) = (child.stdin.take().expect("its input"), child.stderr.take().expect("its errors"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
                // A test that has ended hears nothing more.
                _ = sender.send(line);
            }
        });
        Actor { child, input, lines, heard: Vec::new() }
    }

    /// Waits for a line that begins like this, and gives the rest of it.
    pub fn hear(&mut self, beginning: &str) -> String {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => {
                    self.heard.push(line.clone());
                    if let Some(rest) = line.strip_prefix(beginning) {
                        return rest.trim().to_owned();
                    }
                }
                Err(gone) => panic!("it never said {beginning:?} ({gone}), but {:?}", self.heard),
            }
        }
    }

    /// Tells it something.
    pub fn tell(&mut self, line: &str) {
        writeln!(self.input, "{line}").expect("somebody who reads");
    }

    /// Waits until it hangs.
    pub fn is_stopped(&mut self) {
        self.hear("Stopped ");
        let stat = format!("/proc/{}/stat", self.child.id());
        until("the process stands still", || {
            let stat = std::fs::read_to_string(&stat).expect("a process");
            stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('T'))
        });
    }

    /// Wakes it.
    pub fn wake(&mut self) {
        self.signal(Signal::CONT);
        self.tell("go on");
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("a process");
    }

    /// Waits for its end.
    pub fn ends(mut self) -> Ended {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => self.heard.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it does not end; it said {:?}", self.heard),
            }
        }
        let status = self.child.wait().expect("its end");
        Ended { status, said: std::mem::take(&mut self.heard) }
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        // A test that failed leaves nobody behind.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
