//! What must hold for any bytes, one function for each door through which bytes come in.
//!
//! A function gets an input and returns, or panics because a promise is broken. Each is a target of libFuzzer, in
//! `fuzz_targets/`; nothing here knows of libFuzzer. How to run them: `README.md` beside this.

mod allocations;

// By its path, because a test of the product's workspace has it as a module too, and would look elsewhere for its files.
#[path = "doors.rs"]
pub mod doors;

pub use doors::{body, contract, document, frames, index, judge};
