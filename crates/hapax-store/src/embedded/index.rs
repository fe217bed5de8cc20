//! What is derived from the log, on disk: lost without harm, and built again from the frames.
//!
//! What holds: nothing here is the truth. Every file carries the id of the log and the frames that it reflects; one that
//! does not open, or that leaves a hole, is deleted with all the others, and the log is read again.
//!
//! Not here: entries, verdicts, and any rule of the ledger.

pub mod table;
