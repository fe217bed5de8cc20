//! The closed vocabularies: verdicts, codes, marks, states, log classes. One table each.
//!
//! A new word cannot be added without its name, its status and its class, because they are one row. Names are part of
//! the wire and of the ledger: a word that is no longer used is retired, never given to something else.
//!
//! Not here: when a word applies. That is decided in [`crate::judge`].

use serde::{Serialize, Serializer};

/// Writes a closed enum, its table of names, and the ways between the two.
macro_rules! vocabulary {
    ($(#[$about:meta])* $kind:ident { $($(#[$why:meta])* $word:ident = $name:literal),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $kind { $($(#[$why])* $word),+ }

        impl $kind {
            /// Every word of this vocabulary, in the order of its table.
            pub const ALL: &[Self] = &[$(Self::$word),+];

            /// The word as it stands on the wire.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$word => $name),+ }
            }

            /// The word with this name.
            pub fn named(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$word),)+ _ => None }
            }
        }

        impl std::fmt::Display for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl Serialize for $kind {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }
    };
}
pub(crate) use vocabulary;

vocabulary! {
    /// What became of a submitted event. Exactly one per event.
    Verdict {
        /// It is in the ledger.
        Accepted = "accepted",
        /// It was in the ledger already.
        Duplicate = "duplicate",
        /// Another event with its id is in the ledger.
        Conflict = "conflict",
        /// Ignored on purpose: something newer is known.
        Stale = "stale",
        /// Refused, with a code that says why.
        Rejected = "rejected",
        /// Not looked at, because of another event of its batch.
        NotEvaluated = "not_evaluated",
    }
}

vocabulary! {
    /// Why an event was not (newly) accepted.
    Code {
        /// Same id, same payload.
        DuplicateEventId = "DUPLICATE_EVENT_ID",
        /// Same id, other payload.
        PayloadConflict = "PAYLOAD_CONFLICT",
        /// An old number in a stream that only wants the newest.
        StaleSequence = "STALE_SEQUENCE",
        /// The document is not what the contract needs.
        SchemaViolation = "SCHEMA_VIOLATION",
        /// No time, though one is required.
        TimestampMissing = "TIMESTAMP_MISSING",
        /// Not a strict RFC 3339 timestamp.
        TimestampParseError = "TIMESTAMP_PARSE_ERROR",
        /// A timestamp that is not UTC.
        TimestampTimezoneViolation = "TIMESTAMP_TIMEZONE_VIOLATION",
        /// Too far ahead of our clock.
        TimestampFutureBeyondTolerance = "TIMESTAMP_FUTURE_BEYOND_TOLERANCE",
        /// Too far behind our clock, or beyond the horizon of identity.
        TimestampTooOld = "TIMESTAMP_TOO_OLD",
        /// Before the lane's latest accepted time.
        TimestampRegression = "TIMESTAMP_REGRESSION",
        /// The nonce was used before in this lane.
        DuplicateNonce = "DUPLICATE_NONCE",
        /// A number below the expected one.
        SequenceRegression = "SEQUENCE_REGRESSION",
        /// A number above the expected one, in a stream that refuses gaps.
        SequenceGap = "SEQUENCE_GAP",
        /// A lower epoch than the lane's.
        EpochFenced = "EPOCH_FENCED",
        /// A number used by another event, or an expected number that is not the lane's.
        SequenceConflict = "SEQUENCE_CONFLICT",
        /// This kind of event must say which number it expects.
        ExpectedSeqRequired = "EXPECTED_SEQ_REQUIRED",
        /// A counter's amount is not a number, or out of range.
        AmountInvalid = "AMOUNT_INVALID",
        /// The caller's key does not cover the lane.
        LaneForbidden = "LANE_FORBIDDEN",
        /// An earlier event of its lane in the batch was refused for its order.
        BatchStopped = "BATCH_STOPPED",
        /// Another event of the atomic batch was refused.
        BatchRefused = "BATCH_REFUSED",
    }
}

vocabulary! {
    /// A remark on an accepted event that travels with it for ever. Its number is its bit on disk.
    Mark {
        /// Numbers before it are missing.
        HasGaps = "HAS_GAPS",
        /// It came after higher numbers.
        OutOfOrder = "OUT_OF_ORDER",
        /// Another event carries the same number.
        SequenceRepeated = "SEQUENCE_REPEATED",
        /// Its number lies where late and repeated can no longer be told apart.
        SequenceUnproven = "SEQUENCE_UNPROVEN",
        /// Its clock is ahead of ours.
        ClockSkew = "CLOCK_SKEW",
        /// It took longer than the contract's `late`.
        LateArrival = "LATE_ARRIVAL",
        /// Its time is before the lane's.
        TimestampRegression = "TIMESTAMP_REGRESSION",
        /// An admin lifted a refusal.
        Override = "OVERRIDE",
        /// `enforce` would have refused it.
        WouldReject = "WOULD_REJECT",
        /// At least one counter took it as an adjustment.
        Adjustment = "ADJUSTMENT",
    }
}

