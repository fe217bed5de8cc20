//! What can go wrong, by name.

/// What the auditor looks for. Each is a promise that was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Check {
    /// Something acknowledged is gone, or is not what was acknowledged.
    Lost,
    /// One event stands in the ledger twice.
    AcceptedTwice,
    /// Offsets have a hole, or the head is not where the entries end.
    Offsets,
    /// An entry's hash is not that of its contents after the entry before.
    Chain,
    /// A duplicate came with an original that is not the one first told.
    Original,
    /// One `Idempotency-Key` got two answers.
    Replay,
    /// Something is in the ledger that nobody sent, or that was answered with `effect: none`.
    Invented,
    /// Attempts on record are not those that were told, or too many.
    Attempts,
    /// A counter is not the fold of the ledger.
    Counters,
    /// A fence did not grow.
    Fences,
    /// An event was done under two fences, or given out after it was done.
    DoneTwice,
    /// A claim was given out while another's lease had not run out.
    Lease,
    /// A holder was heard although somebody had replaced it.
    OldFence,
    /// An event was given out before the one before it in its lane was done.
    Order,
    /// Something at or below what is done was given out under `latest_only`.
    Latest,
    /// Something of one tenant was seen by another.
    Tenants,
    /// Numbers of the server have a hole, or a number was taken twice.
    Numbers,
    /// Two events were accepted against the same expected number.
    Expected,
    /// A nonce was good for two events.
    Nonces,
    /// An entry that was read once is gone or is another one.
    Vanished,
    /// An event was called known that was never sent, or the same although it was not.
    FalseTwin,
    /// An event that is in the ledger was refused, or was answered under another id or lane.
    Identity,
    /// A claim is not as its holder was told.
    Claims,
    /// A contract, a handler or a key is not as it was told.
    Registry,
    /// An answer that no client can read.
    Answers,
    /// The code panicked.
    Panicked,
    /// A start was refused, or the store said that it contradicts itself.
    Refused,
    /// It does not go on by itself.
    Stuck,
}

impl Check {
    /// Its name, for people and for lists.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::AcceptedTwice => "accepted_twice",
            Self::Offsets => "offsets",
            Self::Chain => "chain",
            Self::Original => "original",
            Self::Replay => "replay",
            Self::Invented => "invented",
            Self::Attempts => "attempts",
            Self::Counters => "counters",
            Self::Fences => "fences",
            Self::DoneTwice => "done_twice",
            Self::Lease => "lease",
            Self::OldFence => "old_fence",
            Self::Order => "order",
            Self::Latest => "latest",
            Self::Tenants => "tenants",
            Self::Numbers => "numbers",
            Self::Expected => "expected",
            Self::Nonces => "nonces",
            Self::Vanished => "vanished",
            Self::FalseTwin => "false_twin",
            Self::Identity => "identity",
            Self::Claims => "claims",
            Self::Registry => "registry",
            Self::Answers => "answers",
            Self::Panicked => "panicked",
            Self::Refused => "refused",
            Self::Stuck => "stuck",
        }
    }
}

/// A promise that was broken, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub check: Check,
    /// How, for people.
    pub what: String,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.check.name(), self.what)
    }
}
