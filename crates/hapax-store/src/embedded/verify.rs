//! Proving a ledger from its log alone: every frame, every entry, every link, and the heads that were saved elsewhere.
//!
//! It believes no index and no checksum of ours alone: a frame that somebody forged with right checksums still has
//! entries whose hashes do not continue each other. Everything that is wrong is named, not only the first.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::Arc;

use hapax_core::chain::{Breach, Broken, Inspector};
use hapax_core::event::Digest;
use serde::Serialize;

use super::codec::Lasting;
use super::disk::Disk;
use super::log::{self, Met, What, survey};
use crate::seam::StreamKey;

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Whose; none if what is wrong is no stream's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<Arc<str>>,
    /// The stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<Arc<str>>,
    /// The entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// How it is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub how: Option<Breach>,
    /// In words.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.tenant, &self.stream, self.offset) {
            (Some(tenant), Some(stream), Some(offset)) => {
                write!(f, "{tenant}/{stream} entry {offset}: {}", self.what)
            }
            (_, _, _) => f.write_str(&self.what),
        }
    }
}

/// What a proof came to.
#[derive(Debug, Serialize)]
pub struct Proof {
    /// Everything that is wrong.
    pub findings: Vec<Finding>,
    /// Where each stream ends.
    pub heads: Vec<ProvenHead>,
    /// How many entries there are.
    pub entries: u64,
    /// How many frames.
    pub frames: u64,
}

/// Where a stream ends, as a proof found it. Kept elsewhere, it shows a truncation later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProvenHead {
    /// Whose.
    pub tenant: Arc<str>,
    /// The stream.
    pub stream: Arc<str>,
    /// The last offset.
    pub offset: u64,
    /// Its hash.
    #[serde(serialize_with = "in_hex")]
    pub hash: Digest,
}

fn in_hex<S: serde::Serializer>(hash: &Digest, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&hapax_core::receipt::hex(hash))
}

/// Proves the ledger in a directory. `saved` are heads that were kept elsewhere; `read` is told how many bytes are behind.
pub fn verify<D: Disk>(
    disk: &D,
    saved: &BTreeMap<StreamKey, (u64, Digest)>,
    read: impl FnMut(u64),
) -> io::Result<Proof> {
    let mut proving = Proving { streams: BTreeMap::new(), saved, findings: Vec::new(), frames: 0, entries: 0 };
    let surveyed = survey(disk, |met| proving.meet(&met), read)?;
    let Proving { mut streams, mut findings, frames, entries, saved: _ } = proving;
    if let Some(witness) = surveyed.witness.filter(|witness| *witness > surveyed.last) {
        let what = format!("the log ends with frame {}, and the witness saw frame {witness}: truncated", surveyed.last);
        findings.push(Finding { tenant: None, stream: None, offset: None, how: Some(Breach::Truncated), what });
    }
    for (key, head) in saved {
        streams.entry(key.clone()).or_insert_with(|| Inspector::new(&key.stream, Some(*head)));
    }
    let mut heads = Vec::new();
    for (key, inspector) in streams {
        let (offset, hash) = inspector.head();
        heads.push(ProvenHead { tenant: Arc::clone(&key.tenant), stream: Arc::clone(&key.stream), offset, hash });
        findings.extend(inspector.finish().into_iter().map(|broken| Finding::new(&key, broken)));
    }
    Ok(Proof { findings, heads, entries, frames })
}

struct Proving<'s> {
    streams: BTreeMap<StreamKey, Inspector>,
    saved: &'s BTreeMap<StreamKey, (u64, Digest)>,
    findings: Vec<Finding>,
    frames: u64,
    entries: u64,
}

impl Proving<'_> {
    fn meet(&mut self, met: &Met<'_>) {
        match met {
            Met::Frame(frame) => {
                self.frames += 1;
                self.section(&frame.lasting, &format!("frame {}", frame.number), true);
            }
            Met::Damaged { segment, frame, what, lasting } => {
                let what_is = format!("frame {frame} in log/{segment} is damaged: {what}");
                // What only expires concerns no entry, but nothing is kept silent.
                self.findings.push(Finding { tenant: None, stream: None, offset: None, how: None, what: what_is });
                if let (Some(lasting), What::Lasting) = (lasting, what) {
                    self.section(lasting, &format!("frame {frame}"), false);
                } else if let Some(lasting) = lasting {
                    self.section(lasting, &format!("frame {frame}"), true);
                }
            }
        }
    }

    /// The entries of a section, each as far as it can be read. `sound` says that its checksum held.
    fn section(&mut self, lasting: &[u8], place: &str, sound: bool) {
        let opened = match Lasting::open(lasting) {
            Ok(opened) => opened,
            Err(fault) => {
                let what = format!("{place} cannot be read: {fault}");
                self.findings.push(Finding { tenant: None, stream: None, offset: None, how: None, what });
                return;
            }
        };
        let keys: Vec<StreamKey> = opened.streams().map(|(key, _, _)| key.clone()).collect();
        let befores: Vec<u64> = opened.streams().map(|(_, before, _)| before.offset).collect();
        // Where all entries of a commit are there, each has its place, whatever it says.
        let mut here = vec![0; keys.len()];
        (0..opened.count()).filter_map(|index| opened.stream_of(index)).for_each(|stream| here[stream] += 1);
        let whole: Vec<bool> = opened
            .streams()
            .zip(&here)
            .map(|((_, before, after), here)| before.offset + here == after.offset)
            .collect();
        let mut counted: Vec<u64> = vec![0; keys.len()];
        for index in 0..opened.count() {
            self.entries += 1;
            let found = opened.find(index);
            let Some(stream) = found.as_ref().map(|found| found.stream).ok().or_else(|| opened.stream_of(index)) else {
                continue;
            };
            counted[stream] += 1;
            let key = &keys[stream];
            let begin = || Inspector::new(&key.stream, self.saved.get(key).copied());
            let inspector = self.streams.entry(key.clone()).or_insert_with(begin);
            let position = befores[stream] + counted[stream];
            match opened.entry(index) {
                Ok(entry) if whole[stream] && entry.offset != position => inspector.displaced(position, &entry),
                Ok(entry) => inspector.meet(&entry),
                Err(fault) => {
                    inspector.unreadable(position);
                    if sound {
                        let what = format!("{place}: an entry cannot be read: {fault}");
                        self.findings.push(Finding { tenant: None, stream: None, offset: None, how: None, what });
                    }
                }
            }
        }
    }
}

impl Finding {
    /// What an inspection of a stream has found.
    pub fn new(key: &StreamKey, broken: Broken) -> Self {
        let what = match broken.how {
            Breach::Edited => "edited: its content is not what was hashed, or it does not continue the entry before",
            Breach::Missing => "missing",
            Breach::OutOfPlace => "out of place: it does not stand where it was accepted",
            Breach::Truncated => "truncated: the saved head is beyond the end of the ledger",
        };
        let (tenant, stream) = (Some(Arc::clone(&key.tenant)), Some(Arc::clone(&key.stream)));
        Self { tenant, stream, offset: Some(broken.offset), how: Some(broken.how), what: what.to_owned() }
    }
}

/// How many bytes a proof will read.
pub fn bytes<D: Disk>(disk: &D) -> io::Result<u64> {
    log::bytes(disk)
}
