//! A submitted document, read under a contract: everything about it that needs no fact.
//!
//! Reading is the first check, and the only one that looks into the document. It can be done by any thread, before the
//! writer's turn: the judge then compares numbers, times and hashes. An event that fails the check still has a place in
//! the audit, so reading always answers with an [`Event`], and the refusal is a part of it.
//!
//! Not here: anything that depends on what came before.

mod counted;
mod fields;
mod given;
mod hashing;
mod identify;
mod keys;
mod lanes;
mod parts;
mod read;

pub use counted::counter_key;
pub(crate) use given::Kept;
pub use given::{Events, Given};
pub(crate) use hashing::Input;
pub use hashing::{Digest, digest};
pub use keys::{IdSource, Identity, NonceKey};
pub(crate) use read::missing_nonce;
pub use read::{Door, Reader, read};

use std::sync::Arc;

use crate::amount::Amount;
use crate::refusal::Refusal;
use crate::time::{Time, TimeFault};

/// The longest id, nonce, lane part or counter key part, in bytes.
pub const NAME_BYTES_MAX: usize = 256;

/// The lane of events that have none, where no rule needs one.
pub const DEFAULT_LANE: &str = "default";

/// One submitted document, read.
#[derive(Clone, Debug)]
pub struct Event {
    /// The bytes as sent; none once its entry [has](Given::Left) them.
    pub document: Option<Arc<[u8]>>,
    /// Their SHA-256.
    pub digest: Digest,
    /// The [hash](crate::chain::content_hash) of what it says about itself; zeros in a document that is refused.
    pub content: Digest,
    /// The contract version it was read under; under another it must be read again.
    pub version: u32,
    /// The id; absent only in a document that is refused.
    pub id: Option<Arc<str>>,
    /// Who chose the id.
    pub id_source: IdSource,
    /// What the id is looked up by.
    pub identity: Identity,
    /// The lane; absent only in a document that is refused.
    pub lane: Option<Arc<str>>,
    /// The producer's number.
    pub seq: Option<u64>,
    /// The producer's incarnation; 0 if it says none.
    pub epoch: u64,
    /// The number that the sender builds on.
    pub expected: Option<u64>,
    /// Must this event say which number it builds on?
    pub expected_required: bool,
    /// The time that the source gave it.
    pub time: Stamp,
    /// What the nonce is looked up by.
    pub nonce: Option<NonceKey>,
    /// What the counters that apply would count.
    pub counted: Vec<Counted>,
    /// Why the document itself is refused.
    pub refusal: Option<Box<Refusal>>,
}

/// The time of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// There is none.
    Absent,
    /// It is this.
    Read(Time),
    /// There is a text, but not a time.
    Unreadable(TimeFault),
    /// There is something else than a text.
    NotText(&'static str),
}

impl Stamp {
    /// The time, if there is one that can be read.
    pub const fn time(self) -> Option<Time> {
        match self {
            Self::Read(time) => Some(time),
            Self::Absent | Self::Unreadable(_) | Self::NotText(_) => None,
        }
    }
}

/// What one counter would count of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The counter's place in the contract.
    pub counter: usize,
    /// Its key, as a JSON array.
    pub key: Arc<str>,
    /// The amount, or what is wrong with it.
    pub amount: Result<Amount, String>,
}

#[cfg(test)]
mod tests;
