//! A real server for a test: the program itself, on a free port, with a store of its own, ended with the test.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::program::{Said, folder, run_in};

/// A server, and the folder that the test's commands run in.
pub struct Served {
    child: Child,
    /// Where it is.
    pub url: String,
    /// Where the commands run.
    pub folder: PathBuf,
}

impl Served {
    /// A server with an empty store.
    pub fn new(test: &str) -> Served {
        let folder = folder(test);
        let (child, url) = start(&folder, "127.0.0.1:0");
        Served { child, url, folder }
    }

    /// Ends it without a warning.
    pub fn kill(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }

    /// Starts it again where it was.
    pub fn start_again(&mut self) {
        let address = self.url.trim_start_matches("http://").to_owned();
        (self.child, self.url) = start(&self.folder, &address);
    }

    /// A file for the commands.
    pub fn file(&self, name: &str, content: &str) {
        fs::write(self.folder.join(name), content).expect("a file for the test");
    }

    /// Runs a command against it.
    pub fn run(&self, arguments: &[&str]) -> Said {
        self.run_with(arguments, "")
    }

    /// Runs a command against it, with this on standard input.
    pub fn run_with(&self, arguments: &[&str], input: &str) -> Said {
        let mut program = self.command(arguments);
        run_in(&mut program, input)
    }

    /// A command that is not started yet.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut program = Command::new(env!("CARGO_BIN_EXE_hapax"));
        program.args(arguments).current_dir(&self.folder).env("HAPAX_SERVER", &self.url).env("NO_COLOR", "1");
        program
    }

    /// Runs a command that must go well, and gives what it printed.
    pub fn ok(&self, arguments: &[&str]) -> String {
        let said = self.run(arguments);
        assert_eq!(said.code, 0, "{arguments:?}: {}{}", said.out, said.err);
        said.out
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.kill();
    }
}

fn start(folder: &Path, listen: &str) -> (Child, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_hapax"));
    program.args(["serve", "--listen", listen, "--store", "store"]).current_dir(folder);
    let mut child = program.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("the server starts");
    let mut lines = BufReader::new(child.stderr.take().expect("standard error")).lines();
    let mut heard = Vec::new();
    let url = loop {
        let Some(Ok(line)) = lines.next() else { panic!("the server does not listen: {heard:?}") };
        let begin = line.find("http://127.0.0.1:");
        heard.push(line.clone());
        if let Some(begin) = begin {
            let rest = &line[begin..];
            let end = rest.find(|letter: char| letter == '"' || letter.is_whitespace()).unwrap_or(rest.len());
            break rest[..end].trim_end_matches(['/', '.', ',']).to_owned();
        }
    };
    // Somebody must read what it says, or it would wait for a reader.
    std::thread::spawn(move || lines.for_each(drop));
    (child, url)
}
