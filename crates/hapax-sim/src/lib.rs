//! A bad world from a seed, and the auditor.
//!
//! A world is clients that repeat and contradict themselves, servers that die at any moment, a clock that jumps and a disk
//! that loses, tears and fails; all of it drawn from one number, in one thread. The store and the turn in it are the real
//! ones. The auditor knows only what clients were told and what the ledger holds in the end, and shares no code with the
//! rules.
//!
//! What is *not* here: sockets, files, real time, threads. The same seed gives the same trace, byte for byte, for ever.
//!
//! Read in this order: `plan` (what a world consists of), `clients`, `house` and `shared` (the servers), `world` (what
//! happens), `audit` (what must hold).

mod audit;
mod check;
mod clients;
mod document;
mod door;
mod house;
mod ledger;
mod plan;
mod random;
mod shared;
mod trace;
mod words;
mod world;

pub use check::{Check, Violation};
pub use world::Report;

/// Plays the world of a seed.
pub fn run(seed: u64) -> Report {
    world::play(seed, false).0
}

/// The same, with the trace as text.
pub fn run_traced(seed: u64) -> (Report, String) {
    world::play(seed, true)
}
