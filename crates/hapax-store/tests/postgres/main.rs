//! Several servers on one ledger in Postgres: each is a store of its own, as in a process of its own, in a thread of its own.
//!
//! The promises that every store keeps are in `tests/promises`; killing, cutting and freezing is in the tests of the binary.
//! Needs a Postgres to start; see `tests/private/cluster.rs`.

/// The stage that requests are played on. These tests use a part of it.
#[path = "../model"]
#[allow(dead_code, unused_imports)]
mod play {
    pub(crate) mod model;
    pub(crate) mod stage;
}

#[path = "../private/cluster.rs"]
#[allow(dead_code, reason = "shared with tests that need more of it")]
mod cluster;
#[path = "../promises/world.rs"]
#[allow(dead_code, reason = "shared with tests that need more of it")]
mod world;

mod servers;

mod ahead;
mod beside;
mod clock;
mod following;
mod locks;
mod once;
mod order;
mod seen;
mod stuck;
