//! Counting verdicts, and saying what was refused and why.

use std::collections::BTreeMap;

use hapax_client::{Problem, Receipt, Receipts};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::input::Event;
use crate::say;

/// So many refused events are printed; a file that is wrong as a whole would otherwise be printed as a whole.
const PRINTED_MAX: u64 = 20;

/// The verdicts in the order of the specification, and whether each is well.
const VERDICTS: [(&str, bool); 6] = [
    ("accepted", true),
    ("duplicate", true),
    ("conflict", false),
    ("stale", true),
    ("rejected", false),
    ("not_evaluated", false),
];

/// What became of the events so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tally {
    verdicts: BTreeMap<String, u64>,
    marks: BTreeMap<String, u64>,
    codes: BTreeMap<String, u64>,
    replayed: u64,
    #[serde(skip)]
    printed: u64,
    #[serde(skip)]
    silent: u64,
    #[serde(skip)]
    refusals: Vec<serde_json::Value>,
}

/// The same problem for every event of a batch.
pub(super) fn all(events: usize, problem: &Problem) -> Receipts {
    let receipt = Receipt {
        verdict: "rejected".to_owned(),
        code: Some(problem.code.clone()),
        message: Some(problem.detail.clone()),
        id: None,
        lane: None,
        offset: None,
        hint: None,
        marks: Vec::new(),
    };
    Receipts { receipts: vec![receipt; events], replayed: false }
}

impl Tally {
    /// Counts a batch, and passes on a line about each event that was refused; says whether any was.
    pub(super) fn add(&mut self, batch: &[Event], told: Receipts, mut line: impl FnMut(String)) -> bool {
        let before = self.refused();
        self.replayed += if told.replayed { batch.len() as u64 } else { 0 };
        for (event, receipt) in batch.iter().zip(told.receipts) {
            let well = VERDICTS.iter().any(|(verdict, well)| *verdict == receipt.verdict && *well);
            *self.verdicts.entry(receipt.verdict.clone()).or_default() += 1;
            for mark in &receipt.marks {
                *self.marks.entry(mark.clone()).or_default() += 1;
            }
            if well {
                continue;
            }
            *self.codes.entry(receipt.code.clone().unwrap_or_default()).or_default() += 1;
            if self.printed == PRINTED_MAX {
                self.silent += 1;
                continue;
            }
            self.printed += 1;
            line(sentence(event.line, &receipt));
            let Receipt { verdict, id, code, message, .. } = receipt;
            self.refusals
                .push(json!({ "line": event.line, "id": id, "verdict": verdict, "code": code, "message": message }));
        }
        self.refused() > before
    }

    /// How many events were answered.
    pub(super) fn events(&self) -> u64 {
        self.verdicts.values().sum()
    }

    /// How many of them are not in the ledger although they should be.
    pub(super) fn refused(&self) -> u64 {
        VERDICTS.iter().filter(|(_, well)| !well).map(|(verdict, _)| self.count(verdict)).sum()
    }

    fn count(&self, verdict: &str) -> u64 {
        self.verdicts.get(verdict).copied().unwrap_or(0)
    }

    /// Says how it ended.
    pub(super) fn print(&self, as_json: bool, dry_run: bool) -> anyhow::Result<()> {
        if as_json {
            let summary: BTreeMap<_, _> = VERDICTS.iter().map(|(verdict, _)| (*verdict, self.count(verdict))).collect();
            say::line(json!({
                "events": self.events(), "summary": summary, "marks": self.marks, "codes": self.codes,
                "replayed": self.replayed, "dry_run": dry_run, "refused": self.refusals,
            }));
            return Ok(());
        }
        if self.silent > 0 {
            say::line(format_args!("and {} more were refused", self.silent));
        }
        say::line(self.sentence(dry_run));
        Ok(())
    }

    fn sentence(&self, dry_run: bool) -> String {
        let counted = VERDICTS.iter().map(|(verdict, _)| (*verdict, self.count(verdict))).filter(|(_, many)| *many > 0);
        let verdicts: Vec<_> = counted.map(|(verdict, many)| format!("{many} {verdict}")).collect();
        let events = if self.events() == 1 { "1 event".to_owned() } else { format!("{} events", self.events()) };
        let mut sentence = if verdicts.is_empty() { events } else { format!("{events}: {}", verdicts.join(", ")) };
        if !self.marks.is_empty() {
            let marks: Vec<_> = self.marks.iter().map(|(mark, many)| format!("{mark} {many}")).collect();
            sentence += &format!("; marks: {}", marks.join(", "));
        }
        if self.replayed > 0 {
            sentence += &format!("; {} of them were answered before, and these are those answers", self.replayed);
        }
        if dry_run {
            sentence += "; nothing was written";
        }
        sentence
    }
}

fn sentence(line: u64, receipt: &Receipt) -> String {
    let code = receipt.code.as_deref().unwrap_or(&receipt.verdict);
    let message = receipt.message.as_deref().unwrap_or_default();
    let id = receipt.id.as_deref().map(|id| format!(" {id}")).unwrap_or_default();
    let hint = receipt.hint.as_deref().map(|hint| format!(". {hint}")).unwrap_or_default();
    format!("line {line}:{id} {code}: {message}{hint}")
}

#[cfg(test)]
mod tests {
    use super::super::input::Event;
    use hapax_client::Receipts;

    use super::Tally;

    fn told(results: &[&str]) -> (Vec<Event>, Receipts) {
        let batch = (1..=results.len() as u64).map(|line| Event { line, text: Vec::new() }).collect();
        let receipts = results.iter().map(|receipt| serde_json::from_str(receipt).expect("a receipt")).collect();
        (batch, Receipts { receipts, replayed: false })
    }

    #[test]
    fn every_refused_event_is_told_with_its_line_and_the_rest_is_counted() {
        let (batch, answer) = told(&[
            "{\"verdict\":\"accepted\",\"id\":\"e1\",\"marks\":[\"HAS_GAPS\"]}",
            "{\"verdict\":\"rejected\",\"id\":\"e2\",\"code\":\"TIMESTAMP_MISSING\",\"message\":\"No time.\"}",
            "{\"verdict\":\"duplicate\",\"id\":\"e1\",\"code\":\"DUPLICATE_EVENT_ID\",\"message\":\"Again.\"}",
        ]);
        let mut lines = Vec::new();
        let mut tally = Tally::default();
        assert!(tally.add(&batch, answer, |line| lines.push(line)));
        assert_eq!(lines, ["line 2: e2 TIMESTAMP_MISSING: No time."]);
        assert_eq!(tally.sentence(false), "3 events: 1 accepted, 1 duplicate, 1 rejected; marks: HAS_GAPS 1");
    }

    #[test]
    fn a_file_that_is_wrong_as_a_whole_is_not_printed_as_a_whole() {
        let (batch, answer) = told(&["{\"verdict\":\"conflict\",\"code\":\"PAYLOAD_CONFLICT\"}"; 50]);
        let mut lines = 0;
        let mut tally = Tally::default();
        tally.add(&batch, Receipts { replayed: true, ..answer }, |_| lines += 1);
        assert_eq!((lines, tally.silent, tally.refused(), tally.replayed), (20, 30, 50, 50));
    }
}