vocabulary! {
    /// The named condition that a rule met. Its number is its bit on disk.
    State {
        /// The expected number came.
        SequenceContinuous = "SEQUENCE_CONTINUOUS",
        /// A number above the expected one.
        SequenceGapDetected = "SEQUENCE_GAP_DETECTED",
        /// A late number.
        SequenceOutOfOrder = "SEQUENCE_OUT_OF_ORDER",
        /// A number that was used before.
        SequenceRepeated = "SEQUENCE_REPEATED",
        /// The lane gave up waiting for missing numbers.
        GapAbandoned = "GAP_ABANDONED",
        /// The source's clock is ahead.
        ClockSkewDetected = "CLOCK_SKEW_DETECTED",
        /// Later than the contract's `late`.
        EventLateArrival = "EVENT_LATE_ARRIVAL",
        /// Before the lane's latest accepted time.
        TimestampRegression = "TIMESTAMP_REGRESSION",
        /// No time.
        TimestampMissing = "TIMESTAMP_MISSING",
        /// A time that cannot be read.
        TimestampInvalidFormat = "TIMESTAMP_INVALID_FORMAT",
        /// A time that is not UTC.
        TimestampNonUtc = "TIMESTAMP_NON_UTC",
        /// A duplicate in a stream with `same = "reject"`.
        EventDuplicateRejected = "EVENT_DUPLICATE_REJECTED",
        /// A duplicate written otherwise.
        Reencoded = "REENCODED",
        /// A duplicate id with another payload, in a stream that only warns.
        IdempotencyMismatch = "IDEMPOTENCY_MISMATCH",
        /// The code itself, as below.
        DuplicateEventId = "DUPLICATE_EVENT_ID",
        /// The code itself.
        PayloadConflict = "PAYLOAD_CONFLICT",
        /// The code itself.
        SchemaViolation = "SCHEMA_VIOLATION",
        /// The code itself.
        TimestampFutureBeyondTolerance = "TIMESTAMP_FUTURE_BEYOND_TOLERANCE",
        /// The code itself.
        TimestampTooOld = "TIMESTAMP_TOO_OLD",
        /// The code itself.
        DuplicateNonce = "DUPLICATE_NONCE",
        /// The code itself.
        EpochFenced = "EPOCH_FENCED",
        /// The code itself.
        SequenceConflict = "SEQUENCE_CONFLICT",
        /// The code itself.
        ExpectedSeqRequired = "EXPECTED_SEQ_REQUIRED",
        /// The code itself.
        AmountInvalid = "AMOUNT_INVALID",
        /// The code itself.
        LaneForbidden = "LANE_FORBIDDEN",
        /// The code itself.
        BatchStopped = "BATCH_STOPPED",
        /// The code itself.
        BatchRefused = "BATCH_REFUSED",
    }
}

vocabulary! {
    /// How loudly a state is logged.
    LogClass {
        /// As it should be.
        Info = "INFO",
        /// Odd, and accepted or ignored on purpose.
        Warn = "WARN",
        /// Refused.
        Error = "ERROR",
    }
}

impl Code {
    /// The HTTP status of a single event with this code, and the state that stands for it where no rule names another.
    pub const fn row(self) -> (u16, State) {
        match self {
            // 409 when the contract says `same = "reject"`; see `Receipt::status`.
            Self::DuplicateEventId => (200, State::DuplicateEventId),
            Self::PayloadConflict => (409, State::PayloadConflict),
            Self::StaleSequence => (200, State::SequenceOutOfOrder),
            Self::SchemaViolation => (400, State::SchemaViolation),
            Self::TimestampMissing => (400, State::TimestampMissing),
            Self::TimestampParseError => (400, State::TimestampInvalidFormat),
            Self::TimestampTimezoneViolation => (400, State::TimestampNonUtc),
            Self::TimestampFutureBeyondTolerance => (422, State::TimestampFutureBeyondTolerance),
            Self::TimestampTooOld => (422, State::TimestampTooOld),
            Self::TimestampRegression => (422, State::TimestampRegression),
            Self::DuplicateNonce => (409, State::DuplicateNonce),
            Self::SequenceRegression => (422, State::SequenceOutOfOrder),
            Self::SequenceGap => (422, State::SequenceGapDetected),
            Self::EpochFenced => (422, State::EpochFenced),
            Self::SequenceConflict => (409, State::SequenceConflict),
            Self::ExpectedSeqRequired => (428, State::ExpectedSeqRequired),
            Self::AmountInvalid => (422, State::AmountInvalid),
            Self::LaneForbidden => (403, State::LaneForbidden),
            // Only ever inside a batch, whose own status is 200 or 422.
            Self::BatchStopped => (200, State::BatchStopped),
            Self::BatchRefused => (422, State::BatchRefused),
        }
    }

