//! The rules of SPEC.md sections 3, 4, 7 and 8, said a second time as simply as possible.
//!
//! The model keeps every accepted event in one list and derives every fact from it anew for every event: identities and
//! nonces by scanning, gaps as what is missing from a set, counters by adding up. Nothing is cached, so there is nothing
//! to get out of step. What is read in one of several possible ways is in [`readings`].
//!
//! Not here, on purpose: hashes, receipts' words, conflicts' diffs, requests' keys, the audit, acknowledging, closing, and
//! a change of contract.

mod checks;
mod counter;
mod document;
mod identity;
pub(crate) mod number;
mod numbers;
mod outcome;
pub(crate) mod readings;
mod rules;
pub(crate) mod time;

use std::collections::BTreeSet;

use serde_json::Value;

pub(crate) use counter::{CounterView, Totals};
pub(crate) use document::lane_text;
pub(crate) use outcome::Outcome;
pub(crate) use rules::*;

use counter::Share;
use document::Document;
use readings::*;

/// An accepted event as it stands in the history.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) offset: u64,
    pub(crate) document: Value,
    pub(crate) id: Option<String>,
    pub(crate) lane: String,
    pub(crate) epoch: u64,
    pub(crate) seq: Option<u64>,
    pub(crate) nonce: Option<String>,
    pub(crate) observed_at: Option<i64>,
    pub(crate) ingested_at: i64,
    pub(crate) states: BTreeSet<String>,
    pub(crate) share: Option<Share>,
    /// Whether checks 5 to 8 see it: not in mode off, and not if it would have been refused.
    pub(crate) counts_for_lane: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Opts {
    pub(crate) atomic: bool,
    pub(crate) dry_run: bool,
    pub(crate) override_: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LaneView {
    pub(crate) last_seq: Option<u64>,
    /// `None` for a lane without a number, and after 2^64−1.
    pub(crate) expected_seq: Option<u64>,
    pub(crate) epoch: u64,
    pub(crate) last_time: Option<i64>,
    /// Entries of the lane, those marked `WOULD_REJECT` included.
    pub(crate) events: u64,
    pub(crate) open: Vec<(u64, u64)>,
    /// Of this epoch, and kept.
    pub(crate) abandoned: Vec<(u64, u64)>,
    pub(crate) unlisted: Vec<(u64, u64)>,
    /// The greatest number of which nothing is known any more.
    pub(crate) floor: Option<u64>,
    pub(crate) out_of_order: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Model {
    rules: Rules,
    entries: Vec<Entry>,
    retry_order: Vec<usize>,
}

impl Model {
    pub(crate) fn new(rules: Rules) -> Model {
        Model { rules, entries: Vec::new(), retry_order: Vec::new() }
    }

    /// One request. The bytes of a document are what `serde_json::to_string` makes of it. Outcomes are in the order sent.
    pub(crate) fn submit(&mut self, now_ns: i64, docs: &[Value], opts: Opts) -> Vec<Outcome> {
        self.retry_order.clear();
        if opts.override_ && !self.rules.override_allowed {
            return docs.iter().map(|_| Outcome::refused("rejected", "OVERRIDE_NOT_ALLOWED", None)).collect();
        }
        let order = self.judged_order(docs);
        let durable = self.entries.len();
        let mut outcomes: Vec<Option<Outcome>> = vec![None; docs.len()];
        let mut stopped: BTreeSet<String> = BTreeSet::new();
        for index in &order {
            let lane = self.lane_of(&docs[*index]);
            let outcome = if lane.as_ref().is_some_and(|lane| stopped.contains(lane)) {
                Outcome::refused("not_evaluated", "BATCH_STOPPED", None)
            } else {
                self.judge(now_ns, &docs[*index], opts)
            };
            if self.rules.batch.stop_on == StopOn::Ordering && outcome.stops_its_lane() {
                stopped.extend(lane);
            }
            outcomes[*index] = Some(outcome);
        }
        let mut outcomes: Vec<Outcome> =
            outcomes.into_iter().map(|outcome| outcome.expect("every event is judged")).collect();

        let fine = |outcome: &Outcome| ["accepted", "duplicate"].contains(&outcome.verdict);
        let refused = opts.atomic && !outcomes.iter().all(fine);
        if refused {
            for outcome in &mut outcomes {
                let stopped = outcome.verdict == "not_evaluated";
                if fine(outcome) || (stopped && ATOMIC_RENAMES_STOPPED) {
                    *outcome = Outcome::refused("not_evaluated", "BATCH_REFUSED", None);
                }
            }
        }
        if refused || opts.dry_run {
            self.entries.truncate(durable);
            for outcome in &mut outcomes {
                outcome.offset = None;
                outcome.original_offset = outcome.original_offset.filter(|offset| *offset <= durable as u64);
            }
        }
        self.retry_order = order.into_iter().filter(|index| outcomes[*index].verdict == "not_evaluated").collect();
        outcomes
    }

    /// The indexes of the last request's `not_evaluated` events, in the order in which the batch was judged.
    pub(crate) fn retry_order(&self) -> &[usize] {
        &self.retry_order
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The lanes that hold an entry.
    pub(crate) fn lanes(&self) -> BTreeSet<String> {
        self.entries.iter().map(|entry| entry.lane.clone()).collect()
    }

    /// A lane by its text. One that holds nothing looks like a new one.
    pub(crate) fn lane(&self, name: &str) -> LaneView {
        let numbers = self.numbers(name);
        let last_seq = match self.rules.sequence.source {
            Source::None => None,
            Source::Producer => numbers.highest(),
            Source::Server => Some(self.highest_assigned(name)).filter(|highest| *highest > 0),
        };
        let expected_seq = match (self.rules.sequence.source, last_seq) {
            (Source::None, _) => None,
            (Source::Server, None) => Some(1),
            (Source::Producer, None) => match self.rules.sequence.first {
                First::Any => None,
                First::Zero => Some(0),
                First::One => Some(1),
            },
            (Source::Producer | Source::Server, Some(last)) => last.checked_add(1),
        };
        let of_lane = || self.entries.iter().filter(|entry| entry.lane == name);
        let out_of_order = |entry: &Entry| entry.counts_for_lane && entry.states.contains("SEQUENCE_OUT_OF_ORDER");
        LaneView {
            last_seq,
            expected_seq,
            epoch: numbers.epoch,
            last_time: self.last_time(name),
            events: if self.rules.mode == Mode::Off && !OFF_COUNTS_EVENTS { 0 } else { of_lane().count() as u64 },
            open: numbers.open(),
            abandoned: numbers.kept_abandoned(),
            unlisted: numbers.unlisted(),
            floor: numbers.floor(),
            out_of_order: of_lane().any(out_of_order),
        }
    }

    /// Every (key, period) that an entry belongs to, once.
    pub(crate) fn counters(&self) -> Vec<(Vec<Value>, String)> {
        let mut found: Vec<(Vec<Value>, String)> = Vec::new();
        for share in self.entries.iter().filter_map(|entry| entry.share.as_ref()) {
            let pair = (share.key.clone(), share.period.clone());
            if !found.contains(&pair) {
                found.push(pair);
            }
        }
        found
    }

    pub(crate) fn counter(&self, key: &[Value], period: &str) -> CounterView {
        counter::view(&self.entries, key, period)
    }

    fn judged_order(&self, docs: &[Value]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..docs.len()).collect();
        if self.rules.batch.order == Order::AsSent {
            return order;
        }
        let read: Vec<Option<Document>> = docs.iter().map(|doc| document::read(&self.rules, doc)).collect();
        let lanes: Vec<Option<String>> = docs.iter().map(|doc| self.lane_of(doc)).collect();
        let first_sent = |index: usize| lanes.iter().position(|lane| *lane == lanes[index]);
        let rank = |index: usize| -> Option<(i128, u64)> {
            let document = read[index].as_ref()?;
            match self.rules.batch.order {
                Order::AsSent => None,
                Order::Time => Some((i128::from(document.time.readable()?), 0)),
                Order::Sequence if EPOCH_BEFORE_NUMBER => Some((i128::from(document.epoch), document.seq?)),
                Order::Sequence => Some((0, document.seq?)),
            }
        };
        order.sort_by_key(|index| (first_sent(*index), rank(*index).is_none(), rank(*index), *index));
        order
    }

    /// The lane that an event is stopped with, and takes its turn with.
    fn lane_of(&self, doc: &Value) -> Option<String> {
        match document::read(&self.rules, doc) {
            Some(document) => Some(document.lane),
            None if BAD_DOCUMENT_BEFORE_STOP => None,
            None => document::lane(&self.rules, doc),
        }
    }
}
