//! Which bugs there are, in one sentence each, and which one is planted now.
//!
//! One for the whole process. `HAPAX_PLANTED` names one from the start, so that any suite can be run against it:
//! `HAPAX_PLANTED=id_lowercased cargo test -p hapax-store --features planted`.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

macro_rules! bugs {
    ($($bug:ident = $name:literal: $sentence:literal,)+) => {
        /// A bug that somebody could have written.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Bug {
            $(#[doc = $sentence] $bug,)+
        }

        impl Bug {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$bug,)+];

            /// What it is called.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$bug => $name,)+
                }
            }

            /// What is wrong.
            pub const fn sentence(self) -> &'static str {
                match self {
                    $(Self::$bug => $sentence,)+
                }
            }
        }
    };
}

bugs! {
    IdLowercased = "id_lowercased": "Two ids that differ only in case are one.",
    IdTrimmed = "id_trimmed": "White space around an id does not count.",
    IdNormalised = "id_normalised": "Two spellings of one letter are one letter in an id.",
    KeyPartsJoined = "key_parts_joined": "Lane and id are joined by a colon, which both may contain.",
    LaneLeftOut = "lane_left_out": "An id that is unique within its lane is looked up without the lane.",
    PayloadByLength = "payload_by_length": "Two documents of the same length count as the same payload.",
    PayloadByBytes = "payload_by_bytes": "A retry that is written otherwise counts as another payload.",
    TenantLeftOut = "tenant_left_out": "The key of a request is looked up without its tenant.",
    FingerprintIgnored = "fingerprint_ignored": "Another request under a key that was used gets the first one's answer.",
    SaltMadeAnew = "salt_made_anew": "Every start gives a tenant another salt, and derived ids change with it.",

    TimeBeforeIdentity = "time_before_identity": "A retry that is too old by now is refused, and not recognised.",
    RefusalUsesNonce = "refusal_uses_nonce": "A refused event uses up its nonce.",
    RefusalUsesNumber = "refusal_uses_number": "A refused event uses up its number.",
    GapNotSplit = "gap_not_split": "One late number closes the whole gap around it.",
    HighestIsLast = "highest_is_last": "A late number becomes the lane's highest.",
    LastTimeIsLast = "last_time_is_last": "A late event takes the lane's time back.",
    EpochNotFenced = "epoch_not_fenced": "An event of an earlier epoch is taken as one of this epoch.",

    AdjustmentFolded = "adjustment_folded": "What came too late is an adjustment and folded too.",
    WatermarkFromSource = "watermark_from_source": "A clock that runs ahead takes the watermark with it.",
    CounterUpdateLost = "counter_update_lost": "Of two events in one turn only the first is counted.",
    CountersApart = "counters_apart": "Counters are committed after the entries that they count.",

    LeaseWithoutFence = "lease_without_fence": "A word about a claim is heard whatever its fence.",
    FencePerEvent = "fence_per_event": "Fences grow for each event, not for the whole handler.",
    HeldIsFree = "held_is_free": "A claim that somebody holds is given out again.",
    HeartbeatNotKept = "heartbeat_not_kept": "A heartbeat is answered and not written down.",
    FailedIsPassed = "failed_is_passed": "In order, the next may go while the one before has failed.",

    RequestRecordedFirst = "request_recorded_first": "An answer is remembered in a commit before its effects.",
    RefusalsNotWritten = "refusals_not_written": "A turn that accepts nothing is answered without a commit.",
    DryRunWrites = "dry_run_writes": "A dry run is written down.",
    AtomicInPart = "atomic_in_part": "What an atomic batch had accepted before it was refused stays.",
    ConflictIgnored = "conflict_ignored": "A turn on facts that have changed since is committed all the same.",

    IdsInMemoryOnly = "ids_in_memory_only": "A start does not take in the ids that the index has not on disk.",
    ExpiringInMemoryOnly = "expiring_in_memory_only": "A start does not take in nonces and answered requests.",
    AppliedBeforeDurable = "applied_before_durable": "A commit is seen before it is written, and also if it never is.",

    AnsweredBeforeSync = "answered_before_sync": "A commit is answered before its sync.",
    SyncRetried = "sync_retried": "A sync that failed is tried again, and believed.",
    PoisonForgotten = "poison_forgotten": "After a failed write or sync the log goes on, and says that nothing was written.",
    ChecksumIgnored = "checksum_ignored": "A frame counts as whole if its header does.",
    WitnessLeads = "witness_leads": "The witness names a frame before its sync.",
    NameNotSynced = "name_not_synced": "A segment is written to before its name is durable.",
    LastFrameBelieved = "last_frame_believed": "A start builds on a last frame that may be in memory only.",
    CompactedNotSynced = "compacted_not_synced": "A compacted segment takes the old one's place before it is durable.",
    CompactedTooEarly = "compacted_too_early": "When the first of a segment has expired, all that expires of it goes.",
    SnapshotAhead = "snapshot_ahead": "A snapshot counts as taken when its last piece was.",
    ReplayTooLate = "replay_too_late": "A start leaves out the first frame that the snapshot lacks.",
}

impl Bug {
    /// The bug with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|bug| bug.name() == name)
    }

    const fn number(self) -> usize {
        self as usize + 1
    }
}

const NONE: usize = 0;

static PLANTED: LazyLock<AtomicUsize> = LazyLock::new(|| {
    let named = std::env::var("HAPAX_PLANTED").ok();
    let bug = named.map(|name| Bug::named(&name).unwrap_or_else(|| panic!("there is no bug {name} to plant")));
    AtomicUsize::new(bug.map_or(NONE, Bug::number))
});

/// Plants a bug in place of the one that was, or none.
pub fn plant(bug: Option<Bug>) {
    PLANTED.store(bug.map_or(NONE, Bug::number), Ordering::SeqCst);
}

/// Is this the bug that is planted?
pub fn is(bug: Bug) -> bool {
    PLANTED.load(Ordering::Relaxed) == bug.number()
}
