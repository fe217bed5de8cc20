//! The ledger itself: whole, chained, and made of what was sent.
//!
//! The chain is recomputed from the documented layout of an entry's hash.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use super::{Auditor, Found};
use crate::check::Check;
use crate::ledger::{PlainEntry, StreamLedger};
use crate::plan::{DAY, Kind};

impl Auditor {
    pub(super) fn check_entries(&self, stream: usize, held: &StreamLedger, found: &mut Found) {
        self.check_chain(stream, held, found);
        self.check_told(stream, held, found);
        self.check_sent(stream, held, found);
        self.check_identities(stream, held, found);
        self.check_numbers(stream, held, found);
        let books = &self.streams[stream];
        if (held.modes.len() as u64) < books.version_told {
            let what = format!("stream {stream} has {} versions, {} were told", held.modes.len(), books.version_told);
            found.push((Check::Registry, what));
        }
    }

    fn check_chain(&self, stream: usize, held: &StreamLedger, found: &mut Found) {
        let name = &self.plan.streams[stream].name;
        let mut previous = [0; 32];
        for (place, entry) in held.entries.iter().enumerate() {
            if entry.offset != place as u64 + 1 {
                found.push((Check::Offsets, format!("offset {} of {name} stands at {}", entry.offset, place + 1)));
                return;
            }
            if entry_hash(name, &previous, entry) != entry.hash {
                found.push((Check::Chain, format!("the hash at offset {} of {name} does not hold", entry.offset)));
            }
            previous = entry.hash;
        }
        if held.head != (held.entries.len() as u64, previous) {
            found.push((Check::Offsets, format!("the head of {name} is not where its entries end: {:?}", held.head)));
        }
    }

    /// What was told is there.
    fn check_told(&self, stream: usize, held: &StreamLedger, found: &mut Found) {
        let books = &self.streams[stream];
        let at = |offset: u64| held.entries.get(usize::try_from(offset - 1).unwrap_or(usize::MAX));
        for (offset, (receipt, document)) in &books.accepted {
            let same = at(*offset).is_some_and(|entry| {
                receipt["hash"] == *hex(&entry.hash)
                    && receipt["id"] == *entry.id
                    && document.as_ref().is_none_or(|document| *document == entry.document)
            });
            if !same {
                let there = at(*offset).map(|entry| (&entry.id, hex(&entry.hash)));
                found.push((Check::Lost, format!("stream {stream}: {receipt} was told, and there is {there:?}")));
            }
        }
        for (offset, hash) in &books.manual {
            if at(*offset).is_none_or(|entry| hex(&entry.hash) != *hash) {
                found.push((Check::Lost, format!("the correction or closing at {offset} of stream {stream} is gone")));
            }
        }
        for (offset, hash) in &books.seen {
            if at(*offset).is_none_or(|entry| entry.hash != *hash) {
                found.push((Check::Vanished, format!("offset {offset} of stream {stream} was read, and is no more")));
            }
        }
    }

    /// What is there was sent: told to be accepted, or never answered.
    fn check_sent(&self, stream: usize, held: &StreamLedger, found: &mut Found) {
        let books = &self.streams[stream];
        let mut closings = 0;
        for entry in &held.entries {
            match entry.kind {
                0 => {
                    let told = books.accepted.get(&entry.offset).is_some_and(|(_, document)| document.is_some());
                    let unanswered = books.sent.get(&entry.document).is_some_and(|(_, unanswered)| *unanswered > 0);
                    if !told && !unanswered && !self.replayed(stream, entry) {
                        let of_others = self.streams.iter().any(|other| other.sent.contains_key(&entry.document));
                        let check = if of_others && !books.sent.contains_key(&entry.document) {
                            Check::Tenants
                        } else {
                            Check::Invented
                        };
                        let document = String::from_utf8_lossy(&entry.document);
                        found.push((
                            check,
                            format!("nobody sent offset {} of stream {stream}: {document}", entry.offset),
                        ));
                    }
                    if let Some((sent, _)) = books.sent.get(&entry.document)
                        && (sent.lane != entry.lane || sent.id.as_ref().is_some_and(|id| *id != entry.id))
                    {
                        let (id, lane) = (&entry.id, &entry.lane);
                        found.push((Check::Identity, format!("offset {}: stands as {id} in {lane}", entry.offset)));
                    }
                }
                1 if !books.corrections.contains(&entry.id) => {
                    found.push((Check::Invented, format!("nobody corrected {} in stream {stream}", entry.id)));
                }
                1 => {}
                _ => closings += 1,
            }
        }
        if closings > books.closings {
            found.push((Check::Invented, format!("stream {stream} has more closings than were asked for")));
        }
    }

    /// Was it told under another request's key, so that no answer of its own exists?
    fn replayed(&self, stream: usize, entry: &PlainEntry) -> bool {
        // Told as the original of a duplicate: then it was sent before, without an answer.
        let books = &self.streams[stream];
        books.accepted.contains_key(&entry.offset) && books.sent.contains_key(&entry.document)
    }

