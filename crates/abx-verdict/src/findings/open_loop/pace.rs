//! The pace of one server's load: whether requests that were due were sent, and in time.

use crate::findings::bottleneck::Bottleneck;
use crate::findings::machine::part_of_time::processors;
use crate::findings::prelude::*;
use abx_evidence::{Offered, Times};

/// The share of due requests that may be missing.
pub(in crate::findings) const MISSED_MAX: f64 = 0.01;
/// A cause that affected this share of the sends, or took this share of the time, may explain why
/// one send in a hundred was late.
pub(super) const CAUSE_MIN: f64 = 0.01;
/// The largest 99 % quantile of lateness.
pub(in crate::findings) const LATE_MAX_US: u64 = 1_000;

pub(super) const ADD_THREAD: &str =
    "add a thread (`-t`) on a CPU of its own, or lower the rate (`-r`)";
pub(super) const ADD_CONNECTIONS: &str = "add connections (`-c`), or lower the rate (`-r`)";

pub(in crate::findings) struct Pace<'a> {
    pub(in crate::findings) who: &'a str,
    /// `None` in a closed loop.
    pub(in crate::findings) offered: Option<Offered>,
    /// Requests whose time is known only as "at least".
    pub(in crate::findings) without_response: u64,
    pub(in crate::findings) response: &'a Times,
    pub(in crate::findings) lateness: &'a Times,
    pub(in crate::findings) loop_lag: &'a Times,
    pub(in crate::findings) limits: PaceLimits,
}

/// Limits of a load, as shares of the time; `None` if not readable.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::findings) struct PaceLimits {
    /// Whether the server was at its limit.
    pub(in crate::findings) is_subject_bound: bool,
    /// The share of its CPU that the busiest worker used.
    pub(in crate::findings) generator: Option<f64>,
    /// The share for which workers were ready and did not run.
    pub(in crate::findings) wait: Option<f64>,
    /// The share of the study's CPUs that the hypervisor took.
    pub(in crate::findings) steal: Option<f64>,
    /// The share for which abx itself was paused.
    pub(in crate::findings) paused: Option<f64>,
}

impl Pace<'_> {
    pub(super) fn of<'a>(subject: &SubjectContext<'a>) -> Pace<'a> {
        let summary = subject.summary;
        let unsent = summary.offered.map_or(0, |offered| offered.unsent);
        Pace {
            who: &summary.subject,
            offered: summary.offered,
            without_response: summary.outcomes.without_response().saturating_add(unsent),
            response: &summary.response_time_us,
            lateness: &summary.lateness_us,
            loop_lag: &summary.loop_lag_us,
            limits: limits(subject.view, subject.limit),
        }
    }
}

fn limits(subject: &SubjectView, limit: &Bottleneck) -> PaceLimits {
    let sums = &subject.sums;
    let threads = subject.study.settings.threads.max(1) as u64;
    let capacity = sums
        .window_ns
        .saturating_mul(processors(subject.study) as u64);
    PaceLimits {
        is_subject_bound: limit.busy(subject.subject).is_subject_bound(),
        generator: share(sums.busiest_worker_ns, sums.wall_ns),
        wait: sums
            .generator_wait_ns
            .and_then(|wait| share(wait, sums.wall_ns.saturating_mul(threads))),
        steal: sums.steal_ns.and_then(|steal| share(steal, capacity)),
        paused: share(sums.paused_ns, sums.wall_ns),
    }
}

/// A time in µs as text.
pub(in crate::findings) fn span(time_us: u64) -> String {
    match time_us {
        0..1_000 => format!("{time_us} µs"),
        1_000..1_000_000 => format!("{:.1} ms", time_us as f64 / 1e3),
        _ => format!("{:.1} s", time_us as f64 / 1e6),
    }
}
