//! What if: the recorded attempts, judged again under another contract, from the ledger's beginning.
//!
//! It runs on a ledger of its own in memory, through the very turn that serves, so it cannot judge otherwise. Attempts
//! are judged one by one at the times they came; what was one batch then is not one batch here. Left out are events that
//! were not evaluated, and corrections, closings and recorded losses, which are people's decisions and no verdicts.

use std::collections::BTreeMap;
use std::sync::Arc;

use hapax_core::access::Patterns;
use hapax_core::audit::Submitted;
use hapax_core::batch::Terms;
use hapax_core::claim::Jitter;
use hapax_core::contract::Checked;
use hapax_core::entry::Caller;
use hapax_core::receipt::Receipt;
use hapax_core::time::Time;
use hapax_core::view::AttemptView;
use hapax_core::words::Verdict;
use serde::Serialize;

use crate::memory::Memory;
use crate::seam::{AttemptFilter, Read, Store, StoreError, StreamKey};
use crate::turn::{Ask, Request, Submission, turn};

/// How many attempts are judged in one turn. Each document may be as large as a megabyte.
const TOGETHER: usize = 100;

/// What is asked.
#[derive(Debug)]
pub struct Question {
    /// The other contract.
    pub contract: Checked,
    /// Tell of attempts that came not before.
    pub from: Option<Time>,
    /// Tell of attempts that came before.
    pub to: Option<Time>,
    /// How many examples.
    pub examples_max: usize,
    /// How many attempts are judged at most: the other ledger is in memory.
    pub attempts_max: u64,
    /// How many bytes of documents are judged at most, for the same reason.
    pub bytes_max: u64,
}

