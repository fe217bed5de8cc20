//! Which check is meant for which bug.

use hapax_core::planted::Bug;

/// Who catches a bug.
pub(crate) enum By {
    /// The simulator, with one of these checks.
    Simulator(&'static [&'static str]),
    /// The second opinion on the rules.
    Model,
    /// The history in which things expire.
    Expiry,
}

/// Two events are taken for one, or one for two; workers who ask for one then find another, or none.
const MIXED_UP: By = By::Simulator(&["false_twin", "identity", "claims", "accepted_twice"]);

/// What was told is not there after a restart, or the store itself says so and does not start.
const GONE: By =
    By::Simulator(&["lost", "attempts", "registry", "vanished", "original", "refused", "fences", "claims"]);

/// A start is refused: what the disk has contradicts itself.
const REFUSED: By = By::Simulator(&["refused"]);

const COUNTERS: By = By::Simulator(&["counters"]);

/// Who catches this one. Every bug is here, or it does not compile.
pub(crate) fn expected(bug: Bug) -> By {
    match bug {
        Bug::IdLowercased | Bug::IdTrimmed | Bug::IdNormalised | Bug::KeyPartsJoined | Bug::LaneLeftOut => MIXED_UP,
        Bug::PayloadByLength | Bug::PayloadByBytes => By::Simulator(&["false_twin"]),
        Bug::TenantLeftOut => By::Simulator(&["replay", "tenants"]),
        Bug::FingerprintIgnored => By::Simulator(&["replay"]),
        Bug::SaltMadeAnew => By::Simulator(&["accepted_twice", "identity"]),

        Bug::TimeBeforeIdentity => By::Simulator(&["identity"]),
        Bug::RefusalUsesNonce
        | Bug::RefusalUsesNumber
        | Bug::GapNotSplit
        | Bug::HighestIsLast
        | Bug::LastTimeIsLast
        | Bug::EpochNotFenced => By::Model,

        Bug::AdjustmentFolded | Bug::WatermarkFromSource | Bug::CounterUpdateLost | Bug::CountersApart => COUNTERS,

        Bug::LeaseWithoutFence => By::Simulator(&["old_fence", "done_twice"]),
        Bug::FencePerEvent => By::Simulator(&["fences"]),
        Bug::HeldIsFree | Bug::HeartbeatNotKept => By::Simulator(&["lease"]),
        Bug::FailedIsPassed => By::Simulator(&["order"]),

        Bug::RequestRecordedFirst => GONE,
        Bug::RefusalsNotWritten => By::Simulator(&["attempts"]),
        Bug::DryRunWrites => By::Simulator(&["invented", "attempts"]),
        Bug::AtomicInPart => By::Simulator(&["invented", "attempts", "false_twin"]),
        // The second of two turns writes over the first.
        Bug::ConflictIgnored => {
            By::Simulator(&["attempts", "offsets", "original", "lost", "accepted_twice", "fences", "lease", "replay"])
        }

        Bug::IdsInMemoryOnly => By::Simulator(&["accepted_twice", "claims"]),
        Bug::ExpiringInMemoryOnly => By::Simulator(&["replay", "nonces"]),
        Bug::AppliedBeforeDurable => GONE,

        Bug::AnsweredBeforeSync | Bug::SyncRetried | Bug::NameNotSynced | Bug::LastFrameBelieved => GONE,
        Bug::PoisonForgotten => By::Simulator(&["refused", "invented"]),
        Bug::ChecksumIgnored | Bug::WitnessLeads => REFUSED,
        Bug::CompactedNotSynced | Bug::CompactedTooEarly => By::Expiry,
        Bug::SnapshotAhead | Bug::ReplayTooLate => GONE,
    }
}
