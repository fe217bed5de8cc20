//! The program on a ledger in a real Postgres that the tests start themselves: scenarios, several servers, kills of either,
//! cut connections, a database that is down.
//!
//! Whatever happens: nothing that was acknowledged is lost, nothing is there twice, offsets have no holes, there is one chain, and
//! counters are exact. Each test prints its figure; `--nocapture` shows it.
//!
//! | variable | what it does |
//! |---|---|
//! | `HAPAX_PG_KILLS=N` | So many kills in each storm instead of a few. |
//! | `HAPAX_PG_CUTS=all` | A cut at every byte; without it a stride over them, and the output says how many of how many. |
//!
//! Needs a Postgres to start; see `crates/hapax-store/tests/private/cluster.rs`.

#[path = "serving/authority.rs"]
#[allow(dead_code, reason = "shared with tests that need more of it")]
mod authority;
#[path = "serving/client.rs"]
#[allow(dead_code, reason = "shared with tests that need more of it")]
mod client;
#[path = "../../hapax-store/tests/private/cluster.rs"]
#[allow(dead_code, reason = "shared with tests that need more of it")]
mod cluster;
#[path = "serving/process.rs"]
#[allow(dead_code, reason = "shared with tests that need more of it")]
mod process;

#[path = "postgres/events.rs"]
mod events;
#[path = "postgres/fleet.rs"]
mod fleet;
#[path = "postgres/producers.rs"]
mod producers;
#[path = "postgres/proxy.rs"]
mod proxy;

#[path = "postgres/cut.rs"]
mod cut;
#[path = "postgres/down.rs"]
mod down;
#[path = "postgres/proof.rs"]
mod proof;
#[path = "postgres/refused.rs"]
mod refused;
#[path = "postgres/scenarios.rs"]
mod scenarios;
#[path = "postgres/storm.rs"]
mod storm;
#[path = "postgres/tls.rs"]
mod tls;

use std::time::Instant;

#[allow(clippy::disallowed_methods, reason = "how soon service resumes is about real time")]
fn now() -> Instant {
    Instant::now()
}
