//! Hostile input, sent to the real server over raw sockets: each is refused with its problem, costs no more than its
//! limit, and keeps nobody else from being served.
//!
//! `HAPAX_HOSTILE_LANES` (30 000 unless set) says how many lanes and nonces the flood brings.

#[path = "serving/client.rs"]
#[allow(dead_code, reason = "shared with the tests of serving")]
mod client;
#[path = "serving/process.rs"]
#[allow(dead_code, reason = "shared with the tests of serving")]
mod process;

#[path = "hostile/wire.rs"]
mod wire;

#[path = "hostile/addresses.rs"]
mod addresses;
#[path = "hostile/bodies.rs"]
mod bodies;
#[path = "hostile/crowds.rs"]
mod crowds;
#[path = "hostile/documents.rs"]
mod documents;
#[path = "hostile/framing.rs"]
mod framing;
#[path = "hostile/readers.rs"]
mod readers;
#[path = "hostile/rights.rs"]
mod rights;
#[path = "hostile/slow.rs"]
mod slow;
