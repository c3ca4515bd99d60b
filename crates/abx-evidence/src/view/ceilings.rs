//! What the generator gets from a server that does nothing, under the same load
//! and in the same blocks: no subject can answer more.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measure::share::share;
use crate::record::{CEILING, Measured};
use crate::view::summary::Sums;

/// The ceiling of one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ceiling {
    /// The load's name.
    pub load: String,
    /// Verified answers per second of a server that does nothing.
    pub throughput_per_s: f64,
    /// The share of one processor that the generator's busiest thread used.
    pub generator_busy: Option<f64>,
}

/// The ceiling of each load that has one.
pub(crate) fn ceilings(record: &Measured) -> Vec<Ceiling> {
    let each = record.loads.iter().filter_map(|load| {
        let sums = Sums::of(record.slices(&load.name, CEILING));
        let throughput_per_s = sums.throughput(&load.settings)?;
        Some(Ceiling {
            load: load.name.clone(),
            throughput_per_s,
            generator_busy: share(sums.busiest_worker_ns, sums.wall_ns),
        })
    });
    each.filter(|one| one.throughput_per_s > 0.0).collect()
}
