//! How long controller and agents wait for each other.

use std::time::Duration;

/// How long controller and agents wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FleetTiming {
    /// How often each side reports that it is alive.
    pub beat: Duration,
    /// How long an agent is silent before that is reported.
    pub suspect: Duration,
    /// How long an agent is silent before it is lost for good.
    pub lost: Duration,
    /// How long an agent hears nothing from its controller before it ends its load.
    pub dead_man: Duration,
    /// How long a controller waits for its agents to join.
    pub join: Duration,
}

impl Default for FleetTiming {
    fn default() -> FleetTiming {
        FleetTiming {
            beat: Duration::from_secs(1),
            suspect: Duration::from_secs(2),
            lost: Duration::from_secs(10),
            dead_man: Duration::from_secs(10),
            join: Duration::from_secs(30),
        }
    }
}
