//! What is derived from the log, and the commits in it, from bytes that may be anything: an answer is right, or it is an
//! error.
//!
//! The first byte of an input says which of the three is meant: a commit ([`commits`]), the runs of a table ([`runs`]), or
//! the whole index of a store, snapshot included ([`store`]).

mod commits;
mod runs;
mod store;

/// Checks it.
pub fn check(input: &[u8]) {
    let Some((which, rest)) = input.split_first() else { return };
    match which % 4 {
        0 | 3 => commits::check(rest),
        1 => runs::check(rest),
        _ => store::check(rest),
    }
}
