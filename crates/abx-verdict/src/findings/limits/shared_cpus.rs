use crate::findings::prelude::*;

rule! {
    in Study |study| shared_cpus(study.record);
    SharedCpus [Bound]
        "subjects and generator ran on the same CPUs",
        "omit `--pin shared`, and use a machine with at least two CPUs";
}

fn shared_cpus(record: &Measured) -> Option<Finding> {
    let settings = &record.settings;
    let mut cpus = settings.subject_cpus.iter();
    let are_shared = cpus.any(|cpu| settings.generator_cpus.contains(cpu));
    let message = "subjects and generator shared CPUs: each took time from the other";
    (record.is_comparison() && are_shared).then(|| finding(message))
}
