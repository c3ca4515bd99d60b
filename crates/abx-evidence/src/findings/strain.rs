//! Findings about want of processors, memory and disks while one subject was
//! loaded, by the kernel's own account of who had to wait.

use crate::measure::share::share;
use crate::record::HostCounters;
use crate::record::finding::{Finding, Level};
use crate::record::finding_id::FindingId;
use crate::view::SubjectView;

/// Time in which some thread had to wait for a processor, as a share.
const CPU_PRESSURE_MAX: f64 = 0.10;
/// Time in which nothing ran for want of memory or of a disk, as a share.
const FULL_PRESSURE_MAX: f64 = 0.001;
/// Time for which a limit kept us from running, as a share: above it bounds.
const THROTTLED_BOUND: f64 = 0.01;

/// Whether a subject used all of the processors that it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Saturation {
    Saturated,
    HadTime,
}

/// What the machine wanted for while one subject was loaded.
pub(super) fn strain(subject_view: &SubjectView, saturation: Saturation) -> Vec<Finding> {
    let subject = subject_view.subject;
    let counted = subject_view.readings().filter_map(|side| side.strain);
    let Some(host_counters) = counted.reduce(HostCounters::plus) else {
        return Vec::new();
    };
    let part = |time_us: Option<u64>| share(time_us?, host_counters.over_us);
    let mut findings = Vec::new();
    findings.extend(throttled(
        subject,
        &host_counters,
        part(host_counters.throttled_us),
    ));
    // A subject that uses all it may has threads that wait, by its own doing.
    if saturation == Saturation::HadTime {
        let pressure = part(host_counters.cpu_pressure_us).filter(|part| *part > CPU_PRESSURE_MAX);
        findings.extend(pressure.map(|part| {
            Finding::new(
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
                "everything that could run waited for {what} {:.1} % of the time while {subject} \
                 was loaded",
                100.0 * part
            );
            Finding::new(id, message)
        }));
    }
    let about = |finding: Finding| finding.about(subject);
    findings.into_iter().map(about).collect()
}

/// A limit of a control group kept abx and its subjects from their processors.
fn throttled(subject: &str, host_counters: &HostCounters, part: Option<f64>) -> Option<Finding> {
    let periods = host_counters.throttled.filter(|periods| *periods > 0)?;
    let (level, time) = match part {
        Some(part) if part > THROTTLED_BOUND => (Level::Bound, 100.0 * part),
        other => (Level::Note, 100.0 * other.unwrap_or_default()),
    };
    let message = format!(
        "a CPU time limit on abx and its subjects was reached {periods} times while {subject} was \
         loaded, and kept them from running {time:.1} % of the time"
    );
    Some(Finding::new(FindingId::Throttled, message).at(level))
}
