//! How far a file was sent, remembered between runs, and the keys of its batches.
//!
//! What holds: the state is replaced as a whole, after a batch was answered and never before; whoever goes on does so only
//! in a file that begins with what was sent. A key depends on everything up to the end of its batch, so the same batch
//! in another place or after other events is another request.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::input::{Event, Input};
use super::tally::Tally;

/// How far it came.
pub(super) struct Resume {
    file: Option<PathBuf>,
    state: State,
    read: Sha256,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    version: u32,
    stream: String,
    /// How many events were answered.
    events: u64,
    /// The line of the last one.
    line: u64,
    /// SHA-256 of all of them.
    fingerprint: String,
    tally: Tally,
}

/// Of the state and of the keys.
const VERSION: u32 = 1;

impl Resume {
    /// What the file remembers, or the beginning.
    pub(super) fn open(file: Option<&Path>, stream: &str) -> anyhow::Result<Resume> {
        let beginning = State {
            version: VERSION,
            stream: stream.to_owned(),
            events: 0,
            line: 0,
            fingerprint: String::new(),
            tally: Tally::default(),
        };
        let mut state = beginning;
        if let Some(file) = file {
            let shown = file.display();
            match std::fs::read(file) {
                Ok(bytes) => {
                    state = serde_json::from_slice(&bytes)
                        .with_context(|| format!("{shown} is not what --resume wrote; name another file"))?;
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => bail!("{shown} cannot be read: {error}"),
            }
            if state.version != VERSION || state.stream != stream {
                bail!("{shown} is about stream {}, not {stream}; name another file for --resume", state.stream);
            }
        }
        Ok(Resume { file: file.map(Path::to_path_buf), state, read: Sha256::new() })
    }

    /// What was counted so far.
    pub(super) fn tally(&self) -> Tally {
        self.state.tally.clone()
    }

    /// Reads past what was sent, and makes sure that it is what was sent.
    pub(super) fn skip(&mut self, input: &mut Input) -> anyhow::Result<()> {
        let mut last = 0;
        for _ in 0..self.state.events {
            let Some(event) = input.next().transpose()? else {
                bail!("{}: the file has fewer events than were sent; {}", self.shown(), Self::ANOTHER);
            };
            last = event.line;
            feed(&mut self.read, &event);
        }
        if self.state.events > 0 && hex(self.read.clone()) != self.state.fingerprint {
            bail!("{}: the file has changed before line {}; {}", self.shown(), last + 1, Self::ANOTHER);
        }
        Ok(())
    }

    const ANOTHER: &str = "remove the state to send all of it, or give back the old file";

    fn shown(&self) -> String {
        self.file.as_deref().map(|file| file.display().to_string()).unwrap_or_default()
    }

    /// The key of the batch that comes next.
    pub(super) fn key(&self, batch: &[Event], atomic: bool) -> String {
        let mut hash = Sha256::new();
        hash.update(b"hapax send 1");
        hash.update([u8::from(atomic)]);
        let mut read = self.read.clone();
        batch.iter().for_each(|event| feed(&mut read, event));
        hash.update(self.read.clone().finalize());
        hash.update(read.finalize());
        let mut key = hex(hash);
        // 128 bits are enough for a name that is good for a day.
        key.truncate(32);
        key
    }

    /// A batch was answered.
    pub(super) fn advance(&mut self, batch: &[Event], tally: &Tally) -> anyhow::Result<()> {
        batch.iter().for_each(|event| feed(&mut self.read, event));
        self.state.events += batch.len() as u64;
        self.state.line = batch.last().map_or(self.state.line, |event| event.line);
        let Some(file) = &self.file else { return Ok(()) };
        self.state.fingerprint = hex(self.read.clone());
        self.state.tally = tally.clone();
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let write = || -> anyhow::Result<()> {
            let mut new = tempfile::NamedTempFile::new_in(folder)?;
            serde_json::to_writer(&mut new, &self.state)?;
            new.write_all(b"\n")?;
            new.as_file().sync_all()?;
            new.persist(file)?;
            Ok(())
        };
        write().with_context(|| format!("{} cannot be written", file.display()))
    }
}

/// With its length, so that no two lists of events have the same bytes.
fn feed(hash: &mut Sha256, event: &Event) {
    hash.update((event.text.len() as u64).to_be_bytes());
    hash.update(&event.text);
}

fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
