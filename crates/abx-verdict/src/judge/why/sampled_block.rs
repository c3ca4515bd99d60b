//! Blocks with CPU samples.

use std::collections::BTreeMap;

use abx_evidence::record::LedgerRecord;
use abx_evidence::{share, sum};
use abx_ledger::{Ledger, Line};

use super::block_counts::BlockCounts;
use crate::view::BlockView;

/// The samples of a block, with the CPU time per response that they divide, in µs. Services may have
/// no sample.
pub(super) struct SampledBlock<'a> {
    pub(super) ledger: &'a Ledger,
    pub(super) us_per_response: f64,
    pub(super) counts: BlockCounts,
    /// The CPU time per response in the kernel, if the samples do not include the kernel.
    pub(super) kernel_us: f64,
}

impl SampledBlock<'_> {
    pub(super) fn us(&self, samples: u64) -> f64 {
        (self.us_per_response - self.kernel_us) * samples as f64 / self.ledger.samples as f64
    }

    /// Whether the kernel's work is split into lines.
    pub(super) fn is_kernel_split(&self) -> bool {
        let is_one_line = self.ledger.lines.contains_key(&Line::WholeKernel);
        !self.ledger.without_kernel && !is_one_line
    }

    /// The cost of each part into which `part` sorts lines, in µs per response.
    pub(super) fn costs<K: Ord>(&self, part: fn(&Line) -> K) -> BTreeMap<K, f64> {
        let mut costs = BTreeMap::new();
        if self.ledger.samples == 0 {
            costs.insert(part(&Line::Unattributed), self.us_per_response);
            return costs;
        }
        for (line, samples) in &self.ledger.lines {
            *costs.entry(part(line)).or_insert(0.0) += self.us(*samples);
        }
        if self.kernel_us > 0.0 {
            *costs.entry(part(&Line::WholeKernel)).or_insert(0.0) += self.kernel_us;
        }
        costs
    }
}

/// `None` for a block that was not sampled, or whose CPU time is not known.
pub(super) fn sampled<'a>(block: &BlockView<'a>) -> Option<SampledBlock<'a>> {
    let record = block.ledger().filter(|record| record.ledger.samples > 0)?;
    let ns_per_response = share(block.sums.server_cpu_ns?, block.sums.all_completed())?;
    let us_per_response = ns_per_response / 1e3;
    let kernel_share = if record.ledger.without_kernel {
        kernel_share(block, record)?
    } else {
        0.0
    };
    Some(SampledBlock {
        ledger: &record.ledger,
        us_per_response,
        counts: BlockCounts::of(block, record).with_threads(&record.ledger, us_per_response),
        kernel_us: us_per_response * kernel_share,
    })
}

/// The samples of all services while a subject was loaded; `None` if there are none, or if their CPU
/// time is not known.
pub(super) fn sampled_services<'a>(block: &BlockView<'a>) -> Option<SampledBlock<'a>> {
    let ledger = block.ledger()?.services.as_ref();
    let ledger = ledger.filter(|ledger| !ledger.without_kernel)?;
    let services_ns = block.sums.all_services_cpu_ns()?;
    let us_per_response = share(services_ns, block.sums.all_completed())? / 1e3;
    Some(SampledBlock {
        ledger,
        us_per_response,
        counts: BlockCounts::default().with_threads(ledger, us_per_response),
        kernel_us: 0.0,
    })
}

/// The kernel's share of a subject's CPU time, if only user code was sampled: the CPU time while
/// sampling without the sampled time. If samples are missing, the share is that of the CPU clocks,
/// whose step is 10 ms: in the counted slices or, if the subject had too many threads to be read
/// at their edges, while sampling.
fn kernel_share(block: &BlockView, record: &LedgerRecord) -> Option<f64> {
    let by_clocks = |user: Option<u64>, system: Option<u64>| share(system?, sum([user?, system?]));
    let by_samples = || {
        let user_ns = record.ledger.samples as f64 * 1e9 / f64::from(record.samples_per_s.max(1));
        let cpu_ns = record.server_cpu_ns.filter(|cpu_ns| *cpu_ns > 0)?;
        Some((1.0 - user_ns / cpu_ns as f64).max(0.0))
    };
    let is_complete = record.ledger.is_complete();
    let by_samples = is_complete.then(by_samples).flatten();
    let in_slices = || by_clocks(block.sums.server_user_ns, block.sums.server_system_ns);
    let while_sampling = || by_clocks(record.server_user_ns, record.server_system_ns);
    by_samples.or_else(in_slices).or_else(while_sampling)
}
