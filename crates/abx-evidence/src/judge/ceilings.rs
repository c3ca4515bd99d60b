//! What the generator gets from a server that does nothing, under the same load
//! and in the same blocks: no subject can answer more.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::judge::summary::{Summary, Sums, share};
use crate::record::finding::Finding;
use crate::record::finding_id::FindingId;
use crate::record::{CEILING, Measured};

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

/// The share of the ceiling from which on a throughput may be the generator's.
/// Source: docs/statistics.md, "Who is the limit".
const NEAR: f64 = 0.70;

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

/// Subjects that come near the ceiling of their load.
pub(crate) fn near_ceiling(summaries: &[Summary], ceilings: &[Ceiling]) -> Vec<Finding> {
    let mut found = Vec::new();
    for summary in summaries {
        let mut ceilings = ceilings.iter();
        let ceiling = ceilings.find(|one| one.load == summary.load);
        let Some((throughput, ceiling)) = summary.throughput_per_s.zip(ceiling) else {
            continue;
        };
        let part = throughput / ceiling.throughput_per_s;
        if part < NEAR {
            continue;
        }
        let message = format!(
            "{} answered {:.0} % of what the generator gets from a server that does nothing \
             ({:.0} requests/s): it may be able to answer more",
            summary.subject,
            100.0 * part,
            ceiling.throughput_per_s
        );
        let finding = Finding::new(FindingId::NearCeiling, message);
        found.push(finding.about(&summary.subject).under(&summary.load));
    }
    found
}
