//! Bugs that are planted on purpose, one at a time, to see that the checks catch them: a check that cannot fail proves
//! nothing.
//!
//! What holds: they exist only with the feature `planted`, which nothing but `crates/hapax-sim/tests/planted.rs` turns on.
//! Without it [`planted!`](macro@crate::planted) is the literal `false`, so the branch behind it is gone before any code is made;
//! a test of the binary looks for what would be left of them.
//!
//! Not here: the bugs themselves, each of which stands where somebody could have written it, and what catches them.

#[cfg(feature = "planted")]
mod bug;

#[cfg(feature = "planted")]
pub use bug::{Bug, is, plant};

/// Is this bug planted? `if planted!(IdLowercased) { … }` is all that a place in the code has of it.
#[cfg(feature = "planted")]
#[macro_export]
macro_rules! planted {
    ($bug:ident) => {
        $crate::planted::is($crate::planted::Bug::$bug)
    };
}

/// Is this bug planted? Never, without the feature `planted`.
#[cfg(not(feature = "planted"))]
#[macro_export]
macro_rules! planted {
    ($bug:ident) => {
        false
    };
}
