//! Broadcasts: when their listeners have them, and who never had.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measure::tally::Tally;
use crate::measure::times::Times;
use crate::record::Histograms;

/// What listeners made of broadcasts. When the last one had each is its response
/// time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Broadcasts {
    /// From the intended send to when the first listener had it.
    pub first_listener_us: Times,
    /// From the intended send to when half of the listeners had it.
    pub median_listener_us: Times,
    /// Listeners that never got a broadcast, summed over broadcasts.
    pub lost: u64,
    /// Broadcasts that a listener got out of their order or twice, summed over listeners.
    pub out_of_order: u64,
}

impl Broadcasts {
    /// Those of a run.
    #[must_use]
    pub fn of(tally: &Tally) -> Broadcasts {
        Broadcasts {
            first_listener_us: Times::of(&tally.first_listener),
            median_listener_us: Times::of(&tally.median_listener),
            lost: tally.lost,
            out_of_order: tally.out_of_order,
        }
    }

    /// Those of a study's blocks.
    pub(crate) fn over<'a>(
        times: impl Iterator<Item = &'a Histograms>,
        lost: u64,
        out_of_order: u64,
    ) -> Broadcasts {
        let mut all = Histograms::default();
        times.for_each(|one| all.merge(one));
        Broadcasts {
            first_listener_us: Times::of(&all.first_listener),
            median_listener_us: Times::of(&all.median_listener),
            lost,
            out_of_order,
        }
    }
}
