//! How long controller and agents wait for each other.

use std::time::Duration;

/// How long controller and agents wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FleetTiming {
    /// How often each side says that it is there.
    pub beat: Duration,
    /// An agent that was silent for so long is told of.
    pub suspect: Duration,
    /// An agent that was silent for so long is lost, and does not come back.
    pub lost: Duration,
    /// An agent that has heard nothing of its controller for so long ends its load.
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
