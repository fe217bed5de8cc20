//! Attempts: one record for each submission that did not become an entry. Accepted ones are the ledger.

use std::sync::Arc;

use crate::entry::{Basis, Caller};
use crate::refusal::Refusal;
use crate::time::Time;
use crate::words::{Code, LogClass, State, States, Verdict};

/// One submission that was not (newly) accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// Its number among all attempts of the stream, accepted ones included.
    pub number: u64,
    /// When it was received.
    pub at: Time,
    /// The version of the contract that judged it.
    pub contract: u32,
    /// Its id, as far as one could be read.
    pub id: Option<Arc<str>>,
    /// Its lane, as far as one could be read.
    pub lane: Option<Arc<str>>,
    /// The producer's incarnation.
    pub epoch: u64,
    /// Its number.
    pub seq: Option<u64>,
    /// What became of it.
    pub verdict: Verdict,
    /// Why.
    pub code: Code,
    /// What was met.
    pub states: States,
    /// The refusal; none for a known id, where the original says it all.
    pub refusal: Option<Box<Refusal>>,
    /// The document as sent.
    pub document: Submitted,
    /// What the checks compared.
    pub basis: Basis,
    /// Is a duplicate answered as an error?
    pub rejected: bool,
    /// Who sent it.
    pub caller: Caller,
}

/// The document of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// These bytes.
    Document(Arc<[u8]>),
    /// The very bytes of the entry at this offset.
    SameAs(u64),
}

impl Attempt {
    /// How loudly it is logged: a refusal is an error, what is ignored on purpose a warning.
    pub fn class(&self) -> LogClass {
        match self.verdict {
            Verdict::Rejected | Verdict::Conflict => LogClass::Error,
            Verdict::Duplicate if self.rejected || self.states.has(State::IdempotencyMismatch) => LogClass::Error,
            Verdict::Duplicate | Verdict::Accepted => LogClass::Info,
            Verdict::Stale | Verdict::NotEvaluated => LogClass::Warn,
        }
    }
}
