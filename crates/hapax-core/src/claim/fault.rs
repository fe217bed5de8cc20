//! Why a call to the registry was refused. A refused call has changed nothing.
//!
//! What holds: code, status and sentence of a fault stand in one row, so that a new one cannot have one without the
//! others. Decisions are not faults: to be told `stale` or `waiting` is an answer. Not here: problems of a handler's
//! declaration.

use std::fmt;

/// Why a call was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClaimFault {
    /// The fence is not the claim's.
    LeaseLost,
    /// The claim is done under this very fence.
    AlreadyDone,
    /// There is no claim.
    NotClaimed,
    /// A person's call about a claim that was not given up.
    NotDead,
    /// A skip without a reason.
    ReasonRequired,
    /// An ordered bare registry needs a lane.
    LaneRequired,
    /// An ordered bare registry needs a number.
    SeqRequired,
    /// The event was claimed before with another lane, epoch or number.
    PlaceDiffers,
    /// Another event with the same number is not done.
    PlaceTaken,
    /// The lane is past this number.
    PlacePassed,
    /// The result is too long.
    ResultTooLarge,
    /// The result is not JSON.
    ResultNotJson,
}

impl ClaimFault {
    /// Every one.
    pub const ALL: [Self; 12] = [
        Self::LeaseLost,
        Self::AlreadyDone,
        Self::NotClaimed,
        Self::NotDead,
        Self::ReasonRequired,
        Self::LaneRequired,
        Self::SeqRequired,
        Self::PlaceDiffers,
        Self::PlaceTaken,
        Self::PlacePassed,
        Self::ResultTooLarge,
        Self::ResultNotJson,
    ];

    /// The code on the wire.
    pub fn code(self) -> &'static str {
        self.row().0
    }

    /// The HTTP status.
    pub fn status(self) -> u16 {
        self.row().1
    }

    fn row(self) -> (&'static str, u16, &'static str) {
        match self {
            ClaimFault::LeaseLost => {
                ("LEASE_LOST", 409, "This fence no longer holds the claim. Stop the work, and claim again if need be.")
            }
            ClaimFault::AlreadyDone => ("ALREADY_DONE", 409, "The claim is done, and that is final."),
            ClaimFault::NotClaimed => ("NOT_CLAIMED", 404, "Nobody has claimed this event for this handler."),
            ClaimFault::NotDead => {
                ("NOT_DEAD", 409, "Only a dead claim can be retried or skipped, and this one is not.")
            }
            ClaimFault::ReasonRequired => ("REASON_REQUIRED", 422, "A skip is recorded with a reason: say why."),
            ClaimFault::LaneRequired => (
                "LANE_REQUIRED",
                422,
                "This handler has an order and no stream, so a claim must name the event's lane.",
            ),
            ClaimFault::SeqRequired => {
                ("SEQ_REQUIRED", 422, "This handler has an order and no stream, so a claim must carry the event's seq.")
            }
            ClaimFault::PlaceDiffers => {
                ("PLACE_DIFFERS", 409, "This event was claimed before with another lane, epoch or seq.")
            }
            ClaimFault::PlaceTaken => {
                ("PLACE_TAKEN", 409, "Another event was claimed with this seq of the lane, and is not done.")
            }
            ClaimFault::PlacePassed => {
                ("PLACE_PASSED", 409, "The lane begins with 1 and is past this seq, and this event was not done there.")
            }
            ClaimFault::ResultTooLarge => ("RESULT_TOO_LARGE", 413, "A result is at most 64 KiB of JSON."),
            ClaimFault::ResultNotJson => ("RESULT_NOT_JSON", 400, "A result is one JSON value."),
        }
    }
}

impl fmt::Display for ClaimFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().2)
    }
}

impl std::error::Error for ClaimFault {}
