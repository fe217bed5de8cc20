//! Receipts: each is compared with what was told before, and taken down.

use std::sync::Arc;

use serde_json::Value;

use super::plainly::instant;
use super::{Auditor, Found};
use crate::check::Check;
use crate::ledger::Ledger;
use crate::words::Sent;

/// How some events were answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answered {
    /// A trial.
    pub(super) dry: bool,
    /// One receipt instead of a list.
    pub(super) single: bool,
    /// A problem, or the very answer that was told before.
    pub(super) is_nothing: bool,
    /// The answer to an earlier sending, told only now: nothing follows from when it is told.
    pub(super) is_late: bool,
}

impl Auditor {
    pub(super) fn events_told(
        &mut self,
        stream: usize,
        sent: &[Sent],
        Answered { dry, single, is_nothing, is_late }: Answered,
        now: i64,
        body: &Value,
    ) {
        if !dry {
            self.streams[stream].answered(sent);
        }
        if is_nothing {
            return;
        }
        let one = std::slice::from_ref(body);
        let receipts = if single { Some(one) } else { body["results"].as_array().map(Vec::as_slice) };
        let Some(receipts) = receipts.filter(|receipts| receipts.len() == sent.len()) else {
            return self.note(Check::Answers, format!("{} events got other than one receipt each: {body}", sent.len()));
        };
        if dry {
            return self.trial(receipts);
        }
        self.streams[stream].verdicts_told += sent.len() as u64;
        for (sent, receipt) in sent.iter().zip(receipts).filter(|_| !is_late) {
            self.known_first(stream, sent, receipt, now);
        }
        for (sent, receipt) in sent.iter().zip(receipts) {
            self.same_names(sent, receipt);
            if receipt["verdict"] == "accepted" {
                self.streams[stream].accepted_told += 1;
                self.accepted(stream, receipt, Some(sent));
            }
        }
        for (sent, receipt) in sent.iter().zip(receipts) {
            if receipt["verdict"] != "accepted" {
                self.not_accepted(stream, sent, receipt);
            }
        }
    }

    /// A trial leaves nothing, so it has nothing to name.
    fn trial(&mut self, receipts: &[Value]) {
        for receipt in receipts {
            if ["offset", "hash", "attempt"].iter().any(|name| receipt.get(name).is_some()) {
                self.note(Check::Invented, format!("a dry run was answered with a place: {receipt}"));
            }
        }
    }

    /// Identity comes first: what was told to be in the ledger is a duplicate or a conflict, and nothing else.
    fn known_first(&mut self, stream: usize, sent: &Sent, receipt: &Value, now: i64) {
        let Some(identity) = &sent.identity else { return };
        let keep = self.plan.streams[stream].keep;
        let Some(places) = self.streams[stream].places.get(identity) else { return };
        let is_kept = |at: i64| keep.is_none_or(|keep| now.saturating_sub(at) < keep && self.max_now - at < keep);
        let is_refused = receipt["verdict"] == "rejected" || receipt["verdict"] == "stale";
        if is_refused && receipt["code"] != "SCHEMA_VIOLATION" && places.iter().any(|(_, at)| is_kept(*at)) {
            self.note(
                Check::Identity,
                format!("{identity} of stream {stream} is in the ledger and was told {receipt}"),
            );
        }
    }

    /// Nothing is trimmed, folded or normalised.
    fn same_names(&mut self, sent: &Sent, receipt: &Value) {
        let differs = |name: &str, mine: &str| receipt.get(name).is_some_and(|told| told != mine);
        let id = sent.id.as_deref().is_some_and(|id| differs("id", id));
        if id || differs("lane", &sent.lane) {
            let mine = (&sent.id, &sent.lane);
            self.note(Check::Identity, format!("{mine:?} was answered under other names: {receipt}"));
        }
    }

