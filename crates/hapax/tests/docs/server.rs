//! A real server on an empty store, for the pages whose examples talk to one.
//!
//! It ends with its value; its store lies in a directory of its own that goes with it.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};

use tempfile::TempDir;

/// What the pages call it.
const SHOWN: &str = "127.0.0.1:4090";

/// A running server.
pub(crate) struct Server {
    /// Where it listens: address and port.
    pub(crate) address: String,
    /// A directory for whoever talks to it.
    pub(crate) folder: TempDir,
    process: Child,
    log: Option<JoinHandle<Vec<String>>>,
}

impl Server {
    /// Starts one and waits until it listens.
    pub(crate) fn start() -> Self {
        Self::with(&[])
    }

    /// Starts one with more arguments.
    pub(crate) fn with(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a directory");
        let mut process = Command::new(env!("CARGO_BIN_EXE_hapax"))
            .args(["serve", "--listen", "127.0.0.1:0", "--store", "store"])
            .args(arguments)
            .current_dir(folder.path())
            .env_clear()
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut lines = BufReader::new(process.stderr.take().expect("its log")).lines();
        let mut said = Vec::new();
        let address = loop {
            let line = lines.next().unwrap_or_else(|| panic!("the server ended: {said:?}")).expect("a line of its log");
            if let Some((_, rest)) = line.split_once("listening on ").and_then(|(_, rest)| rest.split_once("://")) {
                break rest.split(',').next().unwrap_or_default().to_owned();
            }
            said.push(line);
        };
        // A log that nobody reads would stop the server once the pipe is full.
        let log = Some(thread::spawn(move || lines.map_while(Result::ok).collect()));
        Self { address, folder, process, log }
    }

    /// Ends it, and answers with all that it logged since it listened. It ends by itself, because what it said last it may not have
    /// written yet.
    pub(crate) fn end(mut self) -> Vec<String> {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("kill").success());
        assert!(self.process.wait().expect("it runs").success());
        self.log.take().expect("its log").join().expect("its log is read")
    }

    /// A text of a page, with this server in the place of the one that is shown.
    pub(crate) fn here(&self, text: &str) -> String {
        text.replace(SHOWN, &self.address)
    }

    /// An answer's words, as the page would show them.
    pub(crate) fn shown(&self, text: &str) -> String {
        text.replace(&self.address, SHOWN)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        _ = self.process.kill();
        _ = self.process.wait();
    }
}
