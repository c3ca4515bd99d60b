//! The throughput that the generator gets from a server that does nothing, under the same load
//! and in the same blocks. No subject can respond to more.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::view::{OfferView, StudyView};
use abx_evidence::share;

/// The ceiling of one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ceiling {
    /// The load's name.
    pub load: String,
    /// Verified responses per second of a server that does nothing.
    pub throughput_per_s: f64,
    /// The share of one CPU that the generator's busiest thread used.
    pub generator_busy: Option<f64>,
}

impl Ceiling {
    /// The ceiling of a load, if it has one.
    pub(crate) fn of(load: &OfferView) -> Option<Ceiling> {
        let view = &load.ceiling;
        let throughput_per_s = view.throughput().filter(|rate| *rate > 0.0)?;
        Some(Ceiling {
            load: view.load.name.clone(),
            throughput_per_s,
            generator_busy: share(view.sums.busiest_worker_ns, view.sums.wall_ns),
        })
    }
}

/// The ceiling of each load that has one.
pub(crate) fn ceilings(study: &StudyView) -> Vec<Ceiling> {
    study.loads.iter().filter_map(Ceiling::of).collect()
}
