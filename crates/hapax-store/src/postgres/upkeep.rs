//! What is due beside the turns: deleting what has expired.

use hapax_core::time::Time;

use crate::seam::StoreError;

/// Deletes what has expired, some of it at a time.
#[derive(Clone, Debug, Default)]
pub struct Upkeep {}
impl Upkeep {
    pub(super) fn new(_: std::sync::Arc<super::known::Shared>) -> Self {
        Self {}
    }
}

impl Upkeep {
    /// Does some of what is due. Answers whether there may be more.
    pub fn step(&self, _: Time) -> Result<bool, StoreError> {
        Ok(false)
    }
}
