use crate::findings::bottleneck::GENERATOR_BUSY;
use crate::findings::open_loop::pace::{ADD_THREAD, CAUSE_MIN, LATE_MAX_US, Pace, span};
use crate::findings::prelude::*;

rule! {
    in Subject |subject| late(&Pace::of(subject));
    LateSends [Note, Bound]
        "requests were sent late because of the generator or the machine; above 1 ms, the ratio \
         is a bound",
        "close other programs, add a thread (`-t`) on a CPU of its own, or lower the rate (`-r`)";
}

/// The largest 99 % quantile of lateness, as a share of the median response time.
const LATE_SHARE_MAX: f64 = 0.10;

fn late(pace: &Pace) -> Option<Finding> {
    pace.offered?;
    let late_us = pace.lateness.p99?;
    let is_large_share = pace
        .response
        .p50
        .is_some_and(|median| late_us as f64 > LATE_SHARE_MAX * median as f64);
    if !(late_us > LATE_MAX_US || is_large_share) {
        return None;
    }
    let causes = causes(pace);
    let texts: Vec<String> = causes.iter().map(|cause| cause.text()).collect();
    let message = format!(
        "one send in 100 to {} was more than {} late, which counts in its response time: {}",
        pace.who,
        span(late_us),
        texts.join(", and ")
    );
    let remedies: Vec<&str> = causes.iter().map(|cause| cause.remedy()).collect();
    let finding = finding(message).at_if(late_us > LATE_MAX_US, Level::Bound);
    Some(finding.with_remedy(remedies.join("; ")).of_times())
}

/// The possible causes of lateness.
fn causes(pace: &Pace) -> Vec<Cause> {
    let limits = &pace.limits;
    let above = |part: Option<f64>, least: f64| part.filter(|part| *part >= least);
    let causes = [
        above(limits.generator, GENERATOR_BUSY).map(Cause::Generator),
        above(limits.wait, CAUSE_MIN).map(Cause::Wait),
        above(limits.steal, CAUSE_MIN).map(Cause::Steal),
        above(limits.paused, CAUSE_MIN).map(Cause::Paused),
    ];
    let known: Vec<Cause> = causes.into_iter().flatten().collect();
    if known.is_empty() {
        vec![Cause::Unknown]
    } else {
        known
    }
}

/// A possible cause of lateness, with its share of the time.
#[derive(Debug, Clone, Copy)]
enum Cause {
    Generator(f64),
    Wait(f64),
    Steal(f64),
    Paused(f64),
    Unknown,
}

impl Cause {
    fn text(self) -> String {
        match self {
            Cause::Generator(part) => {
                format!("the generator used {:.0} % of its CPU", 100.0 * part)
            }
            Cause::Wait(part) => format!(
                "the generator was ready to run and had to wait {:.1} % of the time",
                100.0 * part
            ),
            Cause::Steal(part) => format!(
                "the hypervisor gave the CPUs reserved for this measurement to others {:.1} % of \
                 the time",
                100.0 * part
            ),
            Cause::Paused(part) => {
                format!("abx itself was paused {:.1} % of the time", 100.0 * part)
            }
            Cause::Unknown => "the cause is not known".to_owned(),
        }
    }

    fn remedy(self) -> &'static str {
        match self {
            Cause::Generator(_) => ADD_THREAD,
            Cause::Wait(_) => "close other programs, or run on a dedicated machine",
            Cause::Steal(_) => "run at a quieter time, or on a dedicated machine",
            Cause::Paused(_) => "do not stop abx or suspend the machine during a measurement",
            Cause::Unknown => "lower the rate (`-r`), or run on a quieter machine",
        }
    }
}
