//! The process around the ledger: one writer, many requests, keys, metrics.
//!
//! ```text
//! socket ▶ http (who, how large, what) ▶ inbox ▶ writer: a turn ▶ answers
//! ```
//!
//! What is *not* here: rules (they are in `hapax-core`), bytes on disk (they are in `hapax-store`), commands. Time and
//! randomness enter through [`clock`] and are data from then on.
//!
//! Read in this order: [`config`], [`writer`] (what waits is taken in turns), [`http`] (the table of routes),
//! [`connection`] (what comes over one, and for how long), [`server`] (sockets, start and stop).

pub mod clock;
pub mod config;

pub mod keys;
pub mod rate;
pub mod writer;

pub mod http;
pub mod metrics;

pub mod connection;
pub mod server;
pub mod threads;
pub mod tls;