    fn check_identities(&self, stream: usize, held: &StreamLedger, found: &mut Found) {
        let (books, keep) = (&self.streams[stream], self.plan.streams[stream].keep);
        let mut known: BTreeMap<&str, &PlainEntry> = BTreeMap::new();
        let mut documents: BTreeMap<&[u8], u64> = BTreeMap::new();
        let mut manual: BTreeMap<(u8, &[u8]), u64> = BTreeMap::new();
        for entry in &held.entries {
            if entry.kind > 0 {
                if let Some(before) = manual.insert((entry.kind, &entry.document), entry.offset) {
                    found.push((Check::AcceptedTwice, format!("{before} and {} say the same", entry.offset)));
                }
                continue;
            }
            let Some((sent, _)) = books.sent.get(&entry.document) else { continue };
            let Some(identity) = &sent.identity else { continue };
            if let Some(before) = documents.insert(&entry.document, entry.offset) {
                let what = format!("{identity} of stream {stream} stands at {before} and {}", entry.offset);
                found.push((Check::AcceptedTwice, what));
            }
            if let Some(before) = known.insert(identity, entry)
                && keep.is_none_or(|keep| entry.at - before.at <= keep)
            {
                let what = format!("{identity} of stream {stream} stands at {} and {}", before.offset, entry.offset);
                found.push((Check::AcceptedTwice, what));
            }
        }
    }

    fn check_numbers(&self, stream: usize, held: &StreamLedger, found: &mut Found) {
        let (books, kind) = (&self.streams[stream], self.plan.streams[stream].kind);
        let mut last: BTreeMap<&str, u64> = BTreeMap::new();
        let mut latest: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        let mut taken: BTreeMap<(&str, u64, u64), u64> = BTreeMap::new();
        let mut nonces: BTreeMap<(&str, &str), &PlainEntry> = BTreeMap::new();
        for entry in held.entries.iter().filter(|entry| entry.kind == 0) {
            let sent = books.sent.get(&entry.document).map(|(sent, _)| sent);
            let seq = entry.seq.unwrap_or(0);
            let mode = held.modes.get(entry.contract as usize - 1).map(String::as_str);
            let before = last.insert(&entry.lane, seq).filter(|before| *before > 0);
            match kind {
                // In a shadow what would have been refused gets no number.
                Kind::Sourcing if entry.would_reject && entry.seq.is_none() => {
                    before.map(|before| last.insert(&entry.lane, before));
                }
                Kind::Sourcing => {
                    if seq != before.unwrap_or(0) + 1 {
                        let what =
                            format!("offset {} of stream {stream} has number {seq} after {before:?}", entry.offset);
                        found.push((Check::Numbers, what));
                    }
                    let expected = sent.and_then(|sent| sent.expected).filter(|_| !entry.would_reject);
                    if let Some(expected) = expected.filter(|_| mode == Some("enforce"))
                        && expected + 1 != seq
                    {
                        let what = format!("offset {} expected {expected} and got number {seq}", entry.offset);
                        found.push((Check::Expected, what));
                    }
                }
                Kind::Strict | Kind::Tolerant if books.always_enforced => {
                    if let Some(other) = taken.insert((&entry.lane, entry.epoch, seq), entry.offset) {
                        let what = format!("number {seq} of {} stands at {other} and {}", entry.lane, entry.offset);
                        found.push((Check::Numbers, what));
                    }
                    let mine = (entry.epoch, seq);
                    let before = latest.insert(&entry.lane, mine).unwrap_or_default();
                    if entry.epoch < before.0 || kind == Kind::Strict && mine <= before {
                        let what = format!("{mine:?} came after {before:?} in {}", entry.lane);
                        found.push((Check::Numbers, what));
                    }
                    let Some(nonce) = sent.and_then(|sent| sent.nonce.as_deref()) else { continue };
                    if let Some(other) = nonces.insert((&entry.lane, nonce), entry)
                        && self.max_now - other.at <= DAY
                    {
                        let what = format!("nonce {nonce} was good for {} and {}", other.offset, entry.offset);
                        found.push((Check::Nonces, what));
                    }
                }
                Kind::Strict | Kind::Tolerant | Kind::Metering | Kind::Measurements | Kind::CloudEvents => {}
            }
        }
    }
}

/// The hash of an entry, after the one before it, as the chain is documented.
fn entry_hash(stream: &str, previous: &[u8; 32], entry: &PlainEntry) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(previous);
    hasher.update(content_hash(entry));
    hasher.update(b"hapax2");
    hasher.update([entry.kind]);
    hasher.update(entry.offset.to_be_bytes());
    hasher.update(entry.contract.to_be_bytes());
    hasher.update(entry.at.to_be_bytes());
    hasher.update([u8::from(entry.seq.is_some())]);
    hasher.update(entry.seq.unwrap_or(0).to_be_bytes());
    hasher.update(entry.mark_bits.to_be_bytes());
    hasher.update((entry.classes.len() as u16).to_be_bytes());
    for (name, class) in &entry.classes {
        hasher.update((name.len() as u32).to_be_bytes());
        hasher.update(name.as_bytes());
        hasher.update([*class]);
    }
    hasher.update([stream.len() as u8]);
    hasher.update(stream);
    hasher.finalize().into()
}

/// The hash of what an event says about itself.
fn content_hash(entry: &PlainEntry) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(b"hapax.event.v2");
    hasher.update(Sha256::digest(&entry.document));
    hasher.update(entry.epoch.to_be_bytes());
    for text in [&entry.lane, &entry.id] {
        hasher.update((text.len() as u32).to_be_bytes());
        hasher.update(text.as_bytes());
    }
    hasher.finalize().into()
}

pub(super) fn hex(bytes: &[u8; 32]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
