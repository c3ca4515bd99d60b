use crate::findings::bottleneck::GENERATOR_BUSY;
use crate::findings::open_loop::pace::{ADD_CONNECTIONS, ADD_THREAD, MISSED_MAX, Pace};
use crate::findings::prelude::*;

rule! {
    in Subject |subject| not_reached(&Pace::of(subject));
    OfferedRateNotReached [Note, Bound]
        "requests that were due were never sent; if the generator was the reason, the ratio is a \
         bound",
        "add connections (`-c`), or lower the rate (`-r`)";
}

fn not_reached(pace: &Pace) -> Option<Finding> {
    let offered = pace.offered?;
    let missed = share(offered.unsent, offered.planned)?;
    let limits = &pace.limits;
    let busy = limits.generator.unwrap_or_default() + limits.wait.unwrap_or_default();
    let is_generator = !limits.is_subject_bound && busy >= GENERATOR_BUSY;
    let (level, cause, remedy) = if is_generator {
        let cause = format!(
            "the generator used or waited for {:.0} % of its CPU",
            100.0 * busy
        );
        (Level::Bound, cause, ADD_THREAD)
    } else {
        let cause = "every connection was waiting for a response".to_owned();
        (Level::Note, cause, ADD_CONNECTIONS)
    };
    let message = format!(
        "{} of {} requests that were due to {} were never sent ({:.1} %): {cause}",
        offered.unsent,
        offered.planned,
        pace.who,
        100.0 * missed
    );
    (missed > MISSED_MAX).then(|| finding(message).at(level).with_remedy(remedy))
}
