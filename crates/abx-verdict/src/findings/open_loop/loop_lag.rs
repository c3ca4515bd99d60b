use crate::findings::open_loop::pace::{Pace, span};
use crate::findings::prelude::*;

rule! {
    in Subject |subject| loop_lag(&Pace::of(subject));
    LoopLag [Note]
        "the generator did not read its clock for a while, so times may be wrong by as much",
        "add a thread (`-t`) on a CPU of its own, or lower the rate (`-r`)";
}

/// The largest 99 % quantile of the time for which the generator does not read its clock.
const LAG_MAX_US: u64 = 1_000;

fn loop_lag(pace: &Pace) -> Option<Finding> {
    let lag_us = pace.loop_lag.p99?;
    let message = format!(
        "in one of 100 turns of its event loop the generator did not read its clock for more than \
         {}, so the times of {} may be wrong by as much",
        span(lag_us),
        pace.who
    );
    (lag_us > LAG_MAX_US).then(|| finding(message).of_times())
}
