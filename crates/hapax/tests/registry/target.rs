//! What effects act on: files that promise what such targets promise, each kind in its own way, and no more.
//!
//! What holds, whoever is killed when: a change is there whole or not at all, durable when the call returns, and two
//! processes change one thing one after the other. Each thing keeps the list of the changes that it made, so that a test can
//! count effects and not only look at what is left of them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What a target does about a repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// It recognises the event by its id, and changes nothing (`idempotent_target`).
    Recognises,
    /// It refuses a fence below the greatest it has seen in the lane (`fenced`).
    Fences,
    /// Nothing: it does what it is told (`at_least_once`).
    Obeys,
}

/// Accounts, to which amounts are added: the effect that shows best that it came twice.
pub struct Accounts {
    folder: PathBuf,
    kind: Kind,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Account {
    pub balance: u64,
    pub fence: u64,
    /// Event and fence of every change, in the order of the changes.
    pub changes: Vec<(String, u64)>,
}

impl Accounts {
    pub fn open(folder: &Path, kind: Kind) -> Accounts {
        let folder = folder.join("accounts");
        fs::create_dir_all(&folder).expect("a folder for the accounts");
        Accounts { folder, kind }
    }

    /// Adds an amount to an account, or says why not.
    pub fn add(&self, account: &str, event: &str, amount: u64, fence: u64) -> Result<(), String> {
        let _guard = lock(&self.folder);
        let path = self.folder.join(file_of(account));
        let mut found: Account = read(&path).unwrap_or_default();
        match self.kind {
            Kind::Recognises if found.changes.iter().any(|(known, _)| known == event) => return Ok(()),
            Kind::Fences if fence < found.fence => return Err(format!("fence {fence} is below {}", found.fence)),
            Kind::Recognises | Kind::Fences | Kind::Obeys => {}
        }
        found.balance += amount;
        found.fence = fence;
        found.changes.push((event.to_owned(), fence));
        write(&path, &found);
        Ok(())
    }

    /// An account as it is now.
    pub fn account(&self, account: &str) -> Account {
        read(&self.folder.join(file_of(account))).unwrap_or_default()
    }

    /// How often each event had an effect, over all accounts.
    pub fn effects(&self) -> BTreeMap<String, u64> {
        let mut effects = BTreeMap::new();
        for file in fs::read_dir(&self.folder).expect("the accounts").map(|file| file.expect("a file").path()) {
            for (event, _) in read::<Account>(&file).map(|account| account.changes).unwrap_or_default() {
                *effects.entry(event).or_default() += 1;
            }
        }
        effects
    }
}

/// An index of documents that takes a document only with a higher version than it has (`version_type=external`).
pub struct Index {
    folder: PathBuf,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Document {
    pub version: u64,
    pub value: u64,
    /// The event of every version that was taken, in the order of the changes.
    pub changes: Vec<String>,
}

impl Index {
    pub fn open(folder: &Path) -> Index {
        let folder = folder.join("index");
        fs::create_dir_all(&folder).expect("a folder for the index");
        Index { folder }
    }

    /// Says whether it was taken.
    pub fn put(&self, id: &str, version: u64, value: u64, event: &str) -> bool {
        let _guard = lock(&self.folder);
        let path = self.folder.join(file_of(id));
        let mut found: Document = read(&path).unwrap_or_default();
        if version <= found.version {
            return false;
        }
        (found.version, found.value) = (version, value);
        found.changes.push(event.to_owned());
        write(&path, &found);
        true
    }

    pub fn document(&self, id: &str) -> Document {
        read(&self.folder.join(file_of(id))).unwrap_or_default()
    }
}

/// A number that survives its writer: a cursor, a checkpoint.
pub struct Mark(pub PathBuf);

impl Mark {
    pub fn get(&self) -> u64 {
        read(&self.0).unwrap_or(0)
    }

    pub fn set(&self, value: u64) {
        write(&self.0, &value);
    }
}

/// A name for a file that only this name has.
fn file_of(name: &str) -> String {
    name.bytes().map(|byte| format!("{byte:02x}")).collect::<String>() + ".json"
}

fn lock(folder: &Path) -> File {
    let file = File::create(folder.with_extension("lock")).expect("a file to lock");
    file.lock().expect("a lock");
    file
}

fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let text = fs::read(path).ok()?;
    Some(serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{} is broken: {error}", path.display())))
}

/// Whole or not at all, and durable.
fn write(path: &Path, value: &impl Serialize) {
    let draft = path.with_extension(format!("draft-{}", std::process::id()));
    let mut file = File::create(&draft).expect("a file");
    file.write_all(&serde_json::to_vec(value).expect("JSON")).expect("room");
    file.sync_data().expect("a disk");
    fs::rename(&draft, path).expect("a folder");
}
