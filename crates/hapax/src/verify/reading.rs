//! Proving a ledger by reading its entries, page by page, also while servers write to it.
//!
//! A stream's head is read before its entries, so that those up to it must be there, and once more after them, so that
//! none may be beyond it. Not here: ledgers in a directory, which are proven from their log alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use hapax_core::chain::{Breach, Broken, Inspector};
use hapax_core::entry::SharedEntry;
use hapax_core::event::Digest;
use hapax_store::embedded::verify::{Finding, Proof, ProvenHead};
use hapax_store::seam::{Read, StoreError, StreamKey};

use crate::progress::Progress;

/// How many entries are read at once.
const PAGE: usize = 1_000;

/// Proves every stream. `saved` are heads that were kept elsewhere.
pub(super) fn prove(reader: &impl Read, saved: &BTreeMap<StreamKey, (u64, Digest)>) -> Result<Proof, StoreError> {
    let mut proof = Proof { findings: Vec::new(), heads: Vec::new(), entries: 0, frames: 0 };
    let mut known = streams(reader)?;
    // A stream that is gone was cut off at its beginning.
    known.extend(saved.keys().filter(|key| !known.contains(key)).cloned().collect::<Vec<_>>());
    known.sort();
    for key in known {
        let saved = saved.get(&key).copied();
        Proving { reader, key, proof: &mut proof }.run(saved)?;
    }
    Ok(proof)
}

fn streams(reader: &impl Read) -> Result<Vec<StreamKey>, StoreError> {
    let mut found = Vec::new();
    for tenant in reader.tenants()? {
        let mut after: Arc<str> = Arc::from("");
        loop {
            let page = reader.streams(&tenant, &after, PAGE)?;
            let key = |stream| StreamKey { tenant: Arc::clone(&tenant), stream };
            found.extend(page.items.into_iter().map(|stream| key(stream.name)));
            match page.next {
                Some(next) => after = next,
                None => break,
            }
        }
    }
    Ok(found)
}

struct Proving<'p, R> {
    reader: &'p R,
    key: StreamKey,
    proof: &'p mut Proof,
}

impl<R: Read> Proving<'_, R> {
    fn run(mut self, saved: Option<(u64, Digest)>) -> Result<(), StoreError> {
        let head = self.reader.head(&self.key)?;
        let progress = Progress::count(head.offset, "entries");
        let mut inspector = Inspector::new(&self.key.stream, saved);
        let mut after = 0;
        // Whoever writes meanwhile is not followed beyond the head that was there at the beginning.
        while after < head.offset {
            match self.page(after)? {
                Ok(page) => {
                    let known = page.iter().take_while(|entry| entry.offset <= head.offset);
                    let before = after;
                    for entry in known {
                        after = entry.offset;
                        self.proof.entries += 1;
                        inspector.meet(entry);
                        if entry.offset == head.offset && entry.hash != head.hash {
                            self.found(entry.offset, Breach::OutOfPlace, "its hash is not that of the stream's head");
                        }
                    }
                    if after == before {
                        break;
                    }
                }
                Err(what) => {
                    after += 1;
                    self.proof.entries += 1;
                    inspector.unreadable(after);
                    self.found(after, Breach::Edited, &what);
                }
            }
            progress.at(after);
        }
        progress.done();
        if after < head.offset {
            self.found(after + 1, Breach::Truncated, "truncated: the head of the stream is beyond its last entry");
        }
        self.beyond(head.offset)?;
        let ((offset, hash), StreamKey { tenant, stream }) = (inspector.head(), self.key.clone());
        self.proof.heads.push(ProvenHead { tenant, stream, offset, hash });
        let broken = inspector.finish();
        self.proof.findings.extend(broken.into_iter().map(|broken| Finding::new(&self.key, broken)));
        Ok(())
    }

    /// The entries after an offset; if the next one cannot be read: why.
    fn page(&self, after: u64) -> Result<Result<Vec<SharedEntry>, String>, StoreError> {
        let read = |limit| self.reader.entries(&self.key, after, limit);
        let page = match read(PAGE) {
            // One of them is wrong: one by one it is found out which.
            Err(StoreError::Corrupt(_)) => read(1),
            page => page,
        };
        match page {
            Err(StoreError::Corrupt(what)) => Ok(Err(what)),
            page => page.map(Ok),
        }
    }

    /// No entry stands beyond the head: both are written in one commit.
    fn beyond(&mut self, after: u64) -> Result<(), StoreError> {
        let next = self.reader.entries(&self.key, after, 1)?.pop();
        let head = self.reader.head(&self.key)?;
        if let Some(entry) = next.filter(|entry| entry.offset > head.offset) {
            self.found(entry.offset, Breach::OutOfPlace, "it stands beyond the head of its stream");
        }
        Ok(())
    }

    fn found(&mut self, offset: u64, how: Breach, what: &str) {
        let finding = Finding::new(&self.key, Broken { offset, how });
        self.proof.findings.push(Finding { what: what.to_owned(), ..finding });
    }
}
