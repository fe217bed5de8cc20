//! A small ledger that a real server wrote, and everything that can be asked of it, for comparing one with another.
//!
//! A process for each of a hundred thousand damaged bytes would take a day, so the store is opened in this process, as
//! the server opens it, on a copy of the real files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hapax_store::embedded::disk::RealDisk;
use hapax_store::embedded::log::LogId;
use hapax_store::embedded::{Embedded, Options};
use hapax_store::seam::{RequestKey, StoreError};

use crate::everything::{Names, everything};
use crate::ledger::{EVENTS, Told, event};
use crate::program::{Program, serve};

/// The bytes of every file of a store, by their path in it.
pub type Files = BTreeMap<String, Vec<u8>>;

/// Even smaller segments: what is asked of every damaged copy costs by the entry.
pub const SMALLER: [&str; 6] = ["--segment-bytes", "3072", "--reserve-bytes", "512", "--low-water-bytes", "1"];

/// What a store answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answers {
    /// Everything that can be asked of it.
    All(String),
    /// It does not open, and says why.
    Refused(StoreError),
    /// It opens, and something in it cannot be read.
    Unreadable(StoreError),
}

/// A ledger over several segments: entries in two lanes, attempts, a counter, a handler with claims, a keyed request.
pub fn write(store: &Path) -> Program {
    let mut told = Told::default();
    let program = Program::start(serve(store, &SMALLER));
    told.put(&program).expect("a contract");
    let mut client = program.client().expect("a connection");
    for n in 0..5 {
        let short = event(n).replace("xxxxx", "");
        assert_eq!(client.send("POST", EVENTS, &[json()], short.as_bytes()).status, 201);
    }
    assert_eq!(client.send("POST", EVENTS, &[json()], event(2).replace("xxxxx", "y").as_bytes()).status, 409);
    let keyed = [json(), ("idempotency-key", "k-1")];
    assert_eq!(client.send("POST", EVENTS, &keyed, event(5).replace("xxxxx", "").as_bytes()).status, 201);
    let handler = br#"{"stream": "s", "order": "none"}"#;
    assert!(client.send("PUT", "/v1/handlers/h", &[json()], handler).status < 300);
    let claim = client.send("POST", "/v1/handlers/h/claims", &[json()], br#"{"event_id": "e-1"}"#).json();
    assert_eq!(claim["decision"], "claimed", "{claim}");
    let done = client.send("POST", "/v1/handlers/h/claims/e-1/done", &[json()], br#"{"fence": 1}"#);
    assert_eq!(done.status, 200, "{}", done.text());
    program
}

fn json() -> (&'static str, &'static str) {
    ("content-type", "application/json")
}

/// Reads every file of a store but the lock, which is empty, and what was never finished, which a start removes.
pub fn read(store: &Path) -> Files {
    let mut files = Files::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(store.join(&folder)).expect("a directory") {
            let name = folder.join(entry.expect("a name").file_name());
            if store.join(&name).is_dir() {
                folders.push(name);
            } else if name.as_os_str() != "lock" && name.extension().is_none_or(|it| it != "tmp") {
                let bytes = fs::read(store.join(&name)).expect("a file");
                files.insert(name.to_str().expect("a path").to_owned(), bytes);
            }
        }
    }
    files
}

/// Where stores are opened again and again: in memory, for syncs there cost nothing.
pub struct Place(tempfile::TempDir);

impl Place {
    pub fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        Self(folder.expect("a folder"))
    }

    /// Puts these files there, in place of what was. Most are there already, and are left alone.
    pub fn put(&self, files: &Files) {
        let there = read(self.0.path());
        for name in there.keys().filter(|name| !files.contains_key(*name)) {
            fs::remove_file(self.0.path().join(name)).expect("one file less");
        }
        for (name, bytes) in files.iter().filter(|(name, bytes)| there.get(*name) != Some(bytes)) {
            let path = self.0.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, bytes).expect("a file");
        }
    }

    /// Opens what is there, and asks everything.
    pub fn ask(&self) -> Answers {
        let mut options = Options::default();
        options.log.segment_bytes = 3072;
        options.log.reserve_bytes = 512;
        options.log.low_water_bytes = 1;
        // Room for half a million ids takes longer to make than all else.
        options.index.ids_in_memory = 1 << 10;
        options.index.others_in_memory = 1 << 10;
        // Another test that starts a process may have passed the lock of the last time on to it for a moment.
        fs::remove_file(self.0.path().join("lock")).unwrap_or_default();
        let disk = RealDisk::at(self.0.path()).expect("a disk");
        let mut store = match Embedded::open(disk, options, LogId([7; 16])) {
            Ok((store, _)) => store,
            Err(error) => return Answers::Refused(error),
        };
        let key = |key: &str| RequestKey {
            tenant: Arc::from("default"),
            target: Arc::from(format!("POST {EVENTS}")),
            key: Arc::from(key),
        };
        let names = Names { nonces: Vec::new(), requests: vec![key("k-1"), key("nobody")] };
        match everything(&mut store, &names) {
            Ok(all) => Answers::All(all),
            Err(error) => Answers::Unreadable(error),
        }
    }
}

/// The first line in which two texts differ.
pub fn difference(one: &str, other: &str) -> String {
    let differs = one.lines().zip(other.lines()).find(|(one, other)| one != other);
    let (one, other) = differs.unwrap_or((one, other));
    format!("\n{}\n{}", &one[..one.len().min(600)], &other[..other.len().min(600)])
}
