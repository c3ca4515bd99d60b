//! Findings about processors that do not always run at one speed.

use std::collections::BTreeMap;

use crate::measure::sum::sum;
use crate::record::Measured;
use crate::record::finding::Finding;
use crate::record::finding_id::FindingId;

/// By how much the time of work that is always the same may differ within a study.
const SPREAD_MAX: f64 = 0.03;

/// Processors whose speed changed, and that became too hot.
pub(super) fn frequency(record: &Measured) -> impl Iterator<Item = Finding> {
    [speed_changed(record), heat(record)].into_iter().flatten()
}

/// Whether every block has a look at every processor's speed.
pub(super) fn is_checked(record: &Measured) -> bool {
    record.complete_blocks().all(|block| {
        let mut looks = block.canaries.iter();
        !block.canaries.is_empty()
            && looks.all(|calibration| {
                calibration.before_ns.is_some() && calibration.after_ns.is_some()
            })
    })
}

/// The processor whose speed differed most from look to look.
fn speed_changed(record: &Measured) -> Option<Finding> {
    let mut ranges: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
    for calibration in record.complete_blocks().flat_map(|block| &block.canaries) {
        for time_ns in [calibration.before_ns, calibration.after_ns]
            .into_iter()
            .flatten()
        {
            let range = ranges.entry(calibration.cpu).or_insert((time_ns, time_ns));
            *range = (range.0.min(time_ns), range.1.max(time_ns));
        }
    }
    let spread = |(least, most): (u64, u64)| (most - least) as f64 / least.max(1) as f64;
    let worst = ranges
        .into_iter()
        .map(|(cpu, range)| (spread(range), cpu, range));
    let (spread, cpu, (least, most)) = worst.max_by(|parts, other| parts.0.total_cmp(&other.0))?;
    (spread > SPREAD_MAX).then(|| {
        Finding::new(
            FindingId::SpeedChanged,
            format!(
                "the same work took CPU {cpu} from {:.2} to {:.2} ms ({:.0} % more), measured \
                 before and after each block: its speed changed within the study",
                least as f64 / 1e6,
                most as f64 / 1e6,
                100.0 * spread
            ),
        )
    })
}

fn heat(record: &Measured) -> Option<Finding> {
    let canaries = record.complete_blocks().flat_map(|block| &block.canaries);
    let times = sum(canaries.filter_map(|calibration| calibration.heat_throttles));
    (times > 0).then(|| {
        Finding::new(
            FindingId::HeatThrottled,
            format!("CPUs were slowed down because of heat {times} times within blocks"),
        )
    })
}
