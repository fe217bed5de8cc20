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
        let keep = self.plan.streams[stream].audit_keep;
        let mut least = books.accepted_told;
        // Once any clock has shown more than they are kept for, nothing is demanded.
        for (number, (verdict, document, _)) in
            books.attempts.iter().filter(|(_, (_, _, at))| self.max_now - at <= keep)
        {
            least += 1;
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
        if recorded < least || recorded > most {
            let what = format!("stream {stream} has {recorded} attempts on record, and should have {least} to {most}");
            found.push((Check::Attempts, what));
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
