//! Claims: fences grow, one holder at a time, done is final, lanes keep their order.

use std::collections::BTreeMap;

use serde_json::Value;

use super::books::ClaimKey;
use super::plainly::instant;
use super::{Auditor, Found};
use crate::check::Check;
use crate::ledger::{Ledger, PlainEntry};
use crate::plan::Order;
use crate::words::Word;

impl Auditor {
    /// `is_nothing`: a problem, or an answer that was told before. `is_late`: the answer to an earlier sending, told only now,
    /// so that nothing follows from when it is told.
    pub(super) fn claim_told(
        &mut self,
        handler: usize,
        event: &str,
        lane: &Option<String>,
        (now, is_nothing, is_late): (i64, bool, bool),
        body: &Value,
    ) {
        if is_nothing {
            return;
        }
        let moment = self.moment;
        let books = &mut self.handlers[handler];
        let fence_max = books.fence_max;
        let book = books.book(event, lane);
        let mut wrong = Vec::new();
        match body["decision"].as_str().unwrap_or_default() {
            "claimed" => {
                let lease = body["fence"].as_u64().zip(body["lease_until"].as_str().and_then(instant));
                let Some((fence, until)) = lease else {
                    return self.note(Check::Answers, format!("a claim without fence or lease: {body}"));
                };
                if is_late {
                    book.fence = book.fence.max(fence);
                    book.holder = None;
                    books.fence_max = fence_max.max(fence);
                    return;
                }
                if fence <= fence_max {
                    wrong.push((Check::Fences, format!("fence {fence} of handler {handler} came after {fence_max}")));
                }
                if let Some((done, _)) = book.done {
                    wrong.push((Check::DoneTwice, format!("{event} was done under {done} and given out as {fence}")));
                }
                let held = book.holder.filter(|(_, until)| book.unanswered == 0 && book.latest <= *until);
                if let Some((other, until)) = held {
                    let what =
                        format!("{event} was given out as {fence} at {now}, while {other} held it until {until}");
                    wrong.push((Check::Lease, what));
                }
                (book.holder, book.latest, book.fence) = (Some((fence, until)), now, fence);
                books.fence_max = books.fence_max.max(fence);
                books.given.push((moment, (event.to_owned(), lane.clone())));
            }
            "done" => {
                if book.passing.is_empty() && !book.may_have_passed {
                    wrong.push((Check::Claims, format!("{event} was called done, and nobody had done it")));
                }
                let result = body.get("result").map(ToString::to_string);
                if result.is_some_and(|result| !book.results.contains(&result)) {
                    wrong.push((Check::Claims, format!("{event} has a result that nobody gave: {body}")));
                }
            }
            _ => {}
        }
        wrong.into_iter().for_each(|(check, what)| self.note(check, what));
    }

    pub(super) fn word_told(
        &mut self,
        handler: usize,
        event: &str,
        lane: &Option<String>,
        word: &Word,
        (is_nothing, is_late): (bool, bool),
        body: &Value,
    ) {
        let moment = self.moment;
        let books = &mut self.handlers[handler];
        let book = books.book(event, lane);
        book.unanswered -= 1;
        if is_nothing {
            return;
        }
        let mut wrong = Vec::new();
        if let Some(fence) = word.fence()
            && fence < book.fence
            && !is_late
        {
            wrong.push((
                Check::OldFence,
                format!("{} of {event} under {fence} was heard after {}", word.name(), book.fence),
            ));
        }
        match word {
            Word::Heartbeat(fence) => {
                let until = body["lease_until"].as_str().and_then(instant);
                book.holder = until.map(|until| (*fence, until)).filter(|_| !is_late);
            }
            Word::Done(fence, _) => {
                if book.done.is_some_and(|(done, _)| done != *fence) {
                    wrong.push((Check::DoneTwice, format!("{event} was done under {fence} and {:?}", book.done)));
                }
                book.holder = None;
                book.done.get_or_insert((*fence, moment));
                book.passed.get_or_insert(moment);
            }
            Word::Failed(_) => book.holder = None,
            Word::Retry | Word::Skip => {
                let fence = body["fence"].as_u64().unwrap_or(0);
                (book.holder, book.fence) = (None, book.fence.max(fence));
                if *word == Word::Skip {
                    book.passed.get_or_insert(moment);
                }
                books.fence_max = books.fence_max.max(fence);
            }
        }
        wrong.into_iter().for_each(|(check, what)| self.note(check, what));
    }

