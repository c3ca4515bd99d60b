//! What the generator gets from a server that does nothing, under the same load
//! and in the same blocks: no subject can answer more.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::view::StudyView;
use abx_evidence::share;

/// The ceiling of one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ceiling {
    /// The load's name.
    pub load: String,
    /// Verified responses per second of a server that does nothing.
    pub throughput_per_s: f64,
    /// The share of one processor that the generator's busiest thread used.
    pub generator_busy: Option<f64>,
}

/// The ceiling of each load that has one.
pub(crate) fn ceilings(study: &StudyView) -> Vec<Ceiling> {
    let each = study.loads.iter().filter_map(|load| {
        let view = &load.ceiling;
        Some(Ceiling {
            load: view.load.name.clone(),
            throughput_per_s: view.throughput()?,
            generator_busy: share(view.sums.busiest_worker_ns, view.sums.wall_ns),
        })
    });
    each.filter(|ceiling| ceiling.throughput_per_s > 0.0)
        .collect()
}
