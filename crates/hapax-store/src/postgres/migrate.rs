//! The tables, and how they become what this version needs.

use super::{Address, Options};
use crate::seam::StoreError;

/// What a migration did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migrated {
    /// The version before; 0 if there was nothing.
    pub from: i32,
    /// The version now.
    pub to: i32,
}

/// Brings the tables to this version, while everybody else who wants to waits.
pub fn migrate(_: &Address, _: &Options) -> Result<Migrated, StoreError> {
    Err(StoreError::Unreachable("not yet".to_owned()))
}

/// Removes a ledger with everything in it: for those that were made to be thrown away.
pub fn remove(_: &Address, _: &Options) -> Result<(), StoreError> {
    Err(StoreError::Unreachable("not yet".to_owned()))
}