    /// Is each claim at least where its holder was told?
    pub(super) fn check_claims(&self, ledger: &Ledger, found: &mut Found) {
        for (handler, books) in self.handlers.iter().enumerate() {
            let Some(held) = ledger.handlers.get(handler) else { continue };
            if books.fence_max > 0 && held.next_fence <= books.fence_max {
                let what = format!("handler {handler} would give out {} after {}", held.next_fence, books.fence_max);
                found.push((Check::Fences, what));
            }
            for (key, claim) in &held.claims {
                let Some(book) = books.claims.get(key) else { continue };
                let fence = claim["fence"].as_u64().unwrap_or(0);
                if fence < book.fence {
                    let what = format!("{key:?} of handler {handler} has fence {fence}, and {} was told", book.fence);
                    found.push((Check::Claims, what));
                }
                if let Some((done, _)) = book.done
                    && (claim["state"] != "done" || fence != done)
                {
                    found.push((Check::Claims, format!("{key:?} was told to be done under {done} and is {claim}")));
                }
            }
        }
    }

    /// Was every event given out in its turn?
    pub(super) fn check_order(&self, ledger: &Ledger, found: &mut Found) {
        for (handler, books) in self.handlers.iter().enumerate() {
            let plan = &self.plan.handlers[handler];
            let lanes = match plan.stream {
                Some(stream) => Lanes::of(&ledger.streams[stream].entries, self.plan.streams[stream].is_by_lane()),
                None => Lanes::default(),
            };
            for (moment, key) in &books.given {
                let book = &books.claims[key];
                match plan.order {
                    Order::None => {}
                    Order::Sequential => {
                        let before = match plan.stream {
                            Some(_) => lanes.before(key),
                            None => book.seq.filter(|seq| *seq > 1).map(|seq| registry_event(&key.1, seq - 1)),
                        };
                        let Some(before) = before else { continue };
                        let passed = books.claims.get(&before).is_some_and(|it| {
                            it.passed.is_some_and(|at| at < *moment) || it.passing.iter().any(|at| at < moment)
                        });
                        if !passed {
                            found.push((Check::Order, format!("{key:?} was given out before {before:?} was done")));
                        }
                    }
                    Order::LatestOnly => {
                        let rank = |key: &ClaimKey| match plan.stream {
                            Some(_) => lanes.rank(key),
                            None => Some((key.1.clone().unwrap_or_default(), (0, books.claims[key].seq?))),
                        };
                        let Some((lane, mine)) = rank(key) else { continue };
                        let later = books.claims.iter().find(|(other, it)| {
                            it.done.is_some_and(|(_, at)| at < *moment)
                                && rank(other).is_some_and(|(it, rank)| it == lane && rank >= mine)
                        });
                        if let Some((other, _)) = later {
                            found.push((Check::Latest, format!("{key:?} was given out after {other:?} was done")));
                        }
                    }
                }
            }
        }
    }
}

/// The events of a bare registry are named after their lane and number.
pub(crate) fn registry_event(lane: &Option<String>, seq: u64) -> (String, Option<String>) {
    (format!("b{}-{seq}", lane.as_deref().unwrap_or_default()), lane.clone())
}

/// Lane, rank, and the event before it in the lane.
type Standing = (String, (u64, u64), Option<ClaimKey>);

/// The order of a stream's lanes, by the names that claims use. An id that was used twice has no single place.
#[derive(Default)]
struct Lanes {
    places: BTreeMap<ClaimKey, Vec<Standing>>,
}

impl Lanes {
    fn of(entries: &[PlainEntry], by_lane: bool) -> Self {
        let mut lanes = Self::default();
        let mut last: BTreeMap<&str, ClaimKey> = BTreeMap::new();
        for entry in entries.iter().filter(|entry| entry.kind == 0) {
            let key = (entry.id.clone(), by_lane.then(|| entry.lane.clone()));
            let before = last.insert(&entry.lane, key.clone());
            // Epoch first; what has no number is ranked by its offset.
            let rank = entry.seq.map_or((0, entry.offset), |seq| (entry.epoch, seq));
            lanes.places.entry(key).or_default().push((entry.lane.clone(), rank, before));
        }
        lanes
    }

    fn before(&self, key: &ClaimKey) -> Option<ClaimKey> {
        let [(_, _, before)] = self.places.get(key)?.as_slice() else { return None };
        before.clone().filter(|before| self.places.get(before).is_some_and(|places| places.len() == 1))
    }

    fn rank(&self, key: &ClaimKey) -> Option<(String, (u64, u64))> {
        let [(lane, rank, _)] = self.places.get(key)?.as_slice() else { return None };
        Some((lane.clone(), *rank))
    }
}
