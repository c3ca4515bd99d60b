//! When requests are due, in words.

use abx_evidence::{ArrivalKind, Arrivals, Offered};

use crate::units::{count, figure, plural, share};
use crate::wrap::clean_name;

/// What an open loop was asked for; `None` for a closed one.
pub(crate) fn arrivals(arrivals: &Arrivals) -> Option<String> {
    let kind = match arrivals.kind {
        ArrivalKind::Closed => return None,
        ArrivalKind::Constant => "constant",
        ArrivalKind::Poisson => "Poisson",
        ArrivalKind::Stages => return Some(format!("stages {}", clean_name(&arrivals.text))),
    };
    Some(match rate(arrivals) {
        Some(rate) => format!("{rate} {kind}"),
        None => format!("{} {kind}", clean_name(&arrivals.text)),
    })
}

/// The rate that was asked for, where there is one.
pub(crate) fn rate(arrivals: &Arrivals) -> Option<String> {
    let rate = arrivals.rate_per_s.filter(|_| arrivals.is_open())?;
    Some(format!("{}/s", figure(rate)))
}

/// What became of the requests that were due, in a sentence.
pub(crate) fn offered(offered: &Offered) -> String {
    let mut text = format!("Of {} due, ", plural(offered.planned, "request"));
    if offered.unsent == 0 {
        text.push_str("all were sent");
    } else {
        text.push_str(&format!(
            "{} were sent and {} ({}) were not",
            count(offered.sent),
            count(offered.unsent),
            share(offered.unsent, offered.planned)
        ));
    }
    if offered.queued > 0 {
        text.push_str(&format!(
            "; {} had to wait for a connection",
            count(offered.queued)
        ));
    }
    if offered.unfinished > 0 {
        text.push_str(&format!(
            "; {} were unfinished at the end",
            count(offered.unfinished)
        ));
    }
    text + "."
}
