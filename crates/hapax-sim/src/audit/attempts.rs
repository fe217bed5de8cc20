//! Attempts: what was told is on record, and no more than was sent.

use std::collections::BTreeMap;

use super::{Auditor, Found};
use crate::check::Check;
use crate::ledger::StreamLedger;

impl Auditor {
    pub(super) fn check_attempts(&self, stream: usize, held: &StreamLedger, found: &mut Found) {
        let books = &self.streams[stream];
        let by_number: BTreeMap<u64, _> = held.attempts.iter().map(|attempt| (attempt.number, attempt)).collect();
        if by_number.len() != held.attempts.len() {
            found.push((Check::Attempts, format!("stream {stream} has two attempts with one number")));
        }
        // Attempts are kept for 30 days, and no clock of a world goes that far.
        for (number, (verdict, document)) in &books.attempts {
            let same = by_number.get(number).is_some_and(|attempt| {
                attempt.verdict == verdict && attempt.document.as_ref().is_none_or(|it| it == document)
            });
            if !same {
                found.push((
                    Check::Attempts,
                    format!("attempt {number} ({verdict}) of stream {stream} is not on record"),
                ));
            }
        }
        let (recorded, most) = (held.attempts.len() as u64, books.verdicts_told + books.documents_unanswered);
        if recorded < books.verdicts_told || recorded > most {
            let told = books.verdicts_told;
            found.push((Check::Attempts, format!("{recorded} attempts on record, {told} told, at most {most} sent")));
        }
        for attempt in &held.attempts {
            if let Some(document) = &attempt.document
                && !books.sent.contains_key(document)
            {
                found.push((Check::Invented, format!("attempt {} of stream {stream} was never sent", attempt.number)));
            }
        }
    }
}
