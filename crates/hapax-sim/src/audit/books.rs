//! What was told, taken down as it comes: one book for each stream and each handler.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use crate::words::{Sent, Word};

/// A document as it was sent.
pub(super) type Document = Arc<[u8]>;

/// An event as claims name it: its id, and its lane where ids are unique within lanes only.
pub(super) type ClaimKey = (String, Option<String>);

/// All that is known about one stream.
#[derive(Debug)]
pub(super) struct StreamBooks {
    /// Every document that was ever sent, and in how many requests without an answer.
    pub(super) sent: BTreeMap<Arc<[u8]>, (Sent, u32)>,
    /// Accepted receipts that were told, by offset, with the document if it is known.
    pub(super) accepted: BTreeMap<u64, (Value, Option<Document>)>,
    /// Where each identity was told to stand, and when that was.
    pub(super) places: BTreeMap<String, Vec<(u64, i64)>>,
    /// Duplicates and conflicts: the original's offset, the payload that was sent, whether it was called the same.
    pub(super) twins: Vec<(u64, String, bool)>,
    /// Attempts that were told: verdict, document, and when.
    pub(super) attempts: BTreeMap<u64, (String, Arc<[u8]>, i64)>,
    /// Verdicts that were told, and how many of them were `accepted`.
    pub(super) verdicts_told: u64,
    pub(super) accepted_told: u64,
    /// Documents in requests without an answer.
    pub(super) documents_unanswered: u64,
    /// What a follower read.
    pub(super) seen: BTreeMap<u64, [u8; 32]>,
    /// Corrections and closings that were told, by offset, with their hashes as text.
    pub(super) manual: BTreeMap<u64, String>,
    pub(super) corrections: BTreeSet<String>,
    pub(super) closings: u64,
    /// Did nobody ever ask for another mode?
    pub(super) always_enforced: bool,
    pub(super) version_told: u64,
}

impl Default for StreamBooks {
    fn default() -> Self {
        Self {
            sent: BTreeMap::new(),
            accepted: BTreeMap::new(),
            places: BTreeMap::new(),
            twins: Vec::new(),
            attempts: BTreeMap::new(),
            verdicts_told: 0,
            accepted_told: 0,
            documents_unanswered: 0,
            seen: BTreeMap::new(),
            manual: BTreeMap::new(),
            corrections: BTreeSet::new(),
            closings: 0,
            always_enforced: true,
            version_told: 0,
        }
    }
}

impl StreamBooks {
    pub(super) fn asked(&mut self, sent: &[Sent]) {
        for one in sent {
            self.sent.entry(Arc::clone(&one.bytes)).or_insert_with(|| (one.clone(), 0)).1 += 1;
        }
        self.documents_unanswered += sent.len() as u64;
    }

    /// It was answered: what may have happened is known now.
    pub(super) fn answered(&mut self, sent: &[Sent]) {
        for one in sent {
            if let Some((_, unanswered)) = self.sent.get_mut(&one.bytes) {
                *unanswered -= 1;
            }
        }
        self.documents_unanswered -= sent.len() as u64;
    }
}

/// All that is known about one handler.
#[derive(Debug, Default)]
pub(super) struct HandlerBooks {
    pub(super) fence_max: u64,
    pub(super) claims: BTreeMap<ClaimKey, ClaimBook>,
    /// In the order told: when, and which event was given out.
    pub(super) given: Vec<(u64, ClaimKey)>,
}

/// All that is known about one claim.
#[derive(Debug, Default)]
pub(super) struct ClaimBook {
    /// The last fence and lease that were told, and whether the holder let go since.
    pub(super) holder: Option<(u64, i64)>,
    /// The latest that a request about this event came at, since that was told.
    pub(super) latest: i64,
    /// Words about it without an answer.
    pub(super) unanswered: u32,
    /// The number of the event in its lane, in a bare registry.
    pub(super) seq: Option<u64>,
    /// May it have been found stale?
    pub(super) may_have_passed: bool,
    /// The greatest fence that was told.
    pub(super) fence: u64,
    pub(super) done: Option<(u64, u64)>,
    /// When somebody first said that it is done, or let it go, and was not refused.
    pub(super) passing: Vec<u64>,
    pub(super) passed: Option<u64>,
    pub(super) results: BTreeSet<String>,
}

impl HandlerBooks {
    pub(super) fn book(&mut self, event: &str, lane: &Option<String>) -> &mut ClaimBook {
        self.claims.entry((event.to_owned(), lane.clone())).or_default()
    }

    pub(super) fn claiming(&mut self, event: &str, lane: &Option<String>, seq: Option<u64>, now: i64, may_pass: bool) {
        let book = self.book(event, lane);
        book.may_have_passed |= may_pass;
        book.latest = book.latest.max(now);
        book.seq = seq;
    }

    pub(super) fn saying(&mut self, event: &str, lane: &Option<String>, word: &Word, now: i64, moment: u64) {
        let book = self.book(event, lane);
        book.latest = book.latest.max(now);
        book.unanswered += 1;
        match word {
            Word::Done(_, result) => {
                book.results.insert(result.clone());
                book.passing.push(moment);
            }
            Word::Skip => book.passing.push(moment),
            Word::Heartbeat(_) | Word::Failed(_) | Word::Retry => {}
        }
    }

    pub(super) fn wanted(&self) -> Vec<ClaimKey> {
        self.claims.iter().filter(|(_, book)| book.fence > 0).map(|(key, _)| key.clone()).collect()
    }
}
