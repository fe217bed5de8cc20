//! What became of an event, and what was found on the way there.

use std::collections::BTreeSet;

use super::Opts;

/// The comparable part of a receipt. `offset`, `seq`, `gap`, `latency_ms` and `class` are those of accepted events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) verdict: &'static str,
    pub(crate) code: Option<String>,
    pub(crate) marks: BTreeSet<String>,
    pub(crate) states: BTreeSet<String>,
    pub(crate) offset: Option<u64>,
    pub(crate) seq: Option<u64>,
    /// From, to, size, large.
    pub(crate) gap: Option<(u64, u64, u64, bool)>,
    pub(crate) latency_ms: Option<i64>,
    /// `folded` or `adjustment`.
    pub(crate) class: Option<String>,
    /// Of a duplicate or conflict. In a dry run, and in a batch that was refused, an original of the same request has
    /// no offset.
    pub(crate) original_offset: Option<u64>,
}

impl Outcome {
    /// Every outcome but `accepted`. Where the tables name no state, it is the code itself.
    pub(super) fn refused(verdict: &'static str, code: &str, state: Option<&str>) -> Outcome {
        Outcome {
            verdict,
            code: Some(code.to_string()),
            marks: BTreeSet::new(),
            states: BTreeSet::from([state.unwrap_or(code).to_string()]),
            offset: None,
            seq: None,
            gap: None,
            latency_ms: None,
            class: None,
            original_offset: None,
        }
    }

    pub(super) fn stops_its_lane(&self) -> bool {
        let code = self.code.as_deref().unwrap_or("");
        let ordering = code.starts_with("SEQUENCE_") || ["EPOCH_FENCED", "TIMESTAMP_REGRESSION"].contains(&code);
        self.verdict == "rejected" && ordering
    }
}

/// What the checks have found so far about an event that may yet be accepted.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) marks: BTreeSet<String>,
    pub(super) states: BTreeSet<String>,
    pub(super) gap: Option<(u64, u64, u64, bool)>,
    pub(super) latency_ms: Option<i64>,
}

impl Notes {
    pub(super) fn mark(&mut self, mark: &str, state: &str) {
        self.marks.insert(mark.to_string());
        self.states.insert(state.to_string());
    }
}

#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) verdict: &'static str,
    pub(super) code: &'static str,
    pub(super) state: Option<&'static str>,
    pub(super) liftable: bool,
}

impl Refusal {
    pub(super) fn of(code: &'static str) -> Refusal {
        Refusal { verdict: "rejected", code, state: None, liftable: false }
    }

    pub(super) fn stale(state: &'static str) -> Refusal {
        Refusal { verdict: "stale", code: "STALE_SEQUENCE", state: Some(state), liftable: true }
    }

    pub(super) fn state(self, state: &'static str) -> Refusal {
        Refusal { state: Some(state), ..self }
    }

    pub(super) fn liftable(self) -> Refusal {
        Refusal { liftable: true, ..self }
    }
}

/// An override turns a refusal that it may lift into a mark.
pub(super) fn lift(found: Result<(), Refusal>, opts: Opts, notes: &mut Notes) -> Result<(), Refusal> {
    match found {
        Err(refusal) if refusal.liftable && opts.override_ => {
            notes.mark("OVERRIDE", refusal.state.unwrap_or(refusal.code));
            Ok(())
        }
        Ok(()) | Err(_) => found,
    }
}
