//! In a build without the fleet, this process makes every load.

use abx_engine::LoadGenerator;
use clap::Args;

use crate::ui::end::Failure;
use crate::ui::signals::Interruption;

/// No flag, and no agents.
#[derive(Debug, Clone, Args)]
pub struct FleetFlags {}

impl FleetFlags {
    /// Agents make no load in this build.
    pub fn is_used(&self) -> bool {
        false
    }

    /// This process makes the load.
    pub fn generator(
        &self,
        _: bool,
        _: &Interruption,
    ) -> Result<Option<Box<dyn LoadGenerator>>, Failure> {
        Ok(None)
    }
}
