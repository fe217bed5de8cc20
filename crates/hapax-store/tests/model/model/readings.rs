//! Where SPEC.md can be read in two ways: one constant for each choice that changes a verdict, so that a settled
//! question is a change of one word here. What the spec or the brief says outright has no constant.

/// A document that carries an optional nonce needs a lane, because the nonce rule will look the nonce up in it.
/// Otherwise such a nonce would live in the lane `default`.
pub(crate) const OPTIONAL_NONCE_NEEDS_LANE: bool = false;

/// A number inside a kept unlisted range below the floor is plainly out of order; only what lies in no range is
/// unproven. Otherwise the floor hides every range below it.
pub(crate) const RANGES_BEFORE_FLOOR: bool = true;

/// `batch.order = "sequence"` sorts by (epoch, number), as section 9 orders a lane. Otherwise by the number alone.
pub(crate) const EPOCH_BEFORE_NUMBER: bool = true;

/// In a refused atomic batch the events after a stop are `BATCH_REFUSED` like all others. Otherwise `BATCH_STOPPED`.
pub(crate) const ATOMIC_RENAMES_STOPPED: bool = true;

/// A document that fails check 1 belongs to no lane, and is a `SCHEMA_VIOLATION` even if its lane was stopped.
pub(crate) const BAD_DOCUMENT_BEFORE_STOP: bool = false;

/// With `utc_only` a time with another offset is not readable: in shadow it is no `observed_at`, and for
/// `batch.order = "time"` such an event comes last. Otherwise its instant is used.
pub(crate) const OTHER_OFFSET_IS_READABLE: bool = false;

/// An override that lifts `TIMESTAMP_TOO_OLD` still gives the mark `LATE_ARRIVAL`. Otherwise only `OVERRIDE`.
pub(crate) const LIFTED_PAST_IS_LATE: bool = false;

/// An override that lifts `SEQUENCE_GAP` still gives `detail.gap`. The mark `HAS_GAPS` is not given in any case.
pub(crate) const LIFTED_GAP_HAS_DETAIL: bool = true;

/// A finite `identity.keep` counts from the later of `observed_at` and `ingested_at`. Otherwise from `ingested_at`,
/// as the contract check's sum `past + future` suggests; then an event whose `future` was lifted can come back.
pub(crate) const IDENTITY_KEPT_FROM_LATER_TIME: bool = true;

/// With a finite `identity.keep` an event that cannot show its age is refused at identity's horizon, in every mode.
/// Otherwise only the time rules refuse it, and in shadow it is accepted.
pub(crate) const HORIZON_NEEDS_A_TIME: bool = true;

/// A lane counts its events in mode off too. Otherwise it stands still.
pub(crate) const OFF_COUNTS_EVENTS: bool = true;

/// In mode off a nonce is not even read, so one of a wrong type is no `SCHEMA_VIOLATION`.
pub(crate) const OFF_READS_NONCES: bool = false;
