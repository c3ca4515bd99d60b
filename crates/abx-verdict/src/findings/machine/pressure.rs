use crate::findings::prelude::*;

rule! {
    in Subject |subject| pressure(subject);
    CpuPressure [Note]
        "threads were ready to run and had no CPU, although the subject did not use all of its \
         own",
        "close other programs, or run on a machine of your own";
    MemoryPressure [Note]
        "all runnable work was waiting for memory",
        "free memory, or make the subjects use less";
    IoPressure [Note]
        "all runnable work was waiting for a disk",
        "stop other programs that use disks, and make the subjects log less";
}

/// Time in which some thread had to wait for a processor, as a share.
const CPU_PRESSURE_MAX: f64 = 0.10;
/// Time in which nothing ran for want of memory or of a disk, as a share.
const FULL_PRESSURE_MAX: f64 = 0.001;

/// What the machine counted while one subject was loaded.
pub(super) fn host_counters(view: &SubjectView) -> Option<HostCounters> {
    let counted = view.readings().filter_map(|side| side.strain);
    counted.reduce(HostCounters::plus)
}

fn pressure(subject: &SubjectContext) -> Vec<Finding> {
    let mut findings = Vec::new();
    let (view, subject, limit) = (subject.view, subject.view.subject, subject.limit);
    let Some(host_counters) = host_counters(view) else {
        return findings;
    };
    let part = |time_us: Option<u64>| share(time_us?, host_counters.over_us);
    // A subject that uses all it may has threads that wait, by its own doing.
    if !limit.busy(subject).is_subject_bound() {
        let pressure = part(host_counters.cpu_pressure_us).filter(|part| *part > CPU_PRESSURE_MAX);
        findings.extend(pressure.map(|part| {
            new_finding(
                FindingId::CpuPressure,
                format!(
                    "threads were ready to run and had no CPU {:.0} % of the time while {subject} \
                     was loaded, though it did not use all of its own",
                    100.0 * part
                ),
            )
        }));
    }
    let kinds = [
        (
            FindingId::MemoryPressure,
            host_counters.memory_pressure_us,
            "memory",
        ),
        (
            FindingId::IoPressure,
            host_counters.io_pressure_us,
            "a disk",
        ),
    ];
    for (id, time_us, what) in kinds {
        let stood = part(time_us).filter(|part| *part > FULL_PRESSURE_MAX);
        findings.extend(stood.map(|part| {
            let message = format!(
                "all runnable work waited for {what} {:.1} % of the time while {subject} was \
                 loaded",
                100.0 * part
            );
            new_finding(id, message)
        }));
    }
    findings
}
