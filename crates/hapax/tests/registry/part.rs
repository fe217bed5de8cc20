//! A part: what a process of ours is to do, and where it is to die.

use std::io::{self, Write as _};
use std::path::PathBuf;

use hapax_client::{Client, Retry};
use rustix::process::{Signal, getpid, kill_process};
use serde::{Deserialize, Serialize};

use crate::target::Kind;
use crate::{at_once, projection, publisher, worker};

/// The variable that a part comes in.
pub const PART: &str = "HAPAX_TEST_PART";

/// What a process is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Part {
    pub role: Role,
    pub url: String,
    pub handler: String,
    /// The stream that a worker or a publisher reads.
    pub stream: String,
    /// For people, and for the lines that it says.
    pub owner: String,
    /// Where the target, the bus and the cursors are.
    pub folder: PathBuf,
    /// What its target promises.
    pub target: Kind,
    /// Where it ends or hangs, if it does.
    pub fate: Option<Fate>,
    /// Acts on the stream from the beginning, whatever is done already.
    pub replays: bool,
    /// Fails on this event as long as there is no file `cured` in the folder.
    pub fails_on: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Acts on every event through the work loop.
    Worker,
    /// Reads what was published, by a cursor of its own, and writes an index.
    Projection,
    /// Publishes the ledger, at least once.
    Publisher,
    /// Claims what it is told to claim.
    Claimant,
}

/// What befalls a process, when it has this event in hand.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fate {
    pub event: String,
    pub point: Point,
    pub end: End,
}

/// Where something can befall a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Point {
    AfterClaim,
    BeforeApply,
    AfterApply,
    BeforeDone,
    AfterDone,
    BeforeWrite,
    AfterWrite,
    BeforeCommit,
    AfterPublish,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// SIGKILL: nothing is written, closed or said after it.
    Killed,
    /// SIGSTOP: nothing happens, heartbeats included, until somebody wakes it.
    Stopped,
}

impl Part {
    pub fn read(text: &str) -> Result<Part, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The server, waited for without an end.
    pub fn client(&self) -> Client {
        Client::new(&self.url, None).expect("the server's address").with_retry(Retry::FOR_EVER)
    }

    /// The place where what befalls the process befalls it.
    pub fn reach(&self, point: Point, event: &str) {
        let Some(fate) = self.fate.as_ref().filter(|fate| fate.point == point && fate.event == event) else { return };
        say(&format!("{:?} {point:?} {event}", fate.end));
        let signal = match fate.end {
            End::Killed => Signal::KILL,
            End::Stopped => Signal::STOP,
        };
        kill_process(getpid(), signal).expect("a signal to itself");
        // A signal to a process may be taken by another of its threads, and this one must not run on until it has effect.
        // Whoever is woken is told so on its input; whoever is killed hears nothing more.
        io::stdin().read_line(&mut String::new()).expect("a word to go on");
    }
}

/// Plays a part, and ends the process.
pub fn play(text: &str) -> ! {
    let part = Part::read(text).expect("a part");
    match part.role {
        Role::Worker => worker::play(&part),
        Role::Projection => projection::play(&part),
        Role::Publisher => publisher::play(&part),
        Role::Claimant => at_once::play(&part),
    }
    say("the end");
    std::process::exit(0)
}

/// Says a line to the test. On standard error, because the test harness writes on the other one.
pub fn say(line: &str) {
    writeln!(io::stderr(), "{line}").expect("somebody who reads");
}
