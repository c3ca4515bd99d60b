use crate::findings::machine::pressure::host_counters;
use crate::findings::prelude::*;

rule! {
    in Subject |subject| throttled(subject.view);
    Throttled [Note, Bound]
        "a CPU time limit on abx and its subjects was reached; above 1 % of the time, the ratio \
         is a bound",
        "raise the limit (`docker run --cpus`, `CPUQuota=`), or run outside of it";
}

/// Time for which a limit kept us from running, as a share: above it bounds.
const THROTTLED_BOUND: f64 = 0.01;

fn throttled(view: &SubjectView) -> Option<Finding> {
    let (subject, host_counters) = (view.subject, host_counters(view)?);
    let periods = host_counters.throttled.filter(|periods| *periods > 0)?;
    let time_us = host_counters.throttled_us;
    let part = time_us.and_then(|time_us| share(time_us, host_counters.over_us));
    let (level, time) = match part {
        Some(part) if part > THROTTLED_BOUND => (Level::Bound, 100.0 * part),
        other => (Level::Note, 100.0 * other.unwrap_or_default()),
    };
    let message = format!(
        "a CPU time limit on abx and its subjects was reached {} while {subject} was \
         loaded, and kept them from running {time:.1} % of the time",
        counted(periods, "time")
    );
    Some(finding(message).at(level))
}