/// What would be otherwise.
#[derive(Debug, Default, Serialize)]
pub struct WhatIf {
    /// How many attempts were judged again and are told of.
    pub judged: u64,
    /// How many would have another verdict or code.
    pub changed: u64,
    /// From what to what, the most frequent first.
    pub by: Vec<Change>,
    /// Some of them.
    pub examples: Vec<Example>,
    /// Refused attempts that are missing because they expired.
    pub expired: u64,
    /// There were more attempts than are judged at most.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}

/// A kind of change.
#[derive(Debug, Serialize)]
pub struct Change {
    /// Verdict and code as they are on record.
    pub from: String,
    /// As they would be.
    pub to: String,
    /// How often.
    pub count: u64,
}

/// One attempt that would end otherwise.
#[derive(Debug, Serialize)]
pub struct Example {
    /// Where it stands, if it was accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Its number.
    pub attempt: u64,
    /// Its id, as far as one could be read.
    pub id: Option<String>,
    /// Verdict and code as they are on record.
    pub before: String,
    /// As they would be.
    pub after: String,
    /// Why, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Judges what is on record again.
pub fn whatif(reader: &dyn Read, stream: &StreamKey, question: Question) -> Result<WhatIf, StoreError> {
    let mut other = Memory::new();
    let salt = reader.salt(&stream.tenant)?.unwrap_or_default();
    other.tenant(&stream.tenant, salt)?;
    let may_force = question.contract.contract.override_allowed;
    let put = Ask::PutContract { stream: stream.clone(), contract: Box::new(question.contract) };
    turn(&mut other, &mut [request(Time::from_nanos(0), put)])?;

    let head = reader.head(stream)?;
    let mut told = WhatIf::default();
    let mut by: BTreeMap<(String, String), u64> = BTreeMap::new();
    let (mut after, mut seen, mut bytes) = (0, 0, 0);
    loop {
        let mut page = reader.attempts(stream, &AttemptFilter::default(), after, TOGETHER)?;
        let all = page.items.len() as u64;
        // What its batch kept from being judged was no verdict of the contract, and its sender sent it again.
        page.items.retain(|attempt| attempt.verdict() != Verdict::NotEvaluated);
        seen += all - page.items.len() as u64;
        let mut requests = Vec::with_capacity(page.items.len());
        for attempt in &page.items {
            let document = document(reader, stream, attempt)?;
            bytes += document.len() as u64;
            let forced = may_force && caller(attempt).forced;
            let caller = Caller { forced, ..Caller::default() };
            let terms = Terms { atomic: false, dry_run: false, brief: false, caller, lanes: Patterns::all() };
            let (stream, documents) = (stream.clone(), vec![document]);
            let submission = Submission {
                stream,
                documents,
                events: Arc::default(),
                terms,
                single: true,
                event_bytes_max: usize::MAX,
            };
            requests.push(request(attempt.at(), Ask::Submit(submission)));
        }
        let answers = turn(&mut other, &mut requests)?;
        for (attempt, answer) in page.items.iter().zip(answers) {
            seen += 1;
            let inside =
                question.from.is_none_or(|from| attempt.at() >= from) && question.to.is_none_or(|to| attempt.at() < to);
            let [now] = answer.receipts() else { continue };
            if !inside {
                continue;
            }
            told.judged += 1;
            let words =
                (named(attempt.verdict(), attempt.code()), named(now.verdict(), now.code().map(|it| it.name())));
            if words.0 == words.1 {
                continue;
            }
            told.changed += 1;
            if told.examples.len() < question.examples_max {
                told.examples.push(example(attempt, now, &words));
            }
            *by.entry(words).or_default() += 1;
        }
        match page.next {
            Some(next) if seen < question.attempts_max && bytes < question.bytes_max => after = next,
            Some(_) => {
                told.more = true;
                break;
            }
            None => break,
        }
    }
    // Corrections and closings have numbers too, and are no attempts.
    let manual = head.offset - head.events;
    told.expired = if told.more { 0 } else { (head.attempts - manual).saturating_sub(seen) };
    told.by = by.into_iter().map(|((from, to), count)| Change { from, to, count }).collect();
    told.by.sort_by_key(|change| std::cmp::Reverse(change.count));
    Ok(told)
}

fn request(now: Time, ask: Ask) -> Request {
    // Ids that are assigned come out in the order of their times, as they did.
    let spare = now.nanos().unsigned_abs().into();
    Request { now, spare, jitter: Jitter::NONE, caller: Caller::default(), id: None, ask }
}

fn caller(attempt: &AttemptView) -> &Caller {
    match attempt {
        AttemptView::Accepted(entry) => &entry.caller,
        AttemptView::Other(attempt) => &attempt.caller,
    }
}

fn document(reader: &dyn Read, stream: &StreamKey, attempt: &AttemptView) -> Result<Arc<[u8]>, StoreError> {
    match attempt {
        AttemptView::Accepted(entry) => Ok(Arc::clone(&entry.document)),
        AttemptView::Other(attempt) => match &attempt.document {
            Submitted::Document(bytes) => Ok(Arc::clone(bytes)),
            Submitted::SameAs(offset) => {
                let found = reader.entries(stream, offset.saturating_sub(1), 1)?.pop();
                let missing = || StoreError::Corrupt(format!("attempt {} has no original", attempt.number));
                found.map(|entry| Arc::clone(&entry.document)).ok_or_else(missing)
            }
        },
    }
}

fn named(verdict: Verdict, code: Option<&str>) -> String {
    code.map_or_else(|| verdict.to_string(), |code| format!("{verdict} {code}"))
}

fn example(attempt: &AttemptView, now: &Receipt, words: &(String, String)) -> Example {
    let offset = match attempt {
        AttemptView::Accepted(entry) => Some(entry.offset),
        AttemptView::Other(_) => None,
    };
    let message = match now {
        Receipt::Accepted(_) => None,
        Receipt::Other { attempt, .. } => Some(hapax_core::receipt::message(attempt)),
    };
    let (before, after) = words.clone();
    Example { offset, attempt: attempt.number(), id: attempt.id().map(str::to_owned), before, after, message }
}

#[cfg(test)]
mod tests;
