use std::collections::BTreeMap;

use crate::findings::prelude::*;

rule! {
    in Study |study| speed_changed(study.record);
    SpeedChanged [Note]
        "a CPU did not always run at the same speed",
        "fix the frequency (`cpupower frequency-set -g performance`), or run on a machine whose \
         cores no other program uses";
}

/// The largest spread of the time of the same work within a study that is not reported.
const SPREAD_MAX: f64 = 0.03;

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
    let (spread, cpu, (least, most)) = worst.max_by(|cpu, other| cpu.0.total_cmp(&other.0))?;
    (spread > SPREAD_MAX).then(|| {
        finding(format!(
            "on CPU {cpu} the same work took {:.2} to {:.2} ms ({:.0} % more), measured before \
             and after each block: its speed changed within the study",
            least as f64 / 1e6,
            most as f64 / 1e6,
            100.0 * spread
        ))
    })
}

/// Whether the speed of every CPU was measured before and after every block.
pub(super) fn is_checked(record: &Measured) -> bool {
    record.complete_blocks().all(|block| {
        let mut calibrations = block.canaries.iter();
        !block.canaries.is_empty()
            && calibrations.all(|calibration| {
                calibration.before_ns.is_some() && calibration.after_ns.is_some()
            })
    })
}
