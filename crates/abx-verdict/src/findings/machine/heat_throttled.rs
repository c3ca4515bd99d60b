use crate::findings::prelude::*;

rule! {
    in Study |study| heat(study.record);
    HeatThrottled [Note]
        "CPUs were slowed down because of heat",
        "cool the machine, or fix a lower frequency";
}

fn heat(record: &Measured) -> Option<Finding> {
    let canaries = record.complete_blocks().flat_map(|block| &block.canaries);
    let times = sum(canaries.filter_map(|calibration| calibration.heat_throttles));
    (times > 0).then(|| {
        finding(format!(
            "CPUs were slowed down because of heat {} within blocks",
            counted(times, "time")
        ))
    })
}
