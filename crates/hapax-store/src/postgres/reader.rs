//! Reading what was committed.

use crate::memory::Memory;

/// Reads a ledger in Postgres, in any thread.
pub type PostgresReader = Memory;
