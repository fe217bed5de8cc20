//! The server as a process that may end at any moment: what it said, how it ended, and asking it things meanwhile.
//!
//! Not here: a server that must listen and must stop well, which is `serving/process.rs`.

use std::io::{self, BufRead as _, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use crate::client::{Client, Reply};

/// Long enough for anything that happens at all, on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A log small enough that a handful of commits fills a segment, on a disk of any size.
pub const SMALL: [&str; 6] = ["--segment-bytes", "4096", "--reserve-bytes", "512", "--low-water-bytes", "1"];

/// A server's process.
pub struct Program {
    child: Child,
    pub address: Option<SocketAddr>,
    said: Receiver<String>,
    heard: String,
    ended: bool,
}

/// `hapax serve` on this store, with these settings.
pub fn serve(store: &Path, settings: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hapax"));
    serve_arguments(&mut command, store, settings);
    command
}

/// The arguments of `hapax serve`.
pub fn serve_arguments(command: &mut Command, store: &Path, settings: &[&str]) {
    command.args(["serve", "--listen", "127.0.0.1:0", "--log", "warn", "--store"]).arg(store).args(settings);
}

impl Program {
    /// Starts it, and waits until it listens or has ended.
    pub fn start(mut command: Command) -> Self {
        let mut child =
            command.stderr(Stdio::piped()).stdout(Stdio::null()).stdin(Stdio::null()).spawn().unwrap_or_else(|error| {
                panic!("{} does not start: {error}; is it installed?", command.get_program().to_string_lossy())
            });
        let lines = BufReader::new(child.stderr.take().expect("standard error")).lines();
        let (say, said) = channel();
        // It ends with the process, and then the channel does.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(|line| _ = say.send(line)));
        let mut program = Self { child, address: None, said, heard: String::new(), ended: false };
        while program.address.is_none() && program.listen(PATIENCE) {}
        assert!(program.address.is_some() || program.ended, "neither listening nor ended: {}", program.heard);
        program
    }

    /// Hears one more line. False if there is none in this time, or never again.
    fn listen(&mut self, within: Duration) -> bool {
        match self.said.recv_timeout(within) {
            Ok(line) => {
                if let Some(rest) = line.split("listening on http://").nth(1) {
                    self.address = rest.split([',', ' ']).next().and_then(|it| it.parse().ok());
                }
                self.heard += &line;
                self.heard.push('\n');
                true
            }
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => {
                self.ended = true;
                false
            }
        }
    }

    /// Waits until something is so, or the process has ended.
    pub fn wait_for(&mut self, what: &str, mut is_so: impl FnMut() -> bool) -> bool {
        let step = Duration::from_millis(10);
        for _ in 0..PATIENCE.as_millis() / step.as_millis() {
            if is_so() {
                return true;
            }
            while self.listen(step) {}
            if self.ended {
                return is_so();
            }
        }
        panic!("{what} did not happen: {}", self.heard)
    }

    /// Waits for its end. Nothing if it goes on.
    pub fn end(&mut self, within: Duration) -> Option<ExitStatus> {
        while self.listen(within) {}
        self.ended.then(|| self.child.wait().expect("its end"))
    }

    /// What it said so far.
    pub fn heard(&mut self) -> &str {
        while self.listen(Duration::ZERO) {}
        &self.heard
    }

    /// A connection, if anybody listens.
    pub fn client(&self) -> io::Result<Client> {
        let address = self.address.ok_or(io::ErrorKind::NotConnected)?;
        TcpStream::connect(address).map(Client::on)
    }

    /// One request on a connection of its own.
    pub fn ask(&self, method: &str, path: &str, body: &str) -> io::Result<Reply> {
        let kind = if method == "PUT" { "application/toml" } else { "application/json" };
        self.client()?.try_send(method, path, &[("content-type", kind)], body.as_bytes())
    }

    /// Sends a signal by its name.
    pub fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }

    /// SIGKILL, and its end.
    pub fn kill(mut self) -> ExitStatus {
        // If it is gone already, that is as good.
        _ = self.child.kill();
        self.child.wait().expect("its end")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Sends a signal to a process by the signal's name.
pub fn signal(process: u32, name: &str) {
    let status = Command::new("kill").args([format!("-{name}"), process.to_string()]).status().expect("kill");
    assert!(status.success(), "{name} did not reach {process}");
}
