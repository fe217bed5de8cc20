//! Where the ledger is kept, and the turn that moves it forward.
//!
//! A store loads facts and writes changes; it never compares two events, and it knows no HTTP. The [`turn`] is the same
//! for every store: load, judge, commit, answer. That is why a verdict never depends on the store.
//!
//! Read in this order: [`seam`] (what a store promises), [`turn`] (what happens between two commits), [`memory`] (the
//! smallest store that keeps the promises, for tests and scenarios), [`embedded`] (a directory: the log is the truth).

pub mod seam;

pub mod begun;

pub mod turn;

mod filter;

mod state;

pub mod memory;

pub mod codec;

pub mod embedded;

pub mod postgres;

pub mod whatif;