    /// An event is in the ledger: told now for the first time, or again as an original.
    fn accepted(&mut self, stream: usize, receipt: &Value, sent: Option<&Sent>) {
        let place = receipt["offset"].as_u64().zip(receipt["ingested_at"].as_str().and_then(instant));
        let Some((offset, at)) = place else {
            return self.note(Check::Answers, format!("an accepted event without a place: {receipt}"));
        };
        let keep = self.plan.streams[stream].keep;
        let books = &mut self.streams[stream];
        let document = sent.map(|sent| Arc::clone(&sent.bytes));
        if let Some((known, before)) = books.accepted.get_mut(&offset) {
            let same = known == receipt && (before.is_none() || document.is_none() || *before == document);
            let is_news = before.is_none() && document.is_some();
            if !same {
                let what = format!("offset {offset} of stream {stream} was told as {known} and as {receipt}");
                return self.note(Check::Original, what);
            }
            if !is_news {
                return;
            }
            *before = document;
        } else {
            books.accepted.insert(offset, (receipt.clone(), document));
        }
        let Some(identity) = sent.and_then(|sent| sent.identity.as_ref()) else { return };
        let places = books.places.entry(identity.clone()).or_default();
        let twice = places.iter().any(|(_, before)| keep.is_none_or(|keep| at - before <= keep));
        places.push((offset, at));
        if twice {
            let what = format!("{identity} of stream {stream} was accepted at {places:?}");
            self.note(Check::AcceptedTwice, what);
        }
    }

    fn not_accepted(&mut self, stream: usize, sent: &Sent, receipt: &Value) {
        let verdict = receipt["verdict"].as_str().unwrap_or_default();
        if verdict == "duplicate" || verdict == "conflict" {
            self.twin(stream, sent, receipt, verdict);
        }
        let at = receipt["ingested_at"].as_str().and_then(instant);
        let Some((number, at)) = receipt["attempt"].as_u64().zip(at) else {
            return self.note(Check::Answers, format!("an attempt without a number: {receipt}"));
        };
        let books = &mut self.streams[stream];
        let known = books.attempts.insert(number, (verdict.to_owned(), Arc::clone(&sent.bytes), at));
        if known.is_some() {
            self.note(Check::Attempts, format!("attempt {number} of stream {stream} was told twice"));
        }
    }

    /// An event that is called known must be, and its original is the one that was told.
    fn twin(&mut self, stream: usize, sent: &Sent, receipt: &Value, verdict: &str) {
        let original = &receipt["original"];
        let Some(offset) = original["offset"].as_u64() else {
            // The original may be an event of the same atomic batch, which then never was.
            if receipt["verdict"] == "duplicate" {
                self.note(Check::Original, format!("a duplicate without its original: {receipt}"));
            }
            return;
        };
        let is_same = verdict == "duplicate" && !has(receipt, "states", "IDEMPOTENCY_MISMATCH");
        self.streams[stream].twins.push((offset, sent.payload.clone(), is_same));
        self.accepted(stream, original, None);
        let books = &self.streams[stream];
        let document = books.accepted.get(&offset).and_then(|(_, document)| document.as_ref());
        let of = document.and_then(|document| books.sent.get(document)).map(|(sent, _)| &sent.identity);
        let possible = match of {
            Some(identity) => *identity == sent.identity,
            None => books.sent.values().any(|(it, unanswered)| *unanswered > 0 && it.identity == sent.identity),
        };
        if !possible {
            let what =
                format!("{:?} of stream {stream} was called known, which it cannot be: {receipt}", sent.identity);
            self.note(Check::FalseTwin, what);
        }
    }

    /// A correction or a closing stands in the ledger.
    pub(super) fn manual_told(&mut self, stream: usize, body: &Value) {
        let (Some(offset), Some(hash)) = (body["offset"].as_u64(), body["hash"].as_str()) else {
            return self.note(Check::Answers, format!("a correction or closing without a place: {body}"));
        };
        let known = self.streams[stream].manual.insert(offset, hash.to_owned());
        if known.is_some_and(|known| known != hash) {
            self.note(Check::Original, format!("offset {offset} of stream {stream} was told with two hashes"));
        }
    }

    /// Were duplicates the same, and conflicts not? Told by the ledger, which knows the originals.
    pub(super) fn check_twins(&self, ledger: &Ledger, found: &mut Found) {
        for (stream, books) in self.streams.iter().enumerate() {
            for (offset, payload, is_same) in &books.twins {
                let place = usize::try_from(*offset - 1).unwrap_or(usize::MAX);
                let Some(entry) = ledger.streams[stream].entries.get(place) else { continue };
                let Some((original, _)) = books.sent.get(&entry.document) else { continue };
                if (original.payload == *payload) != *is_same {
                    let what =
                        format!("payload {payload} was compared wrongly with offset {offset} of stream {stream}");
                    found.push((Check::FalseTwin, what));
                }
            }
        }
    }
}

fn has(receipt: &Value, list: &str, word: &str) -> bool {
    receipt[list].as_array().is_some_and(|words| words.iter().any(|it| it == word))
}