    /// Does a refusal with this code stop its lane under `stop_on = "ordering"`?
    pub const fn is_ordering(self) -> bool {
        match self {
            Self::SequenceRegression
            | Self::SequenceGap
            | Self::SequenceConflict
            | Self::EpochFenced
            | Self::TimestampRegression => true,
            Self::DuplicateEventId
            | Self::PayloadConflict
            | Self::StaleSequence
            | Self::SchemaViolation
            | Self::TimestampMissing
            | Self::TimestampParseError
            | Self::TimestampTimezoneViolation
            | Self::TimestampFutureBeyondTolerance
            | Self::TimestampTooOld
            | Self::DuplicateNonce
            | Self::ExpectedSeqRequired
            | Self::AmountInvalid
            | Self::LaneForbidden
            | Self::BatchStopped
            | Self::BatchRefused => false,
        }
    }
}

impl State {
    /// How loudly this state is logged when it stands on an event that was accepted or ignored on purpose. A refusal is
    /// an error whatever its states.
    pub const fn class(self) -> LogClass {
        match self {
            Self::SequenceContinuous | Self::DuplicateEventId | Self::Reencoded => LogClass::Info,
            Self::SequenceGapDetected
            | Self::SequenceOutOfOrder
            | Self::SequenceRepeated
            | Self::GapAbandoned
            | Self::ClockSkewDetected
            | Self::EventLateArrival
            | Self::TimestampRegression
            | Self::BatchStopped
            | Self::BatchRefused => LogClass::Warn,
            Self::TimestampMissing
            | Self::TimestampInvalidFormat
            | Self::TimestampNonUtc
            | Self::EventDuplicateRejected
            | Self::IdempotencyMismatch
            | Self::PayloadConflict
            | Self::SchemaViolation
            | Self::TimestampFutureBeyondTolerance
            | Self::TimestampTooOld
            | Self::DuplicateNonce
            | Self::EpochFenced
            | Self::SequenceConflict
            | Self::ExpectedSeqRequired
            | Self::AmountInvalid
            | Self::LaneForbidden => LogClass::Error,
        }
    }
}

/// Writes a set of words as bits: an event carries a handful, and a set must cost no allocation.
macro_rules! word_set {
    ($(#[$about:meta])* $set:ident of $word:ident in $bits:ty) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct $set($bits);

        impl $set {
            /// Nothing.
            pub const NONE: Self = Self(0);

            /// The set that is written as these bits; unknown bits are `None`.
            pub fn from_bits(bits: $bits) -> Option<Self> {
                let known = $word::ALL.iter().fold(0, |all, word| all | 1 << *word as u8);
                (bits & !known == 0).then_some(Self(bits))
            }

            /// The set as bits, as hashed and stored.
            pub const fn bits(self) -> $bits {
                self.0
            }

            /// Adds a word.
            pub const fn add(&mut self, word: $word) {
                self.0 |= 1 << word as u8;
            }

            /// This set with one word more.
            #[must_use]
            pub const fn with(mut self, word: $word) -> Self {
                self.add(word);
                self
            }

            /// Is the word in it?
            pub const fn has(self, word: $word) -> bool {
                self.0 & (1 << word as u8) != 0
            }

            /// Is nothing in it?
            pub const fn is_empty(self) -> bool {
                self.0 == 0
            }

            /// The words, in the order of their table.
            pub fn iter(self) -> impl Iterator<Item = $word> {
                let mut left = self.0;
                std::iter::from_fn(move || {
                    // A word's number is its place in the table, so the lowest bit is the next word.
                    let word = $word::ALL.get(left.trailing_zeros() as usize).copied();
                    left &= left.wrapping_sub(1);
                    word
                })
            }
        }

        impl Serialize for $set {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_seq(self.iter())
            }
        }
    };
}

word_set! {
    /// The marks of one event.
    Marks of Mark in u16
}
word_set! {
    /// The states of one event.
    States of State in u64
}

#[cfg(test)]
mod tests;
