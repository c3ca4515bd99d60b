//! A block whose load was sampled.

use std::collections::BTreeMap;

use abx_evidence::share;
use abx_ledger::{Ledger, Line};

use crate::view::BlockView;

/// The samples of a block, with the CPU time per response that they are shares of, in µs.
pub(super) struct SampledBlock<'a> {
    pub(super) ledger: &'a Ledger,
    pub(super) us_per_response: f64,
}

impl SampledBlock<'_> {
    pub(super) fn us(&self, samples: u64) -> f64 {
        self.us_per_response * samples as f64 / self.ledger.samples as f64
    }

    /// What each part costs that lines are sorted into, in µs per response.
    pub(super) fn costs<K: Ord>(&self, part: fn(&Line) -> K) -> BTreeMap<K, f64> {
        let mut costs = BTreeMap::new();
        for (line, samples) in &self.ledger.lines {
            *costs.entry(part(line)).or_insert(0.0) += self.us(*samples);
        }
        costs
    }
}

/// `None` for a block that was not sampled, or whose CPU time is not known.
pub(super) fn sampled<'a>(block: &BlockView<'a>) -> Option<SampledBlock<'a>> {
    let ledger = block.ledger().filter(|ledger| ledger.samples > 0)?;
    let ns_per_response = share(block.sums.server_cpu_ns?, block.sums.all_completed())?;
    Some(SampledBlock {
        ledger,
        us_per_response: ns_per_response / 1e3,
    })
}
