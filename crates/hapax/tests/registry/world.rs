//! What surrounds the processes of a test: the server, its streams and handlers, the folder.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hapax_client::{Batch, Call, Client, Entry, Receipt, Retry, Route, Stop};
use serde_json::{Value, json};

use crate::part::{Part, Role};
use crate::target::Kind;

/// A server, and what a test keeps beside it.
pub struct World {
    server: Child,
    pub url: String,
    pub folder: PathBuf,
    pub client: Client,
}

/// Repeats a test, with the number of the round, from 0.
pub fn rounds(test: impl Fn(u64)) {
    let rounds = std::env::var("HAPAX_REGISTRY_ROUNDS").map_or(1, |text| text.parse().expect("a number of rounds"));
    (0..rounds).for_each(test);
}

/// Waits until it is so. What has not become so in two minutes never will.
pub fn until(what: &str, so: impl Fn() -> bool) {
    let found = (0..12_000).any(|_| so() || Stop::new().wait(Duration::from_millis(10)));
    assert!(found, "it never was so that {what}");
}

impl World {
    /// A server with an empty store.
    pub fn new(test: &str) -> World {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("registry").join(test);
        // What an earlier run left would otherwise be found by this one.
        _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder for the test");
        let (server, url) = start(&folder, "127.0.0.1:0");
        let client = Client::new(&url, None).expect("an address").with_retry(Retry::BRIEF);
        World { server, url, folder, client }
    }

    /// Ends the server without a warning.
    pub fn kill(&mut self) {
        self.server.kill().expect("a server to kill");
        self.server.wait().expect("its end");
    }

    /// Starts it again where it was.
    pub fn start_again(&mut self) {
        let address = self.url.trim_start_matches("http://").to_owned();
        (self.server, self.url) = start(&self.folder, &address);
    }

    /// A command of the program, against this server.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut program = Command::new(env!("CARGO_BIN_EXE_hapax"));
        program.args(arguments).current_dir(&self.folder).env("HAPAX_SERVER", &self.url).env("NO_COLOR", "1");
        program
    }

    /// Runs a command that must go well, and gives what it printed.
    pub fn ok(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().expect("the program runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{arguments:?}: {}{}", text(&output.stdout), text(&output.stderr));
        text(&output.stdout)
    }

    /// Makes a stream under a contract.
    pub fn stream(&self, stream: &str, contract: &str) {
        self.client.call(&Call::put(Route::stream(stream, &[])).with("application/toml", contract)).expect("a stream");
    }

    /// Makes a handler, and gives what the server says about it.
    pub fn handler(&self, handler: &str, declared: &Value) -> Value {
        let put = Call::put(Route::handler(handler, &[])).json(declared);
        self.client.call(&put).expect("a handler").json().expect("JSON")
    }

    /// What the server says about a handler now.
    pub fn shown(&self, handler: &str) -> Value {
        self.client.get(Route::handler(handler, &[])).expect("a handler").json().expect("JSON")
    }

    /// Sends events, of which each must be accepted.
    pub fn send(&self, stream: &str, documents: &[Value]) -> Vec<Receipt> {
        let batch = Batch::new(stream, documents.iter().map(Value::to_string));
        let receipts = self.client.send(&batch).expect("receipts").receipts;
        for receipt in &receipts {
            assert_eq!(receipt.verdict, "accepted", "{receipt:?}");
        }
        receipts
    }

    /// All entries of a stream.
    pub fn entries(&self, stream: &str) -> Vec<Entry> {
        let pages = self.client.pages(Route::stream(stream, &["events"]), "events", u64::MAX);
        pages.map(|raw| Entry::read(raw.expect("an entry")).expect("an entry")).collect()
    }

    /// A part with nothing special about it.
    pub fn part(&self, role: Role, handler: &str, stream: &str, target: Kind) -> Part {
        Part {
            role,
            url: self.url.clone(),
            handler: handler.to_owned(),
            stream: stream.to_owned(),
            owner: format!("{role:?} of {handler}"),
            folder: self.folder.join(handler),
            target,
            fate: None,
            replays: false,
            fails_on: None,
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        _ = self.server.kill();
        _ = self.server.wait();
    }
}

/// Commands on accounts, numbered by the ledger.
pub const ACCOUNTS: &str = "preset = \"event-sourcing\"\n";

/// A command on an account: its event `a-3` is the third of account `a`.
pub fn deposit(account: &str, number: u64) -> Value {
    json!({ "event_id": format!("{account}-{number}"), "aggregate_id": account, "kind": "create", "amount": number })
}

/// Two accounts with so many commands each, in turn.
pub fn deposits(each: u64) -> Vec<Value> {
    (1..=each).flat_map(|number| ["a", "b"].map(|account| deposit(account, number))).collect()
}

fn start(folder: &Path, listen: &str) -> (Child, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_hapax"));
    program.args(["serve", "--log", "off", "--listen", listen, "--store", "store"]).current_dir(folder);
    let mut child = program.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("the server starts");
    let mut lines = BufReader::new(child.stderr.take().expect("standard error")).lines();
    let mut heard = Vec::new();
    let url = loop {
        let Some(Ok(line)) = lines.next() else { panic!("the server does not listen: {heard:?}") };
        if let Some(rest) = line.split("listening on ").nth(1) {
            break rest.split([',', ' ']).next().unwrap_or_default().to_owned();
        }
        heard.push(line);
    };
    // Somebody must read what it says, or it would wait for a reader.
    std::thread::spawn(move || lines.for_each(drop));
    (child, url)
}
