//! The server's process: started, killed, stopped.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crate::client::{Client, Reply};

/// A running server.
pub struct Server {
    child: Child,
    pub address: SocketAddr,
    pub store: PathBuf,
    log: Arc<Mutex<Vec<String>>>,
    reading: Option<JoinHandle<()>>,
}

/// A folder of its own for a test, empty.
pub fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("serving").join(test);
    // What an earlier run left would otherwise be found by this one.
    _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

/// Runs the program.
pub fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hapax")).args(arguments).output().expect("the program runs")
}

impl Server {
    /// With an empty store.
    pub fn new(test: &str) -> Self {
        Self::on(&folder(test).join("store"), &[])
    }

    /// On this store.
    pub fn on(store: &Path, more: &[&str]) -> Self {
        Self::loud(store, "off", more)
    }

    /// On this store, with a log.
    pub fn loud(store: &Path, filter: &str, more: &[&str]) -> Self {
        Self::at("127.0.0.1:0", store, filter, more)
    }

    /// At this address.
    pub fn at(listen: &str, store: &Path, filter: &str, more: &[&str]) -> Self {
        let mut program = Command::new(env!("CARGO_BIN_EXE_hapax"));
        program.args(["serve", "--listen", listen, "--log", filter, "--store"]).arg(store).args(more);
        let mut child = program.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("the server starts");
        let mut said = Vec::new();
        let mut lines = BufReader::new(child.stderr.take().expect("standard error")).lines();
        let address = loop {
            let line = lines.next().and_then(Result::ok);
            let Some(line) = line else { panic!("the server ended: {said:?}") };
            said.push(line.clone());
            if let Some((_, rest)) = line.split_once("listening on ").and_then(|(_, rest)| rest.split_once("://")) {
                let address = rest.split([',', ' ']).next().unwrap_or_default();
                break address.parse().expect("an address");
            }
        };
        let log = Arc::new(Mutex::new(said));
        // Whatever else it says must not fill the pipe.
        let keep = Arc::clone(&log);
        let reading = std::thread::spawn(move || {
            lines.map_while(Result::ok).for_each(|line| keep.lock().expect("the log").push(line));
        });
        Self { child, address, store: store.to_owned(), log, reading: Some(reading) }
    }

    /// What it said so far.
    pub fn log(&self) -> Vec<String> {
        self.log.lock().expect("the log").clone()
    }

    /// The id of its process.
    #[allow(dead_code, reason = "for the tests that measure it")]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// A connection of its own.
    pub fn client(&self) -> Client {
        Client::new(self.address)
    }

    /// Puts a contract.
    pub fn put(&self, stream: &str, contract: &str) {
        let path = format!("/v1/streams/{stream}");
        let reply = self.client().send("PUT", &path, &[("content-type", "application/toml")], contract.as_bytes());
        assert!(reply.status < 300, "{}", reply.text());
    }

    /// Sends JSON.
    pub fn post(&self, path: &str, body: &str) -> Reply {
        self.client().send("POST", path, &[("content-type", "application/json")], body.as_bytes())
    }

    /// Reads.
    pub fn get(&self, path: &str) -> Reply {
        self.client().send("GET", path, &[], b"")
    }

    /// SIGKILL.
    pub fn kill(mut self) -> PathBuf {
        self.child.kill().expect("a process to kill");
        self.child.wait().expect("its end");
        self.store.clone()
    }

    /// SIGTERM; it must end by itself and well.
    pub fn stop(self) -> PathBuf {
        self.stop_with_log().0
    }

    /// SIGTERM, and all that it ever said.
    pub fn stop_with_log(mut self) -> (PathBuf, Vec<String>) {
        let id = self.id().to_string();
        assert!(Command::new("kill").arg(&id).status().expect("kill").success());
        let status = self.child.wait().expect("its end");
        assert!(status.success(), "a stop in good order, not {status}");
        self.reading.take().expect("a log").join().expect("the log is read");
        (self.store.clone(), self.log())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
