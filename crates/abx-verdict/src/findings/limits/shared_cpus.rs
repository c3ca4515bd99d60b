use crate::findings::prelude::*;

rule! {
    in Study |study| shared_cpus(study.record);
    SharedCpus [Bound]
        "subjects and generator ran on the same CPUs",
        "omit `--pin shared`, and use a machine with at least two CPUs";
}

fn shared_cpus(record: &Measured) -> Option<Finding> {
    let message = "subjects and generator shared CPUs: each took time from the other";
    (record.is_comparison() && record.settings.shares_cpus()).then(|| finding(message))
}
