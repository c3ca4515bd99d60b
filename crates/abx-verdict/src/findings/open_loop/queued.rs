use crate::findings::open_loop::pace::{CAUSE_MIN, Pace};
use crate::findings::prelude::*;

rule! {
    in Subject |subject| queued(&Pace::of(subject));
    Queued [Note]
        "requests had to wait for a free connection, which counts in response times but not in \
         service times",
        "add connections (`-c`), or lower the rate (`-r`)";
}

fn queued(pace: &Pace) -> Option<Finding> {
    let offered = pace.offered?;
    let queued = share(offered.queued, offered.sent).filter(|part| *part >= CAUSE_MIN)?;
    let message = format!(
        "{:.1} % of the requests to {} were due when every connection was in use, and had to \
         wait for one, which counts in response times but not in service times",
        100.0 * queued,
        pace.who
    );
    Some(finding(message).of_times())
}
