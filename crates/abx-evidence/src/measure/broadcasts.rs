//! Broadcasts: when listeners receive them, and how many listeners never do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measure::distribution::histogram::Histogram;
use crate::measure::distribution::times::Times;
use crate::measure::tally::Tally;

/// The results of broadcasts. The response time of a broadcast ends when the last listener
/// has it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Broadcasts {
    /// The time from the intended send until the first listener had it.
    pub first_listener_us: Times,
    /// The time from the intended send until half of the listeners had it.
    pub median_listener_us: Times,
    /// Listeners that never received a broadcast, summed over broadcasts.
    pub lost: u64,
    /// Broadcasts that a listener received out of order or twice, summed over listeners.
    pub out_of_order: u64,
}

impl Broadcasts {
    /// The results of a run.
    #[must_use]
    pub fn of(tally: &Tally) -> Broadcasts {
        Broadcasts {
            first_listener_us: Times::of(&tally.times.first_listener),
            median_listener_us: Times::of(&tally.times.median_listener),
            lost: tally.lost,
            out_of_order: tally.out_of_order,
        }
    }

    /// The results of a study's blocks: the times of the first and of the median listener.
    pub fn over(
        first_listener: &Histogram,
        median_listener: &Histogram,
        [lost, out_of_order]: [u64; 2],
    ) -> Broadcasts {
        Broadcasts {
            first_listener_us: Times::of(first_listener),
            median_listener_us: Times::of(median_listener),
            lost,
            out_of_order,
        }
    }
}
